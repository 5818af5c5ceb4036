"""Release: one question, one answer, written once; the board made of released values only."""

import json

import pytest
from django.db import transaction

from leaderboard import queries
from leaderboard.errors import Refused
from leaderboard.ledger.entries import LostRace, entry_hash, ledger_document, ledger_head
from leaderboard.ledger.heads import save_heads
from leaderboard.models import (
    BoardState,
    Competition,
    Ledger,
    Release,
    Standing,
    Status,
    Submission,
    TeamState,
)
from leaderboard.notify import events
from leaderboard.pipeline.measure import measure
from leaderboard.pipeline.parse import parse
from leaderboard.pipeline.release import release
from leaderboard.tasks import score_submission
from leaderboard.words import summary
from tests import snapshots
from tests.cast import CHECKED_ROWS, World, make_checked, predictions, said


def _again(submission: Submission) -> bool:
    predicted = parse(submission)
    holdout, measured = measure(submission, predicted)
    return release(submission.pk, holdout, predicted.digest, measured)


def test_a_first_score_is_released_on_the_grid(world: World) -> None:
    submission = world.score(world.join(world.alice), predictions(wrong=range(10, 18)))
    assert submission.status == Status.RELEASED
    assert said(submission).kind == "improved"
    assert (said(submission).level, said(submission).steps) == (5, 20)


def test_less_than_a_step_better_releases_nothing_new(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 18)))
    second = world.score(team, predictions(wrong=range(10, 17)))
    assert said(second).kind == "not_improved"
    assert said(second).level == 5


def test_a_repeated_delivery_releases_once(world: World) -> None:
    submission = world.score(world.join(world.alice))
    score_submission(submission_id=submission.pk)
    assert Release.objects.count() == 1
    assert Standing.objects.get().entries == 1


def test_a_worker_that_comes_late_finds_the_release_and_stops(world: World) -> None:
    submission = world.score(world.join(world.alice))
    before = Ledger.objects.values().get()
    assert _again(submission) is False
    assert Ledger.objects.values().get() == before


def test_what_stops_before_the_commit_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = world.submit(world.join(world.alice))
    Submission.objects.update(status=Status.SCORING)
    before = Ledger.objects.values().get()

    def stop(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(events, "record_submission", stop)
        with pytest.raises(KeyboardInterrupt):
            _again(submission)
    assert Ledger.objects.values().get() == before
    assert not Release.objects.exists()
    assert not TeamState.objects.exists()
    assert not Standing.objects.exists()
    assert _again(submission) is True


def test_a_state_that_changed_meanwhile_is_not_overwritten(world: World) -> None:
    world.score(world.join(world.alice))
    row, state = Ledger.objects.get(), BoardState.objects.get()
    Ledger.objects.update(version=row.version + 1)
    head = ledger_head(row, state)
    with pytest.raises(LostRace), transaction.atomic():
        save_heads(row, {world.board.pk: head}, entries=2, head_hash="0" * 64)
    assert Ledger.objects.get().entries == 1


def test_the_same_question_gets_the_stored_answer_and_costs_nothing(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 18)))
    first = world.score(team, predictions(wrong=range(10, 17)))
    asked = Ledger.objects.get().asked
    again = world.score(team, predictions(wrong=range(10, 17)))
    assert said(again).repeat_of == said(first)
    assert said(again).level == said(first).level
    assert Ledger.objects.get().asked == asked


def test_the_ledger_is_a_hash_chain(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(wrong=range(10, 20)))
    world.score(team, predictions(wrong=range(10, 12)))
    first, second = Release.objects.order_by("number")
    assert [first.number, second.number] == [1, 2]
    assert second.previous_hash == first.hash
    assert Ledger.objects.get().head_hash == second.hash
    assert entry_hash(first) == first.hash


def test_a_published_entry_hashes_the_same_after_the_database_returned_it(world: World) -> None:
    world.score(world.join(world.alice))
    assert entry_hash(Release.objects.get()) == Release.objects.get().hash


def test_the_ledger_shows_a_tag_of_the_predictions_that_rivals_can_not_guess(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    first, same, other = (said(world.score(team)) for team in (alice, alice, bob))
    assert first.predictions_tag == same.predictions_tag
    assert first.predictions_digest == other.predictions_digest
    assert first.predictions_tag != other.predictions_tag
    assert first.predictions_digest not in json.dumps(ledger_document(first))


def test_an_entry_holds_the_ledger_after_it(world: World) -> None:
    team = world.join(world.alice)
    for wrong in (range(10, 20), range(10, 20), range(10, 12)):
        entry = said(world.score(team, predictions(wrong=wrong)))
        head = ledger_head(Ledger.objects.get(), BoardState.objects.get())
        for name in ("asked", "answered", "log_alphabets", "firings", "budget_left"):
            if not (name == "asked" and entry.repeat_of):
                assert getattr(entry, name) == getattr(head, name)


def test_ties_keep_the_order_of_who_was_first(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice)
    world.score(bob)
    assert [each.team for each in Standing.objects.order_by("loss", "reached_at")] == [alice, bob]


def test_a_file_that_was_accepted_first_is_first_though_scored_last(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    first, second = world.submit(alice), world.submit(bob)
    for submission in (second, first):
        score_submission(submission_id=submission.pk)
    assert [each.team for each in Standing.objects.order_by("loss", "reached_at")] == [alice, bob]


@pytest.fixture
@snapshots.kept
def corrected(world: World) -> Competition:
    """A competition with Thresholdout in the small world."""
    return make_checked("checked", world.organizer)


def _checked_file(first_wrong: int = CHECKED_ROWS) -> bytes:
    """Right on the Public rows, wrong from `first_wrong` on."""
    return predictions(wrong=range(first_wrong, CHECKED_ROWS), rows=CHECKED_ROWS)


def test_a_confirmed_score_is_the_public_one(world: World, corrected: Competition) -> None:
    submission = world.score(world.join(world.alice, competition=corrected), _checked_file())
    assert said(submission).kind == "confirmed"
    assert said(submission).level == said(submission).reference_level == 0
    assert _words(submission) == "Confirmed: 1.00. Public and hidden rows agree."
    assert said(submission).share_left is None


def test_a_public_score_that_does_not_hold_is_corrected_and_spends_the_share(
    world: World, corrected: Competition
) -> None:
    submission = world.score(world.join(world.alice, competition=corrected), _checked_file(20))
    assert said(submission).kind == "corrected"
    assert said(submission).share_left == 1
    assert (said(submission).level or 0) >= 15
    shown = queries.submission_row(submission).released
    assert shown is not None
    assert _words(submission) == (
        "Your public score of 1.00 did not hold. "
        f"On the hidden rows it is about {shown.score}. 1 correction left for your team."
    )


def test_an_exhausted_team_is_told_so_and_counted(world: World, corrected: Competition) -> None:
    team = world.join(world.alice, competition=corrected)
    for kept in (20, 21):
        world.score(team, _checked_file(kept))
    last = world.score(team, _checked_file(23))
    assert said(last).kind == "exhausted"
    assert Ledger.objects.get(competition=corrected).asked == 3


def test_one_team_s_corrections_are_not_another_s(world: World, corrected: Competition) -> None:
    alice = world.join(world.alice, competition=corrected)
    bob = world.join(world.bob, competition=corrected)
    for kept in (20, 21, 22):
        world.score(alice, _checked_file(kept))
    kinds = [said(world.score(bob, _checked_file(kept))).kind for kept in (20, 21)]
    assert kinds == ["corrected", "exhausted"]
    assert TeamState.objects.get(team=bob).share_left == 0
    assert BoardState.objects.get(ledger__competition=corrected).budget_left == 0


@pytest.fixture
@snapshots.kept
def claimed(world: World) -> Competition:
    """A competition whose board confirms or corrects what teams claim."""
    return make_checked("claimed", world.organizer, reference="claim")


def test_a_claim_that_holds_is_confirmed(world: World, claimed: Competition) -> None:
    team = world.join(world.alice, competition=claimed)
    submission = world.score(team, _checked_file(), claimed=0.9)
    assert said(submission).kind == "confirmed"
    assert said(submission).level == 2
    assert _words(submission) == "Confirmed: 0.90. Your claim and the hidden rows agree."


def test_a_claim_that_does_not_hold_is_corrected(world: World, claimed: Competition) -> None:
    team = world.join(world.alice, competition=claimed)
    submission = world.score(team, _checked_file(20), claimed=0.9)
    assert said(submission).kind == "corrected"
    assert (said(submission).level or 0) >= 15


def test_the_first_claim_for_a_file_stands(world: World, claimed: Competition) -> None:
    team = world.join(world.alice, competition=claimed)
    world.score(team, _checked_file(), claimed=0.9)
    again = world.score(team, _checked_file(), claimed=0.9)
    other = world.score(team, _checked_file(), claimed=0.2)
    assert said(again).repeat_of is not None
    assert said(other).repeat_of is not None
    assert said(other).reference_level == said(again).reference_level


@pytest.mark.parametrize("claim", [None, 1.5, float("nan")])
def test_where_a_claim_is_checked_it_is_asked_for(
    world: World, claimed: Competition, claim: float | None
) -> None:
    team = world.join(world.alice, competition=claimed)
    with pytest.raises(Refused) as refused:
        world.submit(team, _checked_file(), claimed=claim)
    assert "claimed_score" in refused.value.fields


def test_without_a_claim_nothing_is_answered_in_its_place(
    world: World, claimed: Competition
) -> None:
    team = world.join(world.alice, competition=claimed)
    submission = world.submit(team, _checked_file(), claimed=0.9)
    Submission.objects.update(claimed_score=None)
    score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.FAILED
    assert not Release.objects.exists()


def _words(submission: Submission) -> str:
    return summary(queries.submission_row(submission))
