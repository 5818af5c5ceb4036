"""The mechanisms for one's own validation rows."""

import pickle
import sys
from collections.abc import Callable

import numpy as np
import pytest

from holdfast import errors, twin

ROWS = 2000
SEED = np.random.default_rng(1)
LOSSES = (SEED.random(2 * ROWS) < 0.2).astype(float)
PRIVATE, PUBLIC = LOSSES[:ROWS], LOSSES[ROWS:]
FITTED = PUBLIC * (SEED.random(ROWS) < 0.3)  # public rows alone got better


def test_guard_confirms_what_holds_and_corrects_what_does_not() -> None:
    guard = twin.Guard(ROWS, ROWS)
    honest = guard.ask(PRIVATE, PUBLIC)
    assert (honest.kind, honest.loss) == ("confirmed", round(PUBLIC.mean(), 2))
    fitted = guard.ask(PRIVATE, FITTED)
    assert (fitted.kind, fitted.loss) == ("corrected", round(PRIVATE.mean(), 2))
    assert (guard.asked, guard.corrections_left) == (2, 19)


def test_the_same_question_is_free_also_after_pickling() -> None:
    asked = twin.Thresholdout(ROWS, ROWS)
    first = asked.ask(PRIVATE, PUBLIC)
    again: twin.Thresholdout = pickle.loads(pickle.dumps(asked))  # noqa: S301
    assert again.ask(PRIVATE, PUBLIC) == first
    assert again.asked == 1


@pytest.mark.parametrize(
    "make", [lambda: twin.Guard(ROWS, ROWS, questions=200), lambda: twin.Ladder(ROWS)]
)
def test_an_attack_on_coin_flips_does_not_leave_its_intervals(
    make: Callable[[], twin.Twin],
) -> None:
    """Keep what was answered well, take the majority, and ask for that: it is still a coin."""
    asked, random = make(), np.random.default_rng(7)
    labels = random.integers(0, 2, 2 * ROWS)

    def ask(votes: np.ndarray) -> twin.Answer:
        losses = (votes != labels).astype(float)
        return asked.ask(losses[:ROWS], losses[ROWS:] if isinstance(asked, twin.Guard) else None)

    kept, best = [], 0.5
    for _ in range(200):
        votes = random.integers(0, 2, 2 * ROWS)
        answer = ask(votes)
        if answer.loss is not None and answer.loss < best:
            kept.append(votes)
        assert answer.low is None or answer.high is None or answer.low <= 0.5 <= answer.high
    final = ask((np.mean(kept or [labels * 0], axis=0) > 0.5).astype(int))
    assert final.low is None or final.low <= 0.5


def test_a_claim_stands_for_public_rows() -> None:
    guard = twin.Guard(ROWS)
    assert guard.ask(PRIVATE, 0.2).kind == "confirmed"
    assert guard.ask(PRIVATE, 0.05).kind == "corrected"


def test_without_a_budget_nothing_is_said_and_nothing_promised() -> None:
    guard = twin.Guard(ROWS, ROWS, budget=1)
    guard.ask(PRIVATE, FITTED)
    spent = guard.ask(1 - PRIVATE, PUBLIC)
    assert (spent.kind, spent.low, spent.high) == ("exhausted", None, None)


def test_what_will_be_promised_follows_from_what_was_answered() -> None:
    ladder = twin.Ladder(ROWS, questions=1000)
    now, later = ladder.half_width(0.2), ladder.half_width(0.2, ahead=1000)
    answer = ladder.ask(PRIVATE)
    assert now is not None
    assert later is not None
    assert answer.low is not None
    assert answer.high is not None
    assert now < later or now == pytest.approx(later)
    assert answer.low < PRIVATE.mean() < answer.high
    assert ladder.half_width(0.2, ahead=1000) is None, "beyond what will be asked"


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: twin.Guard(ROWS, ROWS).ask(PRIVATE[:5], PUBLIC), "private: Give 2,000 losses"),
        (lambda: twin.Guard(ROWS, ROWS).ask(PRIVATE + 0.5, PUBLIC), "private: Losses lie between"),
        (lambda: twin.Guard(ROWS, ROWS).ask(PRIVATE * np.nan, PUBLIC), "Losses lie between"),
        (lambda: twin.Guard(ROWS, ROWS).ask(PRIVATE), "reference: Give the losses"),
        (lambda: twin.Guard(ROWS).ask(PRIVATE), "reference: Give the loss that you expect"),
        (lambda: twin.Ladder(ROWS, steps=1), "steps: Give at least 2"),
        (lambda: twin.Ladder(ROWS, questions=0), "questions: Give a positive number"),
    ],
)
def test_bad_input_is_refused_and_named(ask: Callable[[], object], reason: str) -> None:
    with pytest.raises(errors.Failure, match=reason):
        ask()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scoring.ledger", None)
    with pytest.raises(errors.NotInstalled, match=r'pip install "\.\[science\]"'):
        twin.Ladder(ROWS)
