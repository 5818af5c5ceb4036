"""Formulas that organizers write: parsed by a closed grammar of our own, evaluated by numpy.

A formula is made of numbers, names, + - * / **, comparisons, `and`, `or`, `not`, brackets and the
functions below; there are no texts, attributes, indices or other calls, so nothing else is within
its reach. Every node is float64 or a condition, element by element, so the work is bounded by the
nodes and the rows whatever the numbers are.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import HoldfastError

Values = NDArray[Any]

LONGEST: Final = 500
DEEPEST: Final = 20
MOST_NODES: Final = 200
LARGEST_EXPONENT: Final = 10
_MOST_ARGUMENTS: Final = 8

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>(),])"
)
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_WORDS: Final = ("and", "or", "not")
# How many arguments each function takes, at least and at most.
FUNCTIONS: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(("abs", "exp", "expm1", "floor", "log", "log1p", "sign", "sqrt"), (1, 1)),
    **dict.fromkeys(("max", "min"), (2, _MOST_ARGUMENTS)),
    **dict.fromkeys(("clip", "where"), (3, 3)),
}
_OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negative": np.negative,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    **{name: getattr(np, name) for name, (_, most) in FUNCTIONS.items() if most == 1},
    "max": lambda *values: reduce(np.maximum, values),
    "min": lambda *values: reduce(np.minimum, values),
    "clip": lambda value, low, high: np.minimum(np.maximum(value, low), high),
    "where": np.where,
}


class FormulaError(HoldfastError):
    """A formula can't be read. `place` is a character's, from 1; `message` a full sentence."""

    def __init__(self, place: int, message: str) -> None:
        """Keep both, so that the error can travel between processes."""
        self.place = place
        self.message = message
        super().__init__(place, message)

    def __str__(self) -> str:
        return f"Character {self.place}: {self.message}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int

    def __str__(self) -> str:
        return f"“{self.text}”" if self.text else "the end"


@dataclass(frozen=True)
class _Node:
    """What a part of the formula does: an operation, "number" or "name"."""

    does: str
    place: int
    parts: tuple["_Node", ...] = ()
    number: float = 0.0
    name: str = ""

    @property
    def is_condition(self) -> bool:
        return self.does in _COMPARISONS or self.does in _WORDS

    def evaluate(self, values: Mapping[str, Values]) -> Any:
        if self.does == "number":
            return np.float64(self.number)
        if self.does == "name":
            return values[self.name]
        found = [part.evaluate(values) for part in self.parts]
        if self.does not in _WORDS:  # a condition counts as 1 where it holds, else as 0
            kept = 1 if self.does == "where" else 0
            found[kept:] = [np.asarray(each, np.float64) for each in found[kept:]]
        return _OPERATIONS[self.does](*found)


@dataclass(frozen=True)
class Formula:
    """A formula that was read. `names` has the place at which each name first stands."""

    root: _Node
    names: Mapping[str, int]

    def evaluate(self, values: Mapping[str, Values]) -> Values:
        """Return the value of each row, as float64, from float64 arrays of all names.

        Total: a row that is undefined is NaN or infinite.
        """
        with np.errstate(all="ignore"):
            found = np.asarray(self.root.evaluate(values), np.float64)
        rows = next((each.shape for each in values.values()), ())
        return np.broadcast_to(found, rows)


@lru_cache(maxsize=256)
def read_formula(text: str) -> Formula:
    """Read a formula. Raise FormulaError with the place and what was expected there."""
    if len(text) > LONGEST:
        raise FormulaError(LONGEST + 1, f"A formula has at most {LONGEST} characters.")
    reader = _Reader(text)
    root = reader.read()
    names = dict[str, int]()
    for node in _walk(root):
        if node.does == "name":
            names[node.name] = min(node.place, names.get(node.name, node.place))
    return Formula(root, names)


def _walk(node: _Node) -> Iterator[_Node]:
    yield node
    yield from chain.from_iterable(map(_walk, node.parts))


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            yield _Token("unknown", text[place], place + 1)
            return
        kind = str(found.lastgroup)
        if kind != "space":
            yield _Token("sign" if found[0] in _WORDS else kind, found[0], place + 1)
        place = found.end()
    yield _Token("end", "", len(text) + 1)


class _Reader:
    """A recursive descent from `or`, which binds least, to brackets."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._depth = self._nodes = 0
        self._next = next(self._tokens)

    def read(self) -> _Node:
        root = self._either()
        if self._next.kind != "end":
            raise self._expected("an operator such as + or the end")
        return root

    def _either(self) -> _Node:
        return self._chain(("or",), lambda: self._chain(("and",), self._negation))

    def _negation(self) -> _Node:
        if self._next.text != "not":
            return self._comparison()
        token = self._take()
        self._enter(token)
        found = self._node("not", token, self._condition(self._negation()))
        self._depth -= 1
        return found

    def _comparison(self) -> _Node:
        left = self._sum()
        if self._next.text not in _COMPARISONS:
            return left
        token = self._take()
        found = self._node(token.text, token, left, self._sum())
        if self._next.text in _COMPARISONS:
            raise self._expected("`and` between two comparisons, as in 0 < label and label < 1")
        return found

    def _sum(self) -> _Node:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._signed))

    def _chain(self, signs: tuple[str, ...], read: Callable[[], _Node]) -> _Node:
        found = read()
        while self._next.kind == "sign" and self._next.text in signs:
            token = self._take()
            both = (found, read())
            parts = map(self._condition, both) if token.text in _WORDS else both
            found = self._node(token.text, token, *parts)
        return found

    def _signed(self) -> _Node:
        if self._next.text not in ("-", "+"):
            return self._power()
        token = self._take()
        self._enter(token)
        found = self._signed()
        self._depth -= 1
        return found if token.text == "+" else self._node("negative", token, found)

    def _power(self) -> _Node:
        base = self._atom()
        if self._next.text != "**":
            return base
        token = self._take()
        sign = self._take() if self._next.text == "-" else None
        expected = f"a number from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT} as the exponent"
        if self._next.kind != "number":
            raise self._expected(expected)
        if float(self._next.text) > LARGEST_EXPONENT:
            raise self._expected(expected)
        size = self._atom()
        exponent = size if sign is None else self._node("negative", sign, size)
        if self._next.text == "**":
            raise self._expected("one exponent only, or brackets around the first power")
        return self._node("**", token, base, exponent)

    def _atom(self) -> _Node:
        token = self._next
        if token.kind == "number":
            return self._number(self._take())
        if token.kind == "name":
            self._take()
            if self._next.text == "(":
                return self._call(token)
            if token.text in FUNCTIONS:
                raise self._expected(f"“(” after the function {token.text}")
            return self._node("name", token)
        if token.text != "(":
            raise self._expected("a number, a column, a function or “(”")
        self._take()
        self._enter(token)
        found = self._either()
        self._close("an operator or “)”")
        return found

    def _number(self, token: _Token) -> _Node:
        number = float(token.text)
        if not math.isfinite(number):
            raise FormulaError(token.place, "The number is too large.")
        return self._node("number", token, number=number)

    def _call(self, token: _Token) -> _Node:
        if token.text not in FUNCTIONS:
            known = ", ".join(sorted(FUNCTIONS))
            raise FormulaError(
                token.place, f"There is no function “{token.text}”; expected one of {known}."
            )
        self._take()
        self._enter(token)
        least, most = FUNCTIONS[token.text]
        found = [self._either()]
        while self._next.text == ",":
            if len(found) == most:
                raise self._expected(f"“)”: {token.text} takes {_count(least, most)}")
            self._take()
            found.append(self._either())
        if len(found) < least:
            raise self._expected(f"“,”: {token.text} takes {_count(least, most)}")
        self._close("an operator, “,” or “)”" if len(found) < most else "an operator or “)”")
        if token.text == "where":
            self._condition(found[0])
        return self._node(token.text, token, *found)

    def _condition(self, node: _Node) -> _Node:
        if not node.is_condition:
            raise FormulaError(node.place, "Expected a condition here, such as label > 0.")
        return node

    def _node(self, does: str, token: _Token, *parts: _Node, number: float = 0.0) -> _Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise FormulaError(
                token.place,
                f"Expected a formula of at most {MOST_NODES} parts.",
            )
        # Of an operator between two parts the place is where the first of them begins.
        place = parts[0].place if len(parts) == 2 and does not in FUNCTIONS else token.place
        return _Node(does, place, parts, number, token.text if does == "name" else "")

    def _enter(self, token: _Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(
                token.place, f"Expected at most {DEEPEST} brackets or signs within each other."
            )

    def _close(self, expected: str) -> None:
        if self._next.text != ")":
            raise self._expected(expected)
        self._take()
        self._depth -= 1

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens, token)
        return token

    def _expected(self, what: str) -> FormulaError:
        return FormulaError(self._next.place, f"Expected {what}, not {self._next}.")


def _count(least: int, most: int) -> str:
    if least == most:
        return f"{least} argument{'s' if least > 1 else ''}"
    return f"{least} to {most} arguments"
