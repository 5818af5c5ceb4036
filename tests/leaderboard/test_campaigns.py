"""Campaigns of a team: their limits, what they were told, and what becomes of them."""

from collections.abc import Callable
from typing import Any

import pytest

from leaderboard import queries
from leaderboard.errors import Refused
from leaderboard.models import (
    Audience,
    Campaign,
    Event,
    EventKind,
    Ledger,
    Release,
    Status,
    Submission,
    Team,
)
from leaderboard.participate import campaigns, membership, quotas
from leaderboard.tasks import score_submission
from tests.cast import World, make_competition, predictions

ROWS = 2000


@pytest.fixture
def team(world: World) -> Team:
    return world.join(world.alice)


def begin(team: Team, name: str = "night", limit: int | None = None) -> Campaign:
    return campaigns.begin(team=team, user=team.captain, name=name, limit=limit)


def refusal(act: Callable[[], Any]) -> Refused:
    with pytest.raises(Refused) as refused:
        act()
    return refused.value


def test_a_limit_counts_as_quotas_do(world: World, team: Team) -> None:
    """A rejected file and a repeat take none of it."""
    night = begin(team, limit=2)
    world.score(team, predictions([9]), campaign="night")
    world.score(team, b"id,label\nr0,9\n", campaign="night")
    world.score(team, predictions([9]), campaign="night")
    assert quotas.campaign_left(night) == 1
    world.score(team, predictions([10]), campaign="night")
    refused = refusal(lambda: world.submit(team, predictions([11]), campaign="night"))
    assert refused.code == "campaign_limit_reached"
    assert Submission.objects.count() == 4
    assert world.submit(team, predictions([11])).campaign is None


def test_a_file_taken_for_a_repeat_needs_a_unit_of_its_campaign(world: World, team: Team) -> None:
    """The file before it fails, so this one is answered; the limit is reached by then."""
    begin(team, limit=1)
    first = world.submit(team, predictions([9]))
    again = world.submit(team, predictions([9]), campaign="night")
    world.submit(team, predictions([10]), campaign="night")
    Submission.objects.filter(pk=first.pk).delete()
    score_submission(submission_id=again.pk)
    again.refresh_from_db()
    assert (again.status, again.problems[0]["code"]) == (Status.REJECTED, "no_quota_left")


@pytest.mark.parametrize(
    ("name", "limit", "variant"),
    [
        *((name, None, "campaign_name") for name in ("", "Night", "-x", "a b", "x" * 41, "a/b")),
        *(("x", limit, "amount_of_campaign") for limit in (0, -1, 10**7)),
        ("night", None, "campaign_taken"),
    ],
)
def test_an_odd_name_or_limit_begins_nothing(
    name: str, limit: int | None, variant: str, team: Team
) -> None:
    begin(team)
    assert refusal(lambda: begin(team, name, limit)).facts["variant"] == variant
    assert Campaign.objects.count() == 1


def test_only_members_begin_change_and_end_a_campaign(world: World, team: Team) -> None:
    night, bob = begin(team), world.bob
    acts: list[Callable[[], Any]] = [
        lambda: campaigns.begin(team=team, user=bob, name="other"),
        lambda: campaigns.change_limit(campaign=night, user=bob, limit=3),
        lambda: campaigns.end(campaign=night, user=bob),
    ]
    assert [refusal(act).code for act in acts] == ["not_a_member"] * 3


def test_an_ended_campaign_takes_nothing_and_stays_as_it_is(world: World, team: Team) -> None:
    night = begin(team)
    campaigns.end(campaign=night, user=world.alice)
    for act in (
        lambda: world.submit(team, campaign="night"),
        lambda: campaigns.change_limit(campaign=night, user=world.alice, limit=3),
        lambda: campaigns.end(campaign=night, user=world.alice),
    ):
        assert refusal(act).code == "campaign_ended"
    assert not Submission.objects.exists()


def test_an_unknown_campaign_or_that_of_another_team_is_named_as_the_problem(
    world: World, team: Team
) -> None:
    begin(world.join(world.bob))
    refused = refusal(lambda: world.submit(team, campaign="night"))
    assert refused.errors[0]["field"] == "campaign"
    assert "no campaign called night" in refused.detail


def test_what_happened_to_a_campaign_is_for_its_team(world: World, team: Team) -> None:
    night = begin(team, limit=3)
    campaigns.change_limit(campaign=night, user=world.alice, limit=None)
    campaigns.end(campaign=night, user=world.alice)
    told = Event.objects.filter(kind=EventKind.CAMPAIGN_CHANGED).order_by("number")
    assert {each.audience for each in told} == {Audience.TEAM}
    assert [(each.data["limit"], each.data["ended"]) for each in told] == [
        *((3, False), (None, False)),
        (None, True),
    ]


def test_a_team_that_is_merged_brings_its_campaigns_along(world: World, team: Team) -> None:
    other = world.join(world.bob)
    night, theirs = begin(team), begin(other)
    world.score(other, predictions([9]), campaign="night")
    membership.merge(team=other, into=team, by=world.organizer)
    theirs.refresh_from_db()
    assert (theirs.team, theirs.name) == (team, f"night-{theirs.uid[:8]}")
    assert queries.campaign_row(theirs).exposure.questions == 1
    assert queries.campaign_row(night).exposure.questions == 0


@pytest.fixture
def played(world: World) -> Team:
    """Two campaigns on 2,000 rows, one after the other, and a file of another team."""
    competition = make_competition("large", world.organizer, rows=ROWS, public=400)
    team = world.join(world.alice, competition=competition)
    for name, starts in (("first", (500, 1000)), ("second", (1500, 1200, 1800))):
        begin(team, name)
        for start in starts:
            world.score(team, predictions(range(start, ROWS), ROWS), campaign=name)
    world.score(world.join(world.bob, competition=competition), predictions([450], ROWS))
    return team


def test_exposure_counts_questions_answers_and_nats(played: Team) -> None:
    second, first = (row.exposure for row in queries.campaign_rows(played))
    assert (first.questions, first.informative) == (2, 2)
    assert (second.questions, second.informative) == (3, 2)
    mine = queries.team_exposure(played)
    everybody = queries.competition_exposure(played.competition, played.captain)
    assert everybody is not None
    assert (mine.questions, everybody.questions) == (5, 6)
    assert mine.nats == pytest.approx((first.nats or 0) + (second.nats or 0))
    theirs = queries.team_exposure(played.competition.teams.get(name="team bob"))
    assert everybody.nats == pytest.approx((mine.nats or 0) + (theirs.nats or 0))
    assert min(first.nats or 0, second.nats or 0, theirs.nats or 0) > 0


def test_the_guarantee_is_that_of_the_first_and_the_last_question(played: Team) -> None:
    second, first = (row.exposure for row in queries.campaign_rows(played))
    everybody = queries.competition_exposure(played.competition, played.captain)
    now = queries.guarantee(played.competition.current_round.board)
    assert everybody is not None
    assert now is not None
    assert everybody.before == first.before
    assert everybody.after == now.now
    assert None not in (first.after, second.before, second.after)
    widths = [first.before, first.after, second.before, second.after, everybody.after]
    assert widths == sorted(widths, key=lambda each: each or 0)


def test_a_list_of_campaigns_takes_as_many_queries_for_many_as_for_one(
    played: Team, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(100) as one:
        queries.campaign_rows(played, slice(1))
    with django_assert_max_num_queries(len(one.captured_queries)):
        queries.campaign_rows(played)


def test_nobody_reads_the_figures_of_all_teams_on_a_hidden_board(world: World, team: Team) -> None:
    hidden = {"is_hidden": True, "team_limit": 9, "question_limit": 900}
    competition = make_competition("hidden", world.organizer, rows=ROWS, public=400, **hidden)
    mine = world.join(world.alice, competition=competition)
    world.score(mine, predictions(range(500, ROWS), ROWS))
    assert queries.competition_exposure(competition, world.alice) is None
    assert queries.team_exposure(mine).questions == 1
    seen = queries.competition_exposure(competition, world.organizer)
    assert seen is not None
    assert seen.questions == 1


def test_without_laws_nobody_knows_the_cost_and_nothing_is_guaranteed(
    world: World, team: Team
) -> None:
    begin(team)
    world.score(team, predictions([9]), campaign="night")
    Ledger.objects.update(law="")
    Release.objects.update(cost=None, length=None)
    (row,) = queries.campaign_rows(team)
    everybody = queries.competition_exposure(world.digits, world.alice)
    assert row.exposure == everybody
    assert (row.exposure.questions, row.exposure.nats, row.exposure.after) == (1, None, None)
