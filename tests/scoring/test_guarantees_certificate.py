"""The interval of a release: from released values only, no wider than the plain one, and true."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError, StateError
from scoring.guarantees.certificate import certify
from scoring.guarantees.intervals import kl_divergence
from scoring.guarantees.ledger import ledger_width
from scoring.mechanisms.base import Answer

ROWS = 10_000
IMPROVED = Answer("improved", 5, None, 50, 0.05, 0.01, 100)


def test_an_improvement_is_certified_on_both_sides() -> None:
    found = certify(IMPROVED, ROWS)
    assert found is not None
    assert 0 < found.low < 0.09
    assert 0.11 < found.high < 0.16


@given(
    st.integers(0, 50),
    st.floats(0.001, 0.3),
    st.floats(0, 0.19),
    st.sampled_from(["confirmed", "corrected", "improved", "not_improved", "pass"]),
)
def test_the_kl_bound_is_never_wider_than_hoeffdings(
    level: int, width: float, tolerance: float, kind: str
) -> None:
    answer = Answer(kind, level, None, 50, width, tolerance, 1)
    found, loss = certify(answer, ROWS), level / 50
    assert found is not None
    assert answer.certificate is not None
    assert found.low in (0, pytest.approx(loss, abs=answer.certificate + 1e-7))
    assert found.high in (1, pytest.approx(loss, abs=answer.certificate + 1e-7))
    assert found.low <= loss <= found.high


def test_the_kl_bound_ends_where_the_divergence_from_the_cell_uses_up_the_ledger() -> None:
    found = certify(IMPROVED, ROWS)
    assert found is not None
    assert kl_divergence(0.09, found.low) == pytest.approx(2 * 0.05**2)
    assert kl_divergence(0.11, found.high) == pytest.approx(2 * 0.05**2)


def test_no_improvement_bounds_the_loss_from_below_only() -> None:
    found = certify(replace(IMPROVED, kind="not_improved"), ROWS)
    assert found is not None
    assert found.high == 1
    assert found.low > 0.04


def test_a_pass_bounds_the_loss_from_above_only() -> None:
    found = certify(replace(IMPROVED, kind="pass", tolerance=0.0), ROWS)
    assert found is not None
    assert found.low == 0
    assert found.high < 0.15


@pytest.mark.parametrize(
    "answer",
    [
        replace(IMPROVED, width=0.49),
        replace(IMPROVED, kind="exhausted", tolerance=1.0),
        replace(IMPROVED, kind="fail", level=None),
    ],
)
def test_what_certifies_nothing_has_no_interval(answer: Answer) -> None:
    assert certify(answer, ROWS) is None


def test_an_interval_of_no_rows_is_refused() -> None:
    with pytest.raises(ConditionError):
        certify(IMPROVED, 0)


def test_an_answer_that_no_mechanism_gives_is_refused() -> None:
    with pytest.raises(StateError):
        certify(replace(IMPROVED, kind="unheard_of"), ROWS)


def test_both_bounds_hold_on_one_event_so_beta_is_not_split() -> None:
    """Exactly, for a single question about a coin: the chance that the KL interval misses."""
    rows, truth, beta = 200, 0.1, 0.5
    width = ledger_width(rows, 1, 0, 0.0, math.log(beta))
    counts = np.arange(rows + 1)
    ln_choose = [
        math.lgamma(rows + 1) - math.lgamma(k + 1) - math.lgamma(rows - k + 1) for k in counts
    ]
    chances = np.exp(
        np.array(ln_choose) + counts * math.log(truth) + (rows - counts) * math.log1p(-truth)
    )
    missed = 0.0
    for count, chance in zip(counts.tolist(), chances.tolist(), strict=True):
        found = certify(Answer("improved", count, None, rows, width, 0.0, 1), rows)
        assert found is not None
        missed += chance * (not found.low <= truth <= found.high)
    assert 0 < missed <= beta * (6 / math.pi**2) ** 2  # the first question's share


def test_losses_that_are_counted_in_units_widen_the_interval_by_half_a_unit() -> None:
    exact, counted = certify(IMPROVED, ROWS), certify(IMPROVED, ROWS, rounding=5e-7)
    assert exact is not None
    assert counted is not None
    assert counted.low == pytest.approx(exact.low - 5e-7, abs=1e-15)
    assert counted.high == pytest.approx(exact.high + 5e-7, abs=1e-15)
