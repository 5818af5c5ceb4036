"""What a sample submission leaves open, asked beside the columns that it proposes.

Where a sample says the same in every row, several kinds may fit. The proposed line of such a column
is `name: ?1`, and question 1 stands above the lines. Columns of which the same is seen share one.
"""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from leaderboard.web.organize.column_lines import write_kind
from scoring.predictions import Guess, Guessed, Proposal

MOST_NAMED: Final = 5
_OPEN_LINE = re.compile(r"(?P<name>.+?)\s*:\s*\?(?P<number>[0-9]{1,4})\s*")
_KINDS = {
    "number": "A number: an amount, a count, a time",
    "probability": "A probability, from 0 to 1",
    "labels": "Several labels in a cell, in any order",
    "ranking": "A ranking: several labels in a cell, the best first",
}


@dataclass(frozen=True)
class Question:
    """What are these columns? Each choice is a kind as it is written behind a name, and words."""

    number: int
    names: tuple[str, ...]
    only: str
    choices: tuple[tuple[str, str], ...]

    @property
    def field(self) -> str:
        return f"open_{self.number}"

    @property
    def title(self) -> str:
        *others, last = self.names
        if not others:
            return f"What is “{last}”?"
        shown = ", ".join(f"“{name}”" for name in others[:MOST_NAMED])
        rest = len(self.names) - MOST_NAMED
        return f"What are {shown} and {f'{rest} more' if rest > 1 else f'“{last}”'}?"


def ask(proposal: Proposal) -> tuple[Question, ...]:
    """Return what the organizer has to answer: one question for columns that look alike."""
    alike = dict[tuple[Any, ...], list[Guessed]]()
    for column in proposal.columns:
        if column.is_open:
            alike.setdefault((column.only, column.guesses), []).append(column)
    return tuple(
        Question(
            number=number,
            names=tuple(column.name for column in columns),
            only=columns[0].only or "",
            choices=tuple((write_kind(each), _words(each)) for each in columns[0].guesses),
        )
        for number, columns in enumerate(alike.values(), start=1)
    )


def lines(proposal: Proposal, questions: tuple[Question, ...]) -> str:
    """Return the proposed columns as text; of those that are open the number of the question."""
    asked = {name: each.number for each in questions for name in each.names}
    return "\n".join(
        f"{column.name}: ?{asked[column.name]}"
        if column.name in asked
        else f"{column.name}: {write_kind(column.guesses[0])}"
        for column in proposal.columns
    )


def is_asked(text: str, question: Question) -> bool:
    """Return whether a line still refers to the question."""
    found = (_OPEN_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return any(match is not None and int(match["number"]) == question.number for match in found)


def answered(text: str, answers: dict[int, str]) -> str:
    """Return the lines with the answers in place of the numbers of their questions."""

    def line(written: str) -> str:
        match = _OPEN_LINE.fullmatch(written.strip())
        answer = answers.get(int(match["number"])) if match else None
        return f"{match['name']}: {answer}" if match and answer else written

    return "\n".join(map(line, text.splitlines()))


def write(questions: tuple[Question, ...]) -> str:
    """Encode questions for a hidden field: nothing is kept of a sample between two requests."""
    return json.dumps([asdict(each) for each in questions])


def read(text: str) -> tuple[Question, ...]:
    """Return the inverse of `write`; no questions for anything else."""
    try:
        return tuple(
            Question(
                int(each["number"]),
                tuple(map(str, each["names"])),
                str(each["only"]),
                tuple((str(kind), str(words)) for kind, words in each["choices"]),
            )
            for each in json.loads(text or "[]")
        )
    except (ValueError, TypeError, KeyError):
        return ()


def _words(guess: Guess) -> str:
    if guess.kind != "label":
        return _KINDS[guess.kind]
    if len(guess.classes) == 1:
        return f"A label: “{guess.classes[0]}” is one of several classes"
    return f"A label: {' or '.join(guess.classes)}"
