"""Kinds of answers, and those that every ledger can give."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final, Literal

CODE: Final = re.compile(r"[a-z][a-z_]{0,11}")
FIELDS: Final = frozenset({"score", "step", "public", "claimed", "left"})

Mark = Literal["confirmed", "corrected", "improved", "not_improved", "pass", "fail", "exhausted"]


@dataclass(frozen=True)
class AnswerKind:
    """One kind of answer, with all that pages, API and certificates have to know of it.

    code: its name in ledgers and in the API, for good: at most 12 characters of a-z and _. Two
        mechanisms may share a kind; they differ in `sentences` at most.
    label, word: what it is called above an answer, and beside a score.
    mark: the shape and colour in which it is shown; codes of other kinds may share one.
    sentences: what the team reads. A sentence names FIELDS in braces and is left out where one of
        them has no value: {score} as shown, {step} of the grid, {public} and {claimed} the score
        on the reference rows or as claimed, {left} of the share.
    says_more: whether it says more than "no", so that the ledger counts its values.
    shows: whose loss `level` is: this submission's "own", that of an "earlier" one, or "none".
    bounds: what a certificate bounds: the true loss on "both" sides of the shown one, from "below"
        or "above" only, or "nothing", because nothing is said of this submission.
    """

    code: str
    label: str
    word: str
    mark: Mark
    sentences: tuple[str, ...]
    says_more: bool
    shows: Literal["own", "earlier", "none"]
    bounds: Literal["both", "below", "above", "nothing"]

    def __post_init__(self) -> None:
        if not CODE.fullmatch(self.code):
            raise ValueError(f"{self.code!r} is no code of an answer")
        for sentence in self.sentences:
            if unknown := _fields_of(sentence) - FIELDS:
                raise ValueError(f"{self.code} names unknown fields: {', '.join(sorted(unknown))}")

    def select_sentences(self, values: Mapping[str, object]) -> tuple[str, ...]:
        """Return the templates whose fields all have a value other than None."""
        known = {name for name, value in values.items() if value is not None}
        return tuple(each for each in self.sentences if _fields_of(each) <= known)


def _fields_of(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


EXHAUSTED: Final = AnswerKind(
    code="exhausted",
    label="No budget left",
    word="no budget left",
    mark="exhausted",
    sentences=(
        "Your team gets no more answers: its share is used up, or the budget of all teams is.",
        "Files are still kept, and the finals score them.",
        "On the public rows this file scores {public}, which nothing guarantees.",
    ),
    says_more=False,
    shows="earlier",
    bounds="nothing",
)

LIMIT: Final = AnswerKind(
    code="limit",
    label="Limit reached",
    word="limit reached",
    mark="exhausted",
    sentences=(
        "The board has given as many answers as it may.",
        "Files are still kept, and the finals score them.",
        "On the public rows this file scores {public}, which nothing guarantees.",
    ),
    says_more=False,
    shows="earlier",
    bounds="nothing",
)
