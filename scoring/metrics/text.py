"""Metrics of answers in words. A row has the answers of one or several runs, and those accepted.

A row's loss is the share of its runs whose answer is none of the accepted ones. So several runs of
a model are one row for each id, however they depend on each other.
"""

import re
import string
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from scoring.metrics.base import COMPLEMENT, LabelRule, Parameters, Values, number
from scoring.metrics.registry import mean_metric
from scoring.parameters import Parameter
from scoring.predictions import texts
from scoring.predictions.lists import Lists

# From an answer to what is compared; None where it gives no such thing, which is never right.
Read = Callable[[str], Hashable | None]
_LETTERS: Final = string.ascii_uppercase
_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
# A minus, then digits with commas between, and decimals. $ and % are passed over.
_NUMBER: Final = re.compile(r"-?\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
_CHOICE: Final = (
    # I is a choice, and a word.
    re.compile(
        r"(?i:answer)(?i:\s{1,9}is|\s{0,9}:)[\s:*$({\[\\a-z]{0,40}?"
        r"([A-HJ-Z]|I(?!\s+[a-z]))\b(?!')"
    ),
    re.compile(r"\\boxed\{(?:\\text\{)?\(?([A-Z])\b"),
    re.compile(r"\A\W*([A-Z])(?=[).:,\]*\s]|\Z)(?![ \t]+[a-z])"),
    re.compile(r"\(([A-Z])\)"),
)
_of_texts = partial(mean_metric, takes=("text",), scale=COMPLEMENT)
TOLERANCE: Final = Parameter(
    name="tolerance",
    title="Tolerance",
    help="How far a number may be from the accepted one.",
    kind="fraction",
    default=Fraction(0),
    minimum=0,
)
CHOICES: Final = Parameter(
    name="choices",
    title="Choices",
    help="How many choices a question has: 4 are A to D. Other letters are no answer.",
    kind="integer",
    default=10,
    minimum=2,
    maximum=len(_LETTERS),
)


def normalize(text: str) -> str:
    """Return a text in lower case without punctuation, articles and more than single spaces.

    As SQuAD's official script compares answers (Rajpurkar et al. 2016).
    """
    plain = _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION))
    return " ".join(plain.split())


def last_number(text: str) -> Decimal | None:
    """Return the last number in a text, as answers to GSM8K are read; None where it has none."""
    found = _NUMBER.findall(text)
    return Decimal(re.sub(r"[$,]", "", found[-1])) if found else None


def choice(text: str, choices: int) -> int | None:
    """Return the place of the choice that a text names, from 0: by a letter, or by that place.

    The whole text, or the letter behind the last "answer is" or "answer:", in the last \\boxed{},
    at the beginning, or the last in parentheses: the first of these that there is.
    """
    whole = text.strip().strip("()[].:*$ ")
    if whole.isascii() and whole.isdigit() and len(whole) < 3:
        return int(whole) if int(whole) < choices else None
    if len(whole) == 1 and whole.upper() in _LETTERS[:choices]:
        return _LETTERS.index(whole.upper())
    for pattern in _CHOICE:
        if letters := [each for each in pattern.findall(text) if each in _LETTERS[:choices]]:
            return _LETTERS.index(letters[-1])
    return None


def _losses(predicted: Lists, actual: Lists, is_right: Callable[[str, list[str]], bool]) -> Values:
    pairs = zip(texts.rows(predicted), texts.rows(actual), strict=True)
    return np.array(
        [
            sum(not is_right(each, accepted) for each in answers) / len(answers)
            for answers, accepted in pairs
        ]
    )


def _misses(predicted: Lists, actual: Lists, read: Read) -> Values:
    def is_right(answer: str, accepted: list[str]) -> bool:
        found = read(answer)
        return found is not None and found in map(read, accepted)

    return _losses(predicted, actual, is_right)


def _readable(read: Read, says: str) -> LabelRule:
    """Require that every accepted answer can be read."""

    def rule(labels: Values) -> tuple[str, int | None] | None:
        rows = enumerate(texts.rows(labels))  # type: ignore[arg-type]
        wrong = (row for row, accepted in rows if any(read(each) is None for each in accepted))
        first = next(wrong, None)
        return None if first is None else (says, first)

    return rule


@_of_texts(
    "text_exact",
    "Exact match of text",
    "The share of answers that are an accepted one, letter by letter, but for white space around.",
)
def exact_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return the share of a row's answers that differ from all accepted ones."""
    return _misses(predicted, actual, str.strip)


@_of_texts(
    "text_normalized",
    "Normalized match of text",
    "The share of answers that are an accepted one as SQuAD compares them: without case, "
    "punctuation, the articles a, an and the, and white space.",
    label_rule=_readable(
        lambda text: normalize(text) or None, "nothing of an accepted answer is compared."
    ),
)
def normalized_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return the share of a row's answers that are none of the accepted ones, normalized."""
    return _misses(predicted, actual, lambda text: normalize(text) or None)


@_of_texts(
    "text_number",
    "Last number of a text",
    "The share of answers whose last number is that of an accepted answer, as GSM8K is scored; "
    "thousands may have commas.",
    parameters=(TOLERANCE,),
    label_rule=_readable(last_number, "an accepted answer has no number."),
)
def number_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return the share of a row's answers whose number is further from all accepted ones."""
    tolerance = number(params, "tolerance")

    def is_right(answer: str, accepted: list[str]) -> bool:
        found = last_number(answer)
        wanted = (each for each in map(last_number, accepted) if each is not None)
        return found is not None and any(abs(found - each) <= tolerance for each in wanted)

    return _losses(predicted, actual, is_right)


@_of_texts(
    "text_choice",
    "Multiple choice",
    "The share of answers that name the right choice, by its letter or by its place from 0.",
    parameters=(CHOICES,),
    label_rule=_readable(
        lambda text: choice(text, len(_LETTERS)), "an accepted answer names no choice."
    ),
)
def choice_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return the share of a row's answers that name another choice, or none."""
    choices = int(number(params, "choices"))
    return _misses(predicted, actual, partial(choice, choices=choices))
