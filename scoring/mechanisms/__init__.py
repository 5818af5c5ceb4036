"""The mechanisms that a competition can choose from, and those that are for experiments only."""

from typing import Any, Final

from scoring.errors import ParameterError
from scoring.mechanisms.base import Mechanism
from scoring.mechanisms.free_ladder import FreeLadder
from scoring.mechanisms.ladder import Ladder
from scoring.mechanisms.science_demo import ScienceDemo
from scoring.mechanisms.sparse_validate import SparseValidate
from scoring.mechanisms.thresholdout import Thresholdout

_LADDER: Mechanism[Any] = Ladder()
_THRESHOLDOUT: Mechanism[Any] = Thresholdout()
_SPARSE_VALIDATE: Mechanism[Any] = SparseValidate()
_FREE_LADDER: Mechanism[Any] = FreeLadder()
_SCIENCE_DEMO: Mechanism[Any] = ScienceDemo()

MECHANISMS: Final[dict[str, Mechanism[Any]]] = {
    mechanism.name: mechanism for mechanism in (_LADDER, _THRESHOLDOUT, _SPARSE_VALIDATE)
}
# No certificate, and `check` refuses every competition with the reason.
EXPERIMENTAL: Final[dict[str, Mechanism[Any]]] = {
    mechanism.name: mechanism for mechanism in (_FREE_LADDER, _SCIENCE_DEMO)
}


def get(name: str) -> Mechanism[Any]:
    """The mechanism of this name, for a competition.

    Raises ParameterError for the field "mechanism", also for one that is for experiments only.
    """
    if name in EXPERIMENTAL:
        raise ParameterError(
            "mechanism", f"{EXPERIMENTAL[name].title} is for experiments only: it has no guarantee."
        )
    if name not in MECHANISMS:
        raise ParameterError("mechanism", f"There is no mechanism called {name!r}.")
    return MECHANISMS[name]
