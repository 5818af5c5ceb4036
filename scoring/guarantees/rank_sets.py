"""Which places the truth allows each entry: tests of all ordered pairs at once (theory.md 10.6).

Holm's procedure over all pairs gives those of which "A is surely better than B"; what follows from
them by transitivity is free. With probability 1 - beta none of them is wrong, so that the places
of A, from 1 + (entries surely better) to K - (entries surely worse), hold the true one for all K at
once, wherever ties put it. "Could be first" is a best place of 1: it contains every true best. "Not
separable" is not transitive, so that no groups follow from it.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.conditions import require, require_not_negative, require_probability
from scoring.guarantees.paired import Floats, Integers, betting_p_values, binomial_p_values

Form = Literal["binomial", "betting"]
Matrix = NDArray[np.bool_]
Team = TypeVar("Team", bound=Hashable)

HEADS: Final = 200  # are compared with everyone
# Pairs times rows of bets, some minutes of a processor: where there are more, fewer heads are
# compared. That depends on public numbers alone.
WORK: Final = 2 * 10**10
SHARE: Final = 0.5  # of beta, for the pairs; the rest is for intervals claimed with them
_DIGITS: Final = Context(prec=4, rounding=ROUND_CEILING)
_PART: Final = 1 << 16  # rows at most
_CELLS: Final = 1 << 24  # entries times rows at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the compared rows before any label, the same for all entries.

    two_classes: whether predictions are one of two classes, and a row's loss is 0 or 1.
    weights: of each row, not negative. groups: of each row the number of its group; groups are
    independent, the rows of one need not be. None where there are none.
    """

    two_classes: bool = False
    weights: Floats | None = None
    groups: Integers | None = None

    @property
    def form(self) -> Form:
        """Return the test that these rows are for."""
        plain = self.weights is None and self.groups is None
        return "binomial" if self.two_classes and plain else "betting"


@dataclass(frozen=True, eq=False)
class Pairs:
    """P-values for "the first of a pair is not better"; of the other order they are 1.

    p: rounded up to four digits, as they are stored. hypotheses: ordered pairs in all.
    """

    better: Integers
    worse: Integers
    p: Floats
    hypotheses: int


@dataclass(frozen=True, eq=False)
class RankSets:
    """What holds for all entries at once.

    better: [a, b] is whether a is surely better than b. rejected: the pairs that Holm's procedure
        rejects, (better, worse, p), from which the rest follows.
    """

    form: Form
    level: float
    hypotheses: int
    rejected: tuple[tuple[int, int, float], ...]
    better: Matrix

    @property
    def places(self) -> list[tuple[int, int]]:
        """Return the best and the worst place that the truth allows each entry."""
        return rank_sets(self.better)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], level: float) -> "RankSets":
        """Return what follows at this level from the pairs of a stored document."""
        count, hypotheses = len(document["entries"]), document["hypotheses"]
        pairs = sorted((int(a), int(b), float(p)) for a, b, p in document["better"])
        rejects = holm([p for _, _, p in pairs], level, hypotheses)
        rejected = tuple(pair for pair, holds in zip(pairs, rejects, strict=True) if holds)
        better = np.zeros((count, count), np.bool_)
        for a, b, _ in rejected:
            better[a, b] = True
        return cls(document["form"], level, hypotheses, rejected, close_transitively(better))

    def to_json(self) -> dict[str, Any]:
        """Return what is stored and published: the same bytes wherever it is computed again."""
        return {
            "form": self.form,
            "level": repr(self.level),
            "hypotheses": self.hypotheses,
            "better": [[a, b, repr(p)] for a, b, p in self.rejected],
            "places": [list(ends) for ends in self.places],
        }


def pair_level(beta: float, code: float = 0.0) -> float:
    """Return the level for Holm's procedure: half of beta, times exp(-code).

    beta: the chance that pairs and intervals together leave. code: 0 on rows that answered nothing;
        else the nats of all that was said of these rows, by a mixture of sequential laws over the
        whole season.
    """
    require_probability(beta=beta)
    require_not_negative(code=code)
    return SHARE * beta * math.exp(-code)


def rank_entries(
    losses: NDArray[Any], codes: NDArray[Any], rows: Rows, *, units: int, level: float
) -> RankSets:
    """Return the rank sets of entries that were fixed, and put in order, before these rows.

    losses: entries by rows, of each row's loss the whole units out of `units`. codes: entries by
        rows; of two entries they differ where their predictions do. Both may be memory maps.
    level: of Holm's procedure, from `pair_level`.
    The first `count_heads` are compared with everyone.
    """
    heads = count_heads(len(losses), losses.shape[1], rows.form)
    pairs = compare_pairs(losses, codes, rows, units=units, heads=heads)
    rejects = holm(pairs.p, level, pairs.hypotheses)
    found = pairs.better[rejects], pairs.worse[rejects], pairs.p[rejects]
    better = np.zeros((len(losses), len(losses)), np.bool_)
    better[found[0], found[1]] = True
    rejected = sorted(zip(*(each.tolist() for each in found), strict=True))
    return RankSets(rows.form, level, pairs.hypotheses, tuple(rejected), close_transitively(better))


def count_heads(entries: int, rows: int, form: Form) -> int:
    """Return how many entries are compared with everyone: fewer than 200 where bets take long."""
    if form == "binomial" or entries < 2:
        return HEADS
    return min(HEADS, max(2, WORK // (entries * rows)))


def compare_pairs(
    losses: NDArray[Any], codes: NDArray[Any], rows: Rows, *, units: int, heads: int = HEADS
) -> Pairs:
    """Return the p-values of all pairs with one of the first `heads` entries.

    See `rank_entries`.
    """
    require(losses.shape == codes.shape, "Each loss has a prediction.")
    require(rows.form == "betting" or units == 1, "Losses of two classes are 0 or 1.")
    first, second = np.triu_indices(min(heads, len(losses)), 1, len(losses))
    if rows.form == "binomial":
        # With more classes the rows on which losses differ depend on the labels, and aren't D.
        require(all(((each == 0) | (each == 1)).all() for each in codes), "There are two classes.")
        wrong, shared = _count_wrong(losses, heads)
        swapped = wrong[first] > wrong[second]
        better, worse = np.where(swapped, (second, first), (first, second))
        both = shared[first, second]
        p = binomial_p_values(wrong[better] + wrong[worse] - 2 * both, wrong[worse] - both)
    else:
        values = _sum_groups(losses, rows)
        totals = np.array([each.sum() for each in values])
        swapped = totals[first] > totals[second]
        better, worse = np.where(swapped, (second, first), (first, second))
        stakes = _largest_stakes(codes, rows, better, worse)
        # Where no prediction differs there is nothing to bet on, on any scale.
        p = betting_p_values(values, better, worse, units * np.where(stakes > 0, stakes, 1.0))
    rounded = np.array([_round_up(each) for each in p])
    return Pairs(better, worse, rounded, count_hypotheses(len(losses), heads))


def count_hypotheses(entries: int, heads: int) -> int:
    """Return how many ordered pairs there are with one of the first `heads` entries."""
    compared = min(heads, entries)
    return compared * (2 * entries - compared - 1)


def holm(p: Sequence[float] | Floats, beta: float, hypotheses: int | None = None) -> Matrix:
    """Return which hypotheses Holm's procedure (1979) rejects, none wrongly but with chance beta.

    hypotheses: how many there are in all; those that are not given have a p-value of 1.
    """
    values = np.asarray(p, dtype=np.float64)
    count = len(values) if hypotheses is None else hypotheses
    require(count >= len(values), "There are at least the hypotheses that are given.")
    order = np.argsort(values, kind="stable")
    passes = values[order] * (count - np.arange(len(values))) <= beta
    rejects = np.zeros(len(values), np.bool_)
    rejects[order[np.logical_and.accumulate(passes)]] = True
    return rejects


def close_transitively(better: Matrix) -> Matrix:
    """Return who is better than whom by any chain of pairs."""
    closed = better
    while True:
        steps = closed.astype(np.float32)
        further = closed | (steps @ steps > 0)
        if np.array_equal(further, closed):
            return further
        closed = further


def rank_sets(better: Matrix) -> list[tuple[int, int]]:
    """Return of each entry 1 + (surely better) and K - (surely worse), given who is better."""
    best, worst = 1 + better.sum(axis=0), len(better) - better.sum(axis=1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def rank_teams(better: Matrix, teams: Sequence[int]) -> Matrix:
    """Return which teams are surely better, numbered from 0, by the best entry of each.

    teams: the team of each entry. One is better than another if one entry of it is better than all
    of the other's.
    """
    owns = np.arange(max(teams) + 1)[:, np.newaxis] == np.asarray(teams)
    over_all = np.array([better[:, own].all(axis=1) for own in owns])  # teams by entries
    found: Matrix = np.array([over_all[:, own].any(axis=1) for own in owns])
    return found


def place_teams(
    better: Matrix, teams: Sequence[Team], unplaced: Collection[Team]
) -> dict[Team, tuple[int, int]]:
    """Return the best and the worst place that the truth allows each team that takes one.

    teams: the team of each entry, in their order, also of those behind the ones that were compared.
    unplaced: teams that are compared like all, and take no place.
    """
    whole = np.zeros((len(teams), len(teams)), np.bool_)
    whole[: len(better), : len(better)] = better
    numbers = dict[Team, int]()
    over = rank_teams(whole, [numbers.setdefault(team, len(numbers)) for team in teams])
    placed = [team for team in numbers if team not in unplaced]
    among = np.ix_(*[[numbers[team] for team in placed]] * 2)
    return dict(zip(placed, rank_sets(over[among]), strict=True))


def _count_wrong(losses: NDArray[Any], heads: int) -> tuple[Integers, Integers]:
    """Return how many rows each entry has wrong, and how many it and each of the heads both."""
    wrong = np.zeros(len(losses), np.int64)
    shared = np.zeros((min(heads, len(losses)), len(losses)), np.int64)
    rows = max(1, min(_PART, _CELLS // max(1, len(losses))))
    for first in range(0, losses.shape[1], rows):
        part = np.asarray(losses[:, first : first + rows], dtype=np.float32)
        wrong += np.rint(part.sum(axis=1, dtype=np.float64)).astype(np.int64)
        shared += np.rint(part[:heads] @ part.T).astype(np.int64)  # exact: below 2^24
    return wrong, shared


def _sum_groups(losses: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return entries by groups: the weighted losses of each, or the losses if rows are alone."""
    if rows.form == "betting" and rows.weights is None and rows.groups is None:
        return losses
    weights = np.ones(losses.shape[1]) if rows.weights is None else rows.weights
    if rows.groups is None:
        return losses * weights
    return np.array([np.bincount(rows.groups, each * weights) for each in losses])


def _largest_stakes(codes: NDArray[Any], rows: Rows, better: Integers, worse: Integers) -> Floats:
    """Return for each pair the largest weight of a group, on rows where the predictions differ.

    Rows whose losses happen to be alike count: which they are is up to the labels.
    """
    if rows.weights is None and rows.groups is None:
        return np.ones(len(better))
    weights = np.ones(codes.shape[1]) if rows.weights is None else rows.weights
    stakes = np.empty(len(better))
    for place, (a, b) in enumerate(zip(better, worse, strict=True)):
        staked = weights * (codes[a] != codes[b])
        stakes[place] = (staked if rows.groups is None else np.bincount(rows.groups, staked)).max()
    return stakes


def _round_up(p: float) -> float:
    return float(_DIGITS.create_decimal_from_float(p))
