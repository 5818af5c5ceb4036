"""Vault: labels go in with the public key and come out nowhere without the private one."""

import pickle
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import default_storage

from leaderboard import vault
from leaderboard.models import Holdout, Status
from leaderboard.pipeline.measure import measure
from leaderboard.pipeline.parse import parse
from leaderboard.vault import keys
from tests.cast import World, make_competition, predictions, solution, upload


@pytest.fixture(autouse=True)
def nothing_opened() -> None:
    vault._opened.clear()


def test_the_sealed_file_does_not_contain_the_labels(world: World) -> None:
    with Holdout.objects.get().sealed_solution.open("rb") as file:
        content = file.read()
    assert solution()[:40] not in content
    assert b"label" not in content


def test_two_seals_of_the_same_labels_have_nothing_in_common(world: World) -> None:
    first = vault._sealed(b"the same labels")
    second = vault._sealed(b"the same labels")
    assert first.commitment != second.commitment
    assert first.box != second.box


def test_without_the_private_key_nothing_is_measured(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    submission = world.score(world.join(world.alice))
    assert submission.status == Status.FAILED
    assert submission.failure.startswith("VaultClosed")


def test_another_private_key_does_not_open_it(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys.generate(tmp_path / "public.key", tmp_path / "private.key")
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", str(tmp_path / "private.key"))
    assert world.score(world.join(world.alice)).failure.startswith("VaultClosed")


def test_a_solution_that_was_exchanged_is_noticed(world: World) -> None:
    holdout = Holdout.objects.get()
    name = holdout.sealed_solution.name or ""
    default_storage.delete(name)
    default_storage.save(name, upload(vault._sealed(b"other labels").box))
    assert world.score(world.join(world.alice)).failure.startswith("VaultClosed")


def test_a_measurement_can_be_neither_printed_nor_pickled(world: World) -> None:
    submission = world.submit(world.join(world.alice), predictions(wrong=[9, 10, 11]))
    _, boards = measure(submission, parse(submission))
    (measured,) = boards.values()
    units = str(measured.measurement.holdout.units)
    assert units not in repr(measured.measurement)
    assert repr(measured) == object.__repr__(measured)  # an address may contain any digit
    with pytest.raises(TypeError):
        pickle.dumps(measured.measurement)


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    public, private = tmp_path / "vault" / "public.key", tmp_path / "vault" / "private.key"
    keys.generate(public, private)
    assert private.stat().st_mode & 0o077 == 0
    with pytest.raises(FileExistsError):
        keys.generate(public, private)


def test_a_missing_public_key_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "VAULT_PUBLIC_KEY_FILE", tmp_path / "none.key")
    with pytest.raises(ImproperlyConfigured, match="vault_keys"):
        vault.seal_new_secret()


def opened(world: World) -> list[str]:
    """Commitments of the solutions that are kept open."""
    world.score(world.join(world.alice))
    return list(vault._opened)


def test_a_solution_larger_than_the_cache_is_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAULT_CACHE_BYTES", 100)
    assert opened(world) == []
    assert Holdout.objects.get().releases.count() == 1


def test_what_was_used_longest_ago_is_forgotten_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = opened(world)
    size = vault._opened[first].size
    monkeypatch.setattr(settings, "VAULT_CACHE_BYTES", 2 * size)
    names = ["second", "third"]
    others = [make_competition(name, world.organizer) for name in names]
    for competition in others:
        world.score(world.join(world.alice, competition=competition))
    last = [Holdout.objects.get(ledger__competition=each).solution_commitment for each in others]
    assert list(vault._opened) == last


def test_an_earlier_version_is_forgotten_once_another_is_active(world: World) -> None:
    (first,) = opened(world)
    kept = vault._opened[first]
    vault._opened["earlier version"] = kept
    vault._open(Holdout.objects.get())
    assert list(vault._opened) == [first]
