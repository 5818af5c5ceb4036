"""What the cells of a sample submission suggest about its columns, and what they leave open.

A sample often says the same in every row. 0.5 is a probability then, but 0 may stand for a class, a
probability or an amount, and a text may be one label or several: whoever knows has to say.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scoring.predictions.cells import CellError, parse_number
from scoring.predictions.schema import SEPARATORS, Column, Kind, Schema

MOST_CLASSES = 200


@dataclass(frozen=True)
class Guess:
    """What a column may be. The classes are those that were seen, perhaps only one."""

    kind: Kind
    classes: tuple[str, ...] = ()
    separator: str = " "
    most: int | None = None


@dataclass(frozen=True)
class Guessed:
    """A column of a sample with what it may be, the likeliest first; at least one.

    seen: the different cells of the sample that are not empty, as far as they matter.
    """

    name: str
    guesses: tuple[Guess, ...]
    seen: tuple[str, ...]

    @property
    def only(self) -> str | None:
        """Return what all cells of the sample say; None where they differ."""
        return self.seen[0] if len(self.seen) == 1 else None

    @property
    def is_open(self) -> bool:
        """Return whether the cells leave open what the column is."""
        return len(self.guesses) > 1

    @property
    def column(self) -> Column:
        """Return the likeliest column. A label of which one class was seen gets a second one."""
        guess = self.guesses[0]
        classes = guess.classes
        if guess.kind == "label" and len(classes) == 1:
            classes = (*classes, f"not {classes[0]}"[:200])
        return Column(self.name, guess.kind, classes, guess.separator, guess.most)


@dataclass(frozen=True)
class Proposal:
    """What a sample submission suggests: its first column is the id."""

    id_column: str
    columns: tuple[Guessed, ...]

    @property
    def schema(self) -> Schema:
        """Return the likeliest schema. Raise ParameterError where a name can't be a column's."""
        return Schema(self.id_column, tuple(each.column for each in self.columns))


def guess(name: str, own: Iterable[str], others: Iterable[str] = ()) -> Guessed:
    """Return what a column may be.

    own: the different cells of the sample; others: of another table with the same column.
    """
    seen = tuple(_filled(own))
    both = list(dict.fromkeys([*seen, *_filled(others)]))
    return Guessed(name, _guesses(both, constant=len(seen) == 1), seen)


def _filled(cells: Iterable[str]) -> list[str]:
    return [cell for cell in cells if cell.strip()]


def _guesses(cells: list[str], *, constant: bool) -> tuple[Guess, ...]:
    if not cells:
        return (Guess("number"),)
    numbers = _numbers(cells)
    if numbers is None:
        return _of_texts(cells)
    are_shares = all(0 <= number <= 1 for number in numbers)
    if not _are_whole(cells):
        at_an_end = constant and set(numbers) <= {0.0, 1.0}
        kinds: tuple[Kind, ...] = ("probability", "number") if at_an_end else ("probability",)
        return tuple(map(Guess, kinds)) if are_shares else (Guess("number"),)
    if len(cells) > MOST_CLASSES:
        return (Guess("number"),)
    if not constant:
        return (_label(cells),)
    if are_shares:
        return (_label(["0", "1"]), Guess("probability"), Guess("number"))
    number, label = Guess("number"), _label(cells)
    return (number, label) if len(cells) == 1 else (label, number)


def _of_texts(cells: list[str]) -> tuple[Guess, ...]:
    """Guess a label, or lists where parts come again; both for one text of some parts."""
    for separator in SEPARATORS:
        lists = [[part.strip() for part in cell.split(separator)] for cell in cells]
        parts = list(dict.fromkeys(part for each in lists for part in each if part))
        repeats = any(len(set(each)) < len(each) for each in lists)
        if repeats or not 2 <= len(parts) <= MOST_CLASSES:
            continue
        classes, lengths = _sorted(parts), {len(each) for each in lists}
        labels = Guess("labels", classes, separator)
        ranking = Guess("ranking", classes, separator, max(lengths))
        if len(cells) == 1:
            return (ranking, labels, _label(cells)) if len(parts) > 2 else (_label(cells), labels)
        if len(parts) < len(cells):
            return (ranking,) if len(lengths) == 1 else (labels,)
    return (_label(cells),)


def _label(cells: list[str]) -> Guess:
    return Guess("label", _sorted(cells))


def _sorted(classes: list[str]) -> tuple[str, ...]:
    return tuple(sorted(classes, key=int) if _are_whole(classes) else sorted(classes))


def _are_whole(cells: list[str]) -> bool:
    return all(
        cell.isascii() and cell.removeprefix("-").isdigit() and len(cell) < 19 for cell in cells
    )


def _numbers(cells: list[str]) -> list[float] | None:
    try:
        return [parse_number(cell) for cell in cells]
    except CellError:
        return None
