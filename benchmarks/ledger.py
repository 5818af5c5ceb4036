"""One question on a ledger of 100,000 entries, beside the mechanism's step alone.

    python -m benchmarks.ledger [--questions N]

The state of the laws is kept, not replayed, so a question costs the same however many came before.
Times are medians in microseconds, of the whole question (width, answer and charge) and of the laws'
part of it; the target for that part is a median below 200.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from scoring import mechanisms
from scoring.laws.books import Account
from scoring.ledger import Board, Standing, ask, begin
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.noise import SteadyNoise

ROWS, TEAMS, ENTRIES = 10_000, 300, 100_000
BOARDS = {"ladder": {"steps": "50"}, "guard": {"budget": "1000000", "team_share": "1000"}}
TARGET = 200.0

T = TypeVar("T")


class Season:
    """A ledger with one board, played by normal teams."""

    def __init__(self, name: str, raw: dict[str, str]) -> None:
        mechanism = mechanisms.get(name)
        self.board = Board("board", mechanism, mechanism.parse(raw), ROWS, ROWS)
        self.terms = begin([(mechanism, self.board.laws)], question_limit=2 * ENTRIES)
        self.head: HoldoutState = mechanism.initial_holdout(self.board.params)
        self.account = Account()
        self.teams: dict[int, Standing] = {}
        self.random = random.Random(1)

    def measurement(self) -> Measurement:
        truth = self.random.uniform(0.2, 0.3)
        losses = (min(1.0, max(0.0, truth + self.random.gauss(0, 0.004))) for _ in range(2))
        return Measurement(*(Mean(round(loss * ROWS), ROWS, 1) for loss in losses))

    def question(self) -> tuple[float, float]:
        """Ask once; return the microseconds of the question, and of its step alone."""
        team, measurement = self.random.randrange(TEAMS), self.measurement()
        known = self.teams.get(team)
        state = State(self.head, known.state.team if known else TeamState())
        before = Standing(state, self.account, known.book if known else None)
        whole, (after, _, _) = _timed(
            lambda: ask(self.terms, self.board, before, measurement, SteadyNoise())
        )
        mechanism, params = self.board.mechanism, self.board.params
        lent = replace(state, holdout=replace(self.head, length=1))
        alone, _ = _timed(lambda: mechanism.step(params, lent, measurement, SteadyNoise()))
        self.head, self.account, self.teams[team] = after.state.holdout, after.account, after
        return whole, alone


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = act()
    return 1e6 * (time.perf_counter() - begun), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", type=int, default=3000)
    questions = parser.parse_args().questions
    print(f"{'board':<10} {'question':>9} {'step':>7} {'laws':>7} {'x step':>7}")
    for name, raw in BOARDS.items():
        season = Season(name, raw)
        for _ in range(1000):
            season.question()
        count = replace(season.account.count, numbered=ENTRIES, asked=ENTRIES)
        season.account = replace(season.account, count=count)
        times = [season.question() for _ in range(questions)]
        whole, alone = (statistics.median(each) for each in zip(*times, strict=True))
        laws = whole - alone
        verdict = "" if laws < TARGET else f"  above {TARGET:g}"
        print(f"{name:<10} {whole:>9.0f} {alone:>7.0f} {laws:>7.0f} {whole / alone:>7.1f}{verdict}")


if __name__ == "__main__":
    main()
