"""Formulas for hypothesis, and a slow reference that evaluates them row by row with floats."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True)
class Tree:
    """A formula as its text and as what it is made of."""

    text: str
    does: str
    parts: tuple["Tree", ...] = ()


def _leaf(text: str) -> Tree:
    return Tree(text, "leaf")


def _infix(sign: str) -> Callable[[tuple[Tree, Tree]], Tree]:
    return lambda parts: Tree(f"({parts[0].text} {sign} {parts[1].text})", sign, parts)


def _call(name: str) -> Callable[[tuple[Tree, ...]], Tree]:
    return lambda parts: Tree(f"{name}({', '.join(p.text for p in parts)})", name, parts)


def _extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    condition = st.one_of(*(two.map(_infix(sign)) for sign in _COMPARE))
    both = st.tuples(condition, condition)
    condition |= both.map(_infix("and")) | both.map(_infix("or"))
    condition |= condition.map(lambda tree: Tree(f"(not {tree.text})", "not", (tree,)))
    return st.one_of(
        *(two.map(_infix(sign)) for sign in "+-*/"),
        inner.map(lambda tree: Tree(f"(-{tree.text})", "negative", (tree,))),
        st.tuples(inner, st.sampled_from(["2", "-1", "0.5", "0"]).map(_leaf)).map(
            lambda parts: Tree(f"({parts[0].text})**{parts[1].text}", "**", parts)
        ),
        *(st.tuples(inner).map(_call(name)) for name in _ONE),
        *(two.map(_call(name)) for name in ("min", "max")),
        three.map(_call("clip")),
        st.tuples(condition, inner, inner).map(_call("where")),
        condition,
    )


def formulas() -> st.SearchStrategy[Tree]:
    """Formulas of all operators and functions, fully in brackets."""
    leaves = st.sampled_from(["prediction", "label", "weight", "0", "1", "2.5", "1e-3"])
    return st.recursive(leaves.map(_leaf), _extend, max_leaves=8)


def reference(tree: Tree, row: Mapping[str, float]) -> float:
    """Return the value for one row; NaN or infinite where IEEE's is."""
    if tree.does == "leaf":
        return row[tree.text] if tree.text in row else float(tree.text)
    found = [reference(part, row) for part in tree.parts]
    try:
        return float(_MEANS[tree.does](*found))
    except (OverflowError, ValueError, ZeroDivisionError):
        return math.nan if tree.does != "/" else _divide(*found)


def _divide(above: float, below: float) -> float:
    if above == 0 or math.isnan(above):
        return math.nan
    return math.copysign(math.inf, above) * math.copysign(1, below)


def _least(*values: float) -> float:
    return math.nan if any(map(math.isnan, values)) else min(values)


def _most(*values: float) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values)


def _or_inf(function: Callable[[float], float]) -> Callable[[float], float]:
    def total(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return math.inf

    return total


def _log(function: Callable[[float], float], pole: float) -> Callable[[float], float]:
    return lambda value: -math.inf if value == pole else function(value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return math.copysign(math.inf, base)
    try:
        value = base**exponent
    except OverflowError:
        return math.inf if exponent != -1 else math.copysign(math.inf, base)
    return math.nan if isinstance(value, complex) else value


_COMPARE = ("<", "<=", ">", ">=", "==", "!=")
_ONE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "exp": _or_inf(math.exp),
    "expm1": _or_inf(math.expm1),
    "floor": lambda value: math.floor(value) if math.isfinite(value) else value,
    "log": _log(math.log, 0.0),
    "log1p": _log(math.log1p, -1.0),
    "sign": lambda value: value if math.isnan(value) else (value > 0) - (value < 0),
    "sqrt": math.sqrt,
}
_MEANS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": _power,
    "negative": lambda a: -a,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": lambda a: not a,
    "min": _least,
    "max": _most,
    "clip": lambda value, low, high: _least(_most(value, low), high),
    "where": lambda condition, then, otherwise: then if condition else otherwise,
    **_ONE,
}
