"""The mechanisms that a competition can choose from, by name.

Each is one file, which carries its parameters, texts, kinds of answers and advice: nothing else
compares names. Another one joins by `register`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from scoring.errors import ParameterError, StateError
from scoring.mechanisms.base import Mechanism
from scoring.mechanisms.guard import Guard
from scoring.mechanisms.kinds import EXHAUSTED, LIMIT, AnswerKind
from scoring.mechanisms.ladder import Ladder
from scoring.mechanisms.sparse_validate import SparseValidate
from scoring.mechanisms.thresholdout import Thresholdout

MECHANISMS: Final[dict[str, Mechanism[Any]]] = {}
# Published rules that no competition can choose, and why; they are played in `research`.
REFUSED: Final = {
    "heuristic": "Parameter-free Ladder (heuristic) is for experiments only: it has no guarantee.",
    "science_demo": "Gaussian demonstration is for experiments only: it has no guarantee.",
}


def get(name: str) -> Mechanism[Any]:
    """Return the mechanism of this name, for a competition.

    Raises ParameterError for the field "mechanism", also for one that is for experiments only.
    """
    if name in REFUSED:
        raise ParameterError("mechanism", REFUSED[name])
    if name not in MECHANISMS:
        raise ParameterError("mechanism", f"There is no mechanism called {name!r}.")
    return MECHANISMS[name]


def answer_kinds() -> dict[str, AnswerKind]:
    """Return the kinds of answers of all mechanisms, by code."""
    kinds = (kind for mechanism in MECHANISMS.values() for kind in mechanism.kinds)
    return {kind.code: kind for kind in (*kinds, EXHAUSTED, LIMIT)}


def answer_kind(code: str) -> AnswerKind:
    """Return the kind of answers of this code. Raises StateError if no mechanism gives any."""
    kind = answer_kinds().get(code)
    if kind is None:
        raise StateError("No mechanism gives such an answer.")
    return kind


def register(mechanism: Mechanism[Any]) -> None:
    """Offer a mechanism to competitions. Raises ValueError if its name is taken or refused."""
    if mechanism.name in MECHANISMS or mechanism.name in REFUSED:
        raise ValueError(f"there is a mechanism called {mechanism.name!r}")
    MECHANISMS[mechanism.name] = mechanism


@contextmanager
def registered(mechanism: Mechanism[Any]) -> Iterator[None]:
    """Offer a mechanism for the time of a block."""
    register(mechanism)
    try:
        yield
    finally:
        del MECHANISMS[mechanism.name]


for _mechanism in (Ladder(), Guard(), Thresholdout(), SparseValidate()):
    register(_mechanism)
