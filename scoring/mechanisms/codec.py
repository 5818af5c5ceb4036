"""States and answers as versioned JSON: strict, exact, and the same after a round trip.

Anything off raises StateError: another version, a missing or unknown key, a wrong type, a state
that the constructors refuse. Floats are JSON numbers, which Python writes and reads back exactly.
"""

from dataclasses import asdict, fields
from typing import Any, Final, TypeVar

from scoring.errors import StateError
from scoring.mechanisms.base import Answer, HoldoutState, TeamState

VERSION: Final = 1

_NAMES: Final[dict[type, str]] = {HoldoutState: "holdout", TeamState: "team", Answer: "answer"}

Coded = TypeVar("Coded", bound=HoldoutState | TeamState | Answer)


def encode(value: HoldoutState | TeamState | Answer) -> dict[str, Any]:
    """A dictionary that `json.dumps` takes and `decode` turns back."""
    return {"version": VERSION, "type": _NAMES[type(value)], **asdict(value)}


def decode(kind: type[Coded], data: object) -> Coded:
    """The state or answer of this kind. Raises StateError for what `encode` cannot give."""
    if not isinstance(data, dict):
        raise StateError("A stored state is a JSON object.")
    body = dict(data)
    _check_header(kind, body)
    if body.keys() != {field.name for field in fields(kind)}:
        raise StateError("A stored state has exactly the known keys.")
    return kind(**body)


def _check_header(kind: type, body: dict[str, Any]) -> None:
    version = body.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise StateError(f"A stored state has the version {VERSION}.")
    if body.pop("type", None) != _NAMES[kind]:
        raise StateError(f"This is not a stored {_NAMES[kind]}.")
