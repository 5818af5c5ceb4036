"""While a competition runs: what is frozen, teams, submissions, the ledger."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard import words
from leaderboard.models import Board, Competition, Holdout
from leaderboard.queries import guarantee
from tests.cast import World, active_holdout, make_competition, make_user, predictions
from tests.console.pages import (
    COLUMNS_FORM,
    LADDER_FORM,
    at,
    labels,
    send_solution,
    settings_of,
    text,
)
from tests.leaderboard.test_limits import begin_with

DEFINITION = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")


def _definition(competition: Competition) -> dict[str, Any]:
    board = Board.objects.get(round__competition=competition)
    asked = {name: getattr(board, name) for name in DEFINITION}
    return asked | {"schema": board.round.schema, "slug": board.round.competition.slug}


# --- What is fixed --------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["columns", "scoring", "solution"])
def test_after_the_first_release_pages_say_why_nothing_can_change(
    page: str, world: World, organizer: Client
) -> None:
    world.score(world.join(world.alice))
    shown = text(organizer.get(at(page, world.digits)))
    assert "Frozen: files have been submitted" in shown
    assert '<form method="post"' not in shown.split("</nav>", 3)[-1].split("site-footer")[0]


def test_where_only_baselines_were_scored_they_are_named_as_what_freezes(
    world: World, organizer: Client
) -> None:
    world.score(world.join(world.alice))
    world.digits.teams.update(is_baseline=True)
    assert "Frozen: baselines are on the board" in text(organizer.get(at("columns", world.digits)))


@pytest.mark.parametrize("released", [True, False])
def test_what_is_open_does_not_change_by_any_form(
    released: bool, world: World, organizer: Client
) -> None:
    if released:
        world.score(world.join(world.alice))
    before, holdout = _definition(world.digits), active_holdout(world.digits)
    organizer.post(at("columns", world.digits), COLUMNS_FORM | {"columns": "other: number"})
    organizer.post(at("scoring", world.digits), LADDER_FORM | {"mechanism-ladder-steps": "10"})
    send_solution(organizer, world.digits, labels())
    organizer.post(at("solution-withdraw", world.digits))
    organizer.post(at("settings", world.digits), settings_of(world.digits, slug="other"))
    assert _definition(world.digits) == before
    assert Holdout.objects.get() == holdout
    assert active_holdout(world.digits) == holdout


def test_limits_and_texts_can_change_while_it_is_open(organizer: Client, world: World) -> None:
    organizer.post(
        at("settings", world.digits), settings_of(world.digits, title="Figures", daily_limit="9")
    )
    world.digits.refresh_from_db()
    assert (world.digits.title, world.round.daily_limit) == ("Figures", 9)


def test_what_has_submissions_can_not_be_deleted(organizer: Client, world: World) -> None:
    world.score(world.join(world.alice))
    page = organizer.post(at("delete", world.digits), follow=True)
    assert "somebody has submitted" in text(page)
    assert Competition.objects.filter(pk=world.digits.pk).exists()


# --- Ledger ---------------------------------------------------------------------------------------


def test_the_budget_page_counts_questions(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    page = organizer.get(at("budget", world.digits))
    ledger = page.context["ledger"]
    assert (ledger.asked, ledger.answered, ledger.budget_left) == (1, 1, None)
    assert ledger.shares == ()


def test_the_budget_page_shows_the_guarantee_and_what_answers_told(
    world: World, organizer: Client
) -> None:
    world.score(world.join(world.alice))
    page = organizer.get(at("budget", world.digits))
    found = guarantee(world.board)
    assert found is not None
    assert words.board_guarantee(found) in text(page)
    ((name, nats),) = page.context["ledger"].costs
    assert (name, nats > 0) == ("accuracy", True)


def test_on_a_hidden_board_the_budget_page_shows_the_team_that_asked_most(
    world: World, organizer: Client
) -> None:
    begin_with(world.digits, question_limit=60, team_limit=3, is_hidden=True)
    alice, bob = world.join(world.alice), world.join(world.bob)
    for team, count in ((alice, 20), (bob, 18), (bob, 10)):
        world.score(team, predictions(wrong=range(8, 8 + count)))
    assert organizer.get(at("budget", world.digits)).context["ledger"].team == bob


def test_shares_of_a_mechanism_with_a_budget_are_shown(world: World, organizer: Client) -> None:
    mark = {"mark": "0.5", "questions": "100", "budget": "7", "team_share": "2"}
    own = make_competition(
        "marks", world.organizer, mechanism="sparse_validate", mechanism_parameters=mark
    )
    world.score(world.join(world.alice, competition=own))
    ledger = organizer.get(at("budget", own)).context["ledger"]
    assert ledger.budget_left == 5
    assert [share.left for share in ledger.shares] == [1]


def test_a_draft_has_no_ledger_yet(world: World, organizer: Client) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(opened_by_organizer_at=None)
    Holdout.objects.update(retired_at="2026-01-01T00:00Z")
    assert "There is no ledger yet" in text(organizer.get(at("budget", world.digits)))


# --- Size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        "/organize/",
        "/organize/digits/",
        "/organize/digits/budget/",
        "/organize/digits/submissions/",
        "/organize/digits/teams/",
    ],
)
def test_the_number_of_queries_does_not_grow_with_the_rows(
    page: str, world: World, organizer: Client
) -> None:
    counts = []
    for number in range(1, 4):
        make_competition(f"other{number}", world.organizer)
        world.score(world.join(make_user(f"person{number}")))
        with CaptureQueriesContext(connection) as queries:
            assert organizer.get(page).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[-1]
