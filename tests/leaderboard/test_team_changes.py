"""What captains and members change about a team: nothing that was used is won back."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard import queries
from leaderboard.errors import Refused
from leaderboard.models import MailState, MergeRequest, Team, User
from leaderboard.notify import outbox
from leaderboard.participate import captains, membership, mergers
from leaderboard.queries.people import merge_preview
from tests.cast import World, make_user, set_round


def code(act: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        act()
    return str(refused.value.facts.get("variant", refused.value.code))


def inbox(world: World, user: User) -> list[str]:
    while outbox.fan_out(world.digits.pk):
        pass
    return [row.text.subject for row in queries.notice_rows(queries.inbox(user))]


@pytest.fixture
def carol(world: World) -> User:
    return make_user("carol")


@pytest.fixture
def team(world: World, carol: User) -> Team:
    """Alice's, with carol."""
    team = world.join(world.alice, "The A")
    link = membership.invite(team=team, user=world.alice)
    membership.join_team(invitation=link, user=carol, accept_rules=True)
    return team


@pytest.fixture
def theirs(world: World) -> Team:
    return world.join(world.bob, "The B")


def test_who_is_removed_from_a_team_that_submitted_is_bound_to_it_and_told(
    world: World, team: Team, carol: User
) -> None:
    world.submit(team)
    captains.remove_member(team=team, user=world.alice, name="Carol")
    assert code(lambda: world.join(carol, "The C")) == "left_a_team"
    assert inbox(world, carol) == ["You were removed from the team “The A”"]


def test_after_the_deadline_a_captain_removes_nobody(world: World, team: Team) -> None:
    set_round(world.digits, closes_at=timezone.now() - timedelta(minutes=1))
    assert code(lambda: captains.remove_member(team=team, user=world.alice, name="carol")) == (
        "teams"
    )


def test_a_captain_hands_over_to_members_alone(world: World, team: Team, carol: User) -> None:
    hand_over = captains.hand_over
    assert code(lambda: hand_over(team=team, user=world.alice, name="bob")) == "no_such_member"
    assert code(lambda: hand_over(team=team, user=carol, name="carol")) == "captain_only"
    hand_over(team=team, user=world.alice, name="carol")
    assert team.captain == carol
    assert inbox(world, carol) == ["You are the captain of “The A” now"]


def test_a_request_to_merge_waits_for_the_other_captain(
    world: World, team: Team, theirs: Team, carol: User
) -> None:
    mergers.ask(team=team, into=theirs, user=world.alice)
    assert inbox(world, world.bob) == ["The team “The A” asks to become a part of yours"]
    assert code(lambda: mergers.accept(team=theirs, asking=team, user=carol)) == "captain_only"
    mergers.drop(team=theirs, other=team, user=world.bob)
    assert inbox(world, world.alice) == ["The team “The B” declined to merge"]

    def accept() -> None:
        mergers.accept(team=theirs, asking=team, user=world.bob)

    assert code(accept) == "no_merge_request"
    mergers.ask(team=team, into=theirs, user=world.alice)
    accept()
    assert inbox(world, carol)[0] == "The team “The A” is a part of “The B” now"
    assert not MergeRequest.objects.exists()


def test_teams_that_used_more_than_one_may_are_not_merged(
    world: World, team: Team, theirs: Team
) -> None:
    for each in (team, theirs):
        world.score(each)

    def ask() -> None:
        mergers.ask(team=team, into=theirs, user=world.alice)

    set_round(world.digits, daily_limit=1)
    assert code(ask) == "today"
    set_round(world.digits, daily_limit=5, total_limit=1)
    assert code(ask) == "merge_over_quota"
    set_round(world.digits, total_limit=2)
    ask()
    preview = merge_preview(team, theirs, by_teams=True)
    assert (preview.total_left, preview.problem) == (0, "")


def test_baselines_and_the_round_s_end_merge_with_nobody(
    world: World, team: Team, theirs: Team
) -> None:

    def ask() -> None:
        mergers.ask(team=team, into=theirs, user=world.alice)

    theirs.is_baseline = True
    assert code(ask) == "not_mergeable"
    theirs.is_baseline = False
    set_round(world.digits, closes_at=timezone.now() - timedelta(minutes=1))
    assert code(ask) == "teams"


def test_invitations_by_mail_are_few_and_end_when_they_are_withdrawn(
    world: World, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "MAILS_A_DAY", 1)

    def invite(email: str = "d@uni.example") -> object:
        return membership.invite(team=team, user=world.alice, email=email)

    assert code(lambda: invite("no address")) == "bad_addresses"
    invite()
    membership.withdraw_invitations(team=team, user=world.alice)
    assert code(invite) == "throttled"
    mailed = team.invitations.exclude(email="").get()
    assert mailed.mail == MailState.NONE
    assert code(lambda: membership.check_invitation(mailed)) == "invitation_expired"
