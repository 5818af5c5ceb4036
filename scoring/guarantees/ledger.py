"""The anytime ledger: how far a board's own answers can have pushed a score (theory.md 2.1, 4.5).

Fix everything but the private labels. Every (history, question) pair that a board can produce is
then fixed before the labels are drawn, so a union over those pairs bounds the chance that any asked
question is off by more than w, whatever the teams learned and however they collude. The pair at
question i after f answers of G_1 .. G_f possible values gets the share

    beta_i = beta * 6 / (pi^2 i^2) * 6 / (pi^2 (f + 1)^2) / (C(i - 1, f) * G_1 * ... * G_f),

and these add up to at most beta. Neither the number of questions nor of answers is fixed in
advance. The accounting is that of Guess and Check (Rogers et al. 2020), rederived.
"""

import math
from typing import Final

from scoring.guarantees.conditions import require, require_not_negative, require_positive
from scoring.guarantees.counting import ln_binomial

LN_BASEL: Final = math.log(6 / math.pi**2)
NO_CERTIFICATE: Final = 0.5  # so wide that it certifies nothing: losses lie in [0, 1]


def ln_anytime_share(index: int) -> float:
    """Return ln of 6 / (pi^2 index^2): shares of a probability for index = 1, 2, ... that add up to
    it.
    """
    require(index >= 1, "Shares are counted from 1.")
    return LN_BASEL - 2 * math.log(index)


def ln_beta_of_question(asked: int, answered: int, log_alphabets: float, ln_beta: float) -> float:
    """Return ln beta_i for question i = `asked` (itself counted) after `answered` = f earlier
    answers.

    `log_alphabets` is ln(G_1 * ... * G_f). Raises ConditionError unless 0 <= f <= i - 1.
    """
    require(0 <= answered < asked, "At most every earlier question was answered.")
    require_not_negative(log_alphabets=log_alphabets)
    shares = ln_anytime_share(asked) + ln_anytime_share(answered + 1)
    return ln_beta + shares - ln_binomial(asked - 1, answered) - log_alphabets


def ledger_width(
    rows: int, asked: int, answered: int, log_alphabets: float, ln_beta: float
) -> float:
    """Return w = sqrt((ln 2 - ln beta_i) / (2 rows)) for a mean of [0, 1] losses over `rows` rows.

    With probability 1 - beta it holds for all questions at once (Hoeffding for each).
    """
    require_positive(rows=rows)
    ln_share = ln_beta_of_question(asked, answered, log_alphabets, ln_beta)
    return math.sqrt((math.log(2) - ln_share) / (2 * rows))
