"""What was done after a backup comes back, or is told as lost: log and database agree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.ledger import rewinds, settling
from leaderboard.ledger.recovery import recover
from leaderboard.log import heads
from leaderboard.models import (
    Competition,
    Gate,
    LogEntry,
    Loss,
    Selection,
    Status,
    Submission,
    Team,
)
from leaderboard.operate.log_verification import verify_log
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize import revisions
from leaderboard.organize.gates import retire_gate
from leaderboard.organize.sanctions import lift_from_team, sanction_submission, sanction_team
from leaderboard.organize.settings import change_settings
from leaderboard.organize.teams import add_quota, change_team
from leaderboard.participate import membership, selection
from leaderboard.tasks import score_submission
from scoring.chain import canonical
from scoring.transparency.history import History
from scoring.transparency.ledgers import LedgerCheck
from scoring.verification.differences import Differs
from scoring.verification.run import verify
from tests.cast import World, ledger_of, make_competition, make_user, set_round, solution, upload
from tests.leaderboard.test_gates import gated, make, wrong
from tests.leaderboard.test_recovery import directory, lose
from tests.leaderboard.test_rounds_and_boards import further_round

__all__ = ["directory", "gated"]

NAMES = ("alice", "bob", "carol", "dave")


@pytest.fixture
def stage(world: World, gated: Competition) -> World:
    """Four teams with an answer each, one of them hidden, and a gate."""
    world.digits = gated
    for wrongs, name in enumerate(NAMES, start=30):
        user = getattr(world, name, None) or make_user(name)
        world.score(world.join(user, name, gated), wrong(wrongs))
    sanction_team(team("dave"), "hidden", "It may have copied.", by=world.organizer)
    make(gated, world)
    return world


def team(name: str) -> Team:
    return Team.objects.get(captain__username=name)


def act(world: World) -> None:
    """Do all that needs no answer of the ledger."""
    by = world.organizer
    retire_gate(Gate.objects.get(name="ci"), by=by)
    make(world.digits, world, name="later")
    change_settings(world.digits, by, rules="Play fairer.", daily_limit=30)
    set_round(world.digits, closes_at=timezone.now() + timedelta(days=3))
    membership.rename_team(team=team("alice"), user=world.alice, name="Aces")
    sanction_submission(team("bob").submissions.get(), "It copied.", by=by)
    sanction_team(team("bob"), "disqualified", "It copied.", by=by)
    lift_from_team(team("dave"), by=by)
    change_team(team("dave"), by, is_baseline=True, is_verified=True)
    add_quota(team("dave"), daily=2, total=0, by=by)


def answer(world: World) -> None:
    """Do what answers and notes of the ledger come of, and enter a file that was merged."""
    alice, by = team("alice"), world.organizer
    world.score(alice, wrong(20))
    membership.merge(team=team("carol"), into=alice, by=by)
    world.score(alice, wrong(10))
    world.score(alice, wrong(15), gate="ci")
    selection.select(team=alice, user=world.alice, numbers=[3])
    organize.add_budget(world.board, 2, by=by)


def check(world: World) -> History:
    """Verify ledger and log as the server does and as everybody can."""
    for each in Submission.objects.filter(status=Status.QUEUED):
        score_submission(submission_id=each.pk)
    heads.sign(world.digits)
    verify_log(world.digits)
    assert verify_ledger(ledger_of(world.digits)).report.difference is None
    history = read(world.digits)
    observer = LedgerCheck(history, "9999-01-01T00:00:00+00:00")
    lines = b"".join(queries.ledger_lines(ledger_of(world.digits))).splitlines(keepends=True)
    assert verify(lines, observer=observer).difference is None
    observer.check_end()
    return history


def read(competition: Competition) -> History:
    entries = LogEntry.objects.filter(competition=competition).order_by("index")
    return History.of(map(canonical, entries.values_list("document", flat=True)))


def told(history: History) -> set[str]:
    return {entry["kind"] for entry in history.lost}


OF_ORGANIZERS = {"gate", "rules", "excluded", "disqualified", "hidden", "baseline"}


def test_what_organizers_did_is_told_as_lost_and_can_be_done_again(stage: World) -> None:
    lose(stage, lambda: act(stage))
    assert recover(stage.digits)
    history = check(stage)
    assert told(history) == OF_ORGANIZERS
    assert not history.is_on("disqualified", team("bob").uid)
    assert history.is_on("hidden", team("dave").uid)
    assert team("alice").name == "Aces"
    assert team("dave").is_verified
    assert set(Loss.objects.values_list("action", flat=True)) == OF_ORGANIZERS
    act(stage)
    assert check(stage).is_on("disqualified", team("bob").uid)


@pytest.mark.parametrize(
    ("repair", "lost"),
    [(rewinds.replay, OF_ORGANIZERS), (rewinds.give_up, OF_ORGANIZERS | {"top_up"})],
)
def test_mergers_and_what_was_entered_come_back_however_the_ledger_is_repaired(
    stage: World, repair: Callable[..., Any], lost: set[str]
) -> None:
    def play() -> None:
        answer(stage)
        act(stage)

    lose(stage, play)
    recover(stage.digits)
    assert not read(stage.digits).lost
    repair(stage.round)
    history = check(stage)
    assert told(history) == lost
    assert team("carol").merged_into == team("alice")
    entered = Selection.objects.get()
    assert (entered.team, entered.submission.number) == (team("alice"), 3)
    assert entered.submission.user.username == "carol"
    assert ("top_up" in lost) == Loss.objects.filter(action="top_up").exists()
    assert not Loss.objects.filter(kind="selection").exists()
    recover(stage.digits)
    rewinds.give_up(stage.round)
    assert read(stage.digits).size == history.size
    # Nobody undoes it unseen.
    Team.objects.update(merged_into=None)
    with pytest.raises(Differs, match="merged"):
        verify_log(stage.digits)


def test_a_log_tells_of_no_team_of_another_competition(stage: World) -> None:
    other = make_competition("other", stage.organizer)
    foreign = {"kind": "top_up", "team": team("alice").uid}
    entries = [
        LogEntry(index=0, kind="top_up", document=foreign),
        LogEntry(index=1, kind="noted", document={"hash": "0" * 64}),
    ]
    assert len(list(settling._lost_budgets(other, entries))) == 1
    assert Loss.objects.get().team is None


def test_a_merger_of_teams_without_files_comes_back(stage: World) -> None:
    late = stage.join(make_user("late"), "late", stage.digits)
    lose(
        stage,
        lambda: membership.merge(team=late, into=team("alice"), by=stage.organizer),
    )
    recover(stage.digits)
    assert not told(check(stage))
    assert team("late").merged_into == team("alice")


def test_mergers_of_merged_teams_come_back_in_their_order(stage: World) -> None:
    def play() -> None:
        for name, into in (("carol", "alice"), ("alice", "bob")):
            membership.merge(team=team(name), into=team(into), by=stage.organizer)
        selection.select(team=team("bob"), user=stage.bob, numbers=[3])

    lose(stage, play)
    recover(stage.digits)
    rewinds.give_up(stage.round)
    assert not told(check(stage))
    assert set(Team.objects.filter(merged_into=team("bob"))) == {team("alice"), team("carol")}
    assert Selection.objects.get().submission.user.username == "carol"


def test_a_revision_that_is_written_off_is_made_again(stage: World) -> None:
    def revise() -> None:
        revised = solution(400, 100).replace(b"r399,3,", b"r399,0,")
        revisions.revise_solution(
            stage.round,
            upload(revised, "s.csv"),
            reason="Wrong.",
            rescore="all",
            by=stage.organizer,
        )

    lose(stage, revise)
    recover(stage.digits)
    rewinds.give_up(stage.round)
    assert not told(check(stage))
    revise()
    check(stage)


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_file_that_is_gone_is_told_as_failed(stage: World, is_answered: bool) -> None:
    def play() -> Submission:
        content = wrong(71 + is_answered)  # bytes that no other test has stored
        send = stage.score if is_answered else stage.submit
        return send(team("alice"), content)

    default_storage.delete(lose(stage, play).file)
    recover(stage.digits)
    rewinds.give_up(stage.round)
    history = check(stage)
    assert history.latest["failed"].keys() == {(team("alice").uid, 2)}
    assert not told(history)


def test_what_was_sent_to_a_lost_round_is_told_as_lost_and_sent_again(stage: World) -> None:
    def play() -> None:
        further_round(stage)
        stage.digits.refresh_from_db()
        stage.submit(team("alice"), wrong(50))

    lose(stage, play)
    recover(stage.digits)
    rewinds.give_up(stage.round)
    assert told(check(stage)) == {"accepted"}
    play()
    check(stage)


def test_what_the_log_had_not_copied_is_told_as_restored(stage: World) -> None:
    lose(stage, lambda: answer(stage), journal=False)
    recover(stage.digits)
    rewinds.replay(stage.round)
    history = check(stage)
    assert team("carol").merged_into == team("alice")
    assert history.latest["gated"].keys() == {(team("alice").uid, 5)}
