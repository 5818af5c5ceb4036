"""Custom metrics, from an installed package's entry points to a measured mean."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard import queries
from leaderboard.models import Board, Ledger, Round, Status
from leaderboard.vault import custom_metrics
from leaderboard.vault.custom_metrics import CustomMetric, CustomMetricFailed
from leaderboard.web.organize.scoring_form import ScoringForm
from leaderboard.words import summary
from scoring.errors import ParameterError, PredictionError
from scoring.mechanisms import MECHANISMS
from scoring.metrics import METRICS, get
from scoring.predictions import (
    Column,
    Predictions,
    RowIds,
    Schema,
    Solution,
    Usage,
    read_solution,
)
from tests.cast import World, predictions, said, set_board
from tests.web.pages import browser

PACKAGE = Path(__file__).parent / "custom_metric"
SCHEMA = Schema("id", (Column("y", "number"),))


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package on the path, as pip would install it; its metrics registered."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    before = dict(METRICS)
    custom_metrics.register()
    yield
    METRICS.clear()
    METRICS.update(before)


def own(name: str) -> CustomMetric:
    metric = get(name)
    assert isinstance(metric, CustomMetric)
    return metric


def predicted(values: list[float]) -> Predictions:
    row_ids = RowIds([f"row {row}" for row in range(len(values))])
    return Predictions(SCHEMA, {"y": np.array(values, np.float64)}, row_ids)


def labelled(values: list[float]) -> Solution:
    row_ids = RowIds([f"row {row}" for row in range(len(values))])
    usage = np.full(len(values), Usage.PRIVATE, np.int8)
    return Solution(SCHEMA, {"y": np.array(values, np.float64)}, usage, row_ids.digest)


def loss(name: str, guesses: list[float], labels: list[float], mask: Any = None) -> float:
    chosen: NDArray[np.bool_] = np.ones(len(labels), np.bool_) if mask is None else np.array(mask)
    mean = own(name).measure(predicted(guesses), labelled(labels), chosen, {})
    assert mean.rows == np.count_nonzero(chosen)
    assert not mean.additive
    return mean.units / mean.whole


def test_an_installed_metric_scores_with_kaggles_signature() -> None:
    metric = own("example_weekly")
    assert (metric.direction, metric.score_range({})) == ("minimize", (10.0, 0.0))
    assert loss("example_weekly", [1.0, 2.0], [1.0, 7.0]) == 0.25


def test_only_the_rows_of_the_mask_reach_it() -> None:
    assert loss("example_weekly", [1.0, 2.0, 0.0], [3.0, 7.0, 9.0], [True, False, False]) == 0.2


def test_a_score_out_of_range_is_cut_to_it() -> None:
    assert loss("example_weekly", [1e6], [0.0]) == 1.0


def test_it_has_a_name_of_its_own_and_a_range(caplog: pytest.LogCaptureFixture) -> None:
    assert not isinstance(get("accuracy"), CustomMetric)
    assert "example_without_a_range" not in METRICS


def test_the_admin_offers_it() -> None:
    choices = ScoringForm(Board(round=Round())).fields["metric"].choices  # type: ignore[attr-defined]  # a ChoiceField
    assert ("example_weekly", "Mean distance from the truth, at most 10") in choices


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_only_the_ladder_may_show_it(mechanism: str) -> None:
    metric = own("example_weekly")
    assert metric.kind == "any"
    assert (metric.allows(MECHANISMS[mechanism]) is None) == (mechanism == "ladder")


def test_its_process_sees_no_secrets_and_writes_no_files() -> None:
    assert loss("example_trouble", [1.0], [1.0]) == 0.0


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("example_endless", "Endless: its process ended with code -9"),
        ("example_greedy", "Greedy: MemoryError at example_metrics.py:"),
        ("example_raising", "Raising: ParticipantVisibleError at example_metrics.py:"),
    ],
)
def test_what_fails_beside_labels_has_the_worst_score_and_the_organizer_learns_where(
    name: str, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    with custom_metrics.noting() as notes:
        assert loss(name, [1.0], [123456.0]) == 1.0
    assert len(notes) == 1
    assert notes[0].startswith(note)
    assert "123456" not in notes[0] + caplog.text


def test_what_only_waits_is_ended_though_it_computes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(custom_metrics, "WAITING_SECONDS", 0)
    with custom_metrics.noting() as notes:
        assert loss("example_waiting", [1.0], [1.0]) == 1.0
    assert notes == ["Waiting: it took longer than 1 seconds"]


def test_what_a_metric_leaves_running_is_not_waited_for_and_does_not_answer() -> None:
    with custom_metrics.noting() as notes:
        assert loss("example_busy", [1.0], [0.25]) == 0.75
    assert notes == []


def test_an_answer_that_makes_no_sense_is_a_failure_without_the_score(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with custom_metrics.noting() as notes:
        assert loss("example_busy", [77.0], [0.25]) == 1.0
    assert notes == ["Busy: its answer can't be read"]
    assert "0.25" not in caplog.text


def test_labels_that_a_metric_prints_are_discarded(capfd: pytest.CaptureFixture[str]) -> None:
    assert loss("example_weekly", [1.0], [1.0]) == 0.0
    assert capfd.readouterr() == ("", "")


def test_its_check_speaks_to_the_participant() -> None:
    with pytest.raises(PredictionError, match=r"Distances are not negative\.") as caught:
        custom_metrics.screen("example_weekly", predicted([1.0, -1.0]))
    assert caught.value.problems[0].code == "metric_refused"


def test_what_else_its_check_raises_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(CustomMetricFailed, match=r"ValueError at example_metrics\.py:") as caught,
    ):
        custom_metrics.screen("example_weekly", predicted([77.0]))
    assert "secret" not in str(caught.value) + caplog.text


@pytest.mark.parametrize("name", ["example_weekly", "example_trouble", "accuracy", "unknown"])
def test_predictions_that_nothing_is_wrong_with_pass(name: str) -> None:
    custom_metrics.screen(name, predicted([1.0, 2.0]))


def test_the_organizer_learns_at_set_up_that_a_metric_fails() -> None:
    solution = labelled([1.0, 2.0])
    own("example_weekly").check(SCHEMA, solution, {})
    with pytest.raises(ParameterError, match="ParticipantVisibleError at example_metrics") as found:
        own("example_raising").check(SCHEMA, solution, {})
    assert "labels are" not in found.value.message


@pytest.fixture
def fussy(world: World) -> World:
    """The small competition with a metric that raises where a label is missed."""
    set_board(world.digits, metric="example_fussy")
    return world


def test_a_file_is_scored_by_a_custom_metric_and_gets_no_certificate(fussy: World) -> None:
    submission = fussy.score(fussy.join(fussy.alice))
    row = queries.submission_row(submission)
    assert (submission.status, submission.failure) == (Status.RELEASED, "")
    assert said(submission).level == 0
    assert said(submission).certificate is None
    assert "failed" not in summary(row)


def test_a_metric_that_fails_beside_labels_looks_like_any_bad_score(fussy: World) -> None:
    submission = fussy.score(fussy.join(fussy.alice), predictions(wrong=[17]))
    assert submission.status == Status.RELEASED
    assert said(submission).level == said(submission).steps
    assert submission.failure.startswith("Fussy: ParticipantVisibleError at example_metrics.py:")
    assert "17" not in submission.failure
    page = browser(fussy.alice).get(f"/c/digits/submissions/{submission.number}/")
    assert "Fussy: P" not in page.content.decode()


def test_a_metrics_own_check_rejects_a_file_before_the_holdout_is_asked(fussy: World) -> None:
    content = "id,label\n" + "".join(f"r{row},3\n" for row in range(40))
    submission = fussy.score(fussy.join(fussy.alice), content.encode())
    assert submission.status == Status.REJECTED
    assert submission.problems[0]["message"] == "All rows are of class 3."
    assert Ledger.objects.get().asked == 0


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["9", "7", "5"]])
def test_rows_have_the_ids_of_the_sample(ids: list[str]) -> None:
    solution = read_solution(
        f"id,y,Usage\n{ids[0]},1,Public\n{ids[1]},1,Private\n{ids[2]},1,Private\n".encode(),
        SCHEMA,
        RowIds(ids),
    )
    guesses = Predictions(SCHEMA, {"y": np.ones(3)}, RowIds(ids))
    metric, private = own("example_ids"), solution.usage == Usage.PRIVATE
    metric.check(SCHEMA, solution, {})
    stored = Solution.from_bytes(solution.to_bytes())
    assert metric.measure(guesses, stored, private, {}).units == 0


def test_labels_and_integers_arrive_as_in_a_file() -> None:
    schema = Schema("id", (Column("y", "label", ("10", "20")),))
    row_ids = RowIds(["a", "b"])
    guesses = Predictions(schema, {"y": np.array([0, 1], np.int32)}, row_ids)
    usage = np.full(2, Usage.PRIVATE, np.int8)
    solution = Solution(schema, {"y": np.array([1, 1], np.int32)}, usage, row_ids.digest)
    mean = own("example_weekly").measure(guesses, solution, np.ones(2, np.bool_), {})
    assert mean.units / mean.whole == 0.5
