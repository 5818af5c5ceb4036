"""Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld: "A New Analysis of Differential Privacy's
Generalization Guarantees" (2020), applied to Thresholdout. Theory.md 4.7, where it is proved.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)
from scoring.guarantees.privacy import epsilon_from_rho, rho_nips


def transfer(
    alpha: float, beta_sample: float, epsilon: float, delta: float, c: float, d: float
) -> tuple[float, float]:
    """(alpha', beta') on the population, for all questions at once, from (alpha, beta_sample) on
    the sample and (epsilon, delta)-DP, for any c, d > 0; independent rows, answers in [0, 1]:

    alpha' = alpha + (e^epsilon - 1) + c + 2 d, beta' = beta_sample / c + delta / d.
    """
    require_not_negative(alpha=alpha, beta_sample=beta_sample, epsilon=epsilon, delta=delta)
    require_positive(c=c)
    require(d > 0 or (d == 0 and delta == 0), "d must be positive, or 0 together with delta.")
    failure = beta_sample / c + (delta / d if d else 0.0)
    return alpha + math.expm1(epsilon) + c + 2 * d, failure


def thresholdout_noise(
    rows: int, questions: int, budget: int, sigma: float, beta_sample: float
) -> float:
    """2 sigma ln(3 B / (2 beta_s)) + 4 sigma ln(3 m / (2 beta_s)): all the noise between an answer
    and the sample, besides T, with chance 1 - beta_s. It does not depend on the rows."""
    require_positive(rows=rows, questions=questions, budget=budget, sigma=sigma)
    require_probability(beta_sample=beta_sample)
    thresholds = 2 * sigma * math.log(3 * budget / (2 * beta_sample))
    comparisons = 4 * sigma * math.log(3 * questions / (2 * beta_sample))
    return thresholds + comparisons


def thresholdout_width(
    rows: int,
    questions: int,
    budget: int,
    threshold: float,
    sigma: float,
    beta: float,
    c: float,
    d: float,
) -> float:
    """The transfer theorem for Thresholdout by its zCDP cost: beta_s = beta c / 2 and
    delta = beta d / 2. Fix sigma, c and d in advance. Pure privacy can be better (9.10)."""
    require_positive(c=c, d=d)
    require_probability(beta=beta)
    require_not_negative(threshold=threshold)
    beta_sample, delta = beta * c / 2, beta * d / 2
    epsilon = epsilon_from_rho(rho_nips(rows, budget, sigma), delta)
    noise = thresholdout_noise(rows, questions, budget, sigma, beta_sample)
    return transfer(threshold + noise, beta_sample, epsilon, delta, c, d)[0]
