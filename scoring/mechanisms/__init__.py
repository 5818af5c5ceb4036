"""The mechanisms that a competition can choose from."""

from typing import Any, Final

from scoring.errors import ParameterError
from scoring.mechanisms.base import Mechanism
from scoring.mechanisms.ladder import Ladder
from scoring.mechanisms.sparse_validate import SparseValidate
from scoring.mechanisms.thresholdout import Thresholdout

_LADDER: Mechanism[Any] = Ladder()
_THRESHOLDOUT: Mechanism[Any] = Thresholdout()
_SPARSE_VALIDATE: Mechanism[Any] = SparseValidate()

MECHANISMS: Final[dict[str, Mechanism[Any]]] = {
    mechanism.name: mechanism for mechanism in (_LADDER, _THRESHOLDOUT, _SPARSE_VALIDATE)
}


def get(name: str) -> Mechanism[Any]:
    """The mechanism of this name. Raises ParameterError for the field "mechanism"."""
    try:
        return MECHANISMS[name]
    except KeyError:
        raise ParameterError("mechanism", f"There is no mechanism called {name!r}.") from None
