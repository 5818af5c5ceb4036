"""Teams and submissions that boards and finals leave out, and what stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger import levels
from leaderboard.models import (
    Audience,
    Competition,
    Event,
    EventKind,
    FinalScore,
    Ledger,
    LevelCount,
    Release,
    Round,
    Standing,
    Submission,
    Team,
    User,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize import sanctions, teams
from leaderboard.organize.revisions import revise_solution
from leaderboard.participate import membership, quotas, selection
from leaderboard.pipeline import finalize
from leaderboard.pipeline.final_tests import compare_entries
from leaderboard.queries import people
from leaderboard.tasks import place_finals, score_final, score_submission
from tests import ending
from tests.cast import World, ledger_of, make_user, predictions, set_round, solution, upload

NOBODY = AnonymousUser()


@pytest.fixture
def carol(world: World) -> User:
    return make_user("carol")


@pytest.fixture
def three(world: World, carol: User) -> tuple[Team, Team, Team]:
    """Three teams with scores, the best first."""
    made = [world.join(user) for user in (world.alice, world.bob, carol)]
    for team, wrong in zip(made, (12, 18, 24), strict=True):
        world.score(team, predictions(range(10, wrong)))
    return made[0], made[1], made[2]


def ranks(world: World, user: User | AnonymousUser = NOBODY) -> list[tuple[int | None, str]]:
    """Return what the board shows, whole and by pages alike."""
    whole = [(row.rank, row.team) for row in queries.whole_board(world.board, user)]
    paged = [(row.rank, row.team) for row in queries.board(world.board, user).rows]
    assert paged == whole
    return whole


def check(world: World) -> None:
    """Compare the database with its ledger, and the counts of levels with the rows."""
    assert verify_ledger(ledger_of(world.digits)).report.difference is None
    counts = list(LevelCount.objects.values_list("board", "loss", "since", "teams"))
    for board in world.round.boards.all():
        levels.recount(board.pk)
    assert list(LevelCount.objects.values_list("board", "loss", "since", "teams")) == counts


def disqualify(world: World, team: Team) -> None:
    sanctions.sanction_team(team, "disqualified", "It used the labels.", by=world.organizer)


def finals(competition: Competition) -> list[tuple[int | None, str]]:
    """Return the final places as they are stored."""
    placed = FinalScore.objects.filter(board__round__competition=competition, place__isnull=False)
    return list(placed.order_by("position").values_list("place", "team__name"))


@pytest.mark.parametrize("kind", ["disqualified", "hidden"])
def test_a_team_that_is_left_out_has_no_place_and_others_close_up(
    world: World, three: tuple[Team, Team, Team], kind: str
) -> None:
    entries = list(Release.objects.order_by("number").values())
    sanctions.sanction_team(three[0], kind, "Two accounts.", by=world.organizer)
    assert ranks(world) == [(1, "team bob"), (2, "team carol")]
    assert queries.board(world.board, world.alice).my_row is None
    assert queries.board(world.board, NOBODY, search="alice").rows == ()
    assert {step.team for step in queries.leading_steps(world.board, NOBODY)} == {
        "team bob",
        "team carol",
    }
    assert list(Release.objects.order_by("number").values()) == entries
    check(world)


def test_what_is_lifted_counts_as_before(world: World, three: tuple[Team, Team, Team]) -> None:
    before = ranks(world), list(Standing.objects.order_by("pk").values())
    disqualify(world, three[1])
    sanctions.lift_from_team(three[1], by=world.organizer)
    assert (ranks(world), list(Standing.objects.order_by("pk").values())) == before
    check(world)


def test_everybody_reads_why_a_team_is_disqualified_and_nobody_of_a_hidden_one(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    disqualify(world, three[0])
    sanctions.sanction_team(three[1], "hidden", "A rude name.", by=world.organizer)
    shown = people.disqualified(world.round, NOBODY)
    assert [(each.team, each.reason) for each in shown] == [(three[0], "It used the labels.")]
    names = [team.name for team in queries.team_rows(world.digits, NOBODY)[0]]
    assert names == ["team alice", "team carol"]
    assert len(queries.team_rows(world.digits, world.organizer)[0]) == 3
    assert queries.competition_head(world.digits, NOBODY).teams == 2


def test_a_board_that_is_hidden_until_the_end_names_no_disqualified_team(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    set_round(world.digits, is_hidden=True)
    disqualify(world, three[0])
    assert people.disqualified(world.round, world.bob) == []
    told = Event.objects.get(kind=EventKind.DISQUALIFIED)
    assert told.audience == Audience.TEAM


def test_sanctions_are_told_with_their_reasons(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    disqualify(world, three[0])
    sanctions.sanction_team(three[1], "hidden", "A test.", by=world.organizer)
    entry = three[2].submissions.get()
    sanctions.sanction_submission(entry, "A test.", by=world.organizer)
    sanctions.lift_from_team(three[0], by=world.organizer)
    told = Event.objects.exclude(kind__in=("team_created", "submission_accepted"))
    told = told.filter(actor=world.organizer).order_by("number")
    assert [(each.kind, each.audience) for each in told][-4:] == [
        ("disqualified", "public"),
        ("team_hidden", "team"),
        ("submission_excluded", "team"),
        ("disqualified", "public"),
    ]
    last = list(told)[-4:]
    assert last[0].data == {"reason": "It used the labels."}
    assert last[2].subjects == {"team": three[2].uid, "submission": 1, "round": 1}
    assert last[3].data == {"lifted": True}


def test_a_disqualified_team_is_told_so_when_it_submits(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    disqualify(world, three[0])
    with pytest.raises(Refused, match="It used the labels") as refused:
        world.submit(three[0], predictions([9]))
    assert refused.value.code == "disqualified"
    sanctions.sanction_team(three[1], "hidden", "A rude name.", by=world.organizer)
    world.score(three[1], predictions([9, 10]))
    assert ranks(world) == [(1, "team carol")]
    check(world)


def test_what_was_accepted_before_is_answered_and_stays_off_the_board(world: World) -> None:
    team = world.join(world.alice)
    waiting = world.submit(team, predictions(range(10, 14)))
    disqualify(world, team)
    score_submission(submission_id=waiting.pk)
    assert Release.objects.get().submission == waiting
    assert ranks(world) == []
    check(world)


# --- Submissions ----------------------------------------------------------------------------------


def test_a_team_stands_by_its_other_answers_without_a_submission(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    best = world.score(three[2], predictions([]))
    assert ranks(world)[0] == (1, "team carol")
    sanctions.sanction_submission(best, "Hand labels.", by=world.organizer)
    assert ranks(world) == [(1, "team alice"), (2, "team bob"), (3, "team carol")]
    row = queries.board_row(world.board, three[2].captain)
    assert row is not None
    assert row.entries == 2
    check(world)
    world.score(three[2], predictions(range(10, 13)))  # behind what it was told: no new answer
    assert ranks(world)[2] == (3, "team carol")
    check(world)
    sanctions.lift_from_submission(best, by=world.organizer)
    assert ranks(world)[0] == (1, "team carol")
    check(world)


def test_a_team_without_another_answer_stands_without_a_score(world: World) -> None:
    team = world.join(world.alice)
    only = world.score(team)
    sanctions.sanction_submission(only, "Hand labels.", by=world.organizer)
    assert [row.score for row in queries.whole_board(world.board, NOBODY)] == [None]
    check(world)


def test_a_revision_keeps_what_was_left_out(world: World, three: tuple[Team, Team, Team]) -> None:
    best = world.score(three[2], predictions([]))
    sanctions.sanction_submission(best, "Hand labels.", by=world.organizer)
    file = upload(solution().replace(b"r39,3", b"r39,2"), "solution.csv")
    revise_solution(world.round, file, by=world.organizer, reason="A label.", rescore="all")
    for submission in _all_queued():
        score_submission(submission_id=submission)
    assert [name for _, name in ranks(world)] == ["team alice", "team bob", "team carol"]
    check(world)


def _all_queued() -> Iterable[int]:
    queued = Submission.objects.filter(status="queued").order_by("created_at", "pk")
    return list(queued.values_list("pk", flat=True))


def test_what_is_left_out_can_not_be_selected(world: World, three: tuple[Team, Team, Team]) -> None:
    better = world.score(three[0], predictions([10]))
    selection.enter(team=three[0], user=world.alice, number=better.number)
    sanctions.sanction_submission(better, "Hand labels.", by=world.organizer)
    choice = queries.choice(three[0])
    assert (choice.numbers, choice.stand_in) == ((), 1)
    with pytest.raises(Refused) as refused:
        selection.enter(team=three[0], user=world.alice, number=better.number)
    assert refused.value.code == "not_released"


# --- The finals -----------------------------------------------------------------------------------


def test_the_finals_leave_out_teams_and_submissions(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    better = world.score(three[1], predictions([10]))
    sanctions.sanction_submission(better, "Hand labels.", by=world.organizer)
    disqualify(world, three[0])
    ending.reveal(world.digits)
    assert finals(world.digits) == [(1, "team bob"), (2, "team carol")]
    before = FinalScore.objects.filter(team=three[1], place=1).get()
    assert (before.submission.number, before.released_place) == (1, 1)
    check(world)


def test_final_places_are_found_anew_until_they_are_revealed(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    ending.score(world.digits)
    assert finals(world.digits)[0] == (1, "team alice")
    disqualify(world, three[0])
    world.digits.refresh_from_db()
    assert world.round.finals_scored_at is None
    with pytest.raises(Refused):
        finalize.reveal(world.round, by=world.organizer)
    ending.measure(world.digits)
    assert finals(world.digits) == [(1, "team bob"), (2, "team carol")]
    check(world)
    sanctions.lift_from_team(three[0], by=world.organizer)
    ending.measure(world.digits)
    finalize.reveal(world.round, by=world.organizer)
    assert [name for _, name in finals(world.digits)] == ["team alice", "team bob", "team carol"]
    check(world)


def test_places_of_an_earlier_round_are_found_anew_as_well(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    ending.score(world.digits)
    first = world.round
    now = timezone.now()
    later = organize.add_round(
        world.digits,
        by=world.organizer,
        opens_at=now - timedelta(seconds=30),
        closes_at=now + timedelta(days=7),
    )
    Round.objects.filter(pk=later.pk).update(ledger=Ledger.objects.create(competition=world.digits))
    disqualify(world, three[0])
    for submission in selection.entered(first):
        score_final(submission_id=submission.pk)
    place_finals(round_id=first.pk)
    assert finals(world.digits) == [(1, "team bob"), (2, "team carol")]


def test_another_submission_stands_in_for_one_that_is_left_out_after_the_end(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    better = world.score(three[1], predictions([10]))
    ending.score(world.digits)
    sanctions.sanction_submission(better, "Hand labels.", by=world.organizer)
    ending.measure(world.digits)
    counted = FinalScore.objects.get(team=three[1])
    assert counted.submission.number == 1
    assert finals(world.digits)[0] == (1, "team alice")
    check(world)


def test_places_of_a_worker_that_was_overtaken_are_not_stored(
    world: World, three: tuple[Team, Team, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    ending.start(world.digits)
    real, name = compare_entries, "leaderboard.pipeline.finalize.compare_entries"

    def compare(*given: object, **options: object) -> object:
        found = real(*given, **options)  # type: ignore[arg-type]  # as it is called
        monkeypatch.setattr(name, real)
        disqualify(world, three[0])
        return found

    monkeypatch.setattr(name, compare)
    ending.measure(world.digits)
    assert world.round.finals_scored_at is None
    place_finals(round_id=world.round.pk)
    assert finals(world.digits) == [(1, "team bob"), (2, "team carol")]


def test_nothing_changes_once_the_final_board_is_revealed(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    disqualify(world, three[2])
    ending.reveal(world.digits)
    before = finals(world.digits)
    acts: tuple[Callable[[], None], ...] = (
        lambda: disqualify(world, three[0]),
        lambda: sanctions.lift_from_team(three[2], by=world.organizer),
    )
    for act in acts:
        with pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == "final_board_revealed"
    assert finals(world.digits) == before
    assert people.sanction_of(three[0]) is None
    check(world)


def test_the_finals_keep_somebody_to_count(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    ending.score(world.digits)
    with pytest.raises(Refused) as refused:
        disqualify(world, team)
    assert refused.value.code == "nothing_to_score"
    assert finals(world.digits) == [(1, "team alice")]


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "reason", "field"),
    [("hidden", " ", "reason"), ("hidden", "x" * 501, "reason"), ("banned", "Why.", "kind")],
)
def test_a_sanction_needs_a_kind_and_a_reason(
    world: World, kind: str, reason: str, field: str
) -> None:
    team = world.join(world.alice)
    with pytest.raises(Refused) as refused:
        sanctions.sanction_team(team, kind, reason, by=world.organizer)
    assert set(refused.value.fields) == {field}
    assert people.sanction_of(team) is None


def test_a_sanction_is_lifted_before_another(world: World) -> None:
    team = world.join(world.alice)
    with pytest.raises(Refused, match="It counts"):
        sanctions.lift_from_team(team, by=world.organizer)
    disqualify(world, team)
    with pytest.raises(Refused, match="Lift it first"):
        disqualify(world, team)


def test_a_team_under_a_sanction_is_not_merged(
    world: World, three: tuple[Team, Team, Team]
) -> None:
    disqualify(world, three[0])
    assert people.merge_preview(three[0], three[1]).problem
    with pytest.raises(Refused, match="Lift that first"):
        teams.merge_teams(three[0], three[1], by=world.organizer)


def test_a_merger_is_previewed_as_it_is_done(world: World, three: tuple[Team, Team, Team]) -> None:
    set_round(world.digits, total_limit=10)
    fresh = [Team.objects.get(pk=team.pk) for team in three]
    shown = people.merge_preview(fresh[0], fresh[1])
    teams.merge_teams(fresh[0], fresh[1], by=world.organizer)
    into = Team.objects.get(pk=three[1].pk)
    left = quotas.quota(into, world.round, timezone.now())
    assert (shown.daily_left, shown.total_left) == (left.daily_left, left.total_left)
    assert (shown.members, shown.submissions) == (into.memberships.count(), 1)
    assert shown.problem == ""
    check(world)


# --- Extra submissions ----------------------------------------------------------------------------


def test_extra_submissions_come_on_top_of_the_limits(world: World) -> None:
    set_round(world.digits, daily_limit=1, total_limit=1)
    team = world.join(world.alice)
    world.score(team)
    with pytest.raises(Refused):
        world.submit(team, predictions([9]))
    teams.add_quota(team, daily=2, total=1, by=world.organizer)
    world.score(team, predictions([9]))
    with pytest.raises(Refused) as refused:
        world.submit(team, predictions([10]))
    assert refused.value.code == "total_limit_reached"
    shown = people.team_quota(Team.objects.get(pk=team.pk))
    assert (shown.quota.daily_limit, shown.quota.total_limit) == (3, 2)
    assert (shown.asked, shown.asked_by_team) == (2, 2)
    told = Event.objects.get(kind=EventKind.QUOTA_ADDED)
    assert told.audience == Audience.TEAM
    assert told.data == {
        "extra_daily": 2,
        "extra_total": 1,
        "before": {"extra_daily": 0, "extra_total": 0},
    }


def test_the_declared_questions_of_the_ledger_stand_beside_the_quota(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    ledger = ledger_of(world.digits)
    ledger.question_limit = 500
    ledger.save()
    shown = people.team_quota(Team.objects.get(pk=team.pk))
    assert (shown.asked, shown.limit, shown.by_team) == (1, 500, False)


@pytest.mark.parametrize(("daily", "total"), [(-1, 0), (10_001, 0), (0, 5)])
def test_an_extra_has_its_bounds(world: World, daily: int, total: int) -> None:
    team = world.join(world.alice)
    with pytest.raises(Refused):
        teams.add_quota(team, daily=daily, total=total, by=world.organizer)
    assert not Event.objects.filter(kind=EventKind.QUOTA_ADDED).exists()


def test_who_left_a_team_that_was_disqualified_founds_no_other(world: World) -> None:
    team = world.join(world.alice)
    world.add(world.bob, team)
    world.score(team)
    disqualify(world, team)
    membership.leave(team=team, user=world.bob)
    with pytest.raises(Refused):
        world.join(world.bob, "fresh")
