"""Many accounts with one random file each, on labels that are coins (theory.md 10.4).

On the whole grid a first answer shows every account its score, and a vote over what they were shown
finds labels. From a public rung, three standard errors better than guessing reaches, next to no
answer says more than "no".
"""

from fractions import Fraction
from typing import Any, Final

import numpy as np

from research.experiments.results import Cell, Panel, Result, Samples, Series, compare
from scoring.laws.books import Account, law_width
from scoring.ledger import Board, Standing, ask, begin
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import State, TeamState
from scoring.mechanisms.fitness import highest_rung
from scoring.noise import SteadyNoise

ROWS: Final = 1200
STEPS: Final = 100
SYBILS: Final = 300
GUESSING: Final = Fraction(1, 2)


def run(runs: int, seed: int, sybils: int = SYBILS) -> Result:
    """Let the sybils vote, from the whole grid and from the rung."""
    rung = highest_rung(STEPS, GUESSING, ROWS, ROWS)
    widths, votes = dict[str, list[Samples]](), dict[str, list[float]]()
    rows = list[dict[str, Cell]]()
    for each in range(seed, seed + runs):
        for name, level in (("grid", 0), ("rung", rung)):
            width, vote = play(level, np.random.default_rng(each), sybils)
            widths.setdefault(name, []).append(width)
            votes.setdefault(name, []).append(vote)
            rows.append({"board": name, "seed": each, "w": float(width[-1]), "vote": vote})
    asked = list(range(1, sybils + 1))
    return Result(
        "sybils",
        f"{sybils} accounts with one random file each, {ROWS} labels that are coins",
        {"runs": runs, "seed": seed, "rows": ROWS, "steps": STEPS, "rung": rung},
        comparisons=(
            *(compare(f"{name}: w at the last", [w[-1] for w in widths[name]]) for name in widths),
            *(compare(f"{name}: labels their vote gets right", votes[name]) for name in votes),
        ),
        panels=(
            Panel(
                "What everybody's guarantee becomes",
                "accounts",
                "w",
                (
                    Series("whole grid", asked, np.mean(widths["grid"], axis=0), "other"),
                    Series(
                        f"rung at {rung} of {STEPS}", asked, np.mean(widths["rung"], axis=0), "ours"
                    ),
                ),
            ),
        ),
        rows=tuple(rows),
    )


def play(rung: int, generator: np.random.Generator, sybils: int = SYBILS) -> tuple[Samples, float]:
    """Return w of each question, and which share of the labels the vote gets right.

    A file counts as often as it is shown to be better than a coin; one that was only told "no" says
    nothing, and a vote without any shown file is a coin's.
    """
    labels = generator.integers(0, 2, ROWS)
    guesses = generator.integers(0, 2, (sybils, ROWS))
    public = generator.binomial(ROWS, 0.5, sybils)
    mechanism = get("ladder")
    params: Any = mechanism.parse({"steps": str(STEPS), "rung": str(rung)})
    board = Board("board", mechanism, params, ROWS, ROWS)
    terms = begin([(mechanism, board.laws)], question_limit=sybils, team_limit=sybils)
    head, account = mechanism.initial_holdout(params), Account()
    widths, votes = np.zeros(sybils), np.zeros(ROWS)
    for sybil, guess in enumerate(guesses):
        wrong = int(np.count_nonzero(guess != labels))
        measurement = Measurement(Mean(wrong, ROWS, 1), Mean(int(public[sybil]), ROWS, 1))
        before = Standing(State(head, TeamState()), account)
        after, answer, length = ask(terms, board, before, measurement, SteadyNoise())
        head, account = after.state.holdout, after.account
        widths[sybil] = law_width(length or 0, ROWS)
        if mechanism.kind(answer.kind).says_more and answer.loss is not None:
            votes += float(GUESSING - answer.loss) * (2 * guess - 1)
    coins = generator.integers(0, 2, ROWS)
    vote = np.where(votes == 0, coins, votes > 0)
    return widths, float(np.mean(vote == labels))
