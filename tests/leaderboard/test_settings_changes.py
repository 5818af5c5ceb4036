"""What an organizer can change of a competition, and what participants rely on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Competition, Event, EventKind, Organizer, Role, User
from leaderboard.organize.people import add_organizer, remove_organizer
from leaderboard.organize.settings import change_settings, create_draft, fixed_settings
from leaderboard.organize.teams import change_team
from leaderboard.pipeline import finalize
from tests.cast import World, make_user, set_round


@contextmanager
def refused_for(*fields: str) -> Iterator[None]:
    """Expect a refusal that names these fields."""
    with pytest.raises(Refused) as caught:
        yield
    assert set(caught.value.fields) == set(fields)


def hours(count: float) -> datetime:
    """Return the moment so many hours from now."""
    return timezone.now() + timedelta(hours=count)


def times(competition: Competition) -> tuple[datetime, datetime | None]:
    """Return when the database says that the competition opens and closes."""
    round = Competition.objects.get(pk=competition.pk).current_round
    return round.opens_at, round.closes_at


def kinds(competition: Competition) -> list[str]:
    """Return what the history tells of settings and people since the opening."""
    told = {
        *(EventKind.DEADLINE_CHANGED, EventKind.LIMIT_CHANGED, EventKind.RULES_CHANGED),
        *(EventKind.HIDDEN, EventKind.TEAM_RENAMED, EventKind.TEAM_VERIFIED),
    }
    events = Event.objects.filter(competition=competition, kind__in=told)
    return list(events.order_by("number").values_list("kind", flat=True))


@pytest.fixture
def judge(world: World) -> User:
    """A person who judges the competition."""
    user = make_user("judge", is_organizer=True)
    add_organizer(world.digits, user, Role.JUDGE, by=world.organizer)
    return user


# --- Times ----------------------------------------------------------------------------------------


def test_an_open_competition_does_not_open_again(world: World) -> None:
    before = times(world.digits)
    with refused_for("opens_at"):
        change_settings(world.digits, world.organizer, opens_at=hours(1))
    assert times(world.digits) == before


def test_no_two_saves_close_an_open_competition_back_in_time(world: World) -> None:
    """Once, `opens_at` in the future made it an upcoming one, whose times were free."""
    before = times(world.digits)
    with refused_for("opens_at"):
        change_settings(world.digits, world.organizer, opens_at=hours(24))
    with refused_for("opens_at", "closes_at"):
        change_settings(world.digits, world.organizer, opens_at=hours(-48), closes_at=hours(-24))
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(-24))
    assert times(world.digits) == before
    assert world.digits.current_round.announced_closes_at is None
    assert kinds(world.digits) == []


def test_before_the_announced_time_it_closes_by_closing_early_only(world: World) -> None:
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(1))
    _, announced = times(world.digits)
    finalize.close_early(world.digits.current_round)
    world.digits.refresh_from_db()
    assert world.digits.current_round.announced_closes_at == announced
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(24))


def test_a_later_deadline_is_set_and_told(world: World) -> None:
    later = hours(24 * 60)
    change_settings(world.digits, world.organizer, closes_at=later)
    assert times(world.digits)[1] == later
    assert world.digits.current_round.closes_at == later
    event = Event.objects.get(competition=world.digits, kind=EventKind.DEADLINE_CHANGED)
    assert event.actor == world.organizer
    assert event.data["closes_at"] == later.isoformat(timespec="seconds")
    assert event.data["before"]["closes_at"] < event.data["closes_at"]


def test_an_end_is_taken_away_and_given_again(world: World) -> None:
    change_settings(world.digits, world.organizer, closes_at=None)
    assert times(world.digits)[1] is None
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(-1))
    change_settings(world.digits, world.organizer, closes_at=hours(24 * 60))
    assert times(world.digits)[1] is not None


def test_a_deadline_that_has_passed_moves_to_the_future_or_not_at_all(world: World) -> None:
    set_round(world.digits, closes_at=hours(-1))
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(-2))
    change_settings(world.digits, world.organizer, closes_at=hours(24), title="Longer")
    assert world.digits.title == "Longer"


def test_times_are_free_until_the_opening(world: World) -> None:
    set_round(world.digits, opens_at=hours(1))
    change_settings(world.digits, world.organizer, opens_at=hours(2), closes_at=hours(3))
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, opens_at=hours(4))


def test_finals_fix_times_and_limits(world: World) -> None:
    set_round(world.digits, closes_at=hours(-1), finals_started_at=hours(-0.5))
    for change in ({"closes_at": hours(1)}, {"daily_limit": 99}, {"team_size": 99}):
        with refused_for(*change):
            change_settings(world.digits, world.organizer, **change)
    change_settings(world.digits, world.organizer, tagline="It is over.")


# --- Limits, texts, and who may -------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"daily_limit": 0},
        {"total_limit": 0},
        {"team_size": 0},
        {"finals_limit": 0},
        {"max_file_bytes": 0},
        {"max_file_bytes": 10**15},
        {"daily_limit": None},
        {"title": ""},
        {"visibility": "secret"},
        {"rules": "x" * 40_001},
        {"slug": "other"},
    ],
)
def test_a_wrong_setting_changes_nothing(world: World, change: dict[str, Any]) -> None:
    before = Competition.objects.values().get(pk=world.digits.pk)
    with refused_for(*change):
        change_settings(world.digits, world.organizer, **{"tagline": "New."} | change)
    assert Competition.objects.values().get(pk=world.digits.pk) == before


def test_everything_that_is_wrong_is_named_at_once(world: World) -> None:
    with refused_for("daily_limit", "title", "opens_at"):
        change_settings(world.digits, world.organizer, daily_limit=0, title="", opens_at=hours(1))


def test_the_same_again_is_no_change(world: World) -> None:
    opens_at, closes_at = times(world.digits)
    change_settings(
        world.digits, world.organizer, slug="digits", opens_at=opens_at, closes_at=closes_at
    )
    assert kinds(world.digits) == []


def test_limits_are_told(world: World) -> None:
    change_settings(world.digits, world.organizer, daily_limit=7, title="Figures")
    event = Event.objects.get(competition=world.digits, kind=EventKind.LIMIT_CHANGED)
    assert event.data == {"daily_limit": 7, "before": {"daily_limit": 20}}
    assert world.digits.current_round.daily_limit == 7


def test_rules_that_changed_in_substance_have_a_new_version(world: World) -> None:
    change_settings(world.digits, world.organizer, rules="Play, fair.")
    assert world.digits.rules_version == 1
    change_settings(world.digits, world.organizer, rules="Be kind.", ask_again=True)
    assert world.digits.rules_version == 2
    assert kinds(world.digits) == [EventKind.RULES_CHANGED]
    with refused_for("ask_again"):
        change_settings(world.digits, world.organizer, rules="Be kind.", ask_again=True)


def test_only_owners_and_editors_change_settings(world: World, judge: User) -> None:
    for user in (judge, world.alice):
        with pytest.raises(Refused, match="owner or editor"):
            change_settings(world.digits, user, title="Mine")
    operator = make_user("operator", is_superuser=True)
    change_settings(world.digits, operator, title="Ours")


def test_a_draft_is_created_by_who_has_the_role(world: World) -> None:
    fields: dict[str, Any] = {"slug": "flowers", "title": "Flowers", "opens_at": hours(1)}
    with pytest.raises(Refused, match="an operator grants"):
        create_draft(world.alice, **fields)
    with refused_for("closes_at"):
        create_draft(world.organizer, **fields, closes_at=hours(0.5))
    with refused_for("slug"):
        create_draft(world.organizer, **fields | {"slug": "digits"})
    draft = create_draft(world.organizer, **fields, closes_at=hours(2), daily_limit=3)
    assert draft.current_round.daily_limit == 3
    assert fixed_settings(draft) == frozenset()
    assert list(draft.organizers.all()) == [world.organizer]


# --- People ---------------------------------------------------------------------------------------


def test_the_last_owner_stays(world: World, judge: User) -> None:
    operator = make_user("operator", is_superuser=True)
    with refused_for("organizers"):
        remove_organizer(world.digits, world.organizer, by=operator)
    with refused_for("organizers"):
        add_organizer(world.digits, world.organizer, Role.VIEWER, by=operator)
    assert Organizer.objects.get(competition=world.digits, user=world.organizer).role == Role.OWNER


def test_owners_name_others_and_do_not_remove_themselves(world: World, judge: User) -> None:
    with pytest.raises(Refused, match="as its owner"):
        remove_organizer(world.digits, world.organizer, by=judge)
    add_organizer(world.digits, judge, Role.OWNER, by=world.organizer)
    with refused_for("organizers"):
        remove_organizer(world.digits, judge, by=judge)
    remove_organizer(world.digits, world.organizer, by=judge)
    assert list(world.digits.organizers.all()) == [judge]
    told = Event.objects.filter(competition=world.digits, kind=EventKind.ORGANIZER_REMOVED)
    assert told.get().subjects == {"person": world.organizer.uid}


def test_an_organizer_needs_the_role_on_this_site(world: World) -> None:
    with refused_for("organizers"):
        add_organizer(world.digits, world.alice, Role.VIEWER, by=world.organizer)


def test_teams_are_renamed_and_marked_and_it_is_told(world: World, judge: User) -> None:
    team = world.join(world.alice, "Rude words")
    world.join(world.bob, "Two")
    with refused_for("name"):
        change_team(team, judge, name="TWO")
    change_team(team, judge, name=" Team   7 ", is_verified=True, is_baseline=False)
    assert (team.name, team.is_verified) == ("Team 7", True)
    assert kinds(world.digits) == [EventKind.TEAM_RENAMED, EventKind.TEAM_VERIFIED]


def test_an_announced_end_can_not_be_taken_away_and_set_earlier(world: World) -> None:
    change_settings(world.digits, world.organizer, closes_at=None)
    with refused_for("closes_at"):
        change_settings(world.digits, world.organizer, closes_at=hours(1))


def test_an_upcoming_round_does_not_open_in_the_past(world: World) -> None:
    set_round(world.digits, opens_at=timezone.now() + timedelta(days=1))
    with pytest.raises(Refused, match="still to come"):
        change_settings(
            world.digits, world.organizer, opens_at=timezone.now() - timedelta(days=400)
        )


def test_an_opening_reports_the_times_that_it_announces(world: World) -> None:
    opened = Event.objects.get(competition=world.digits, kind=EventKind.OPENED)
    assert set(opened.data) == {"opens_at", "closes_at"}
