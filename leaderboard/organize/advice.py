"""What an organizer should look at again before the opening: no errors, and nothing is refused.

It is made of public files and settings alone, so that it may be shown to every organizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

from leaderboard.models import Competition, FileRole, Round
from leaderboard.platform.files import open_stored
from scoring.errors import HoldfastError
from scoring.predictions import Limits
from scoring.predictions.limits import MB
from scoring.split import Suspect, find_groups
from scoring.split_table import read_columns

_LARGEST: Final = 50 * MB  # of the test data that are looked at while a page is made
_NAMED: Final = 5


@dataclass(frozen=True)
class Advice:
    """A warning of the checklist. `name` is the line of the checklist that it belongs to."""

    name: str
    title: str
    detail: str


def advise(competition: Competition) -> list[Advice]:
    """Return what might be wrong with a draft; empty once it is open."""
    if competition.opened_by_organizer_at is not None:
        return []
    return list(_look_for_groups(competition.current_round))


def _look_for_groups(round: Round) -> list[Advice]:
    """Warn of columns of the test data that look like groups, unless the solution has groups."""
    holdout = round.active_holdout
    if holdout is not None and holdout.designs:
        return []
    entries = round.origin.files.filter(role=FileRole.TEST, size__lte=_LARGEST)
    stored = ((entry.sha256, entry.file.name) for entry in entries)
    found = list(chain.from_iterable(_suspects(*each) for each in stored))
    if not found:
        return []
    # Days first: of few values there may be many columns that are measurements.
    found.sort(key=lambda each: each.kind != "days")
    named = [f"“{each.column}” ({each.groups:,} {each.kind})" for each in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return [
        Advice(
            name="solution",
            title="Do rows belong together?",
            detail=f"In the test data many rows share a value of {', '.join(named)}{more}. If rows "
            "that share one depend on each other, as those of a day, a patient or an author do, "
            "the board would promise too much. Name it in a column Group of the solution, whole "
            "groups in each set: “holdfast split --by group” writes such a file. If none does, "
            "leave it as it is.",
        )
    ]


@lru_cache(maxsize=256)
def _suspects(sha256: str, name: str) -> tuple[Suspect, ...]:
    """Return the columns of a stored file that look like groups; none of one that is no table."""
    try:
        with open_stored(name) as file:
            return tuple(find_groups(read_columns(file, Limits.of_upload(_LARGEST))))
    except HoldfastError:
        return ()
