"""Drawings of boards, each made once for all who look at it at the same time.

A page of a board is the same for everybody who may know of every team, but for the mark on one's
own row. A process draws it at most once in BOARD_SECONDS, and at once for those whose own team has
a newer answer than the drawing.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, TypeVar

from django.conf import settings

from leaderboard import models
from leaderboard.models import Team
from leaderboard.queries import BoardFacts, TeamRanking, board_facts, newest_entry
from leaderboard.queries.paging import Page, Ranking, own_page
from leaderboard.web.board import Board

T = TypeVar("T")
R = TypeVar("R", bound=Ranking[Any])


class Drawing:
    """What is read and drawn of a page of a board, each part when it is first asked for."""

    def __init__(self, facts: BoardFacts) -> None:
        self.facts = facts
        self.made_at = time.monotonic()
        self._parts: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def part(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return a part, made by whoever asks first; others wait for it."""
        with self._lock:
            if name not in self._parts:
                self._parts[name] = make()
            found: T = self._parts[name]
            return found

    def page(
        self,
        team: Team | None,
        ranking: Callable[[], R],
        read: Callable[[R], Page],
        draw: Callable[[Page], Board],
    ) -> tuple[Page, Board]:
        """Return a page and its lines, with the mark on the team's row."""
        order = self.part("ranking", ranking)
        page = self.part("page", lambda: read(order))
        drawn = self.part("drawn", lambda: draw(page))
        if team is None:
            return page, drawn
        own = self.part(("own", team.pk), lambda: own_page(page, order, team.pk))
        if own.rows is page.rows:
            return own, drawn
        lines = zip(drawn.lines, own.rows, strict=True)
        return own, replace(drawn, lines=tuple(replace(line, row=row) for line, row in lines))


_drawings = OrderedDict[Hashable, Drawing]()
_lock = threading.Lock()


def shared(key: Hashable, facts: BoardFacts, newest_own: Callable[[], int]) -> Drawing:
    """Return the drawing of a page that all may see.

    newest_own: return the number of the newest ledger entry of the person's team, 0 without one.
    """
    known = _drawings.get(key)
    if known is not None and _is_fresh(known, facts, newest_own):
        return known
    drawing = Drawing(facts)
    with _lock:
        newer = _drawings.get(key)
        if newer is not None and newer is not known and newer.facts == facts:
            return newer  # another thread was first
        _drawings[key] = drawing
        _drawings.move_to_end(key)
        while len(_drawings) > 1 and _is_old(next(iter(_drawings.values()))):
            _drawings.popitem(last=False)
    return drawing


def ranking(board: models.Board, team: Team) -> TeamRanking:
    """Return the order of a board as a member of a team may see it who sees every team."""
    drawing = shared((board.uid, "ranking"), board_facts(board), lambda: newest_entry(board, team))
    return drawing.part("ranking", lambda: TeamRanking(board))


def _is_fresh(drawing: Drawing, facts: BoardFacts, newest_own: Callable[[], int]) -> bool:
    if _is_old(drawing):
        return False
    return drawing.facts == facts or newest_own() <= drawing.facts.entries


def _is_old(drawing: Drawing) -> bool:
    return time.monotonic() - drawing.made_at > settings.BOARD_SECONDS
