"""Publication of solution and secret: never before the end, whole or not at all, verified."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries, tasks, vault
from leaderboard.errors import Refused
from leaderboard.models import (
    Board,
    Competition,
    Holdout,
    Release,
    Round,
    Status,
    Submission,
)
from leaderboard.pipeline import publish
from leaderboard.pipeline.remeasure import remeasure
from scoring.verification.differences import Report
from scoring.verification.run import verify
from tests import snapshots
from tests.cast import (
    CHECKED_ROWS,
    PUBLIC_ROWS,
    ROWS,
    World,
    ledger_of,
    make_checked,
    predictions,
    set_round,
    truth,
)

FILES = (range(10, 20), range(10, 19), range(10, 19), range(10, 12))


@pytest.fixture(autouse=True)
def nothing_opened_before() -> None:
    """All tests share one storage in memory."""
    if not default_storage.exists(publish.FOLDER):
        return
    folders, files = default_storage.listdir(publish.FOLDER)
    for folder in folders:
        names = default_storage.listdir(f"{publish.FOLDER}/{folder}")[1]
        files += [f"{folder}/{name}" for name in names]
    for name in files:
        default_storage.delete(f"{publish.FOLDER}/{name}")


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    monkeypatch.setattr(tasks, "enqueue_publication", lambda holdout_id: None)


@pytest.fixture
@snapshots.kept
def holdout(world: World) -> Holdout:
    """The holdout of a competition that has ended, with four answers."""
    team = world.join(world.alice)
    for wrong in FILES:
        world.score(team, predictions(wrong=wrong))
    end(world.digits)
    return Holdout.objects.get()


def end(competition: Competition) -> None:
    """Have the finals scored and revealed."""
    names = ("closes_at", "finals_started_at", "finals_scored_at", "revealed_at")
    set_round(competition, **dict.fromkeys(names, timezone.now()))


def publish_now(competition: Competition) -> None:
    publish.publish(competition.current_round)
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)


def verified(competition: Competition) -> Report:
    """Verify the published ledger with the publications."""
    lines = b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)
    files = {
        each.version: io.BytesIO(default_storage.open(each.name, "rb").read())
        for each in queries.publications(competition.current_round)
    }
    return verify(lines, files)


def members(holdout: Holdout) -> dict[str, bytes]:
    holdout.refresh_from_db()
    with zipfile.ZipFile(holdout.publication.open("rb")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_is_published_computes_every_release_again(world: World, holdout: Holdout) -> None:
    publish_now(world.digits)
    report = verified(world.digits)
    assert report.difference is None
    assert (report.entries, report.recomputed, report.lost) == (len(FILES), len(FILES), 0)


@pytest.mark.parametrize("reference", ["public", "claim"])
def test_a_published_thresholdout_computes_every_release_again(
    world: World, reference: str
) -> None:
    competition = make_checked("checked", world.organizer, reference=reference)
    team = world.join(world.alice, competition=competition)
    for first in (CHECKED_ROWS, 20, 21, 22, 22):
        wrong = range(first, CHECKED_ROWS)
        claimed = 0.9 if reference == "claim" else None
        world.score(team, predictions(wrong=wrong, rows=CHECKED_ROWS), claimed=claimed)
    end(competition)
    publish_now(competition)
    report = verified(competition)
    assert (report.difference, report.recomputed) == (None, 5)


def test_the_labels_can_be_read_by_anybody(world: World, holdout: Holdout) -> None:
    publish_now(world.digits)
    solution = np.load(io.BytesIO(members(holdout)["solution.npz"]))
    assert [str(code) for code in solution["column0"]] == [truth(row) for row in range(ROWS)]
    assert int((solution["usage"] == 0).sum()) == PUBLIC_ROWS


def test_each_release_has_its_exact_means(world: World, holdout: Holdout) -> None:
    publish_now(world.digits)
    first = json.loads(members(holdout)["releases.jsonl"].splitlines()[0])
    assert first["predictions_digest"] == Release.objects.get(number=1).predictions_digest
    assert first["holdout"] == {"units": 10, "rows": 32, "resolution": 1, "additive": True}
    assert first["reference"]["units"] == 0


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_nothing_is_published_before_the_end(world: World, holdout: Holdout, missing: int) -> None:
    steps = ("revealed_at", "finals_scored_at", "finals_started_at")
    set_round(world.digits, **dict.fromkeys(steps[:missing]))
    with pytest.raises(Refused, match="Reveal the final scores first"):
        publish.publish(world.round)
    assert not publish.to_publish().exists()
    with pytest.raises(vault.StillSealed):
        vault.contents(Holdout.objects.get())


def test_nothing_is_published_without_the_organizer_s_word(world: World, holdout: Holdout) -> None:
    tasks.sweep()
    tasks.publish_holdout(holdout_id=holdout.pk)
    holdout.refresh_from_db()
    assert holdout.published_at is None
    assert not queries.publications(world.round)


@pytest.mark.parametrize("status", [Status.QUEUED, Status.SCORING])
def test_nothing_is_published_while_a_submission_is_scored(
    world: World, holdout: Holdout, status: str
) -> None:
    Submission.objects.filter(number=1).update(status=status)
    with pytest.raises(Refused, match="Wait until every submission"):
        publish.publish(world.round)


def test_said_twice_and_done_twice_it_changes_nothing(world: World, holdout: Holdout) -> None:
    publish_now(world.digits)
    before = (Round.objects.values().get(), Holdout.objects.values().get())
    publish_now(world.digits)
    tasks.publish_holdout(holdout_id=holdout.pk)
    assert (Round.objects.values().get(), Holdout.objects.values().get()) == before


def test_afterwards_no_part_is_left_behind(world: World, holdout: Holdout) -> None:
    publish_now(world.digits)
    holdout.refresh_from_db()
    folders, files = default_storage.listdir(publish.FOLDER)
    assert [f"{publish.FOLDER}/{name}" for name in files] == [holdout.publication.name]
    assert all(not default_storage.listdir(f"{publish.FOLDER}/{each}")[1] for each in folders)


def test_a_worker_goes_on_where_the_time_of_another_was_over(
    world: World, holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []

    def counting(submission: Submission, version: Holdout, board: Board) -> Any:
        measured.append(submission.number)
        return remeasure(submission, version, board)

    monkeypatch.setattr(tasks, "remeasure", counting)
    monkeypatch.setattr(publish, "WORK_OF_LEASE", -1)
    publish.publish(world.round)
    for _ in range(len(FILES) + 1):
        tasks.publish_holdout(holdout_id=holdout.pk)
    assert measured == [1, 2, 3, 4]
    assert verified(world.digits).recomputed == len(FILES)


class Killed(BaseException):
    """The worker ended here."""


def bomb(monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool) -> list[str]:
    """End the process before or after the n-th write to storage or to the holdout's row."""
    written: list[str] = []
    storage = type(default_storage._wrapped)  # type: ignore[attr-defined]  # a lazy object
    manager = type(Holdout.objects.all())

    def wrap(name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            written.append(name)
            if len(written) == at and not after:
                raise Killed
            result = write(*args, **kwargs)
            if len(written) == at:
                raise Killed
            return result

        return wrapped

    for owner, name in ((storage, "save"), (storage, "delete"), (manager, "update")):
        monkeypatch.setattr(owner, name, wrap(name, getattr(owner, name)))
    return written


# Claim; the part and a longer claim; a longer claim, the file, its name; the part; the claim.
WRITES = ["update", "save", "update", "update", "save", "update", "delete", "update"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, len(WRITES) + 1))
def test_killed_at_any_write_another_worker_ends_it(
    world: World, holdout: Holdout, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
) -> None:
    publish.publish(world.round)
    with monkeypatch.context() as patch:
        bomb(patch, at, after=after)
        with pytest.raises(Killed):
            tasks.publish_holdout(holdout_id=holdout.pk)
    Holdout.objects.update(publication_claimed_at="2026-01-01T00:00:00Z")
    tasks.publish_holdout(holdout_id=holdout.pk)
    report = verified(world.digits)
    assert (report.difference, report.recomputed) == (None, len(FILES))
    assert len(default_storage.listdir(publish.FOLDER)[1]) == 1


def test_a_publication_writes_what_the_matrix_counts(
    world: World, holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish.publish(world.round)
    written = bomb(monkeypatch, 0, after=False)
    tasks.publish_holdout(holdout_id=holdout.pk)
    assert written == WRITES


def test_a_part_that_a_crash_cut_short_is_measured_again(world: World, holdout: Holdout) -> None:
    publish.publish(world.round)
    folder = f"{publish.FOLDER}/{holdout.solution_commitment}"
    default_storage.save(f"{folder}/{1:012}-{4:012}-0123456789abcdef", io.BytesIO(b"half of"))
    tasks.publish_holdout(holdout_id=holdout.pk)
    assert verified(world.digits).recomputed == len(FILES)


def test_what_a_living_worker_writes_is_left_to_it(world: World, holdout: Holdout) -> None:
    publish.publish(world.round)
    Holdout.objects.update(publication_claimed_at=timezone.now())
    tasks.publish_holdout(holdout_id=holdout.pk)
    holdout.refresh_from_db()
    assert holdout.published_at is None


def test_the_sweeper_sends_for_what_was_forgotten(
    world: World, holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish.publish(world.round)
    sent: list[int] = []
    monkeypatch.setattr(tasks, "enqueue_publication", sent.append)
    tasks.sweep()
    assert sent == [holdout.pk]


def test_a_file_that_is_gone_is_named_and_the_rest_is_published(
    world: World, holdout: Holdout
) -> None:
    default_storage.delete(Submission.objects.get(number=4).file)
    publish_now(world.digits)
    report = verified(world.digits)
    assert (report.difference, report.recomputed, report.lost) == (None, 3, 1)


def test_without_the_private_key_nothing_is_published(
    world: World, holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    publish_now(world.digits)
    holdout.refresh_from_db()
    assert holdout.published_at is None


def test_a_solution_that_never_answered_stays_sealed(world: World, holdout: Holdout) -> None:
    holdout.pk, holdout.version, holdout.retired_at = None, 7, timezone.now()
    holdout.save()
    publish_now(world.digits)
    assert list(Holdout.objects.filter(published_at__isnull=False).values_list("version")) == [(1,)]


def test_what_is_public_can_not_be_played_again(world: World) -> None:
    end(world.digits)
    publish_now(world.digits)
    with pytest.raises(Refused, match="true labels are public"):
        organize.return_to_draft(world.digits)


@pytest.mark.parametrize(
    "path", ["/c/digits/publications/1.zip", "/api/v1/competitions/digits/publications/1/"]
)
def test_everyone_can_download_what_was_published_and_nobody_before(
    world: World, holdout: Holdout, client: Client, path: str
) -> None:
    assert client.get(path).status_code == 404
    publish.publish(world.round)
    assert client.get(path).status_code == 404
    publish_now(world.digits)
    response: Any = client.get(path)
    assert response.status_code == 200
    content = b"".join(response.streaming_content)
    holdout.refresh_from_db()
    assert content == holdout.publication.open("rb").read()
    assert 'filename="digits-publication-1.zip"' in response["Content-Disposition"]


def test_the_api_lists_publications_with_their_checksum(
    world: World, holdout: Holdout, client: Client
) -> None:
    listed = "/api/v1/competitions/digits/publications/"
    assert client.get(listed).json()["results"] == []
    publish_now(world.digits)
    (found,) = client.get(listed).json()["results"]
    response: Any = client.get(f"{listed}1/")
    assert response["ETag"] == f'"{found["sha256"]}"'
    assert found["size"] == len(b"".join(response.streaming_content))


def test_the_ledger_page_links_to_it(world: World, holdout: Holdout, client: Client) -> None:
    page = "/c/digits/ledger/"
    assert b"publications/1.zip" not in client.get(page).content
    publish_now(world.digits)
    assert b"/c/digits/publications/1.zip" in client.get(page).content
