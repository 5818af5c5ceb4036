"""A normal season: what boards promise at its end, charged by the count and by the laws.

60 teams send 100 files each; there are as many Public rows as Private ones. The figure is the
gauge's, at the last question: half of the certified interval of a score at a loss of .25, tolerance
included. On the hidden board teams claim their scores, from validation on rows of their own.
One run is one seed, counted on from the first.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from research.experiments.boards import QuickNoise
from research.experiments.results import Cell, Colour, Panel, Result, Series, Table
from scoring.guarantees.ledger import NO_CERTIFICATE, ledger_width
from scoring.guarantees.rehearsal import (
    Played,
    answer_tolerance,
    draw_season,
    half_width,
    play,
)
from scoring.laws.exact import MILLION
from scoring.ledger import Board, begin
from scoring.mechanisms import get
from scoring.mechanisms.fitness import highest_rung

TEAMS: Final = 60
FILES: Final = 100
SIZES: Final = (500, 2_000, 10_000, 100_000)
LOSS: Final = 0.25
GUESSING: Final = Fraction(1, 2)
STEPS: Final = 15  # the Ladder's
NOTE: Final = (
    "- is .5 or more: nothing is certified. A hidden board has an account for each team; its\n"
    "figure is the median team's, and holds only if no team learns of another's answers."
)


@dataclass(frozen=True)
class Setting:
    """One board: which mechanism, whether it has Public rows, and an account for each team.

    is_new: whether there was no such board when ledgers were charged by the count.
    """

    name: str
    mechanism: str
    colour: Colour
    uses_public: bool = True
    is_new: bool = False
    by_team: bool = False

    def parameters(self, rows: int) -> Mapping[str, str]:
        """Return what an organizer would type for so many Private rows, and as many Public ones."""
        finest = math.isqrt(16 * rows)
        if self.mechanism == "ladder":
            rung = highest_rung(STEPS, GUESSING, rows, rows)
            return {"steps": str(STEPS), "rung": str(rung)}
        if self.mechanism == "thresholdout":
            threshold = math.ceil(3000 / math.sqrt(2 * rows)) / 1000
            noise = Fraction(math.ceil(threshold * 1000), 40_000)
            return {
                "threshold": str(threshold),
                "noise_scale": str(max(noise, Fraction(1, rows))),
                "budget": str(5 * TEAMS),
                "steps": str(min(finest, 10_000)),
            }
        budget = {"budget": str(5 * TEAMS), "steps": str(min(finest, 10_000))}
        if self.by_team:
            # Two standard errors of a private loss: claims rest on five times as many rows.
            return budget | {"reference": "claim", "threshold": f"{0.87 / math.sqrt(rows):.6f}"}
        return budget | {"errors": "3.75"}


SETTINGS: Final = (
    Setting("guard", "guard", "ours", is_new=True),
    Setting("ladder", "ladder", "other", uses_public=False),
    Setting("ladder_public", "ladder", "third"),
    Setting("thresholdout", "thresholdout", "fourth"),
    Setting("hidden", "guard", "fifth", uses_public=False, is_new=True, by_team=True),
)


@dataclass(frozen=True)
class Outcome:
    """One season on one board; losses. `before` is what the count would have left of it."""

    setting: Setting
    rows: int
    seed: int
    half_width: float | None
    before: float | None
    shown_error: float
    corrections: int

    def to_row(self) -> dict[str, Cell]:
        """Return what is written of it."""
        return {
            "board": self.setting.name,
            "private_rows": self.rows,
            "seed": self.seed,
            "half_width": self.half_width,
            "half_width_before": self.before,
            "shown_error": self.shown_error,
            "corrections": self.corrections,
        }


def run(
    runs: int, seed: int, sizes: tuple[int, ...] = SIZES, teams: int = TEAMS, files: int = FILES
) -> Result:
    """Play each season on each board."""
    outcomes = [
        play_season(setting, rows, each, teams, files)
        for rows in sizes
        for each in range(seed, seed + runs)
        for setting in SETTINGS
    ]
    return Result(
        "season",
        f"A season of {teams} teams with {files} files each: half-width of a score at {LOSS}",
        {"runs": runs, "seed": seed, "teams": teams, "files": files},
        tables=(
            _table("Half-width at the end, by the laws (median)", outcomes, "half_width", sizes),
            _table(
                "The same answers by the count of 2.1: w and tolerance", outcomes, "before", sizes
            ),
            _table("Leader's shown score off by (sampling errors)", outcomes, "shown_error", sizes),
            _table("Corrections", outcomes, "corrections", sizes),
        ),
        panels=(
            _panel("By the count of 2.1", outcomes, "before", sizes),
            _panel("By the laws of 10.1", outcomes, "half_width", sizes),
        ),
        notes=(NOTE,),
        rows=tuple(outcome.to_row() for outcome in outcomes),
    )


def play_season(
    setting: Setting, rows: int, seed: int, teams: int = TEAMS, files: int = FILES
) -> Outcome:
    """Play one season on one board; the season follows from its size and seed, not the board."""
    generator = np.random.default_rng([seed, rows])
    mechanism = get(setting.mechanism)
    params: Any = mechanism.parse(setting.parameters(rows))
    board = Board("board", mechanism, params, rows, rows if setting.uses_public else 0)
    season = draw_season(
        generator, teams=teams, files=files, rows=rows, public_rows=board.public_rows
    )
    terms = begin(
        [(mechanism, board.laws)],
        question_limit=teams * files,
        team_limit=teams,
        by_team=setting.by_team,
    )
    played = play(terms, board, season, QuickNoise(generator))
    length = sorted(played.lengths)[(len(played.lengths) - 1) // 2]
    return Outcome(
        setting,
        rows,
        seed,
        half_width(board, played.head, LOSS, length),
        None if setting.is_new else _width_before(board, played),
        played.shown_error(season),
        played.corrections,
    )


def _width_before(board: Board, played: Played) -> float | None:
    """Return the figure as it was, when ledgers were charged by the count: w and the tolerance."""
    count = played.account.count
    ln_beta = math.log(board.mechanism.ledger_beta(board.params))
    log_alphabets = count.alphabets / MILLION
    width = ledger_width(board.private_rows, count.asked, count.answered, log_alphabets, ln_beta)
    before = width + answer_tolerance(board, played.head, LOSS)
    return before if before < NO_CERTIFICATE else None


def _medians(outcomes: list[Outcome], field: str, sizes: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the median over seeds for each board, by size; infinite where it is None."""
    found = dict[str, list[float]]()
    for setting in SETTINGS:
        for rows in sizes:
            values = [getattr(each, field) for each in outcomes
                      if each.setting is setting and each.rows == rows]  # fmt: skip
            numbers = [math.inf if value is None else float(value) for value in values]
            found.setdefault(setting.name, []).append(sorted(numbers)[(len(numbers) - 1) // 2])
    return found


def _table(title: str, outcomes: list[Outcome], field: str, sizes: tuple[int, ...]) -> Table:
    rows = tuple(
        (name, *(None if math.isinf(value) else value for value in values))
        for name, values in _medians(outcomes, field, sizes).items()
    )
    return Table(title, ("board", *(f"{size:,} rows" for size in sizes)), rows)


def _panel(title: str, outcomes: list[Outcome], field: str, sizes: tuple[int, ...]) -> Panel:
    medians = _medians(outcomes, field, sizes)
    series = []
    for setting in SETTINGS:
        points = [(n, value) for n, value in zip(sizes, medians[setting.name], strict=True)
                  if math.isfinite(value)]  # fmt: skip
        x, y = [n for n, _ in points], [value for _, value in points]
        series.append(Series(setting.name.replace("_", ", "), x, y, setting.colour))
    return Panel(title, "private rows", "half-width at a loss of .25", tuple(series), True, True)
