"""What may still change after set-up: refused by the functions themselves, whoever calls them."""

from collections.abc import Callable

import pytest

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Board, BoardState, Competition, Holdout, Round
from scoring.errors import ParameterError
from scoring.predictions import Column, Schema
from tests.cast import LADDER, World, solution, upload

OTHER_COLUMNS = Schema("id", (Column("label", "number"),))
OTHER_SCORING = organize.Scoring("error_rate", {}, "ladder", LADDER)

Change = Callable[[Round], object]
CHANGES: dict[str, Change] = {
    "columns": lambda round: organize.change_schema(round, OTHER_COLUMNS),
    "scoring": lambda round: organize.change_scoring(round.board, OTHER_SCORING),
    "solution": organize.withdraw_solution,
}


def _active() -> int:
    return Holdout.objects.active().count()


def _settings() -> list[object]:
    return [model.objects.values().get() for model in (Competition, Round, Board)]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_while_it_is_open_nothing_that_scores_mean_changes(change: Change, world: World) -> None:
    before = _settings()
    with pytest.raises(Refused) as refused:
        change(world.round)
    assert refused.value.code == "not_a_draft"
    assert _settings() == before
    assert _active() == 1


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_draft_that_released_something_keeps_its_holdout(change: Change, world: World) -> None:
    world.score(world.join(world.alice))
    Competition.objects.update(opened_by_organizer_at=None)
    with pytest.raises(Refused) as refused:
        change(world.round)
    assert refused.value.code == "frozen"
    assert _active() == 1
    world.digits.refresh_from_db()
    assert world.board.metric == "accuracy"


def test_a_draft_that_released_something_keeps_its_mechanism(world: World) -> None:
    world.score(world.join(world.alice))
    Competition.objects.update(opened_by_organizer_at=None)
    with pytest.raises(Refused) as refused:
        organize.change_scoring(
            world.board, organize.Scoring("accuracy", {}, "ladder", LADDER | {"steps": "10"})
        )
    assert refused.value.code == "frozen"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_in_a_draft_the_solution_is_withdrawn_with_what_it_was_checked_against(
    change: Change, world: World
) -> None:
    organize.return_to_draft(world.digits)
    change(world.round)
    assert _active() == 0


def test_a_submission_ends_the_way_back(world: World) -> None:
    world.submit(world.join(world.alice))
    with pytest.raises(Refused):
        organize.return_to_draft(world.digits)
    with pytest.raises(Refused):
        organize.delete_competition(world.digits)


def test_reopening_never_refills_a_ledger_that_has_entries(world: World) -> None:
    world.score(world.join(world.alice))
    BoardState.objects.update(budget_left=3)
    Competition.objects.update(opened_by_organizer_at=None)
    world.digits.refresh_from_db()
    organize.open_competition(world.digits)
    assert BoardState.objects.get().budget_left == 3


def test_while_open_a_new_solution_must_fit_the_mechanism(world: World) -> None:
    few = solution().replace(b"Private", b"Ignored", 31)
    with pytest.raises(ParameterError, match="private rows"):
        organize.install_solution(world.round, upload(few), by=world.organizer)
    assert _active() == 1
