"""Reading labels out of a log loss (after Whitehill 2016, 2017 and Aggarwal et al. 2021).

A row predicted with log-odds a adds softplus(a) - y a to the sum of losses. With log-odds delta,
2 delta, 4 delta, ... on b rows and 0 elsewhere, the sum of y a is a binary number whose digits are
the labels, as long as the board's precision resolves delta / n. Unclipped, log-odds up to 34.5
(probabilities of 1e-15) are open; the finer the board, the more rows fall with every submission.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from research.experiments.boards import PLAIN_BOARDS, MechanismBoard, PlainBoard
from research.experiments.results import Colour, Panel, Result, Samples, Series, Table, compare
from scoring.measurement import Mean

ROWS: Final = 198  # as many labels as were decoded in a contest of 2017
SUBMISSIONS: Final = 40
LARGEST: Final = 34.5  # log-odds of a probability of 1 - 1e-15
PRECISION: Final = {None: 1e-12, 5: 1e-5, 2: 1e-2}  # of what a plain board shows
RESOLUTION: Final = 10**6
FIRST_ANSWER_NOTE: Final = (
    "The Ladder answers once, with one of 51 values; that can tell one label where the loss lies "
    "between two steps. Nothing else follows."
)
MOST: Final = 40  # digits a submission: doubles have 52, sums lose some

Labels = NDArray[np.int8]
# Log-odds and labels to the log loss that the board shows, None where it shows nothing new.
Ask = Callable[[Samples, Labels], float | None]


def loss(log_odds: Samples, labels: Labels) -> float:
    """Return the mean log loss, unclipped."""
    return float(np.mean(np.logaddexp(0, log_odds) - labels * log_odds))


def digits(rows: int, precision: float, largest: float) -> int:
    """Return how many rows one submission decodes: 2^b delta stays below `largest`, and delta / n,
    the least difference, is twice the precision.
    """
    return min(MOST, max(0, math.floor(math.log2(largest / (2 * precision * rows))) + 1))


def decode(shown: float, places: NDArray[np.intp], log_odds: Samples) -> Labels:
    """Return the labels of the asked rows, largest log-odds first."""
    left = float(np.logaddexp(0, log_odds).sum()) - shown * len(log_odds)
    labels = np.zeros(len(places), dtype=np.int8)
    smallest = log_odds[places[0]]
    for digit in range(len(places) - 1, -1, -1):
        size = log_odds[places[digit]]
        if left > size - smallest / 2:
            labels[digit] = 1
            left -= size
    return labels


@dataclass(frozen=True)
class Attacked:
    """Share of all labels known after each submission (a coin for what was not decoded)."""

    known: Samples
    answers: int


def attack(rows: int, asked: int, largest: float, ask: Ask, labels: Labels) -> Attacked:
    """Decode `asked` rows with each submission until all are done or submissions run out."""
    guesses = np.full(rows, -1, dtype=np.int8)
    known = np.empty(SUBMISSIONS)
    answers = 0
    for submission in range(SUBMISSIONS):
        places = np.arange(submission * asked, min((submission + 1) * asked, rows))
        if len(places):
            log_odds = np.zeros(rows)
            log_odds[places] = largest / 2.0 ** np.arange(len(places) - 1, -1, -1)
            shown = ask(log_odds, labels)
            if shown is not None:
                guesses[places] = decode(shown, places, log_odds)
                answers += 1
        known[submission] = np.where(guesses < 0, 0.5, guesses == labels).mean()
    return Attacked(known, answers)


def ask_plain(board: PlainBoard) -> Ask:
    """Ask for the unclipped loss as a plain board shows it."""
    return lambda log_odds, labels: float(board.show(np.array([loss(log_odds, labels)]))[0])


def ask_mechanism(mechanism: str, raw: dict[str, object], generator: np.random.Generator) -> Ask:
    """Ask a mechanism for our clipped metric, in exact units; the reference says nothing."""
    from scoring.metrics import get  # brings the readers of files with it, which nothing else needs

    metric = get("log_loss")
    params = metric.parse({})
    board = MechanismBoard(mechanism, raw, generator)

    def ask(log_odds: Samples, labels: Labels) -> float | None:
        probabilities = 1 / (1 + np.exp(-log_odds))
        share = metric.loss(metric.evaluate(probabilities, labels, params), params)
        whole = len(labels) * RESOLUTION
        mean = Mean(round(share * whole), len(labels), RESOLUTION)
        answer = board.ask(mean, Mean(whole // 2, len(labels), RESOLUTION))
        if answer.loss is None or answer.kind not in {"improved", "corrected"}:
            return None
        return metric.score(float(answer.loss), params)

    return ask


def run(runs: int, seed: int, rows: int = ROWS) -> Result:
    """Attack every board, ours with one and with ten rows at a time."""
    generator = np.random.default_rng(seed)
    outcomes: dict[str, list[Attacked]] = {}
    asked: dict[str, int] = {}
    for board in PLAIN_BOARDS:
        name = f"{board.name}, unclipped"
        asked[name] = digits(rows, PRECISION[board.decimals], LARGEST)
        outcomes[name] = [
            attack(rows, asked[name], LARGEST, ask_plain(board), _labels(generator, rows))
            for _ in range(runs)
        ]
    for mechanism, title in (("ladder", "Ladder"), ("thresholdout", "Thresholdout")):
        for at_once in (1, 10):
            name = f"{title}, clipped, {at_once} at a time"
            asked[name] = at_once
            outcomes[name] = [
                attack(rows, at_once, math.log(99), ask_mechanism(mechanism, {}, generator),
                       _labels(generator, rows))
                for _ in range(runs)
            ]  # fmt: skip
    return Result(
        "logloss",
        f"Reading {rows} labels out of log losses",
        {"runs": runs, "seed": seed, "n": rows, "submissions": SUBMISSIONS},
        tuple(
            compare(f"{name}: labels known", [float(o.known[-1]) for o in played])
            for name, played in outcomes.items()
        ),
        (_table(outcomes, asked),),
        (_panel(outcomes),),
        (FIRST_ANSWER_NOTE,),
    )


def _labels(generator: np.random.Generator, rows: int) -> Labels:
    return generator.integers(0, 2, rows, dtype=np.int8)


def _table(outcomes: dict[str, list[Attacked]], asked: dict[str, int]) -> Table:
    return Table(
        "One half is what guessing gives",
        ("board", "rows a submission", "answers", "known after 1", "after 5", "after 40"),
        tuple(
            (
                name,
                asked[name],
                float(np.mean([o.answers for o in played])),
                *(float(np.mean([o.known[k - 1] for o in played])) for k in (1, 5, SUBMISSIONS)),
            )
            for name, played in outcomes.items()
        ),
    )


def _panel(outcomes: dict[str, list[Attacked]]) -> Panel:
    colours: dict[str, Colour] = {
        "plain, unclipped": "other",
        "rounded to 5 decimals, unclipped": "third",
        "rounded to 2 decimals, unclipped": "fourth",
        "Ladder, clipped, 1 at a time": "ours",
        "Thresholdout, clipped, 1 at a time": "fifth",
    }
    x = range(1, SUBMISSIONS + 1)
    series = tuple(
        Series(name, x, np.mean([o.known for o in outcomes[name]], axis=0), colour)
        for name, colour in colours.items()
    )
    return Panel("All labels fair coins", "submissions", "share of labels known", series)
