"""Set-up: the checklist, the opening, and what freezes at the first release."""

from typing import Any

import pytest

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Holdout, Ledger
from scoring.errors import SolutionError
from tests.cast import (
    LADDER,
    ROWS,
    THRESHOLDOUT,
    World,
    active_holdout,
    make_competition,
    set_board,
    set_round,
    solution,
    upload,
)


def _draft(world: World, **fields: Any) -> Competition:
    draft = world.digits
    of_competition = {name: fields.pop(name) for name in list(fields) if name == "rules"}
    Competition.objects.filter(pk=draft.pk).update(opened_by_organizer_at=None, **of_competition)
    if "schema" in fields:
        set_round(draft, schema=fields.pop("schema"))
    if fields:
        set_board(draft, **fields)
    draft.refresh_from_db()
    return draft


def _failing(competition: Competition) -> list[str]:
    return [check.title for check in organize.checklist(competition) if not check.passed]


def test_a_complete_draft_has_a_green_checklist(world: World) -> None:
    assert _failing(_draft(world)) == []


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"rules": " "}, "Texts"),
        ({"schema": {}}, "Prediction file"),
        ({"metric": "magic"}, "Metric fits the columns"),
        ({"metric": "roc_auc"}, "Metric fits the columns"),
        ({"mechanism": "magic"}, "Mechanism fits the metric and the rows"),
        ({"mechanism_parameters": {"steps": "0"}}, "Mechanism fits the metric and the rows"),
    ],
)
def test_what_is_missing_is_red_and_named(world: World, fields: dict[str, Any], title: str) -> None:
    draft = _draft(world, **fields)
    assert title in _failing(draft)
    with pytest.raises(Refused, match=title):
        organize.open_competition(draft)


def test_a_changed_sample_asks_for_the_solution_again(world: World) -> None:
    draft = _draft(world)
    Holdout.objects.update(row_ids_digest="0" * 64)
    assert _failing(draft) == ["Solution: ids match the sample, usage of each row"]


def test_opening_twice_starts_one_ledger(world: World) -> None:
    organize.open_competition(world.digits)
    assert Ledger.objects.count() == 1


def test_a_solution_that_does_not_match_is_refused_and_changes_nothing(world: World) -> None:
    for content in (
        solution().replace(b"r5,", b"r4,"),
        solution().replace(b"Public", b"Pubic"),
        solution().replace(b"r7,3", b"r7,9"),
        b"",
    ):
        with pytest.raises(SolutionError):
            organize.install_solution(world.round, upload(content), by=world.organizer)
    assert Holdout.objects.count() == 1


def test_a_solution_without_private_rows_is_refused(world: World) -> None:
    content = solution().replace(b"Private", b"Public")
    with pytest.raises((Refused, SolutionError)):
        organize.install_solution(world.round, upload(content), by=world.organizer)


def test_a_new_solution_before_the_first_release_is_a_new_version(world: World) -> None:
    organize.install_solution(world.round, upload(solution()), by=world.organizer)
    assert list(Holdout.objects.order_by("version").values_list("version", flat=True)) == [1, 2]
    assert Holdout.objects.active().get().version == 2
    assert world.score(world.join(world.alice)).status == "released"


def test_the_holdout_freezes_at_the_first_release(world: World) -> None:
    world.score(world.join(world.alice))
    with pytest.raises(Refused, match="must not change"):
        organize.install_solution(world.round, upload(solution()), by=world.organizer)


def test_the_sample_can_not_be_removed_from_under_the_solution(world: World) -> None:
    with pytest.raises(Refused):
        organize.remove_file(world.round.files.get(role=FileRole.SAMPLE))


def test_a_broken_sample_is_refused(world: World) -> None:
    draft = make_competition("draft", world.organizer)
    round = draft.current_round
    Holdout.objects.filter(ledger=round.ledger).update(retired_at="2026-01-01T00:00Z")
    organize.remove_file(round.files.get(role=FileRole.SAMPLE))
    with pytest.raises(SolutionError):
        organize.add_file(round, upload(b"id,label\na,0\na,0\n", "s.csv"), role=FileRole.SAMPLE)


def test_wrong_settings_name_their_field(world: World) -> None:
    organize.return_to_draft(world.digits)
    wrong = organize.Scoring("accuracy", {"k": "3"}, "ladder", {"steps": "many"})
    with pytest.raises(Refused) as refused:
        organize.change_scoring(world.board, wrong)
    assert set(refused.value.fields) == {"metric_parameters.k", "mechanism_parameters.steps"}


@pytest.mark.parametrize(
    ("scoring", "field"),
    [
        (("rmse", {"clip": "1"}, "ladder", LADDER), "metric"),
        (("f1_macro", {}, "thresholdout", THRESHOLDOUT), "mechanism"),
        (("accuracy", {}, "ladder", LADDER | {"steps": "1000"}), "mechanism_parameters.steps"),
        (("magic", {}, "ladder", LADDER), "metric"),
    ],
)
def test_metric_and_mechanism_have_to_fit_columns_rows_and_each_other(
    world: World, scoring: tuple[Any, ...], field: str
) -> None:
    organize.return_to_draft(world.digits)
    with pytest.raises(Refused) as refused:
        organize.change_scoring(world.board, organize.Scoring(*scoring))
    assert set(refused.value.fields) == {field}
    world.digits.refresh_from_db()
    assert world.board.metric == "accuracy"


def test_the_sample_is_not_taken_for_the_solution(world: World) -> None:
    sample = world.round.files.get(role=FileRole.SAMPLE)
    with sample.file.open("rb") as file, pytest.raises(Refused, match="sample submission"):
        organize.install_solution(world.round, upload(file.read()), by=world.organizer)


def test_weighted_rows_count_as_fewer_plain_ones_wherever_certainty_is_told(world: World) -> None:
    lines = solution().decode().splitlines()
    weights = ["Weight", *("1.2" if row == 20 else "1" for row in range(ROWS))]
    text = "\n".join(f"{line},{weight}" for line, weight in zip(lines, weights, strict=True))
    plain = queries.sampling_interval(queries.scale(world.board), active_holdout(world.digits), 0.5)
    organize.install_solution(world.round, upload(text.encode(), "solution.csv"), by=None)
    holdout = active_holdout(world.digits)
    assert (holdout.private_rows, holdout.effective_private_rows) == (32, 26)
    weighted = queries.sampling_interval(queries.scale(world.board), holdout, 0.5)
    assert weighted
    assert plain
    assert weighted.high - weighted.low > plain.high - plain.low
    facts = queries.mechanism_facts(world.board, world.alice)
    assert facts
    assert facts.effective_rows == 26
