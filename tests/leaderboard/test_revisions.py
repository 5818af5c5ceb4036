"""Revisions: a repaired solution is a new version, the ledger carries on, nothing is doubled."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries, tasks
from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.ledger.entries import LostRace, entry_hash, holdout_facts
from leaderboard.ledger.pauses import pause
from leaderboard.models import (
    BoardState,
    Competition,
    Holdout,
    Ledger,
    LedgerNote,
    Pause,
    Release,
    Rescore,
    Round,
    Selection,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
)
from leaderboard.notify import events
from leaderboard.organize.revisions import revise_solution, to_score_again
from leaderboard.pipeline.measure import RowsMoved, measure
from leaderboard.pipeline.parse import parse
from leaderboard.pipeline.release import release
from leaderboard.tasks import score_submission
from leaderboard.words import summary
from scoring.chain import document_hash
from scoring.errors import SolutionError
from scoring.verification.run import verify
from tests import ending, snapshots
from tests.cast import (
    CHECKED_PUBLIC_ROWS,
    CHECKED_ROWS,
    CLASSES,
    ROWS,
    World,
    ledger_of,
    make_checked,
    predictions,
    said,
    solution,
    truth,
    upload,
)


def repaired(
    relabelled: Iterable[int] = (39,), public: int = 8, rows: int = ROWS
) -> ContentFile[bytes]:
    """The small competition's solution with other labels on some rows."""
    changed = set(relabelled)
    lines = [
        f"r{row},{CLASSES[(row + 1) % 4] if row in changed else truth(row)},"
        f"{'Public' if row < public else 'Private'}"
        for row in range(rows)
    ]
    return upload(("id,label,Usage\n" + "\n".join(lines) + "\n").encode(), "solution.csv")


def revise(world: World, file: ContentFile[bytes] | None = None, **choices: str) -> Holdout:
    return revise_solution(
        world.round,
        file or repaired(),
        by=world.organizer,
        **{"reason": "Row 39 was mislabelled.", "rescore": Rescore.NONE, **choices},
    )


@pytest.fixture
@snapshots.kept
def alice(world: World) -> Team:
    """Alice's team with two released submissions, the second one better."""
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 20)))
    world.score(team, predictions(wrong=range(10, 12)))
    return team


def play(world: World) -> None:
    """Workers score all that waits, as the sweeper would send it."""
    for _ in range(20):
        waiting = Submission.objects.filter(status=Status.QUEUED).order_by("created_at")
        for key in list(waiting.values_list("pk", flat=True)):
            score_submission(submission_id=key)


# --- What may be revised ------------------------------------------------------------------------


def test_what_nobody_was_told_of_is_replaced_and_not_revised(world: World) -> None:
    with pytest.raises(Refused) as refused:
        revise(world)
    assert refused.value.code == "nothing_released"


def test_after_a_release_a_solution_is_revised_and_not_replaced(world: World, alice: Team) -> None:
    with pytest.raises(Refused, match="must not change"):
        organize.install_solution(world.round, repaired(), by=world.organizer)
    assert revise(world).version == 2


def test_a_database_from_before_a_revision_answers_nobody(world: World, alice: Team) -> None:
    before = watermark.read(ledger_of(world.digits).uid)
    revise(world)
    after = ledger_of(world.digits)
    assert before is not None
    assert watermark.read(after.uid) == watermark.Head(after.entries, after.head_hash)
    assert after.entries == before.number + 1


def test_the_end_is_too_late(world: World, alice: Team) -> None:
    Round.objects.update(finals_started_at=timezone.now())
    with pytest.raises(Refused) as refused:
        revise(world)
    assert refused.value.code == "finals_started"


def test_a_rewound_ledger_is_restored_first(world: World, alice: Team) -> None:
    pause(ledger_of(world.digits), Pause.REWOUND, "")
    with pytest.raises(Refused) as refused:
        revise(world)
    assert refused.value.code == "paused"


@pytest.mark.parametrize("reason", ["", " \n", "x" * 501])
def test_a_reason_is_asked_for(world: World, alice: Team, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        revise(world, reason=reason)
    assert "reason" in refused.value.fields


def test_a_wrong_file_changes_nothing(world: World, alice: Team) -> None:
    with pytest.raises(SolutionError):
        revise(world, upload(solution().replace(b"r5,", b"r4,")))
    assert Holdout.objects.count() == 1


# --- The ledger carries on ------------------------------------------------------------------------


def test_a_new_version_has_its_own_seals_and_says_why(world: World, alice: Team) -> None:
    before = Holdout.objects.get()
    after = revise(world)
    before.refresh_from_db()
    assert before.retired_at is not None
    assert before.solution_commitment != after.solution_commitment
    assert before.secret_commitment != after.secret_commitment
    assert after.reason == "Row 39 was mislabelled."


def test_budget_and_questions_stay_spent(world: World, alice: Team) -> None:
    before, board_before = ledger_of(world.digits), BoardState.objects.get()
    revise(world)
    after, board_after = ledger_of(world.digits), BoardState.objects.get()
    # The revision itself is counted as a question with one possible answer.
    assert (after.asked, after.answered) == (before.asked + 1, before.answered + 1)
    assert after.log_alphabets == before.log_alphabets
    assert board_after.firings == board_before.firings + 1
    assert board_after.budget_left == board_before.budget_left
    assert after.watermarked


def test_certificates_do_not_get_narrower(world: World, alice: Team) -> None:
    widest = max(said(each).width for each in Submission.objects.all())
    revise(world)
    assert said(world.score(alice, predictions(wrong=[30]))).width > widest


def test_the_chain_goes_on_over_the_revision(world: World, alice: Team) -> None:
    old = ledger_of(world.digits)
    after = revise(world)
    note = LedgerNote.objects.get()
    entry = said(world.score(alice, predictions(wrong=[30])))
    assert (note.number, entry.number) == (3, 4)
    assert note.document["previous_hash"] == note.previous_hash == old.head_hash
    assert note.hash == document_hash(note.document) == entry.previous_hash
    assert note.document["parameters_hash"] == document_hash(holdout_facts(after))
    assert entry.parameters_hash != said_first().parameters_hash
    assert after.ledger == Holdout.objects.get(version=1).ledger == old


def said_first() -> Release:
    return Release.objects.get(number=1)


def test_shares_stay_spent_and_levels_begin_anew(world: World) -> None:
    checked = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=checked)
    world.score(team, _checked_file(20))
    after = revise_checked(checked, rescore="none")
    carried = TeamState.objects.get(holdout=after)
    assert (carried.best, carried.last, carried.share_left) == (None, None, 1)
    world.score(team, _checked_file(21))
    last = world.score(team, _checked_file(22))
    assert said(last).kind == "exhausted"
    assert BoardState.objects.get(ledger=after.ledger).budget_left == 1


def revise_checked(checked: Competition, **choices: str) -> Holdout:
    file = repaired([99], CHECKED_PUBLIC_ROWS, CHECKED_ROWS)
    return revise_solution(checked.current_round, file, by=None, reason="One label.", **choices)


def _checked_file(first_wrong: int) -> bytes:
    """Right on the Public rows, wrong from `first_wrong` on."""
    return predictions(wrong=range(first_wrong, CHECKED_ROWS), rows=CHECKED_ROWS)


def test_a_revision_can_be_revised(world: World, alice: Team) -> None:
    revise(world)
    third = revise(world, repaired([38]))
    entry = said(world.score(alice, predictions(wrong=[30])))
    assert (third.version, entry.number) == (3, 5)
    assert entry.previous_hash == LedgerNote.objects.get(number=4).hash


# --- Rows that were shown stay out ----------------------------------------------------------------


def test_a_public_row_that_becomes_private_stops_the_version_until_it_is_revised(
    world: World, alice: Team
) -> None:
    revise(world, repaired(public=7))
    waiting = world.score(alice, predictions(wrong=[30]))
    state = ledger_of(world.digits)
    assert waiting.status == Status.QUEUED
    assert state.paused_for == Pause.MOVED_ROWS
    assert "1 rows" in state.paused_because
    revise(world, repaired(public=8))
    score_submission(submission_id=waiting.pk)
    waiting.refresh_from_db()
    assert said(waiting).holdout.version == 3


def test_rows_that_another_revision_put_back_pause_nothing(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = revise(world, repaired(public=7))
    waiting = world.submit(alice, predictions(wrong=[30]))

    def overtaken(holdout: Holdout) -> None:
        revise(world, repaired(public=8))
        raise RowsMoved(holdout, "1 row is held back anew.")

    monkeypatch.setattr("leaderboard.pipeline.measure.check_fits", overtaken)
    score_submission(submission_id=waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, ledger_of(world.digits).paused_for) == (Status.QUEUED, "")
    moved.refresh_from_db()
    assert moved.retired_at is not None


def usages(*others: str) -> ContentFile[bytes]:
    """The small competition's solution; the rows from 36 on are of these sets."""
    sets = ["Public"] * 8 + ["Private"] * (ROWS - 8 - len(others)) + list(others)
    lines = [f"r{row},{truth(row)},{usage}" for row, usage in enumerate(sets)]
    return upload(("id,label,Usage\n" + "\n".join(lines) + "\n").encode(), "solution.csv")


def test_rows_that_answered_do_not_become_final(world: World, alice: Team) -> None:
    revise(world, usages("Final", "Final"))
    assert world.score(alice, predictions(wrong=[30])).status == Status.QUEUED
    state = ledger_of(world.digits)
    assert state.paused_for == Pause.MOVED_ROWS
    assert "2 rows" in state.paused_because


def test_a_revision_is_checked_although_nothing_is_scored_on_it(world: World, alice: Team) -> None:
    revise(world, repaired(public=7))
    tasks.sweep()
    assert ledger_of(world.digits).paused_for == Pause.MOVED_ROWS
    with pytest.raises(Refused) as refused:
        ending.start(world.digits)
    assert refused.value.code == "paused"


def test_the_finals_wait_until_a_revision_is_checked(world: World, alice: Team) -> None:
    after = revise(world)
    with pytest.raises(Refused) as refused:
        ending.start(world.digits)
    assert refused.value.code == "revision_unchecked"
    tasks.sweep()
    after.refresh_from_db()
    assert after.fits_at is not None
    ending.start(world.digits)


def test_a_check_that_fails_holds_up_nothing_else(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = revise(world)

    def broken(*versions: Holdout) -> int:
        raise FileNotFoundError

    monkeypatch.setattr("leaderboard.vault.count_moved", broken)
    tasks.sweep()
    after.refresh_from_db()
    assert (after.fits_at, ledger_of(world.digits).paused_for) == (None, "")


def test_private_rows_may_become_public(world: World, alice: Team) -> None:
    after = revise(world, repaired(public=12))
    assert world.score(alice).status == Status.RELEASED
    after.refresh_from_db()
    assert after.fits_at is not None


# --- Releases under way ---------------------------------------------------------------------------


def test_what_was_measured_on_the_old_version_is_measured_again(world: World, alice: Team) -> None:
    submission = world.submit(alice, predictions(wrong=[30]))
    Submission.objects.filter(pk=submission.pk).update(status=Status.SCORING)
    submission.refresh_from_db()
    predicted = parse(submission)
    holdout, measured = measure(submission, predicted)
    revise(world)
    with pytest.raises(LostRace):
        release(submission.pk, holdout, predicted.digest, measured)
    assert Release.objects.count() == 2
    assert ledger_of(world.digits).entries == 3


def test_a_task_that_loses_the_race_scores_on_the_new_version(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def revised_meanwhile(*arguments: object) -> tuple[Holdout, object]:
        monkeypatch.setattr(tasks, "measure", measure)
        found = measure(*arguments)  # type: ignore[arg-type]  # what it was called with
        revise(world)
        return found

    monkeypatch.setattr(tasks, "measure", revised_meanwhile)
    monkeypatch.setattr(tasks, "enqueue", lambda pk: score_submission(submission_id=pk))
    submission = world.score(alice, predictions(wrong=[30]))
    assert said(submission).holdout.version == 2


# --- Scoring again --------------------------------------------------------------------------------


def waiting_again() -> int:
    """Count the submissions that are still to be scored again."""
    return Submission.objects.filter(status=Status.QUEUED, release__isnull=False).count()


def test_nothing_is_scored_again_unless_asked(world: World, alice: Team) -> None:
    revise(world, rescore="none")
    assert waiting_again() == 0


def test_all_are_scored_again_once(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    assert waiting_again() == 2
    play(world)
    play(world)
    assert Release.objects.filter(holdout__version=2).count() == 2
    assert waiting_again() == 0
    assert {said(each).holdout.version for each in Submission.objects.all()} == {2}


def test_the_best_and_the_chosen_are_scored_again(world: World, alice: Team) -> None:
    first, second = Submission.objects.order_by("number")
    chosen = world.score(alice, predictions(wrong=range(10, 30)))
    unchosen = world.score(alice, predictions(wrong=range(10, 31)))
    Selection.objects.create(team=alice, submission=chosen)
    assert list(to_score_again(world.round, "best")) == [second, chosen]
    revise(world, rescore="best")
    play(world)
    versions = {
        each.pk: said(each).holdout.version for each in Submission.objects.order_by("number")
    }
    assert versions == {first.pk: 1, second.pk: 2, chosen.pk: 2, unchosen.pk: 1}


def test_a_submission_keeps_its_old_answer_until_the_new_one_is_there(
    world: World, alice: Team
) -> None:
    old = {each.pk: said(each) for each in Submission.objects.all()}
    revise(world, rescore="all")
    for each in Submission.objects.all():
        assert (each.status, said(each)) == (Status.QUEUED, old[each.pk])


def test_the_old_entries_stay_under_their_version(world: World, alice: Team) -> None:
    before = list(Release.objects.values())
    revise(world, rescore="all")
    play(world)
    assert list(Release.objects.filter(holdout__version=1).values()) == before


def test_scoring_again_costs_no_quota(world: World, alice: Team) -> None:
    Round.objects.update(daily_limit=3)
    revise(world, rescore="all")
    play(world)
    world.score(alice, predictions([30]))
    with pytest.raises(Refused):
        world.submit(alice, predictions([31]))


def test_scoring_again_asks_and_is_counted(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    play(world)
    assert ledger_of(world.digits).asked == 2 + 1 + 2


def test_a_team_s_files_are_answered_in_their_order(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    first, second = Submission.objects.order_by("number")
    third = world.submit(alice, predictions(wrong=[30]))
    for submission in (third, second):
        score_submission(submission_id=submission.pk)
    assert not Release.objects.filter(holdout__version=2).exists()
    for submission in (first, second, third):
        score_submission(submission_id=submission.pk)
    answered = Release.objects.filter(holdout__version=2).order_by("number")
    assert [each.submission for each in answered] == [first, second, third]


def test_the_end_of_one_asks_for_the_next(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    revise(world, rescore="all")
    first, second = Submission.objects.order_by("number")
    monkeypatch.setattr(
        "leaderboard.pipeline.queue.enqueue", lambda pk: score_submission(submission_id=pk)
    )
    score_submission(submission_id=first.pk)
    second.refresh_from_db()
    assert said(second).holdout.version == 2


def test_one_that_fails_keeps_nobody_waiting(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    revise(world, rescore="all")
    first, second = Submission.objects.order_by("number")

    def broken(*arguments: object) -> None:
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "measure", broken)
        score_submission(submission_id=first.pk)
    score_submission(submission_id=second.pk)
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.status == Status.FAILED
    assert said(second).holdout.version == 2


def test_the_sweeper_sends_the_first_of_each_team_only(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    def ask(submission_id: int) -> bool:
        sent.append(submission_id)
        return True

    monkeypatch.setattr(tasks, "enqueue", ask)
    revise(world, rescore="all")
    tasks.sweep()
    assert sent == [Submission.objects.get(number=1).pk]


# --- The board ------------------------------------------------------------------------------------


def test_a_row_stays_until_the_new_answer_takes_its_place(world: World, alice: Team) -> None:
    revise(world, repaired(range(30, 40)), rescore="best")
    standing = Standing.objects.get()
    assert standing.best is not None
    assert (standing.best.holdout.version, standing.loss) == (1, 0.05)
    play(world)
    standing = Standing.objects.get()
    assert standing.best is not None
    # Twelve of 32 rows are wrong now: worse than before, and the board says so.
    assert (standing.best.holdout.version, standing.loss) == (2, 0.4)


def test_scoring_again_adds_no_entries(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    play(world)
    assert Standing.objects.get().entries == 2


def test_a_crash_while_the_row_is_replaced_leaves_the_old_one(
    world: World, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    revise(world, rescore="best")
    before = Standing.objects.values().get()
    with monkeypatch.context() as patch:
        patch.setattr(events, "record_submission", _killed)
        with pytest.raises(KeyboardInterrupt):
            play(world)
    assert Standing.objects.values().get() == before


def _killed(*arguments: object, **named: object) -> None:
    raise KeyboardInterrupt


def test_a_team_without_a_share_keeps_its_earlier_score(world: World) -> None:
    checked = make_checked("checked", world.organizer, team_share="1")
    team = world.join(world.alice, competition=checked)
    world.score(team, _checked_file(20))
    revise_checked(checked, rescore="best")
    before = Standing.objects.get()
    play(world)
    after = Standing.objects.get()
    assert after.last.kind == "exhausted"
    assert (after.best, after.loss) == (before.best, before.loss)


# --- The published ledger -------------------------------------------------------------------------


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


def test_a_ledger_with_revisions_is_verified_from_its_file(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    revise(world, repaired([38]), rescore="all")
    play(world)
    report = verify(lines(world.digits))
    assert report.difference is None
    assert (report.versions, report.entries) == ((1, 2, 3), 2 + 1 + 1 + 2)


def test_shares_are_verified_over_a_revision(world: World) -> None:
    checked = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=checked)
    world.score(team, _checked_file(20))
    revise_checked(checked, rescore="all")
    play(world)
    for first_wrong in (21, 22):
        world.score(team, _checked_file(first_wrong))
    assert verify(lines(checked)).difference is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("asked", 2), ("answered", 1), ("firings", 9), ("reason", "Another."), ("version", 7)],
)
def test_a_changed_revision_is_found(world: World, alice: Team, name: str, value: object) -> None:
    revise(world)
    note = LedgerNote.objects.get()
    note.document[name] = value
    note.hash = document_hash(note.document) if name not in ("reason", "version") else note.hash
    note.save()
    Ledger.objects.update(head_hash=note.hash)
    difference = verify(lines(world.digits)).difference
    assert difference is not None
    assert difference.number == 3


def test_a_version_without_its_revision_is_found(world: World, alice: Team) -> None:
    revise(world)
    entry = said(world.score(alice, predictions(wrong=[30])))
    LedgerNote.objects.all().delete()
    Release.objects.filter(pk=entry.pk).update(
        number=3, previous_hash=Release.objects.get(number=2).hash
    )
    entry.refresh_from_db()
    changed = entry_hash(entry)
    Release.objects.filter(pk=entry.pk).update(hash=changed)
    Ledger.objects.update(entries=3, head_hash=changed)
    difference = verify(lines(world.digits)).difference
    assert difference is not None
    assert (difference.number, difference.field) == (3, "kind")


def test_the_ledger_s_pages_show_all_versions_newest_first(world: World, alice: Team) -> None:
    revise(world, rescore="all")
    play(world)
    numbers = [
        (entry["number"], entry["version"])
        for page in (1, 2, 3)
        for entry in queries.ledger(
            world.round, world.alice, page=page, page_rows=1 + page % 2
        ).entries
    ]
    whole = queries.ledger(world.round, world.alice)
    assert [entry["number"] for entry in whole.entries] == [5, 4, 2, 1]
    assert whole.total == 4
    assert numbers[:2] == [(5, 2), (4, 2)]
    assert [note["kind"] for note in whole.notes] == ["revision"]


# --- What people see ------------------------------------------------------------------------------


def test_the_board_says_what_was_revised_and_how_far_it_is(
    world: World, alice: Team, client: Client
) -> None:
    revise(world, rescore="all")
    score_submission(submission_id=Submission.objects.get(number=1).pk)
    found = queries.revision(world.round, world.alice)
    assert found is not None
    assert (found.version, found.reason) == (2, "Row 39 was mislabelled.")
    assert (found.scored, found.of) == (1, 2)
    for name in ("leaderboard", "rules", "ledger"):
        assert "Row 39 was mislabelled." in client.get(f"/c/digits/{name}/").content.decode()


def test_rows_of_the_earlier_solution_are_marked(world: World, alice: Team, client: Client) -> None:
    revise(world, rescore="best")
    (row,) = queries.board(world.board, world.alice).rows
    assert (row.version, row.earlier) == (1, True)
    assert "earlier solution</span>" in client.get("/c/digits/leaderboard/").content.decode()
    play(world)
    (row,) = queries.board(world.board, world.alice).rows
    assert (row.version, row.earlier) == (2, False)


def test_a_submission_says_which_solution_it_was_measured_on(
    world: World, alice: Team, client: Client
) -> None:
    revise(world, rescore="best")
    first, second = (queries.submission_row(each) for each in alice.submissions.order_by("number"))
    assert "has been revised since" in summary(first)
    assert "waits to be scored again" in summary(second)
    client.force_login(world.alice)
    assert "on version 1 of the solution" in client.get("/c/digits/submissions/2/").content.decode()
    play(world)
    last = queries.submission_row(alice.submissions.get(number=2))
    assert last.released is not None
    assert (last.released.version, last.released.earlier) == (2, False)


def test_pages_say_that_a_competition_is_paused(world: World, alice: Team, client: Client) -> None:
    pause(ledger_of(world.digits), Pause.REWOUND, "The watermark knows more.")
    text = client.get("/c/digits/").content.decode()
    assert "the operator is restoring the ledger" in text
    assert "The watermark knows more." not in text
