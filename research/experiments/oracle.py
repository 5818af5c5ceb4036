"""Programs that ask an oracle ten thousand times: score shown, score on fresh rows, guarantee.

A hill climber, an evolutionary search and a bandit look for exceptions to a model
(`oracle_models`), each before five oracles (`oracle_answers`), on the same rows and from the same
seed. At the end a program hands in the model with the best score that it was shown. All are scores,
shares of rows that are right.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from research.experiments.oracle_answers import ORACLES, Oracle, Reply
from research.experiments.oracle_models import SEARCHES, Floats, Search, Sizes, Task, draw_task
from research.experiments.results import Cell, Colour, Panel, Result, Series, Table, compare

POINTS: Final = 40  # of a curve
COLOURS: Final[dict[str, Colour]] = {
    "plain": "other",
    "rounded": "third",
    "ladder": "fourth",
    "guard": "ours",
    "gate": "fifth",
}
DRAWN: Final = ("guard", "gate")  # whose guarantees are
TIMES: Final = 5
RUNS: Final = {"ladder": 5}  # the first ones: its answers take most of the time
HEADINGS: Final = (
    "oracle",
    "shown",
    "fresh",
    "gap",
    "largest gap",
    "guarantee",
    "within",
    f"plain's gap {TIMES} times",
    "nats",
)
NOTE: Final = (
    "Guarantee: how far below the shown score the true one may be, at 95 %, as it stood beside\n"
    "the score. Within: runs in which the score on fresh rows is no further below after any call\n"
    "that is drawn, with no allowance for the sampling error of fresh rows. Nats: what the\n"
    "answers said of the Private rows, at most."
)


@dataclass(frozen=True)
class Claim:
    """What a program could claim after some calls: of the best model that it was shown.

    guarantee: None where nothing is promised. Scores are None before anything is shown.
    """

    shown: float | None = None
    fresh: float | None = None
    guarantee: float | None = None

    @property
    def gap(self) -> float | None:
        """Return the score shown less that on fresh rows."""
        return None if self.shown is None or self.fresh is None else self.shown - self.fresh

    @property
    def holds(self) -> bool:
        """Return whether the score on fresh rows is within what was promised, if anything was."""
        return self.guarantee is None or (self.gap or 0.0) <= self.guarantee


@dataclass(frozen=True)
class Outcome:
    """One program before one oracle. claims: after each of the calls that are drawn."""

    search: str
    oracle: str
    run: int
    claims: tuple[Claim, ...]
    nats: float

    @property
    def end(self) -> Claim:
        """Return what is claimed at the end."""
        return self.claims[-1]

    def to_row(self) -> dict[str, Cell]:
        """Return what is written of it."""
        return {
            "search": self.search,
            "oracle": self.oracle,
            "run": self.run,
            "shown": self.end.shown,
            "fresh": self.end.fresh,
            "guarantee": self.end.guarantee,
            "always_within": all(claim.holds for claim in self.claims),
            "nats": self.nats,
        }


def run(runs: int, seed: int, sizes: Sizes | None = None) -> Result:
    """Play all programs before all oracles, on rows drawn anew for each run."""
    sizes = sizes or Sizes()
    found = [each for number in range(runs) for each in play_run(sizes, seed, number)]
    return report(found, {"runs": runs, "seed": seed}, sizes)


def report(found: list[Outcome], parameters: dict[str, Cell], sizes: Sizes) -> Result:
    """Return what so many runs found."""
    return Result(
        "oracle",
        f"{sizes.calls:,} calls of a program: score shown less score on fresh rows",
        parameters | vars(sizes),
        tuple(
            compare(f"{search}, {oracle}: shown less fresh", gaps(found, search, oracle))
            for search in SEARCHES
            for oracle in ORACLES
        ),
        tuple(_table(found, search) for search in SEARCHES),
        tuple(_panel(found, search, sizes) for search in SEARCHES),
        (NOTE,),
        tuple(each.to_row() for each in found),
    )


def play_run(sizes: Sizes, seed: int, number: int) -> list[Outcome]:
    """Play one run, which follows from the seed and its number."""
    task = draw_task(sizes, np.random.default_rng([seed, number]))
    outcomes = []
    for search, begin in SEARCHES.items():
        for name, make in ORACLES.items():
            if number >= RUNS.get(name, number + 1):
                continue
            oracle = make(sizes)
            # The same changes are drawn before all oracles, as long as a program goes alike.
            claims = play(task, begin(task, np.random.default_rng([seed, number])), oracle)
            outcomes.append(Outcome(search, name, number, claims, oracle.nats))
    return outcomes


def play(task: Task, search: Search, oracle: Oracle) -> tuple[Claim, ...]:
    """Let a program ask all of its calls; return what it could claim after each that is drawn."""
    drawn = set(points(task.sizes.calls).tolist())
    claims: list[Claim] = []
    best, kept, claim = 1.0, None, Claim()
    model = next(search)
    for call in range(1, task.sizes.calls + 1):
        reply = oracle.answer(*task.count_wrong(model))
        if reply.shown is not None and reply.shown < best:
            best, kept = reply.shown, (model, reply)
        if call in drawn:
            if kept is not None:
                claim, kept = _claim(task, *kept), None
            claims.append(claim)
        model = search.send(reply.guide)
    return tuple(claims)


def _claim(task: Task, model: Floats, reply: Reply) -> Claim:
    high, shown = reply.bound(), reply.shown
    if shown is None:
        return Claim()
    guarantee = None if high is None else high - shown
    return Claim(1 - shown, 1 - task.fresh_loss(model), guarantee)


def points(calls: int) -> NDArray[np.int64]:
    """Return the calls after which curves have points, the last one among them."""
    return np.unique(np.linspace(0, calls, POINTS + 1).round().astype(np.int64))[1:]


def chosen(outcomes: list[Outcome], search: str, oracle: str) -> list[Outcome]:
    """Return the outcomes of a program before an oracle, by run."""
    return [each for each in outcomes if (each.search, each.oracle) == (search, oracle)]


def gaps(outcomes: list[Outcome], search: str, oracle: str) -> list[float]:
    """Return the gap at the end of each run, 0 where nothing was shown."""
    return [each.end.gap or 0.0 for each in chosen(outcomes, search, oracle)]


def _table(outcomes: list[Outcome], search: str) -> Table:
    plain = gaps(outcomes, search, "plain")
    rows = []
    for oracle in ORACLES:
        found = chosen(outcomes, search, oracle)
        ends = [each.end for each in found]
        gap = gaps(outcomes, search, oracle)
        within = sum(all(claim.holds for claim in each.claims) for each in found)
        smaller = sum(other >= TIMES * own for own, other in zip(gap, plain, strict=False))
        promises = any(end.guarantee is not None for end in ends)
        rows.append(
            (
                oracle,
                _mean([end.shown for end in ends]),
                _mean([end.fresh for end in ends]),
                float(np.mean(gap)),
                max(gap),
                _mean([end.guarantee for end in ends]),
                f"{within} of {len(found)}" if promises else None,
                f"{smaller} of {len(found)}",
                _mean([each.nats for each in found]),
            )
        )
    return Table(f"The {search} at the end, means over runs", HEADINGS, tuple(rows))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _panel(outcomes: list[Outcome], search: str, sizes: Sizes) -> Panel:
    x = points(sizes.calls).tolist()
    series = []
    for oracle, colour in COLOURS.items():
        claims = list(zip(*(each.claims for each in chosen(outcomes, search, oracle)), strict=True))
        lines = [(oracle, [_mean([claim.gap for claim in now]) for now in claims])]
        if oracle in DRAWN:
            promised = [_mean([claim.guarantee for claim in now]) for now in claims]
            lines.append((f"{oracle}, guarantee", promised))
        for label, values in lines:
            known = [(call, y) for call, y in zip(x, values, strict=True) if y is not None]
            series.append(
                Series(
                    label,
                    [call for call, _ in known],
                    [y for _, y in known],
                    colour,
                    dashed=label != oracle,
                )
            )
    return Panel(f"The {search}", "calls", "shown less fresh (score)", tuple(series))
