"""Dwork, Feldman, Hardt, Pitassi, Reingold, Roth: "Generalization in Adaptive Data Analysis and
Holdout Reuse" (NIPS 2015). Max-information, theorem 9 with explicit constants, SparseValidate.

Theory.md 2, 4.1, 4.2 and 4.5.
"""

import math

from research.bounds.boards import union_width
from research.bounds.sums import ln_sum
from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)
from scoring.guarantees.counting import ln_binomial

LOG2_E = math.log2(math.e)


def max_information_of_description(values: int, beta: float) -> float:
    """Return log2(|Y| / beta) bits for an output of |Y| values, any data (theorem 6)."""
    require_positive(values=values)
    require_probability(beta=beta)
    return math.log2(values) - math.log2(beta)


def max_information_of_privacy(rows: int, epsilon: float) -> float:
    """Return epsilon n log2 e bits for a pure epsilon-DP algorithm, any data (theorem 7)."""
    _require_private(rows, epsilon)
    return epsilon * rows * LOG2_E


def max_information_of_privacy_iid(rows: int, epsilon: float, beta: float) -> float:
    """Return log2 e (epsilon^2 n / 2 + epsilon sqrt(n ln(2/beta) / 2)) bits for independent rows
    and a pure epsilon-DP algorithm (theorem 8).
    """
    _require_private(rows, epsilon)
    require_probability(beta=beta)
    return LOG2_E * (epsilon**2 * rows / 2 + epsilon * math.sqrt(rows * math.log(2 / beta) / 2))


def apply_max_information(bits: float, worst: float, beta: float) -> float:
    """Return 2^k p + beta, at most 1: the chance of an event that has chance p for every fixed
    output, for beta-approximate max-information of k bits (theorem 4).
    """
    require(worst <= 1, "A chance is at most 1.")
    require_not_negative(worst=worst)
    ln_worst = math.log(worst) if worst > 0 else -math.inf
    return math.exp(ln_apply_max_information(bits, ln_worst, beta))


def ln_apply_max_information(bits: float, ln_worst: float, beta: float) -> float:
    """Return ln of theorem 4's bound, for chances ln_worst = ln p that underflow a double."""
    require_not_negative(bits=bits, beta=beta)
    require(ln_worst <= 0 and beta <= 1, "A chance is at most 1.")
    terms = [bits * math.log(2) + ln_worst]
    if beta > 0:
        terms.append(math.log(beta))
    return min(0.0, ln_sum(terms))


def compose_max_information(*parts: tuple[float, float]) -> tuple[float, float]:
    """Return (sum of k, sum of beta) of algorithms run one after the other, each with
    beta-approximate max-information of k bits for every output of those before it (lemma 5).
    """
    for bits, beta in parts:
        require_not_negative(bits=bits, beta=beta)
    total = math.fsum(beta for _, beta in parts)
    require(total < 1, "The betas must add up to less than 1.")
    return math.fsum(bits for bits, _ in parts), total


def theorem9_threshold(accuracy: float) -> float:
    """Return T = 3 tau / 4."""
    require_positive(accuracy=accuracy)
    return 3 * accuracy / 4


def theorem9_sigma(accuracy: float, questions: int, beta: float) -> float:
    """Return sigma = tau / (96 ln(4 m / beta))."""
    _require_theorem9(accuracy, questions, beta)
    return accuracy / (96 * math.log(4 * questions / beta))


def theorem9_rows(accuracy: float, questions: int, beta: float, budget: int) -> float:
    """Return n >= 1024 B ln(4 m / beta) / tau^2: theorem 9 with recovered constants, its linear
    branch.

    Needs m >= B. The branch that grows with sqrt(B) has no usable constants (theory.md E12).
    """
    _require_theorem9(accuracy, questions, beta)
    require(1 <= budget <= questions, "The budget is at least 1 and at most the questions.")
    return 1024 * budget * math.log(4 * questions / beta) / accuracy**2


def theorem9_accuracy(rows: int, questions: int, beta: float, budget: int) -> float:
    """Return the tau for which `theorem9_rows` is n. Raises ConditionError where that is 1 or more:
    a mean loss that may be off by 1 says nothing.
    """
    require_positive(rows=rows)
    accuracy = math.sqrt(theorem9_rows(0.5, questions, beta, budget) * 0.5**2 / rows)
    require(accuracy < 1, f"At {rows} rows theorem 9 certifies nothing.")
    return accuracy


def histories_printed(question: int, budget: int) -> int:
    """Return l_i as printed in theorem 10: the sum over j <= min(i - 1, B) of C(i, j); too large,
    and for B = 1 above the m^B that it should be below (theory.md E2).
    """
    require_positive(question=question, budget=budget)
    return sum(math.comb(question, j) for j in range(min(question - 1, budget) + 1))


def histories(question: int, budget: int) -> int:
    """Return l_i = sum over j <= min(i - 1, B - 1) of C(i - 1, j): histories before question i."""
    require_positive(question=question, budget=budget)
    return sum(math.comb(question - 1, j) for j in range(min(question - 1, budget - 1) + 1))


def ln_theorem10(question: int, budget: int, ln_worst: float) -> float:
    """Return ln of l_i beta_i, at most 0: the chance that question i is answered "yes" wrongly,
    where that has at most the chance beta_i = exp(ln_worst) for each question that could be asked
    (theorem 10 with the exact count; theorem 10 asks nothing else of data or questions).
    """
    require(ln_worst <= 0, "A chance is at most 1.")
    require_positive(question=question, budget=budget)
    yeses = range(min(question - 1, budget - 1) + 1)
    return min(0.0, ln_sum(ln_binomial(question - 1, j) for j in yeses) + ln_worst)


def sparse_ln_count(questions: int, budget: int, alphabet: int) -> float:
    """Return ln|F| = ln sum over j < B of C(m, j + 1) G^j: all (history, question) pairs, with G
    values released at each yes (theory.md 2; G = 1 is Boolean).
    """
    require_positive(questions=questions, budget=budget, alphabet=alphabet)
    yeses = range(min(budget, questions))
    return ln_sum(ln_binomial(questions, j + 1) + j * math.log(alphabet) for j in yeses)


def sparse_width(rows: int, questions: int, budget: int, beta: float, alphabet: int = 1) -> float:
    """Return w = sqrt((ln 2 + ln|F| + ln(1/beta)) / (2 n)), for all asked functions at once."""
    return union_width(rows, sparse_ln_count(questions, budget, alphabet), beta)


def _require_private(rows: int, epsilon: float) -> None:
    require_positive(rows=rows)
    require_not_negative(epsilon=epsilon)


def _require_theorem9(accuracy: float, questions: int, beta: float) -> None:
    require_positive(questions=questions)
    require_probability(accuracy=accuracy, beta=beta)
