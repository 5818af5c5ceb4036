"""`manage.py verify`: a server checks its ledger against everything that it knows."""

from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from leaderboard import organize, queries, tasks
from leaderboard.ledger import rewinds, watermark
from leaderboard.ledger.entries import entry_hash
from leaderboard.models import (
    BoardState,
    Competition,
    FinalScore,
    FinalTests,
    Holdout,
    Ledger,
    Loss,
    Release,
    Rescore,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
)
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import finalize, publish
from leaderboard.queries.snapshots import Snapshot
from tests import ending, snapshots
from tests.cast import (
    CHECKED_ROWS,
    World,
    ledger_of,
    make_checked,
    make_competition,
    predictions,
    solution,
    truth,
    upload,
)

FILES = (range(10, 20), range(10, 19), range(10, 19), range(10, 12))


@pytest.fixture(autouse=True)
@snapshots.kept
def played(world: World) -> None:
    """Two teams, with answers of every kind."""
    for user in (world.alice, world.bob):
        team = world.join(user)
        for wrong in FILES:
            world.score(team, predictions(wrong=wrong))


@pytest.fixture
@snapshots.kept
def checked(world: World) -> Competition:
    """A competition with Thresholdout in which a team used up its share."""
    competition = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=competition)
    for first in (CHECKED_ROWS, 20, 21, 22, 22):
        world.score(team, predictions(wrong=range(first, CHECKED_ROWS), rows=CHECKED_ROWS))
    return competition


def verify(slug: str = "digits", **options: Any) -> str:
    out = StringIO()
    call_command("verify", slug, stdout=out, **options)
    return out.getvalue()


def publish_now(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_revealed(ending.score(competition), monkeypatch)


@pytest.mark.parametrize("slug", ["digits", "checked"])
def test_with_the_private_key_every_answer_is_drawn_again(checked: Competition, slug: str) -> None:
    said = verify(slug)
    entries = Release.objects.filter(holdout__ledger__competition__slug=slug).count()
    assert f"{entries} answers were computed again from the vault" in said
    assert "Verified." in said


def test_without_the_private_key_all_but_the_answers_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    said = verify()
    assert "No answer was computed again" in said
    assert "Verified." in said


def test_no_file_is_read_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for submission in Submission.objects.all():
        default_storage.delete(submission.file)
    assert "Verified." in verify(no_files=True)


@pytest.mark.parametrize("slug", ["digits", "checked"])
def test_after_the_publication_every_file_is_measured_again_without_the_vault(
    checked: Competition, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_now(Competition.objects.get(slug=slug), monkeypatch)
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    said = verify(slug)
    entries = Release.objects.filter(holdout__ledger__competition__slug=slug).count()
    assert (
        f"{entries} answers were computed again from what was published, {entries} of them" in said
    )


def test_looking_changes_nothing(world: World) -> None:
    def everything() -> list[Any]:
        models = (Release, Ledger, BoardState, TeamState, Standing, Submission, Holdout)
        return [list(model.objects.order_by("pk").values()) for model in models]

    before = everything()
    verify()
    assert everything() == before


def test_a_draft_can_t_be_verified() -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    with pytest.raises(CommandError, match="A draft has no ledger"):
        verify()
    with pytest.raises(CommandError, match="no competition"):
        verify("nothing")


def tamper(model: Any, **change: Any) -> None:
    """Change the newest row behind the platform's back."""
    row = model.objects.order_by("pk").last()
    model.objects.filter(pk=row.pk).update(**change)


@pytest.mark.parametrize(
    ("model", "change", "named"),
    [
        (Release, {"level": 0}, "Entry 8, hash"),
        (Ledger, {"asked": 100}, "head, asked"),
        (Ledger, {"log_alphabets": 1.0}, "head, log_alphabets"),
        (TeamState, {"best": 0}, r"team [0-9a-f]+ on board [0-9a-f]+: The database has"),
        (Standing, {"loss": 0.0}, r"standing of team [0-9a-f]+"),
        (Standing, {"entries": 1}, r"standing of team [0-9a-f]+"),
    ],
)
def test_what_was_changed_in_the_database_is_named(
    model: Any, change: dict[str, Any], named: str
) -> None:
    tamper(model, **change)
    with pytest.raises(CommandError, match=named):
        verify()


def test_a_rewritten_answer_is_found_by_measuring_its_file_again() -> None:
    """The chain is written anew behind it, so only the file can tell."""
    rewrite(number=8, level=2, kind="improved")
    assert Ledger.objects.get().entries == 8
    with pytest.raises(CommandError, match="Entry 8"):
        verify()


def rewrite(number: int, **change: Any) -> None:
    Release.objects.filter(number=number).update(**change)
    entry = Release.objects.get(number=number)
    entry.hash = entry_hash(entry)
    entry.save()
    Ledger.objects.update(head_hash=entry.hash)


def test_a_file_that_was_exchanged_with_its_hash_is_named() -> None:
    first, other = Submission.objects.filter(number=1)[0], Submission.objects.filter(number=4)[0]
    Submission.objects.filter(pk=first.pk).update(file=other.file, sha256=other.sha256)
    with pytest.raises(CommandError, match="predictions: The stored file is read as other"):
        verify()


def test_a_damaged_file_is_named() -> None:
    Submission.objects.filter(pk=Submission.objects.filter(number=1)[0].pk).update(sha256="0" * 64)
    with pytest.raises(CommandError, match=r"Entry \d, predictions: The stored file is damaged"):
        verify()


def test_after_the_publication_an_exchanged_file_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_now(world.digits, monkeypatch)
    first, other = Submission.objects.filter(number=1)[0], Submission.objects.filter(number=4)[0]
    Submission.objects.filter(pk=first.pk).update(file=other.file, sha256=other.sha256)
    with pytest.raises(CommandError, match="predictions_digest"):
        verify()


def test_after_the_publication_a_damaged_file_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_now(world.digits, monkeypatch)
    Submission.objects.filter(number=1).update(sha256="0" * 64)
    with pytest.raises(CommandError, match="predictions: The stored file is not what was uploaded"):
        verify()


def test_a_watermark_that_knows_more_than_the_database_is_named(world: World) -> None:
    watermark.append(ledger_of(world.digits).uid, watermark.Head(9, "a" * 64))
    with pytest.raises(CommandError, match="watermark: The watermark knows entry 9"):
        verify()


def test_answers_that_come_meanwhile_are_no_difference(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = queries.snapshot

    def read_too_early(ledger: Ledger) -> Snapshot:
        found = read(ledger)
        world.score(Team.objects.filter(competition=world.digits)[0], predictions(wrong=[10]))
        return found

    monkeypatch.setattr(queries, "snapshot", read_too_early)
    assert "8 entries were checked" in verify(no_files=True)


def test_a_watermark_that_knows_another_history_is_named(world: World) -> None:
    watermark.file_of(ledger_of(world.digits).uid).write_text(f"8 {'a' * 64}\n")
    with pytest.raises(CommandError, match="watermark: The watermark knows entry 8"):
        verify()


def test_a_watermark_that_knows_of_an_end_that_the_database_does_not_is_named(
    world: World,
) -> None:
    watermark.end(ledger_of(world.digits).uid)
    with pytest.raises(CommandError, match="the final scores were measured"):
        verify()


def test_a_watermark_that_is_missing_is_named(world: World) -> None:
    watermark.file_of(ledger_of(world.digits).uid).unlink()
    with pytest.raises(CommandError, match="is missing"):
        verify()


@pytest.fixture
@snapshots.kept
def revised(world: World) -> Competition:
    """Repair row 39's label, have all files scored again, and one more scored."""
    file = upload(solution().replace(b"r39,3,", b"r39,0,"), "solution.csv")
    revise_solution(world.round, file, by=world.organizer, reason="Row 39.", rescore=Rescore.ALL)
    while waiting := Submission.objects.filter(status=Status.QUEUED).order_by("created_at").first():
        tasks.score_submission(submission_id=waiting.pk)
    world.score(Team.objects.get(name="team alice"), predictions(wrong=[39]))
    return world.digits


def test_a_revised_solution_is_verified_over_all_versions(revised: Competition) -> None:
    assert "17 answers were computed again from the vault" in verify()


def test_each_revision_is_published_and_verified(
    revised: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_now(revised, monkeypatch)
    assert Holdout.objects.filter(published_at__isnull=False).count() == 2
    assert "17 answers were computed again from what was published, 17 of them" in verify()


def test_a_ledger_that_was_replayed_after_a_restore_is_verified(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the lost submission only its entry is known; it is taken as said."""
    backup = transaction.savepoint()
    world.score(Team.objects.get(name="team bob"), predictions())
    published = b"".join(queries.ledger_lines(ledger_of(world.digits))).splitlines(keepends=True)
    transaction.savepoint_rollback(backup)
    assert rewinds.replay(world.round, published) == 1
    assert "1 answers were taken as said" in verify()
    Loss.objects.update(accepted_at=timezone.now())
    publish_now(world.digits, monkeypatch)
    said = verify()
    assert "8 answers were computed again from what was published, 8 of them" in said
    assert "1 answers were taken as said" in said


# --- The finals -----------------------------------------------------------------------------------


@pytest.fixture
@snapshots.kept
def ended(world: World) -> Competition:
    """A competition with two teams, 60 Private and 100 Final rows, whose final scores are there."""
    usage = ["Public"] * 40 + ["Private"] * 60 + ["Final"] * 100
    lines = [f"r{row},{truth(row)},{usage[row]}" for row in range(200)]
    ended = make_competition("ended", world.organizer, rows=200)
    file = upload("\n".join(["id,label,Usage", *lines, ""]).encode())
    organize.install_solution(ended.current_round, file, by=world.organizer)
    for user, wrong in ((world.alice, 2), (world.bob, 40)):
        team = world.join(user, competition=ended)
        world.score(team, predictions(range(100, 100 + wrong), 200))
    return ending.score(ended)


@pytest.mark.parametrize("by", ["vault", "publication", "nothing"])
def test_the_finals_are_computed_again(
    ended: Competition, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "publication":
        publish_revealed(ended, monkeypatch)
    if by != "vault":
        monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    files = 0 if by == "nothing" else 2
    assert f"{files} entered files were scored and compared again" in verify("ended")


def publish_revealed(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    finalize.reveal(competition.current_round)
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(competition.current_round)
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)


@pytest.mark.parametrize("by", ["vault", "publication", "nothing"])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"units": 39}, r"final score of team [0-9a-f]+ #1, (units|low)"),
        ({"low": 0.1}, "low"),
        ({"high": 0.9}, "high"),
        ({"place": 1}, "place"),
        ({"position": 3}, "position"),
        ({"best_place": 1}, "best_place"),
        ({"worst_place": 3}, "worst_place"),
        ({"released_place": 2}, "released_place"),
        ({"released_loss": 0.2}, "released_loss"),
        ({"chosen": True}, "final entries on board"),
    ],
)
def test_a_changed_final_score_is_named(
    ended: Competition,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
    change: dict[str, Any],
    named: str,
) -> None:
    if by == "publication":
        publish_revealed(ended, monkeypatch)
    if by != "vault":
        monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    tamper(FinalScore, **change)
    with pytest.raises(CommandError, match=named):
        verify("ended")


@pytest.mark.parametrize(
    "change",
    [
        {"better": []},
        {"better": [[0, 1, "1e-300"]]},
        {"hypotheses": 1},
        {"level": "0.05"},
        {"places": [[1, 2], [1, 2]]},
        {"form": "binomial"},
        {"entries": []},
    ],
)
def test_changed_tests_of_the_finals_are_named(ended: Competition, change: dict[str, Any]) -> None:
    found = FinalTests.objects.get()
    tamper(FinalTests, document=found.document | change)
    with pytest.raises(CommandError, match="tests of final entries on board"):
        verify("ended")


def test_deleted_tests_of_the_finals_are_named(ended: Competition) -> None:
    FinalTests.objects.all().delete()
    with pytest.raises(CommandError, match="They are missing"):
        verify("ended")


def test_an_entry_that_was_taken_out_of_the_finals_is_named(ended: Competition) -> None:
    FinalScore.objects.order_by("pk")[0].delete()
    with pytest.raises(CommandError, match="final entries on board"):
        verify("ended")


def test_an_entered_file_that_was_exchanged_is_named(ended: Competition) -> None:
    first, other = Submission.objects.filter(round=ended.current_round).order_by("pk")
    Submission.objects.filter(pk=first.pk).update(file=other.file, sha256=other.sha256)
    with pytest.raises(CommandError, match="read as other predictions"):
        verify("ended")
