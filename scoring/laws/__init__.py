"""What an answer told: exact code lengths, and the certificates that follow from them.

Theory.md 10.1 to 10.4. The certificate of question t rests on Q_t(h), the probability that a law
fixed beforehand gives to the answers h before it:

    L_t = ln 2 - ln(beta pi_t Q_t(h)),   n kl(mean || truth) <= L_t for all t, surely but for beta.

A law may look at earlier answers and at the question itself (team, score on the Public rows), never
at anything later; so L_t is computed before question t is. The mixture of the laws is fixed: the
shortest code of a season, chosen when it is over, would certify nothing.

All code lengths and L are whole millionths of a nat, rounded up, the same on every machine. `exact`
has the logarithms, `index` the shares pi_t, `laws` what foresees single answers, `books` what a
ledger keeps of them.
"""

from typing import Final

VERSION: Final = "section10/1"
