"""Bounds against published vectors, slow independent references and inverse laws."""

import itertools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from research.bounds import (
    blum_hardt,
    boards,
    dwork_nips,
    dwork_science,
    jung,
    privacy,
    rogers,
    sensitivity,
    tails,
    zhao,
)
from scoring.errors import ConditionError
from scoring.guarantees import intervals, ledger
from scoring.guarantees import sensitivity as served_sensitivity

VECTORS = json.loads((Path(__file__).parents[1] / "scoring" / "vectors.json").read_text())


def _ln_beta(asked: int, answered: int, log_alphabets: float, beta: float) -> float:
    return ledger.ln_beta_of_question(asked, answered, log_alphabets, math.log(beta))


def _ledger_width(rows: int, asked: int, answered: int, log_alphabets: float, beta: float) -> float:
    return ledger.ledger_width(rows, asked, answered, log_alphabets, math.log(beta))


# The vectors' names: the function, and its arguments' names there in the order of ours.
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "hoeffding_tail": (tails.hoeffding_tail, "n t"),
    "hoeffding_width": (tails.hoeffding_width, "n beta"),
    "bonferroni_width": (intervals.bonferroni_width, "n F beta"),
    "laplace_sum_upper_tail": (tails.laplace_sum_upper_tail, "a b x"),
    "eps_nips": (privacy.epsilon_nips, "n B s"),
    "eps_science": (privacy.epsilon_science, "n B tau"),
    "eps_zhao": (privacy.epsilon_zhao, "n B s"),
    "eps_nips_adv": (privacy.epsilon_nips_advanced, "n B s ln_2_over_delta"),
    "eps_science_adv": (privacy.epsilon_science_advanced, "n B tau ln_2_over_delta"),
    "rho_nips": (privacy.rho_nips, "n B s"),
    "rho_zhao": (privacy.rho_zhao, "n B s"),
    "eps_from_rho": (privacy.epsilon_from_rho, "rho delta"),
    "budget0": (dwork_science.budget_pure, "n tau"),
    "budget1_printed": (dwork_science.budget_approximate_printed, "n tau beta"),
    "budget1_exact": (dwork_science.budget_approximate, "n tau beta"),
    "cor7_tail": (dwork_science.corollary7_tail, "n tau"),
    "thm8_nmin": (dwork_science.theorem8_rows, "tau beta"),
    "thm8_ln_delta": (dwork_science.theorem8_ln_delta, "tau beta"),
    "thm11_printed": (dwork_science.theorem11_tail_printed, "n tau t"),
    "thm11_corrected": (dwork_science.theorem11_tail, "n tau B t u"),
    "thm9_T": (dwork_nips.theorem9_threshold, "tau"),
    "thm9_sigma": (dwork_nips.theorem9_sigma, "tau m beta"),
    "thm9_n0_pure": (dwork_nips.theorem9_rows, "tau m beta B"),
    "maxinfo_desc": (dwork_nips.max_information_of_description, "Y beta"),
    "maxinfo_pure": (dwork_nips.max_information_of_privacy, "n eps"),
    "maxinfo_iid": (dwork_nips.max_information_of_privacy_iid, "n eps beta"),
    "maxinfo_apply": (dwork_nips.apply_max_information, "k p beta"),
    "ell_printed": (dwork_nips.histories_printed, "i B"),
    "ell_exact": (dwork_nips.histories, "i B"),
    "sparse_lnN": (dwork_nips.sparse_ln_count, "m B G"),
    "sparse_width": (dwork_nips.sparse_width, "n m B beta G"),
    "gnc_ln_beta": (_ln_beta, "i f lnprodG beta"),
    "gnc_width": (_ledger_width, "n i f lnprodG beta"),
    "ladder_V": (boards.ladder_values, "eta"),
    "ladder_lnN": (boards.ladder_ln_count, "k eta"),
    "ladder_eps": (blum_hardt.ladder_epsilon, "n k eta beta"),
    "ladder_width": (boards.ladder_width, "n k eta beta"),
    "ladder_best": (blum_hardt.best_ladder, "n k beta"),
    "ladder_eps_BH": (blum_hardt.ladder_epsilon_blum_hardt, "n k eta beta"),
    "ladder_joint_width": (blum_hardt.joint_ladder_width, "n k eta beta teams"),
    "zhao_n_star": (zhao.theorem1_rows_star, "B s tau beta a"),
    "zhao_n_hash": (zhao.theorem1_rows_hash, "B s tau beta N b"),
    "zhao_thm2_sigma": (zhao.theorem2_sigma, "tau m beta c"),
    "zhao_thm2_n": (zhao.theorem2_rows, "tau m beta c B"),
    "zhao_thm3": (zhao.theorem3_max_information, "n eps beta"),
    "zhao_lemma1": (zhao.lemma1_tail_printed, "n tau Delta"),
    "zhao_lemma3_dp": (zhao.lemma3_epsilon, "eps a"),
    "zhao_lemma4": (zhao.lemma4_epsilon, "eps g rho c"),
    "jung": (jung.transfer, "alpha beta_s eps delta c d"),
    "thresholdout_noise": (jung.thresholdout_noise, "n m B s beta_s"),
    "thresholdout_jung": (jung.thresholdout_width, "n m B T s beta c d"),
    "mi_second_moment": (rogers.second_moment, "n I"),
    "thresholdout_mse_width": (rogers.thresholdout_width, "n m B T s beta"),
    "boosting_loss": (blum_hardt.boosting_loss, "n k"),
    "auc_sens": (served_sensitivity.auc_sensitivity, "n1 n0"),
    "auc_width": (sensitivity.auc_width, "n1 n0 beta"),
    "logloss_range": (sensitivity.log_loss_range, "p"),
    "kl_interval": (intervals.kl_interval, "n phat lnN beta"),
    "markov_hoeffding_tail": (zhao.markov_hoeffding_tail, "n t lam"),
    "naive_board_width": (boards.exact_board_width, "n m G beta"),
    "dlap_tail": (tails.discrete_laplace_tail, "t z"),
}


def _vector_id(vector: dict[str, Any]) -> str:
    return f"{vector['f']}({', '.join(f'{k}={v}' for k, v in vector['args'].items())})"


@pytest.mark.parametrize("vector", VECTORS["functions"], ids=_vector_id)
def test_a_guarantee_gives_the_value_of_its_vector(vector: dict[str, Any]) -> None:
    function, names = FUNCTIONS[vector["f"]]
    assert set(names.split()) == vector["args"].keys()
    value = function(*(vector["args"][name] for name in names.split()))
    assert value == pytest.approx(vector["value"], rel=1e-6)


def test_there_are_67_vectors_and_each_has_a_function() -> None:
    assert len(VECTORS["functions"]) == 67
    assert {vector["f"] for vector in VECTORS["functions"]} == FUNCTIONS.keys()


CONDITIONS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (tails.hoeffding_width, (0, 0.05)),
    (tails.hoeffding_width, (10, 0.0)),
    (tails.hoeffding_tail, (10, -0.1)),
    (tails.laplace_sum_upper_tail, (1.0, 2.0, -1.0)),
    (privacy.epsilon_nips, (100, 1, 0.0)),
    (privacy.epsilon_nips_advanced, (100, 1, 0.1, 0.5)),
    (privacy.epsilon_from_rho, (-0.1, 0.1)),
    (privacy.rho_science, (100, 1, 0.0)),
    (dwork_science.theorem6_epsilon, (100, 0.0)),
    (dwork_science.theorem6_ln_tail, (100, 0.2, -3.0)),
    (dwork_science.corollary7_tail, (100, 0.1, 0.11)),
    (dwork_science.theorem8_rows, (0.0, 0.05)),
    (dwork_science.theorem8_tail, (97_443, 0.05, 0.05, 0.0125, -500.0)),
    (dwork_science.theorem8_tail, (97_444, 0.05, 0.05, 0.0126, -500.0)),
    (dwork_science.theorem8_tail, (97_444, 0.05, 0.05, 0.0125, -406.0)),
    (dwork_science.lemma10_pure, (100, 1, 0.0)),
    (dwork_science.lemma10_approximate, (100, 100, 0.01, 1.0)),
    (dwork_science.theorem11_tail_printed_approximate, (0.05, -1.0)),
    (dwork_science.theorem11_tail_approximate, (97_443, 0.05, 0.05, 1, 60.0, 30.0)),
    (dwork_science.theorem11_tail_approximate, (10**6, 0.05, 0.05, 121, 60.0, 30.0)),
    (dwork_science.theorem11_tail_approximate, (10**6, 0.05, 0.05, 120, 60.0, 0.0)),
    (dwork_science.theorem11_tail, (10**6, 0.01, 100, 60.0, 60.0)),
    (dwork_science.theorem11_tail, (10**6, 0.01, 101, 60.0, 30.0)),
    (dwork_nips.theorem9_rows, (0.1, 10, 0.05, 11)),
    (dwork_nips.theorem9_accuracy, (1000, 10, 0.05, 5)),
    (dwork_nips.apply_max_information, (5.0, 1.1, 0.0)),
    (dwork_nips.apply_max_information, (-1.0, 0.1, 0.0)),
    (dwork_nips.ln_apply_max_information, (5.0, 0.1, 0.0)),
    (dwork_nips.compose_max_information, ((1.0, 0.5), (1.0, 0.5))),
    (dwork_nips.compose_max_information, ((-1.0, 0.1),)),
    (dwork_nips.ln_theorem10, (5, 0, -3.0)),
    (dwork_nips.ln_theorem10, (5, 2, 0.1)),
    (dwork_nips.sparse_width, (100, 0, 1, 0.05)),
    (blum_hardt.ladder_epsilon_blum_hardt, (100, 10, 2.0, 0.05)),
    (zhao.theorem1_rows_star, (10, 0.02, 0.1, 0.05, 0.01)),
    (zhao.lemma3_epsilon, (0.1, 0.025)),
    (zhao.lemma4_epsilon, (0.1, 0.5, 0.25, 0.2)),
    (zhao.lemma4_epsilon, (0.1, 0.5, 0.25, 0.1, 27)),
    (zhao.markov_hoeffding_tail, (100, 0.1, 1.0)),
    (zhao.lemma1_tail_printed, (100, 0.1, 0.01, 0.04)),
    (zhao.theorem2_threshold, (0.1, 1.0)),
    (zhao.lemma2_epsilon, (1.0, [])),
    (zhao.lemma2_epsilon, (1.0, [zhao.Quilt(0, 0.25)])),
    (jung.thresholdout_width_pure, (100, 10, 5, 0.0, 0.01, 0.05, 0.01)),
    (rogers.gaussian_width, (100, 10, 0.0, 0.05)),
    (sensitivity.f1_sensitivity, (0,)),
    (sensitivity.f1_width, (10, 11, 0.0, 0.05)),
    (jung.transfer, (0.1, 0.01, 0.1, 1e-6, 0.1, 0.0)),
    (rogers.second_moment, (0, 1.0)),
    (sensitivity.log_loss_range, (0.5,)),
]


@pytest.mark.parametrize(("function", "arguments"), CONDITIONS)
def test_a_guarantee_is_refused_where_its_condition_fails(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(ConditionError):
        function(*arguments)


@given(st.integers(1, 10**7), st.floats(1e-6, 0.5))
def test_hoeffding_width_inverts_its_tail(rows: int, beta: float) -> None:
    width = tails.hoeffding_width(rows, beta)
    assert tails.hoeffding_tail(rows, width) == pytest.approx(beta, rel=1e-9)


def test_laplace_sum_tail_agrees_with_numerical_integration() -> None:
    def integrand(y: float) -> float:
        return float(stats.laplace.pdf(y, scale=2) * stats.laplace.sf(3 - y, scale=1))

    tail = integrate.quad(integrand, -60, 60, points=[0, 3], limit=200)[0]
    assert tails.laplace_sum_upper_tail(1, 2, 3) == pytest.approx(tail, rel=1e-8)


def test_laplace_sum_tail_is_continuous_where_the_scales_are_equal() -> None:
    near = tails.laplace_sum_upper_tail(1, 1 + 1e-6, 2)
    assert tails.laplace_sum_upper_tail(1, 1, 2) == pytest.approx(near, rel=1e-5)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_discrete_laplace_tail_agrees_with_its_probabilities(scale: float) -> None:
    weights = {z: math.exp(-abs(z) / scale) for z in range(-600, 601)}
    total = math.fsum(weights.values())
    for z in (1, 2, 5, 20):
        tail = math.fsum(weight for value, weight in weights.items() if abs(value) >= z) / total
        assert tails.discrete_laplace_tail(scale, z) == pytest.approx(tail, rel=1e-9)


def test_histories_agree_with_enumeration() -> None:
    for question, budget in itertools.product(range(1, 8), range(1, 6)):
        alive = [
            history
            for history in itertools.product((0, 1), repeat=question - 1)
            if sum(history) < budget
        ]
        assert dwork_nips.histories(question, budget) == len(alive)


def test_sparse_count_agrees_with_enumeration() -> None:
    for questions, budget, alphabet in itertools.product(range(1, 6), range(1, 5), (1, 2, 3)):
        pairs = sum(
            alphabet ** sum(history)
            for asked in range(questions)
            for history in itertools.product((0, 1), repeat=asked)
            if sum(history) < budget
        )
        ln_count = dwork_nips.sparse_ln_count(questions, budget, alphabet)
        assert ln_count == pytest.approx(math.log(pairs), abs=1e-9)


def test_best_ladder_is_the_best_of_all_steps() -> None:
    widths = {r: boards.ladder_width(2000, 300, 1 / r, 0.05) for r in range(1, 300)}
    best = min(widths, key=lambda r: widths[r])
    assert blum_hardt.best_ladder(2000, 300, 0.05) == pytest.approx((1 / best, widths[best]))


def test_science_noise_is_nips_noise_of_twice_the_unit() -> None:
    assert privacy.epsilon_science(10**5, 7, 0.01) == privacy.epsilon_nips(10**5, 7, 0.02)


def test_exact_budget_keeps_lemma_10_within_theorem_8() -> None:
    rows, tau, beta = 10**6, 0.05, 0.05
    ln_two_over_delta = math.log(2) - dwork_science.theorem8_ln_delta(tau, beta)
    budget = math.floor(dwork_science.budget_approximate(rows, tau, beta))
    spend = privacy.epsilon_science_advanced
    assert spend(rows, budget, tau, ln_two_over_delta) <= tau / 4
    assert spend(rows, budget + 1, tau, ln_two_over_delta) > tau / 4


def test_theorem_8_keeps_delta_as_a_logarithm_where_it_underflows() -> None:
    assert dwork_science.theorem8_ln_delta(0.01, 0.05) / math.log(10) == pytest.approx(
        -881.6, abs=1
    )


def test_pure_privacy_transfers_without_a_delta_term() -> None:
    width, failure = jung.transfer(0.1, 0.001, 0.01, 0.0, 0.05, 0.0)
    assert width == pytest.approx(0.1 + math.expm1(0.01) + 0.05)
    assert failure == pytest.approx(0.02)


def test_second_moment_is_the_smallest_on_a_fine_grid() -> None:
    rows, information = 1000, 3.0
    grid = min(
        (2 * information - math.log1p(-k / 10_000)) / (4 * rows * k / 10_000)
        for k in range(1, 10_000)
    )
    assert rogers.second_moment(rows, information) == pytest.approx(grid, rel=1e-6)


def test_second_moment_without_information_is_at_least_the_sampling_variance() -> None:
    assert rogers.second_moment(1000, 0.0) >= 1 / 4000 * (1 - 1e-9)


def test_repaired_theorem_3_is_smaller_than_the_printed_one() -> None:
    repaired = zhao.theorem3_max_information_repaired(10_000, 0.01, 0.05)
    assert repaired < zhao.theorem3_max_information(10_000, 0.01, 0.05) / 2


def test_max_information_composes_by_adding() -> None:
    bits, beta = dwork_nips.compose_max_information((1.5, 0.01), (2.0, 0.02), (0.0, 0.0))
    assert bits == 3.5
    assert beta == pytest.approx(0.03)


def test_max_information_applies_to_chances_below_the_smallest_double() -> None:
    ln_chance = dwork_nips.ln_apply_max_information(5000.0, -5000.0, 0.0)
    assert ln_chance == pytest.approx(5000 * math.log(2) - 5000)
    assert dwork_nips.apply_max_information(5000.0, 0.5, 0.0) == 1
    assert dwork_nips.apply_max_information(5000.0, 0.0, 0.0) == 0


def test_theorem_9_inverts_its_rows() -> None:
    rows = math.ceil(dwork_nips.theorem9_rows(0.1, 1000, 0.05, 10))
    assert dwork_nips.theorem9_accuracy(rows, 1000, 0.05, 10) == pytest.approx(0.1)


@pytest.mark.parametrize(("question", "budget"), [(1, 1), (10, 3), (5, 9)])
def test_theorem_10_multiplies_by_the_histories(question: int, budget: int) -> None:
    expected = math.log(dwork_nips.histories(question, budget)) - 20
    assert dwork_nips.ln_theorem10(question, budget, -20.0) == pytest.approx(expected)


def test_theorem_10_works_where_the_count_overflows_a_double() -> None:
    ln_chance = dwork_nips.ln_theorem10(10_000, 5000, -7000.0)
    assert -100 < ln_chance < 0
    assert dwork_nips.ln_theorem10(10_000, 5000, -1.0) == 0


def test_theorem_6_holds_up_to_its_epsilon() -> None:
    epsilon = dwork_science.theorem6_epsilon(1000, -40.0)
    assert epsilon == pytest.approx(math.sqrt(40 / 2000))
    assert dwork_science.theorem6_ln_tail(1000, epsilon, -40.0) == pytest.approx(math.log(3) - 20)


def test_corollary_7_follows_from_theorem_6_on_both_sides() -> None:
    """At beta = e^(-2 tau^2 n), Hoeffding's for one side, theorem 6 takes epsilon <= tau."""
    rows, tau = 5000, 0.03
    ln_beta = -2 * tau**2 * rows
    assert dwork_science.theorem6_epsilon(rows, ln_beta) == pytest.approx(tau)
    both = math.log(2) + dwork_science.theorem6_ln_tail(rows, tau * (1 - 1e-12), ln_beta)
    assert dwork_science.corollary7_ln_tail(rows, tau) == pytest.approx(both)
    assert dwork_science.corollary7_ln_tail(10**7, 0.1) == pytest.approx(math.log(6) - 10**5)


def test_theorem_8_is_granted_where_its_three_conditions_hold() -> None:
    ln_delta = dwork_science.theorem8_ln_delta(0.05, 0.05)
    assert dwork_science.theorem8_tail(97_444, 0.05, 0.05, 0.0125, ln_delta) == 0.05


def test_lemma_10_has_a_pure_and_an_approximate_form() -> None:
    assert dwork_science.lemma10_pure(10**6, 100, 0.01) == pytest.approx(0.01)
    approximate = dwork_science.lemma10_approximate(10**6, 100, 0.01, math.log(2e6))
    assert approximate == pytest.approx(0.0107735, rel=1e-5)


def test_theorem_11_for_all_questions_pays_for_each() -> None:
    rows, tau, budget, t, u = 10**6, 0.01, 100, 100.0, 50.0
    many = dwork_science.theorem11_tail(rows, tau, budget, t, u, questions=1000)
    parts = [
        1000 * 6 * math.exp(-(tau**2) * rows),
        50 * math.exp(-u / 4),
        500 * math.exp(-(t - u) / 8),
        100 * math.exp(-t / 2),
    ]
    assert many == pytest.approx(math.fsum(parts))


def test_theorem_11_through_theorem_8_has_beta_for_the_sampling() -> None:
    tail = dwork_science.theorem11_tail_approximate(10**6, 0.05, 0.05, 120, 400.0, 200.0)
    assert tail == pytest.approx(0.05, rel=1e-6)
    assert dwork_science.theorem11_tail_printed_approximate(0.05, 400.0) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("questions", "budget", "rows", "published"),
    [(100, 5, 10**4, 0.563), (1000, 20, 10**5, 0.336), (1000, 20, 10**7, 0.037)],
)
def test_the_best_width_through_privacy_is_the_published_one_or_a_little_less(
    questions: int, budget: int, rows: int, published: float
) -> None:
    width = jung.best_thresholdout_width(rows, questions, budget, 0.05)
    assert published * 0.98 <= width <= published + 0.0005


def test_counting_is_narrower_than_privacy_at_every_size() -> None:
    for exponent in range(3, 9):
        rows = 10**exponent
        counted = dwork_nips.sparse_width(rows, 1000, 20, 0.05, 101)
        assert counted < jung.best_thresholdout_width(rows, 1000, 20, 0.05) / 8


def test_gaussian_width_adds_sample_and_noise() -> None:
    rows, questions, rho, beta = 10**5, 100, 1e-7, 0.1
    information = questions * rho * rows
    grid = min((2 * information - math.log1p(-k / 10_000)) * 10_000 / k for k in range(1, 10_000))
    noise = math.sqrt(math.log(4 * questions / beta) / rho) / rows
    expected = math.sqrt(grid / (2 * rows * beta)) + noise
    assert rogers.gaussian_width(rows, questions, rho, beta) == pytest.approx(expected, rel=1e-5)


def _f1(cells: Sequence[int]) -> float:
    """From the counts of (label, prediction) = 11, 10, 01, 00; 1 where there is nothing to find."""
    found, missed, wrong, _ = cells
    whole = 2 * found + missed + wrong
    return 2 * found / whole if whole else 1.0


def test_f1_sensitivity_covers_every_replaced_row() -> None:
    rows = 7
    for cells in itertools.product(range(rows + 1), repeat=4):
        positives = cells[0] + cells[1]
        if sum(cells) != rows or not positives:
            continue
        for source, target in itertools.permutations(range(4), 2):
            moved = list(cells)
            moved[source] -= 1
            moved[target] += 1
            change = abs(_f1(cells) - _f1(moved)) if min(moved) >= 0 else 0.0
            assert change <= sensitivity.f1_sensitivity(positives) + 1e-12


@pytest.mark.parametrize("predicted", [1, 3, 6])
def test_f1_width_is_that_of_every_changed_label(predicted: int) -> None:
    rows, squares = 8, 0.0
    predictions = [int(row < predicted) for row in range(rows)]
    for row in range(rows):
        worst = 0.0
        for labels in itertools.product((0, 1), repeat=rows):
            other = [1 - label if i == row else label for i, label in enumerate(labels)]
            pair = [_f1(_cells(kind, predictions)) for kind in (labels, other)]
            worst = max(worst, abs(pair[0] - pair[1]))
        squares += worst**2
    exact = math.sqrt(math.log(2 / 0.05) * squares / 2)
    assert sensitivity.f1_width(rows, predicted, 0.0, 0.05) == pytest.approx(exact)


def _cells(labels: Sequence[int], predictions: Sequence[int]) -> list[int]:
    pairs = list(zip(labels, predictions, strict=True))
    return [pairs.count(pair) for pair in ((1, 1), (1, 0), (0, 1), (0, 0))]


def test_ladder_count_agrees_with_enumeration() -> None:
    for steps, submissions in itertools.product(range(1, 5), range(1, 6)):
        values = boards.ladder_values(1 / steps)
        pairs = sum(
            1
            for asked in range(submissions)
            for shown in itertools.product(range(values), repeat=asked)
            if list(shown) == sorted(shown, reverse=True)
        )
        ln_count = boards.ladder_ln_count(submissions, 1 / steps)
        assert ln_count == pytest.approx(math.log(pairs), abs=1e-9)


def test_exact_board_width_agrees_with_big_integers() -> None:
    histories = (11**30 - 1) // 10
    expected = math.sqrt((math.log(2) + math.log(histories) + math.log(20)) / 2000)
    assert boards.exact_board_width(1000, 30, 11, 0.05) == pytest.approx(expected, rel=1e-12)


def test_a_board_shows_at_least_two_values() -> None:
    with pytest.raises(ConditionError):
        boards.exact_board_width(100, 10, 1, 0.05)
    with pytest.raises(ConditionError):
        boards.ladder_values(0.0)


def test_theorem_11_is_a_probability() -> None:
    assert dwork_science.theorem11_tail(10**6, 0.01, 100, 0.2, 0.1) == 1
