"""Raising a budget on the console: what it costs is shown before it is done."""

import pytest
from django.test import Client

from leaderboard.models import BoardState, Competition, LedgerNote, NoteKind
from tests.cast import World, make_checked
from tests.console.pages import at


@pytest.fixture
def checked(world: World) -> Competition:
    return make_checked("checked", world.organizer, budget="3", team_share="2")


def left() -> int | None:
    return BoardState.objects.get(board__round__competition__slug="checked").budget_left


def test_what_more_corrections_cost_is_shown_first(checked: Competition, organizer: Client) -> None:
    content = organizer.post(at("budget", checked), {"amount": "5"}).content.decode()
    assert "If all 5 are used" in content
    assert left() == 3


def test_the_amount_that_was_looked_at_is_added(checked: Competition, organizer: Client) -> None:
    organizer.post(at("budget", checked), {"amount": "5", "seen": "5"})
    assert left() == 8
    assert LedgerNote.objects.get(kind=NoteKind.TOP_UP).document["amount"] == 5


def test_another_amount_is_shown_again(checked: Competition, organizer: Client) -> None:
    organizer.post(at("budget", checked), {"amount": "50", "seen": "5"})
    assert left() == 3


def test_a_board_without_a_budget_has_no_form(world: World, organizer: Client) -> None:
    content = organizer.get(at("budget", world.digits)).content.decode()
    assert "Raise the budget" not in content
