"""Rotating the vault's keys: killed anywhere it loses nothing, and the site goes on meanwhile."""

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from leaderboard import vault
from leaderboard.models import BoardState, Holdout, Ledger, Release, Round, Status
from leaderboard.operate import rotation
from leaderboard.vault import keys
from tests.cast import World, make_competition, predictions


@pytest.fixture(autouse=True)
def private(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keys of this test's own, and two competitions sealed to them."""
    vault._opened.clear()
    public, private = tmp_path / "public.key", tmp_path / "private.key"
    keys.generate(public, private)
    monkeypatch.setattr(settings, "VAULT_PUBLIC_KEY_FILE", public)
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", str(private))
    BoardState.objects.all().delete()
    Holdout.objects.all().delete()
    Round.objects.update(ledger=None)
    Ledger.objects.all().delete()
    for name in default_storage.listdir("vault")[1]:
        default_storage.delete(f"vault/{name}")
    world.digits.delete()
    world.digits = make_competition("digits", world.organizer)
    make_competition("others", world.organizer)
    yield private
    vault._opened.clear()


def rotate(private: Path, **options: Any) -> str:
    out = StringIO()
    call_command("vault_rotate", private=private, stdout=out, **options)
    return out.getvalue()


def commitments() -> list[tuple[str, str]]:
    return list(
        Holdout.objects.order_by("pk").values_list("solution_commitment", "secret_commitment")
    )


def test_afterwards_only_the_new_key_is_there_and_opens_everything(
    world: World, private: Path
) -> None:
    old, promised = keys.read(private), commitments()
    rotate(private)
    (new,) = keys.read(private)
    assert new != old[0]
    assert keys.public_key() == new.public_key
    assert commitments() == promised
    for holdout in Holdout.objects.all():
        assert vault.reseal(holdout) is None
    assert world.score(world.join(world.alice)).status == Status.RELEASED


def test_the_old_key_opens_nothing_any_more(private: Path, tmp_path: Path) -> None:
    kept = tmp_path / "stolen.key"
    kept.write_text(private.read_text())
    rotate(private)
    settings.VAULT_PRIVATE_KEY_FILE = str(kept)
    for holdout in Holdout.objects.all():
        with pytest.raises(vault.VaultClosed):
            vault.reseal(holdout)
    assert len(default_storage.listdir("vault")[1]) == Holdout.objects.count()


def test_noise_stays_what_it_was(world: World, private: Path) -> None:
    """The secret is the same: asking again after a rotation is asking again."""
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 20)))
    first = world.score(team, predictions(wrong=range(10, 19))).release
    rotate(private)
    again = world.score(team, predictions(wrong=range(10, 19))).release
    assert again is not None
    assert again.repeat_of == first


class Killed(BaseException):
    """The process ended here."""


class Bomb:
    """Ends the process before or after the n-th thing that it writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool) -> None:
        self.left, self.after, self.written = at, after, 0
        for owner, name in (
            (Path, "replace"),
            (type(default_storage._wrapped), "save"),  # type: ignore[attr-defined]  # lazy object
            (type(default_storage._wrapped), "delete"),  # type: ignore[attr-defined]  # lazy object
            (Holdout, "save"),
        ):
            monkeypatch.setattr(owner, name, self.wrap(getattr(owner, name)))

    def wrap(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.written += 1
            if self.written == self.left and not self.after:
                raise Killed
            result = write(*args, **kwargs)
            if self.written == self.left:
                raise Killed
            return result

        return wrapped


# Private file, public file; for each of two holdouts: new box, row, old box; private file.
WRITES = 9


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_at_any_write_everything_opens_and_the_next_run_ends_it(
    world: World, private: Path, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
) -> None:
    promised = commitments()
    alice, bob = world.join(world.alice), world.join(world.bob)
    with monkeypatch.context() as patch:
        Bomb(patch, at, after=after)
        with pytest.raises(Killed):
            rotate(private)
    assert world.score(alice).status == Status.RELEASED
    vault._opened.clear()
    rotate(private)
    assert len(keys.read(private)) == 1
    assert commitments() == promised
    assert all(vault.reseal(holdout) is None for holdout in Holdout.objects.all())
    assert len(default_storage.listdir("vault")[1]) == Holdout.objects.count()
    assert world.score(bob).status == Status.RELEASED


def test_a_rotation_writes_what_the_matrix_counts(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = Bomb(monkeypatch, 0, after=False)
    rotate(private)
    assert bomb.written == WRITES


def test_a_solution_that_comes_while_others_are_sealed_again_is_sealed_again_too(
    world: World, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reseal = vault.reseal

    def meanwhile(holdout: Holdout) -> tuple[bytes, bytes] | None:
        monkeypatch.setattr(vault, "reseal", reseal)
        make_competition("late", world.organizer)
        return reseal(holdout)

    monkeypatch.setattr(vault, "reseal", meanwhile)
    rotate(private)
    assert all(vault.reseal(holdout) is None for holdout in Holdout.objects.all())


def test_a_worker_that_read_its_row_before_the_rotation_reads_it_again(
    world: World, private: Path
) -> None:
    holdout = Holdout.objects.get(ledger__competition=world.digits)
    rotate(private)
    opened, _ = vault._open(holdout)
    assert opened.counts().private > 0


def test_open_solutions_are_forgotten_when_the_key_changes(world: World, private: Path) -> None:
    world.score(world.join(world.alice))
    assert vault._opened
    private.unlink()
    with pytest.raises(vault.VaultClosed):
        vault._open(Holdout.objects.get(ledger__competition=world.digits))
    assert not vault._opened


def test_the_old_key_is_kept_where_that_is_asked_for(world: World, private: Path) -> None:
    said = rotate(private, keep_old=True)
    assert len(keys.read(private)) == 2
    assert "The old key is kept" in said
    rotate(private)
    assert len(keys.read(private)) == 1


def test_keys_that_don_t_belong_together_are_not_touched(private: Path, tmp_path: Path) -> None:
    keys.generate(tmp_path / "other.public", tmp_path / "other.private")
    before = private.read_text()
    with pytest.raises(CommandError, match="belongs to none of the private keys"):
        rotate(tmp_path / "other.private")
    with pytest.raises(CommandError, match="no private key"):
        rotate(tmp_path / "nothing")
    assert private.read_text() == before


def test_two_rotations_don_t_run_at_once(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def second(*args: Any) -> None:
        rotate(private)

    monkeypatch.setattr(rotation, "_reseal_all", second)
    with pytest.raises(CommandError, match="Another rotation"):
        rotate(private)


def test_a_private_key_that_is_empty_opens_nothing(private: Path, world: World) -> None:
    private.write_text("")
    with pytest.raises(vault.VaultClosed, match="gives nothing"):
        vault.check_opens(Holdout.objects.get(ledger__competition=world.digits))


def test_keys_stay_readable_by_their_owner_only(private: Path) -> None:
    rotate(private)
    assert private.stat().st_mode & 0o077 == 0
    assert not Release.objects.exists()
