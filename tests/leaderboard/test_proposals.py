"""Defaults from data on a draft: what is shown, taking it, and what is warned of."""

from typing import Any

import numpy as np
import pytest

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, FileRole, Round, Team
from tests.cast import World, make_draft, predictions, set_board, upload

ROWS = 1000


def minutes(rows: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).gamma(1.2, 20, rows).round(1)


def train_file(labels: Any) -> bytes:
    return ("x,y\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels))).encode()


def solution(private: Any) -> bytes:
    """Write a solution whose Public rows are the same, whatever the Private labels are."""
    public = [f"r{row},{row},Public\n" for row in range(ROWS // 2)]
    hidden = [f"r{ROWS // 2 + row},{label},Private\n" for row, label in enumerate(private)]
    return ("id,y,Usage\n" + "".join(public + hidden)).encode()


def seal(draft: Competition, organizer: Any, private: Any) -> None:
    file = upload(solution(private), "solution.csv")
    organize.install_solution(draft.current_round, file, by=organizer)


@pytest.fixture
def draft(world: World) -> Competition:
    """A draft whose training file has 2,000 delays in minutes."""
    made = make_draft("delays", world.organizer, ROWS)
    file = upload(train_file(minutes(2000)), "train.csv")
    organize.add_file(made.current_round, file, role=FileRole.TRAIN)
    return made


def values(draft: Competition) -> dict[str, str]:
    board = Board.objects.get(round__competition=draft)
    return {each.field: each.value for each in organize.propose(board)}


def warned(competition: Competition) -> set[str]:
    fresh = Competition.objects.get(pk=competition.pk)
    return {each.name for each in organize.find_warnings(fresh)}


def test_a_clip_is_proposed_from_the_training_labels(draft: Competition) -> None:
    assert 60 <= float(values(draft)["metric_parameters.clip"]) <= 150


def test_without_a_training_file_no_clip_is_proposed(world: World) -> None:
    assert "metric_parameters.clip" not in values(make_draft("bare", world.organizer, ROWS))


def test_steps_are_proposed_once_the_rows_are_known(world: World, draft: Competition) -> None:
    assert "mechanism_parameters.steps" not in values(draft)
    seal(draft, world.organizer, minutes(ROWS // 2))
    assert "mechanism_parameters.steps" in values(draft)


def test_other_private_labels_lead_to_the_same_proposal(world: World, draft: Competition) -> None:
    seal(draft, world.organizer, minutes(ROWS // 2))
    before = organize.propose(draft.current_round.board)
    seal(draft, world.organizer, 1000 * minutes(ROWS // 2, seed=2))
    draft.refresh_from_db()
    assert organize.propose(draft.current_round.board) == before


def test_the_limit_follows_from_teams_and_quota(draft: Competition) -> None:
    Round.objects.filter(competition=draft).update(team_limit=10, total_limit=50)
    assert values(draft)["question_limit"] == "500"


def test_without_an_end_no_limit_is_proposed(draft: Competition) -> None:
    Round.objects.filter(competition=draft).update(closes_at=None)
    assert "question_limit" not in values(draft)


def test_what_is_proposed_can_be_taken_and_opened(world: World, draft: Competition) -> None:
    board = draft.current_round.board
    organize.use_proposal(board, by=world.organizer)  # a clip, and Guard
    seal(draft, world.organizer, minutes(ROWS // 2))
    organize.use_proposal(Board.objects.get(pk=board.pk), by=world.organizer)  # the rest
    board.refresh_from_db()
    draft.refresh_from_db()
    assert board.mechanism == "guard"
    assert all(each.passed for each in organize.checklist(draft))
    assert warned(draft) == set()


def test_taking_a_proposal_is_for_editors_of_a_draft(world: World, draft: Competition) -> None:
    with pytest.raises(Refused):
        organize.use_proposal(draft.current_round.board, by=world.alice)
    with pytest.raises(Refused):
        organize.use_proposal(world.board, by=world.organizer)


def test_a_clip_that_cuts_nearly_everything_is_warned_of(draft: Competition) -> None:
    assert "clip" in warned(draft)  # 1 minute, by default


def test_steps_wider_than_the_sampling_error_are_warned_of(
    world: World, draft: Competition
) -> None:
    set_board(draft, metric_parameters={"clip": "100"}, mechanism_parameters={"steps": "5"})
    seal(draft, world.organizer, minutes(ROWS // 2))
    assert "steps" in warned(draft)


def test_shares_that_the_budget_can_not_give_to_all_are_warned_of(draft: Competition) -> None:
    Round.objects.filter(competition=draft).update(team_limit=21)
    few = {"budget": "100", "team_share": "5"}
    set_board(draft, mechanism="guard", mechanism_parameters=few)
    assert "budget" in warned(draft)
    Round.objects.filter(competition=draft).update(team_limit=20)
    assert "budget" not in warned(draft)


def test_a_season_that_leaves_no_guarantee_is_warned_of(world: World, draft: Competition) -> None:
    seal(draft, world.organizer, minutes(ROWS // 2))
    assert "guarantee" in warned(draft)  # the Ladder, with 500 rows


@pytest.mark.parametrize(("wrong", "expected"), [(range(10, 12), set()), ((), {"baselines"})])
def test_baselines_on_one_step_are_warned_of(world: World, wrong: Any, expected: set[str]) -> None:
    for user, rows in ((world.alice, ()), (world.bob, wrong)):
        world.score(world.join(user), predictions(rows))
    Team.objects.update(is_baseline=True)
    assert warned(world.digits) & {"baselines"} == expected


@pytest.mark.parametrize(("metric", "mechanism"), [("accuracy", "guard"), ("f1_macro", "ladder")])
def test_a_board_without_a_mechanism_gets_the_one_that_fits(
    metric: str, mechanism: str, world: World
) -> None:
    made = organize.create_competition(
        slug="new", organizer=world.organizer, opens_at=world.round.opens_at, metric=metric
    )
    assert made.current_round.board.mechanism == mechanism
