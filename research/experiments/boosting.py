"""The boosting attack of Blum and Hardt (2015), section 4: add up what happened to score well.

k random predictions for n rows with two classes; the majority vote of those that the board says
are better than a coin. Where the board is exact the vote's loss on the board's rows falls to
Phi(-sqrt(k / (pi n))), and on fresh rows it stays 1/2.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from research.bounds.blum_hardt import boosting_loss
from research.experiments import expected
from research.experiments.boards import PLAIN_BOARDS, MechanismBoard, PlainBoard, breaks
from research.experiments.results import (
    Colour,
    Comparison,
    Known,
    Panel,
    Result,
    Samples,
    Series,
    Table,
    compare,
)
from research.mechanisms import free_ladder
from scoring.measurement import Mean

ROWS: Final = 4000
SUBMISSIONS: Final = 400
EVERY: Final = 10
FRESH_ROWS_PER_ROW: Final = 2
COMPARED: Final = (10, 100, 200, 400)
PLOTTED: Final[dict[str, Colour]] = {
    "plain": "other",
    "rounded to 2 decimals": "third",
    "parameter-free Ladder": "fourth",
    "Ladder, step 1/63": "ours",
    "Thresholdout": "fifth",
}

Bits = NDArray[np.uint8]
Kept = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Wrong:
    """Which rows each random submission has wrong: bits (submissions, rows), and their counts."""

    bits: Bits
    counts: Counts
    reference: Counts

    @property
    def rows(self) -> int:
        return int(self.bits.shape[1])


@dataclass
class Books:
    """Answers of mechanisms whose certificates were wrong; the true loss is 1/2 throughout."""

    broken: int = 0
    asked: int = 0


Keep = Callable[[Wrong, np.random.Generator, Books], Kept]


def keep_below(board: PlainBoard) -> Keep:
    """Keep every submission whose shown loss is at most 1/2."""

    def keep(wrong: Wrong, generator: np.random.Generator, books: Books) -> Kept:
        kept: Kept = board.show(wrong.counts / wrong.rows) <= 0.5
        return kept

    return keep


def keep_leaders(wrong: Wrong, generator: np.random.Generator, books: Books) -> Kept:
    """Keep every submission that the parameter-free Ladder lets move its board below 1/2."""
    kept = np.zeros(len(wrong.counts), dtype=bool)
    leader: NDArray[np.bool_] | None = None
    for place, rows in enumerate(wrong.bits.view(np.bool_)):
        if free_ladder.improves(leader, rows):
            leader = rows
            kept[place] = 2 * wrong.counts[place] < wrong.rows
    return kept


def keep_answered(mechanism: str, raw: dict[str, object]) -> Keep:
    """Keep every submission of which a mechanism says that its loss is below 1/2."""

    def keep(wrong: Wrong, generator: np.random.Generator, books: Books) -> Kept:
        board = MechanismBoard(mechanism, raw, generator)
        kept = np.zeros(len(wrong.counts), dtype=bool)
        for place, (count, reference) in enumerate(
            zip(wrong.counts.tolist(), wrong.reference.tolist(), strict=True)
        ):
            answer = board.ask(Mean(count, wrong.rows, 1), Mean(reference, wrong.rows, 1))
            books.asked += 1
            books.broken += breaks(answer, 0.5)
            new = answer.kind in {"improved", "confirmed", "corrected", "pass"}
            kept[place] = new and answer.loss is not None and 2 * answer.loss < 1
        return kept

    return keep


BOARDS: Final[dict[str, Keep]] = {
    **{board.name: keep_below(board) for board in PLAIN_BOARDS},
    "parameter-free Ladder": keep_leaders,
    "Ladder, step 1/63": keep_answered("ladder", {"steps": 63}),
    "Thresholdout": keep_answered("thresholdout", {}),
    "qualification mark 0.49": keep_answered(
        "sparse_validate", {"mark": "49/100", "budget": 20, "team_share": 20}
    ),
}


@dataclass
class Losses:
    """Of the majority vote after every tenth submission, (runs, votes), by board."""

    board_rows: dict[str, Samples] = field(default_factory=dict)
    fresh_rows: dict[str, Samples] = field(default_factory=dict)
    books: dict[str, Books] = field(default_factory=dict)


def play(
    runs: int, generator: np.random.Generator, rows: int = ROWS, submissions: int = SUBMISSIONS
) -> Losses:
    """Play all runs in front of all boards; every board of a run sees the same submissions."""
    losses = Losses()
    votes = submissions // EVERY
    for name in BOARDS:
        losses.board_rows[name] = np.empty((runs, votes))
        losses.fresh_rows[name] = np.empty((runs, votes))
        losses.books[name] = Books()
    for place in range(runs):
        wrong = _submissions(generator, rows, submissions)
        ties_wrong = _bits(generator, (rows,)).astype(bool)  # a tie votes 1; half the labels are 0
        for name, keep in BOARDS.items():
            kept = keep(wrong, generator, losses.books[name])
            losses.board_rows[name][place] = _vote_losses(wrong, kept, ties_wrong)
            # What was chosen without fresh rows is a coin on each of them.
            fresh = FRESH_ROWS_PER_ROW * rows
            losses.fresh_rows[name][place] = generator.binomial(fresh, 0.5, votes) / fresh
    return losses


def _submissions(generator: np.random.Generator, rows: int, submissions: int) -> Wrong:
    bits = _bits(generator, (submissions, rows))
    return Wrong(
        bits,
        bits.sum(axis=1, dtype=np.int64),
        generator.binomial(rows, 0.5, submissions),  # on as many reference rows
    )


def _bits(generator: np.random.Generator, shape: tuple[int, ...]) -> Bits:
    count = int(np.prod(shape))
    random = np.frombuffer(generator.bytes((count + 7) // 8), dtype=np.uint8)
    return np.unpackbits(random, count=count).reshape(shape)


def _vote_losses(wrong: Wrong, kept: Kept, ties_wrong: NDArray[np.bool_]) -> Samples:
    """Return the share of rows that the majority of the kept has wrong, after each EVERY
    submissions.
    """
    votes = np.zeros(wrong.rows, dtype=np.int16)
    voters = 0
    losses = np.empty(len(kept) // EVERY)
    for place in range(len(losses)):
        chosen = np.flatnonzero(kept[place * EVERY : (place + 1) * EVERY]) + place * EVERY
        if len(chosen):
            votes += wrong.bits[chosen].sum(axis=0, dtype=np.int16)
            voters += len(chosen)
        margin = 2 * votes - voters
        lost = np.count_nonzero(margin > 0) + np.count_nonzero((margin == 0) & ties_wrong)
        losses[place] = lost / wrong.rows
    return losses


def run(runs: int, seed: int, rows: int = ROWS, submissions: int = SUBMISSIONS) -> Result:
    """Run the boosting attack on every board."""
    losses = play(runs, np.random.default_rng(seed), rows, submissions)
    return Result(
        "boosting",
        "Boosting attack of Blum and Hardt (2015): the vote of random predictions",
        {"runs": runs, "seed": seed, "n": rows, "k": submissions},
        tuple(_comparisons(losses, rows, submissions)),
        (_table(losses),),
        (_panel("On the board's rows", losses.board_rows, rows, submissions),
         _panel("On fresh rows", losses.fresh_rows, None, submissions)),
    )  # fmt: skip


def _comparisons(losses: Losses, rows: int, submissions: int) -> list[Comparison]:
    full = (rows, submissions) == (ROWS, SUBMISSIONS)
    known = expected.boosting() if full else {}
    lines = []
    for board, samples in losses.board_rows.items():
        for k in (k for k in COMPARED if k <= submissions):
            published = expected.PUBLISHED_BOOSTING.get(board) if k == SUBMISSIONS else None
            reference = known.get((board, k))
            if board == "plain":
                reference = Known(boosting_loss(rows, k))
            lines.append(
                compare(f"{board}, k={k}", samples[:, k // EVERY - 1], reference, published)
            )
    return lines


def _table(losses: Losses) -> Table:
    return Table(
        "After the last submission; certificates that were wrong, of all that were shown",
        ("board", "vote on the board's rows", "on fresh rows", "answers", "wrong certificates"),
        tuple(
            (
                board,
                float(losses.board_rows[board][:, -1].mean()),
                float(losses.fresh_rows[board][:, -1].mean()),
                losses.books[board].asked or None,
                losses.books[board].broken if losses.books[board].asked else None,
            )
            for board in BOARDS
        ),
    )


def _panel(title: str, losses: dict[str, Samples], rows: int | None, submissions: int) -> Panel:
    k = range(EVERY, submissions + 1, EVERY)
    series = [
        Series(board, k, losses[board].mean(axis=0), colour) for board, colour in PLOTTED.items()
    ]
    if rows is not None:
        exact = [boosting_loss(rows, count) for count in k]
        series.append(Series("plain, in theory", k, exact, "truth", dashed=True))
    return Panel(title, "random submissions", "loss of the majority vote", tuple(series))
