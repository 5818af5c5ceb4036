"""Statements that are composed once do what querysets and `save` do."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.transaction import TransactionManagementError
from django.utils import timezone

from leaderboard.models import Audience, Event, EventCount, EventKind, Membership, Team
from leaderboard.platform.statements import (
    fill,
    insert_row,
    prepared,
    prepared_part,
    prepared_update,
    update_row,
    update_rows,
)
from tests.cast import World


@prepared
def _teams(competition: int, name: str) -> QuerySet[Team]:
    rows = Team.objects.select_related("captain").filter(competition=competition, name=name)
    return rows.only("name", "created_at", "captain__username")


@prepared
def _uids(competition: int) -> QuerySet[Team, str]:
    return Team.objects.filter(competition=competition).values_list("uid", flat=True)


@prepared
def _since(competition: int, moment: datetime) -> QuerySet[Team, str]:
    rows = Team.objects.filter(competition=competition, created_at__gte=moment)
    return rows.values_list("uid", flat=True)


def _event(world: World, number: int, **changes: object) -> Event:
    given = {
        "competition": world.digits,
        "number": number,
        "kind": EventKind.TRIED,
        "audience": Audience.TEAM,
        "subjects": {"team": "a"},
        "data": {"entries": [1, None, "é"]},
        "created_at": timezone.now() - timedelta(days=number),
    }
    return Event(**given | changes)


def test_rows_are_those_of_the_queryset_for_each_value(world: World) -> None:
    alice, bob = world.join(world.alice, "A"), world.join(world.bob, "B")
    for team in (alice, bob, alice):
        assert _teams(team.competition_id, team.name) == [team]
    assert _teams(alice.competition_id, name="B") == [bob]
    assert _teams(alice.competition_id, "nobody") == []
    assert _uids(alice.competition_id) == [alice.uid, bob.uid]


def test_rows_of_several_columns_are_tuples(world: World) -> None:
    @prepared
    def named(competition: int) -> QuerySet[Team, tuple[str, str]]:
        return Team.objects.filter(competition=competition).values_list("name", "uid")

    team = world.join(world.alice, "A")
    assert named(team.competition_id) == [("A", team.uid)]


def test_a_moment_is_compared_as_querysets_compare_it(world: World) -> None:
    team = world.join(world.alice, "A")
    elsewhere = team.created_at.astimezone(tz=timezone.get_fixed_timezone(120))
    later = team.created_at + timedelta(microseconds=1)
    for moment, found in ((team.created_at, [team.uid]), (elsewhere, [team.uid]), (later, [])):
        assert _since(team.competition_id, moment) == found


def test_moments_are_counted_by_in_one_row(world: World) -> None:
    @prepared
    def counted(competition: int, moment: datetime) -> QuerySet[Team, tuple[int, int]]:
        newer = Count("pk", filter=Q(created_at__gte=moment))
        rows = Team.objects.filter(competition=competition).values("competition").order_by()
        return rows.annotate(newer=newer, all=Count("pk")).values_list("newer", "all")

    first, second = world.join(world.alice, "A"), world.join(world.bob, "B")
    assert counted(first.competition_id, second.created_at) == [(1, 2)]


def test_a_column_is_compared_with_lists(world: World) -> None:
    @prepared
    def named(competition: int, names: list[str], uids: list[str]) -> QuerySet[Team, str]:
        rows = Team.objects.filter(name__in=names, competition=competition, uid__in=uids)
        return rows.order_by("name").values_list("name", flat=True)

    alice, bob = world.join(world.alice, "A"), world.join(world.bob, "B")
    both = [alice.uid, bob.uid]
    for names, found in ((["A", "B", "C"], ["A", "B"]), (["B"], ["B"]), ([], [])):
        assert named(alice.competition_id, names, both) == found
    assert named(alice.competition_id, ["A", "B"], [bob.uid]) == ["B"]


def test_a_part_is_read_from_its_first_row_on(world: World) -> None:
    @prepared_part
    def named(competition: int) -> QuerySet[Team, str]:
        rows = Team.objects.filter(competition=competition).order_by("name")
        return rows.values_list("name", flat=True)

    team = world.join(world.alice, "A")
    world.join(world.bob, "B")
    for first, count, found in ((0, 1, ["A"]), (1, 5, ["B"]), (2, 5, []), (0, 0, [])):
        assert named(first, count, competition=team.competition_id) == found


def test_a_number_beyond_what_columns_hold_finds_nothing(world: World) -> None:
    assert _teams(10**40, "A") == []


def test_filled_rows_are_read_no_more(world: World, django_assert_num_queries: object) -> None:
    team = world.join(world.alice, "A")
    with django_assert_num_queries(0):  # type: ignore[operator]  # pytest-django's
        fill(world.digits, "teams", [team])
        assert list(world.digits.teams.all()) == [team]
        assert team.competition is world.digits
    world.digits.refresh_from_db()
    with django_assert_num_queries(1):  # type: ignore[operator]  # pytest-django's
        assert list(world.digits.teams.all()) == [team]


def test_rows_come_with_what_was_selected_in_one_query(
    world: World, django_assert_num_queries: object
) -> None:
    team = world.join(world.alice, "A")
    with django_assert_num_queries(1):  # type: ignore[operator]  # pytest-django's
        (found,) = _teams(team.competition_id, "A")
        assert (found.created_at, found.captain.username) == (team.created_at, "alice")
    assert found.get_deferred_fields() >= {"uid", "extra_daily"}
    assert found.uid == team.uid


def test_rows_are_locked_in_a_transaction_only(world: World) -> None:
    @prepared
    def locked(competition: int) -> QuerySet[EventCount]:
        return EventCount.objects.select_for_update().filter(competition=competition)

    with transaction.atomic():
        assert locked(world.digits.pk)
    postgres = connections["default"]
    with (
        patch.object(postgres, "vendor", "postgresql"),
        patch.object(postgres, "in_atomic_block", False),
        pytest.raises(TransactionManagementError),
    ):
        locked(world.digits.pk)


def test_an_inserted_row_is_as_if_it_had_been_saved(world: World) -> None:
    inserted, saved = _event(world, 1001), _event(world, 1002)
    insert_row(inserted)
    saved.save()
    assert inserted.pk is not None
    assert not inserted._state.adding
    for event in (inserted, saved):
        read = Event.objects.get(pk=event.pk)
        fields = [each.attname for each in Event._meta.concrete_fields]
        assert [getattr(read, each) for each in fields] == [getattr(event, each) for each in fields]


def test_a_constraint_holds_for_inserted_rows(world: World) -> None:
    insert_row(_event(world, 1001))
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_row(_event(world, 1001))


def test_rows_are_updated_where_they_are_as_named(world: World) -> None:
    team = world.join(world.alice, "A")
    at = timezone.now()
    other = {"pk": team.pk, "extra_daily": 7}
    assert update_rows(Team, other, extra_total=3) == 0
    known = {"pk": team.pk, "extra_daily": 0}
    assert update_rows(Team, known, extra_total=3, merged_into_id=None, created_at=at) == 1
    team.refresh_from_db()
    assert (team.extra_daily, team.extra_total, team.created_at) == (0, 3, at)


def test_an_update_changes_the_rows_that_its_queryset_has(world: World) -> None:
    @prepared_update
    def rename(
        competition: int, before: str, name: str, moment: datetime
    ) -> tuple[QuerySet[Team], dict[str, Any]]:
        joined = Membership.objects.filter(team=OuterRef("pk"))
        rows = Team.objects.filter(Exists(joined), competition=competition, name=before)
        return rows, {"name": name, "extra_daily": F("extra_daily") + 1, "created_at": moment}

    team, at = world.join(world.alice, "A"), timezone.now()
    assert rename(team.competition_id, "B", "C", at) == 0
    assert rename(team.competition_id, "A", name="B", moment=at) == 1
    assert rename(team.competition_id, "B", "C", moment=at) == 1
    team.refresh_from_db()
    assert (team.name, team.extra_daily, team.created_at) == ("C", 2, at)


def test_only_the_named_attributes_of_a_row_are_written(world: World) -> None:
    team = world.join(world.alice, "A")
    team.extra_daily, team.captain_id, team.name = 5, world.bob.pk, "Not written"
    update_row(team, "extra_daily", "captain_id")
    read = Team.objects.get(pk=team.pk)
    assert (read.extra_daily, read.captain, read.name) == (5, world.bob, "A")


def test_json_is_stored_as_json_whatever_it_is(world: World) -> None:
    event = _event(world, 1001, data="a text")
    insert_row(event)
    update_rows(Event, {"pk": event.pk}, subjects=True)
    read = Event.objects.get(pk=event.pk)
    assert (read.data, read.subjects) == ("a text", True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sql", "values", "found"),
    [
        ("SELECT %s, %s || 'a'", [1, "b"], (1, "ba")),
        ("SELECT '%%s', '5 %%', %s", ["%s"], ("%s", "5 %", "%s")),
        ("SELECT %(first)s, %(second)s", {"first": 1, "second": "%s"}, (1, "%s")),
        ("SELECT '%s'", None, ("%s",)),
    ],
)
def test_values_take_the_places_that_a_statement_marks(
    sql: str, values: Any, found: tuple[object, ...]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        assert cursor.fetchone() == found
