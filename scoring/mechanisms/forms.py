"""The three published forms of Thresholdout: how loud each of its three noises is.

theory.md 1.1 and 1.2. All scales are multiples of one noise scale, called sigma by two of the
papers and tau by the third, where it is no accuracy but a unit of noise: the Science form at
tau is the NIPS form at sigma = 2 tau, draw for draw.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class Form:
    """Scales of the threshold's, the comparison's and the answer's noise, in noise scales."""

    name: str
    title: str
    threshold: int
    comparison: int
    answer: int

    @property
    def comparison_cost(self) -> Fraction:
        """Return epsilon times noise scale times rows, of one firing and the questions before it.

        A row moves the threshold by one row and the comparison by two.
        """
        return Fraction(1, self.threshold) + Fraction(2, self.comparison)

    @property
    def answer_cost(self) -> Fraction:
        """Return the same of one answer."""
        return Fraction(1, self.answer)

    @property
    def cost(self) -> Fraction:
        """Return epsilon times noise scale times rows, of one correction: 2, 1 and 9/4."""
        return self.comparison_cost + self.answer_cost

    @property
    def smallest(self) -> int:
        """Return the quietest of the three noises, which has to hide a row by itself."""
        return min(self.threshold, self.comparison, self.answer)


NIPS: Final = Form("nips", "NIPS 2015", threshold=2, comparison=4, answer=1)
SCIENCE: Final = Form("science", "Science 2015", threshold=4, comparison=8, answer=2)
ZHAO: Final = Form("zhao", "Zhao 2017", threshold=1, comparison=2, answer=4)

FORMS: Final = {form.name: form for form in (NIPS, SCIENCE, ZHAO)}
