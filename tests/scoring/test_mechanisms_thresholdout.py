"""Thresholdout: its trace, its noise, its shares and its refusals."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from research.bounds.privacy import epsilon_nips, epsilon_science, epsilon_zhao
from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.thresholdout import Thresholdout, ThresholdoutParams
from scoring.noise import ANSWER, COMPARISON, THRESHOLD, KeyedNoise, Noise
from tests.scoring.facts import ACCURACY, AUC, RMSE, Counts, Metric
from tests.scoring.fixed_noise import NO_NOISE, FixedNoise

THRESHOLDOUT = Thresholdout()
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
PARAMS = THRESHOLDOUT.parse(
    {"threshold": "0.1", "noise_scale": "0.001", "budget": "4", "team_share": "2", "steps": "100"}
)
ROWS = 10_000
ENOUGH = Counts(public=10_000, private=10_000)


def start(budget: int = 4, share: int = 2) -> State:
    return State(HoldoutState(budget_left=budget - share), TeamState(share_left=share))


def measured(holdout: int, reference: int) -> Measurement:
    """Losses in ten-thousandths, on ten thousand 0/1 rows each."""
    return Measurement(Mean(holdout, ROWS, 1), Mean(reference, ROWS, 1))


def submit(
    state: State,
    holdout: int,
    reference: int,
    noise: Noise = NO_NOISE,
    params: ThresholdoutParams = PARAMS,
) -> tuple[State, Answer]:
    return THRESHOLDOUT.step(params, state, measured(holdout, reference), noise)


def test_the_published_trace() -> None:
    """Its pairs are (E_t, E_S); its noise is turned into rows of a holdout of 1000."""
    trace = next(trace for trace in VECTORS["traces"] if trace["trace"] == "thresholdout_nips")
    params = THRESHOLDOUT.parse(
        {"threshold": "0.04", "budget": "2", "team_share": "2", "steps": "1000"}
    )
    rows = {
        THRESHOLD: [round(1000 * gamma) for gamma in trace["gamma"]],
        COMPARISON: [round(1000 * eta) for eta in trace["eta"]],
        ANSWER: [round(1000 * xi) for xi in trace["xi"]],
    }
    noise, state, answers = FixedNoise(rows), start(2), []
    for reference, holdout in trace["pairs"]:
        pair = Measurement(
            Mean(round(1000 * holdout), 1000, 1), Mean(round(1000 * reference), 1000, 1)
        )
        state, answer = THRESHOLDOUT.step(params, state, pair, noise)
        answers.append(None if answer.kind == "exhausted" else answer.level)
    expected = [None if value is None else round(1000 * value) for value in trace["answers"]]
    assert answers == expected


def test_an_agreeing_reference_is_confirmed_for_free() -> None:
    state, answer = submit(start(), 3000, 3500)
    assert (answer.kind, answer.level, answer.reference_level) == ("confirmed", 35, 35)
    assert state.team == TeamState(best=35, last=35, share_left=2)
    assert (state.holdout.asked, state.holdout.answered, state.holdout.firings) == (1, 0, 0)


def test_a_disagreeing_reference_is_corrected_and_paid_for() -> None:
    state, answer = submit(start(), 5000, 3500)
    assert (answer.kind, answer.level, answer.reference_level) == ("corrected", 50, 35)
    assert state.team == TeamState(best=50, last=50, share_left=1)
    assert state.holdout == HoldoutState(1, 1, math.log(101), 1, 2)


def test_a_distance_equal_to_the_threshold_is_confirmed() -> None:
    assert submit(start(), 4500, 3500)[1].kind == "confirmed"
    assert submit(start(), 4501, 3500)[1].kind == "corrected"
    assert submit(start(), 2500, 3500)[1].kind == "confirmed"
    assert submit(start(), 2499, 3500)[1].kind == "corrected"


def test_the_reference_is_rounded_before_it_is_compared() -> None:
    assert submit(start(), 4520, 3549)[1].kind == "corrected"
    assert submit(start(), 4520, 3500)[1].kind == "corrected"
    assert submit(start(), 4520, 3550)[1].kind == "confirmed"


def test_noise_has_the_printed_scales_and_keys() -> None:
    noise = FixedNoise()
    state = State(HoldoutState(3, 3, 1.0, 3, 0), TeamState(share_left=1))
    submit(state, 5000, 3500, noise)
    assert noise.asked == [
        (Fraction(20), THRESHOLD, 3),
        (Fraction(40), COMPARISON, 3),
        (Fraction(10), ANSWER, 3),
    ]


def test_noise_scales_with_the_units_of_a_row() -> None:
    noise = FixedNoise()
    means = (Mean(5 * 10**8, ROWS, 10**5), Mean(3 * 10**8, ROWS, 10**5))
    THRESHOLDOUT.step(PARAMS, start(), Measurement(*means), noise)
    assert [scale for scale, _, _ in noise.asked] == [20 * 10**5, 40 * 10**5, 10 * 10**5]


@pytest.mark.parametrize(("added", "level"), [(-9000, 0), (-49, 50), (149, 51), (9000, 100)])
def test_a_corrected_score_is_noisy_clamped_and_on_the_grid(added: int, level: int) -> None:
    assert submit(start(), 5000, 3500, FixedNoise({ANSWER: [added]}))[1].level == level


def test_the_best_level_is_the_lowest_released_and_the_last_the_latest() -> None:
    state, _ = submit(start(), 3000, 3000)
    state, _ = submit(state, 4000, 4000)
    assert (state.team.best, state.team.last) == (30, 40)


def test_an_exhausted_team_sees_its_last_level_and_the_ledger_counts_on() -> None:
    state = State(HoldoutState(7, 2, 9.0, 2, 0), TeamState(best=30, last=40, share_left=0))
    noise = FixedNoise()
    after, answer = submit(state, 1000, 2000, noise)
    assert (answer.kind, answer.level, answer.reference_level) == ("exhausted", 40, 20)
    assert answer.certificate is None
    assert (answer.asked, after.holdout.asked) == (8, 8)
    assert after.team == state.team
    assert noise.asked == []


def test_a_team_takes_its_share_at_its_first_correction() -> None:
    waiting = State(HoldoutState(budget_left=3), TeamState())
    confirmed = submit(waiting, 3000, 3500)[0]
    assert (confirmed.holdout.budget_left, confirmed.team.share_left) == (3, None)
    corrected = submit(confirmed, 5000, 3500)[0]
    assert (corrected.holdout.budget_left, corrected.team.share_left) == (1, 1)
    last = submit(State(corrected.holdout, TeamState()), 5000, 3500)[0]
    assert (last.holdout.budget_left, last.team.share_left) == (0, 0)


def test_whether_a_team_is_exhausted_does_not_depend_on_the_answer() -> None:
    nothing_left = State(HoldoutState(3, 3, 1.0, 3, 0), TeamState())
    answers = {submit(nothing_left, units, 3500)[1] for units in (3500, 5000)}
    assert [answer.kind for answer in answers] == ["exhausted"]


def test_an_exhausted_question_is_another_question() -> None:
    exhausted = State(HoldoutState(budget_left=0), TeamState(share_left=0))
    asked = THRESHOLDOUT.question(PARAMS, start())
    assert asked == "thresholdout threshold=1/10 noise_scale=1/1000 steps=100"
    assert THRESHOLDOUT.question(PARAMS, exhausted) != asked


def test_the_question_leaves_out_the_firing_index() -> None:
    later = State(HoldoutState(9, 3, 1.0, 3, 2), TeamState(best=1, last=2, share_left=1))
    assert THRESHOLDOUT.question(PARAMS, later) == THRESHOLDOUT.question(PARAMS, start())


def quantile(scale: int, beta: float, question: int, sides: int) -> int:
    """The smallest z that noise of this scale passes with at most its share of the beta."""
    share = beta * 6 / (math.pi * question) ** 2
    z = 0
    while sides * math.exp(-(z + 1) / scale) / (1 + math.exp(-1 / scale)) > share:
        z += 1
    return z


LATER = State(HoldoutState(41, 1, math.log(101), 1, 2), TeamState(share_left=1))


def test_a_confirmed_certificate_covers_threshold_and_both_noises() -> None:
    _, answer = submit(LATER, 3000, 3500, FixedNoise({THRESHOLD: [0, 0]}))
    noise = quantile(20, 0.025 / 3, question=2, sides=1)
    noise += quantile(40, 0.025 / 3, question=42, sides=1)
    assert answer.tolerance == pytest.approx(0.1 + noise / ROWS)


def test_a_corrected_certificate_covers_its_noise_and_half_a_step() -> None:
    _, answer = submit(LATER, 5000, 3500)
    noise = quantile(10, 0.025 / 3, question=2, sides=2)
    assert answer.tolerance == pytest.approx(0.005 + noise / ROWS)


def test_the_width_has_half_of_beta() -> None:
    _, answer = submit(LATER, 3000, 3500)
    ln_share = math.log(0.025) + 2 * math.log(6 / math.pi**2) - 2 * math.log(42 * 2)
    ln_share -= math.log(41) + math.log(101)
    assert answer.width == pytest.approx(math.sqrt((math.log(2) - ln_share) / (2 * ROWS)))


def test_noise_of_a_later_question_is_allowed_for_more_widely() -> None:
    later = State(HoldoutState(1000, 0, 0.0, 0, 2), TeamState(share_left=2))
    assert submit(later, 3000, 3500)[1].tolerance > submit(start(), 3000, 3500)[1].tolerance


@pytest.mark.parametrize("metric", [ACCURACY, RMSE])
def test_means_and_transformed_means_are_taken(metric: Metric) -> None:
    THRESHOLDOUT.check(PARAMS, metric, ENOUGH)


def test_the_defaults_fit_a_class_of_two_thousand_rows() -> None:
    THRESHOLDOUT.check(THRESHOLDOUT.parse({}), ACCURACY, Counts(public=1000, private=2000))


@pytest.mark.parametrize(
    ("metric", "counts", "field", "reason"),
    [
        (AUC, ENOUGH, "mechanism", "means over rows, and auc"),
        (ACCURACY, Counts(public=10_000), "solution", "no private rows"),
        (ACCURACY, Counts(private=10_000), "solution", "has 0 of them"),
        (ACCURACY, Counts(public=9, private=10_000), "solution", "at least 10"),
        (ACCURACY, Counts(public=20, private=10_000), "threshold", "0.112 apart by chance"),
        (ACCURACY, Counts(public=10_000, private=900), "noise_scale", "less than one row"),
        (ACCURACY, Counts(public=10_000, private=600), "steps", "at most 97"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    metric: Metric, counts: Counts, field: str, reason: str
) -> None:
    with pytest.raises(ParameterError, match=reason) as caught:
        THRESHOLDOUT.check(PARAMS, metric, counts)
    assert caught.value.field == field


def test_the_suggested_threshold_is_then_accepted() -> None:
    params = THRESHOLDOUT.parse({"threshold": "0.114", "noise_scale": "0.001"})
    THRESHOLDOUT.check(params, ACCURACY, Counts(public=20, private=10_000))


@pytest.mark.parametrize(
    ("form", "highest", "above"),
    [("nips", "0.005", "0.0051"), ("science", "0.0025", "0.0026"), ("zhao", "0.01", "0.011")],
)
def test_threshold_noise_above_a_tenth_of_the_threshold_is_refused(
    form: str, highest: str, above: str
) -> None:
    with pytest.raises(ParameterError, match=f"at most {highest}") as caught:
        THRESHOLDOUT.parse({"threshold": "0.1", "noise_scale": above, "form": form})
    assert caught.value.field == "noise_scale"
    THRESHOLDOUT.parse({"threshold": "0.1", "noise_scale": highest, "form": form})


@pytest.mark.parametrize(
    ("form", "scales"),
    [("nips", [20, 40, 10]), ("science", [40, 80, 20]), ("zhao", [10, 20, 40])],
)
def test_each_form_has_its_printed_scales(form: str, scales: list[int]) -> None:
    params = THRESHOLDOUT.parse({"threshold": "0.1", "noise_scale": "0.001", "form": form})
    noise = FixedNoise()
    THRESHOLDOUT.step(params, start(), measured(5000, 3500), noise)
    assert [scale for scale, _, _ in noise.asked] == scales


@pytest.mark.parametrize(
    ("form", "cost"),
    [("nips", epsilon_nips), ("science", epsilon_science), ("zhao", epsilon_zhao)],
)
def test_each_form_costs_what_its_paper_says(
    form: str, cost: Callable[[int, int, float], float]
) -> None:
    params = THRESHOLDOUT.parse({"budget": "7", "noise_scale": "0.001", "form": form})
    expected = cost(ROWS, 7, 0.001)
    assert float(THRESHOLDOUT.epsilon(params, ROWS)) == pytest.approx(expected)


def test_science_at_half_the_noise_scale_is_nips_draw_for_draw() -> None:
    raw = {"threshold": "0.1", "budget": "4", "team_share": "2"}
    nips = THRESHOLDOUT.parse({**raw, "noise_scale": "0.002"})
    science = THRESHOLDOUT.parse({**raw, "noise_scale": "0.001", "form": "science"})
    for holdout in range(3000, 6000, 100):
        noise = KeyedNoise(bytes(32), "holdout").for_question(
            str(holdout), "the same question", team="", board=""
        )
        measurement = measured(holdout, 3500)
        answers = [THRESHOLDOUT.step(p, start(), measurement, noise) for p in (nips, science)]
        assert answers[0] == answers[1]


def test_the_certificate_allows_for_the_noise_of_its_form() -> None:
    added = [
        submit(start(), 5000, 3500, params=replace(PARAMS, form=form))[1].tolerance - 0.005
        for form in ("nips", "science", "zhao")
    ]
    assert added[1] == pytest.approx(2 * added[0], rel=0.02)
    assert added[2] == pytest.approx(4 * added[0], rel=0.02)


CLAIMS = replace(PARAMS, reference="claim")


def test_a_claim_is_confirmed_or_corrected_like_a_public_score() -> None:
    for holdout, claim, kind, level in (
        (3000, "0.35", "confirmed", 35),
        (5000, 0.35, "corrected", 50),
    ):
        mean = Mean(holdout, ROWS, 1)
        measurement = Measurement(mean, mean.claimed(Fraction(claim)))
        _, answer = THRESHOLDOUT.step(CLAIMS, start(), measurement, NO_NOISE)
        assert (answer.kind, answer.level, answer.reference_level) == (kind, level, 35)


def test_another_claim_is_another_question() -> None:
    mean = Mean(5000, ROWS, 1)
    asked = [
        THRESHOLDOUT.question(CLAIMS, start(), mean.claimed(claim)) for claim in (0.35, 0.351, 0.36)
    ]
    assert asked[0] == asked[1] != asked[2]
    assert "claim=35" in asked[0]


def test_a_question_without_its_claim_is_refused() -> None:
    with pytest.raises(StateError):
        THRESHOLDOUT.question(CLAIMS, start())


def test_claims_need_no_public_rows() -> None:
    params = THRESHOLDOUT.parse({"reference": "claim"})
    THRESHOLDOUT.check(params, ACCURACY, Counts(private=2000))
    with pytest.raises(ParameterError, match="With 100 private rows the two losses"):
        THRESHOLDOUT.check(replace(params, steps=10), ACCURACY, Counts(private=100))


def test_a_grid_coarser_than_the_threshold_is_refused() -> None:
    """Rounding the reference would cross the threshold by itself, and use up the corrections."""
    with pytest.raises(ParameterError, match="at least 250") as caught:
        THRESHOLDOUT.parse({"threshold": "0.004", "noise_scale": "0.0001", "steps": "249"})
    assert caught.value.field == "steps"
    THRESHOLDOUT.parse({"threshold": "0.004", "noise_scale": "0.0001", "steps": "250"})


def test_a_share_above_the_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="budget of 3") as caught:
        THRESHOLDOUT.parse({"budget": "3", "team_share": "4"})
    assert caught.value.field == "team_share"


@pytest.mark.parametrize(
    ("state", "measurement"),
    [
        (start(), Measurement(Mean(1, 10, 1))),
        (start(), Measurement(Mean(1, 10, 1, additive=False), Mean(1, 10, 1))),
        (start(), Measurement(Mean(1, 10, 1), Mean(1, 10, 1, additive=False))),
        (State(HoldoutState(), TeamState(share_left=1)), measured(1, 1)),
        (State(HoldoutState(budget_left=1), TeamState(1, 101, 1)), measured(1, 1)),
    ],
)
def test_a_state_or_measurement_of_another_mechanism_is_refused(
    state: State, measurement: Measurement
) -> None:
    with pytest.raises(StateError):
        THRESHOLDOUT.step(PARAMS, state, measurement, NO_NOISE)
