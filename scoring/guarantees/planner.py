"""Which board for a competition that is still to come: rehearsed, not assumed (theory.md 10.8).

Every draft of every mechanism that shows scores is played by normal teams, by the ledger's own
rule. The narrowest guarantee at the end is proposed, for a score like a good one's, tolerance
included: of boards whose best shown score is within one sampling error of the truth, and whose
steps hide none. Rows are split so that the finals tell apart nearly as many pairs as they can.
Where nothing is certified, the board with the best final is proposed, and the plan says so.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from statistics import fmean, median_low
from typing import Any, Final

import numpy as np

from scoring.errors import ParameterError
from scoring.guarantees.attacks import ATTACKS, Front, attack
from scoring.guarantees.fields import share_separated
from scoring.guarantees.rehearsal import Played, draw_season, half_width, play
from scoring.laws.books import Account, BoardBook, Count
from scoring.laws.exact import MILLION
from scoring.laws.laws import LawState
from scoring.ledger import Board, begin
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import HoldoutState
from scoring.mechanisms.needs import Need
from scoring.noise import SeededNoise
from scoring.parameters import Value, show

MARGIN: Final = Fraction(21, 20)  # of the limit of questions, for baselines and practice
NEARLY: Final = 0.03  # of all pairs, which the best split's finals tell apart beyond another's
USELESS: Final = 0.45  # of the scale: from 0.5 on nothing is certified, and here next to nothing
CAP: Final = 3  # times what the dearest normal team cost
MOST_ATTACKED: Final = 100_000  # rows
_MOST_COMPARED: Final = 50_000  # rows of fields on a page
# Final rows, as parts of all. Half of the rest are Public, if any: with fewer, the score that is
# shown would be further off than it need be.
FINALS: Final = (Fraction(0), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2))


@dataclass(frozen=True)
class Effort:
    """How much is rehearsed: so many blocks of so many teams with so many files, at most.

    fields: of entries whose pairs the finals compare. drafts: of each mechanism, all where None.
    """

    blocks: int
    teams: int = 6
    files: int = 100
    fields: int = 3
    drafts: int | None = None


FULL: Final = Effort(4)
HALF: Final = Effort(2)
# A tenth of the work, for a page. What laws learn late in a season is missing: a bit too careful.
QUICK: Final = Effort(2, 3, 20, fields=1, drafts=1)
_SHORT: Final = Effort(2, 2, 10, fields=1)
# What is tried where a board promises nothing: files of each team, and times the rows.
_FEWER: Final = (50, 20, 10, 5, 2, 1)
_MORE: Final = (2, 3, 5, 10, 20, 50)


@dataclass(frozen=True)
class Split:
    """How many rows are of each kind, and which share of pairs the finals separate on them.

    The pairs are of simulated entries within 8 points, of two classes; on Final rows where there
    are any, else on the Private ones, at what is left after the season. None for set functions.
    half_width: of the best board of the proposed kind.
    """

    public: int
    private: int
    final: int
    half_width: float | None
    separated: float | None


@dataclass(frozen=True)
class Trial:
    """What an attack comes to on a board.

    half_width: of everybody's scores, at the end of a normal season that it was a part of. shown:
    by how much the board shows the attacker better than the truth. fitted: by how much the attacker
    is better on the Private rows than it deserves. In units of the score.
    """

    name: str
    half_width: float | None
    shown: float
    fitted: float


@dataclass(frozen=True)
class Proposal:
    """One board, rehearsed: losses are in units of the score, as it would show them.

    half_width: of a good score at the end, None where next to nothing is certified. shown_error:
    how far the best shown score is off, in sampling errors. corrections: of all teams.
    nats: what the season's answers cost. length: L of the last question, in millionths of a nat.
    question_limit, nats_limit: what to declare. separated: as
    of `Split`. objections: why it should not be taken.
    """

    mechanism: str
    title: str
    parameters: dict[str, str]
    question_limit: int
    nats_limit: int | None
    half_width: float | None
    shown_error: float
    step: float
    corrections: int
    nats: float
    length: int
    separated: float | None
    objections: tuple[str, ...]
    trials: tuple[Trial, ...] = ()

    @property
    def order(self) -> tuple[Any, ...]:
        """Return what proposals are sorted by: "none" is no tie, the finals decide then."""
        return (
            bool(self.objections),
            self.half_width is None,
            -(self.separated or 0.0) if self.half_width is None else self.half_width,
            self.nats,
            self.step,
        )


@dataclass(frozen=True)
class Plan:
    """What is proposed to an organizer: the first of the boards, on the first of the splits.

    reasons: why, in sentences. sampling_error: in units of the score.
    """

    need: Need
    splits: tuple[Split, ...]
    boards: tuple[Proposal, ...]
    sampling_error: float
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as an API shows it: fractions are texts, None is nothing certified."""
        need = {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in asdict(self.need).items()
        }
        return asdict(self) | {"need": need}


def plan(need: Need, seed: int = 0, effort: Effort = FULL) -> Plan:
    """Plan a competition. Takes some ten seconds; the same need and seed give the same plan.

    With QUICK it takes about one, and widths come out a little too wide.

    Raises ParameterError where no board fits.
    """
    possible = list(dict.fromkeys(filter(None, (_divide(need, final) for final in FINALS))))
    possible = possible or [replace(need, public=need.public or 0, final=need.final or 0)]
    rough = min(effort, HALF, key=lambda each: each.files)
    first = _propose(possible[0], seed, rough)
    if not first:
        raise ParameterError("rows", "No board fits so few rows.")
    splits = _compare_splits(possible, first[0], seed, rough)
    chosen = replace(need, public=splits[0].public, final=splits[0].final)
    boards = _propose(chosen, seed, effort)
    rehearsal = _Rehearsal(chosen, boards[0].mechanism, boards[0].parameters)
    boards[0] = replace(boards[0], trials=rehearsal.attack(seed, boards[0].length))
    error = chosen.sampling_error * float(need.unit)
    return Plan(need, tuple(splits), tuple(boards), error, _explain(chosen, splits, boards, error))


@lru_cache(maxsize=64)
def compare_boards(need: Need) -> tuple[Proposal, ...]:
    """Return the best board of each mechanism for rows that are split, best ones first.

    Rehearsed with QUICK, in a second or so; pairs are not compared on very many rows.
    """
    return tuple(_propose(need, 0, _quick(need)))


@lru_cache(maxsize=64)
def rehearse(need: Need, mechanism: str, parameters: tuple[tuple[str, Value], ...]) -> Proposal:
    """Return one board as `compare_boards` rehearses it.

    Raises ParameterError where the parameters don't fit each other.
    """
    rehearsal = _Rehearsal(need, mechanism, {name: str(value) for name, value in parameters})
    return rehearsal.propose(0, _quick(need))


@dataclass(frozen=True)
class Remedy:
    """What would let a board promise something at the end: fewer files, or more rows, alone.

    submissions: of each team, at most; times: how many times the rows. None where that is no help
    within reason.
    """

    submissions: int | None
    times: int | None


@lru_cache(maxsize=64)
def find_remedy(need: Need, mechanism: str, parameters: tuple[tuple[str, Value], ...]) -> Remedy:
    """Return what would help a board that promises nothing, by the shortest rehearsals."""
    raw = {name: str(value) for name, value in parameters}

    def holds(other: Need) -> bool:
        return _Rehearsal(other, mechanism, raw).propose(0, _SHORT).half_width is not None

    fewer = (n for n in _FEWER if n < need.submissions)
    most = (
        next((n for n in fewer if holds(replace(need, submissions=n))), None)
        if holds(replace(need, submissions=1))
        else None
    )
    return Remedy(most, next((n for n in _MORE if holds(_more_rows(need, n))), None))


def _more_rows(need: Need, times: int) -> Need:
    public, final = (need.public or 0) * times, (need.final or 0) * times
    return replace(need, rows=need.rows * times, public=public, final=final)


def _quick(need: Need) -> Effort:
    return QUICK if need.private <= _MOST_COMPARED else replace(QUICK, fields=0)


@lru_cache(maxsize=64)
def plan_split(need: Need, mechanism: str) -> Split | None:
    """Return the best split for a board of this mechanism; None where it fits none.

    Of short seasons, in less than a second: splits compare as they do after whole ones.
    """
    for first in filter(None, (_divide(need, final) for final in FINALS)):
        for raw in islice(MECHANISMS[mechanism].draft(first), 1):
            rehearsal = _Rehearsal(first, mechanism, raw)
            if rehearsal.fits():
                like = rehearsal.propose(0, _SHORT)
                needs = filter(None, (_divide(need, final) for final in FINALS))
                possible = [first, *(each for each in needs if each != first)]
                return _compare_splits(possible, like, 0, _SHORT)[0]
    return None


@lru_cache(maxsize=64)
def expected_width(
    need: Need, mechanism: str, parameters: tuple[tuple[str, Value], ...]
) -> float | None:
    """Return what a board will promise of a good score at the end, as a loss; None for nothing.

    Raises ParameterError where the parameters don't fit each other.
    """
    rehearsal = _Rehearsal(need, mechanism, {name: str(value) for name, value in parameters})
    found = rehearsal.propose(0, HALF).half_width
    return None if found is None else found / float(need.unit)


def _divide(need: Need, part: Fraction) -> Need | None:
    """Return the need with this part Final and half of the rest Public, where it leaves them open.

    A metric that is no mean has no use for Public rows. None where too few rows are left.
    """
    final = math.floor(need.rows * part) if need.final is None else need.final
    shown = (need.rows - final) // 2 if need.metric == "mean" else 0
    public = max(0, shown) if need.public is None else need.public
    return replace(need, public=public, final=final) if public + final < need.rows else None


def _compare_splits(
    needs: Sequence[Need], board: Proposal, seed: int, effort: Effort
) -> list[Split]:
    """Return the splits, the best one for a board like this first; it fits the first of the needs.

    Of those whose finals separate nearly as many pairs as any, the one with the narrowest
    guarantee; the best final where nothing is certified.
    """
    mechanism = MECHANISMS[board.mechanism]
    number = [*mechanism.draft(needs[0])].index(board.parameters)
    found = list[Split]()
    for need in needs:
        rehearsal = _Rehearsal(need, mechanism.name, [*mechanism.draft(need)][number])
        like = rehearsal.propose(seed, effort) if rehearsal.fits() else None
        width, separated = (like.half_width, like.separated) if like else (None, None)
        found.append(Split(need.public or 0, need.private, need.final or 0, width, separated))
    most = max(split.separated or 0.0 for split in found)

    def order(split: Split) -> tuple[Any, ...]:
        separated = split.separated or 0.0
        fits_not = split.separated is None
        if split.half_width is None:
            return fits_not, True, -separated, -split.final, -split.private
        return fits_not, False, separated < most - NEARLY, split.half_width

    return sorted(found, key=order)


def _propose(need: Need, seed: int, effort: Effort) -> list[Proposal]:
    """Rehearse the drafts of each mechanism that shows scores; return its best, best ones first."""
    found = list[Proposal]()
    for mechanism in MECHANISMS.values():
        if mechanism.shows_scores:
            raws = islice(mechanism.draft(need), effort.drafts)
            drafts = (_Rehearsal(need, mechanism.name, raw) for raw in raws)
            proposals = [draft.propose(seed, effort) for draft in drafts if draft.fits()]
            found += sorted(proposals, key=lambda each: each.order)[:1]
    return sorted(found, key=lambda each: each.order)


@dataclass(frozen=True)
class _Ending:
    """What one rehearsal says of the end of a whole season; lengths are in millionths of a nat.

    length: L of the last question. code: of all answers, by the sequential laws alone.
    """

    length: int
    code: int
    half_width: float | None
    shown_error: float
    corrections: int
    dearest: int


class _Rehearsal:
    """One draft of a mechanism, played by a part of the teams and scaled up to all."""

    def __init__(self, need: Need, mechanism: str, raw: dict[str, str]) -> None:
        self._need, self._raw, self._mechanism = need, raw, MECHANISMS[mechanism]
        self._params = self._mechanism.parse(raw)
        self._is_mean = need.metric == "mean"
        claims = self._mechanism.reference(self._params) == "claim"
        public = 0 if claims else need.public or 0
        self._board = Board("board", self._mechanism, self._params, need.private, public)
        self._beta = self._mechanism.ledger_beta(self._params)
        self._terms = begin(
            [(self._mechanism, self._board.laws)],
            question_limit=_round_up(need.questions * MARGIN),
            team_limit=need.teams,
        )

    def fits(self) -> bool:
        """Return whether the mechanism accepts the draft for these rows and this metric."""
        try:
            self._mechanism.check(self._params, self._need, self._need.counts)
        except ParameterError:
            return False
        return True

    def propose(self, seed: int, effort: Effort) -> Proposal:
        """Rehearse as much as that, and return what it comes to."""
        ending, unit = self._rehearse(seed, effort), float(self._need.unit)
        step, code = 1 / self._params.steps, ending.code / MILLION
        return Proposal(
            mechanism=self._mechanism.name,
            title=self._mechanism.title,
            parameters=self._raw,
            question_limit=self._terms.question_limit or 0,
            nats_limit=self._limit_nats(ending),
            half_width=None if ending.half_width is None else ending.half_width * unit,
            shown_error=ending.shown_error,
            step=step * unit,
            corrections=ending.corrections,
            nats=code,
            length=ending.length,
            separated=self._separate(seed, code, effort),
            objections=self._object(ending.shown_error, step),
        )

    def attack(self, seed: int, length: int) -> tuple[Trial, ...]:
        """Let everyone who plays against the board do so, each at the end of a normal season."""
        unit = float(self._need.unit)
        head = self._mechanism.initial_holdout(self._params)
        rows = min(self._need.private, MOST_ATTACKED)
        board = replace(self._board, private_rows=rows)
        found = list[Trial]()
        for number, name in enumerate(ATTACKS):
            generator = np.random.default_rng([seed, number])
            front = Front(self._terms, board, SeededNoise(generator), additive=self._is_mean)
            files = self._need.teams if name == "sybils" else self._need.submissions
            done = attack(name, front, files, generator)
            half = self._half_width(head, length + done.length)
            half = None if half is None else half * unit
            found.append(Trial(name, half, done.shown * unit, done.fitted * unit))
        return tuple(found)

    def _rehearse(self, seed: int, effort: Effort) -> _Ending:
        """Play some blocks of teams, one after the other; the rest of all goes on as they did.

        Each block has teams, files and sampling errors of its own. Laws learn, so that the first
        block is dearer than later ones, and is not gone on with.
        """
        need, blocks = self._need, effort.blocks
        generator = np.random.default_rng([seed, need.private])
        teams = max(1, min(effort.teams, need.teams // blocks))
        files = min(effort.files, need.submissions)
        played, errors = list[Played](), list[float]()
        for _ in range(blocks):
            season = draw_season(
                generator,
                teams=teams,
                files=files,
                rows=need.private,
                public_rows=self._board.public_rows,
                good=float(need.good),
                additive=self._is_mean,
            )
            account = played[-1].account if played else Account()
            played.append(play(self._terms, self._board, season, SeededNoise(generator), account))
            errors.append(played[-1].shown_error(season))
        share = Fraction(need.questions, teams * files)
        account = _go_on(played[0].account, played[-1].account, (share - blocks) / (blocks - 1))
        code = account.length(self._terms.weight)
        length = self._terms.length_at(need.questions, code, self._beta)
        return _Ending(
            length=length,
            code=account.length(Fraction(0)),
            half_width=self._half_width(played[-1].head, length),
            shown_error=median_low(errors),
            corrections=round(sum(block.corrections for block in played) * share / blocks),
            dearest=max(spent for block in played for spent in block.spent),
        )

    def _half_width(self, head: HoldoutState, length: int) -> float | None:
        """Return the half-width of a good score on the whole board, None where it is no use."""
        if not self._is_mean:
            return None
        half = half_width(self._board, head, float(self._need.good), length)
        return half if half is not None and half < USELESS else None

    def _separate(self, seed: int, code: float, effort: Effort) -> float | None:
        """Return the mean of some fields."""
        if not self._is_mean or not effort.fields:
            return None
        need, beta = self._need, float(1 - self._need.confidence)
        rows, told = (need.final, 0.0) if need.final else (need.private, code)
        generator = np.random.default_rng(seed)
        return fmean(
            share_separated(rows, need.teams, float(need.good), beta, told, generator)
            for _ in range(effort.fields)
        )

    def _limit_nats(self, ending: _Ending) -> int | None:
        """Return what a team may cost, rounded up; None where its share of a budget limits it."""
        if self._mechanism.unit is not None:
            return None
        return math.ceil(CAP * ending.dearest / MILLION / 5) * 5 or None

    def _object(self, shown_error: float, step: float) -> tuple[str, ...]:
        found = []
        if shown_error > 1:
            found.append(f"The best shown score is {shown_error:.1f} sampling errors off.")
        if step > self._need.sampling_error:
            found.append("A step hides a sampling error.")
        return tuple(found)


def _go_on(first: Account, last: Account, scale: Fraction) -> Account:
    """Return the last account, gone on with by `scale` times what it has beyond the first."""

    def grow(before: int, after: int) -> int:
        return max(before, after + math.ceil(scale * (after - before)))

    def go_on(was: LawState, now: LawState) -> LawState:
        ruled_out = was.length is None or now.length is None
        return now if ruled_out else replace(now, length=grow(was.length or 0, now.length or 0))

    books = {
        uid: BoardBook(tuple(map(go_on, first.boards[uid].states, book.states)))
        for uid, book in last.boards.items()
    }
    before, after = first.count.to_json(), last.count.to_json()
    counts = {name: grow(before[name], after[name]) for name in after}
    return replace(last, count=Count(**counts), boards=books)


def _round_up(count: Fraction) -> int:
    """Round up to two digits."""
    unit = 10 ** max(0, len(str(math.floor(count))) - 2)
    return int(math.ceil(count / unit) * unit)


def _explain(
    need: Need, splits: Sequence[Split], boards: Sequence[Proposal], error: float
) -> tuple[str, ...]:
    """Return why the first board is proposed, in sentences."""
    best, split = boards[0], splits[0]
    found = list[str]()
    if need.metric == "set":
        found.append(
            "A metric of all rows together has no guarantee that is known. The board with the "
            "most rows for the end is proposed: what it shows is protected all the same."
        )
    elif best.half_width is None:
        found.append(
            "Nothing is certified at this size: at the end any score could be off by half of the "
            "scale. The board with the best final is proposed."
        )
    else:
        found.append(
            f"At the end of a normal season a good score is certain within "
            f"±{_digits(best.half_width)}, all teams jointly. One score that nobody chose has a "
            f"sampling error of ±{_digits(error)}."
        )
    found.append(
        f"The board moves in steps of {_digits(best.step)}; the best score that it shows is "
        f"typically {best.shown_error:.1f} sampling errors off."
    )
    if split.separated is not None:
        where = "on rows that nobody asked" if split.final else "on the Private rows"
        found.append(
            f"Of two-class entries within 8 points of each other, the finals {where} tell apart "
            f"about {split.separated:.0%} of the pairs."
        )
    found += [f"Even so: {text}" for text in best.objections]
    for other in boards[1:]:
        reason = " ".join(other.objections)
        if not reason and need.metric == "mean":
            reason = (
                "It certifies nothing at this size."
                if other.half_width is None
                else f"It leaves ±{_digits(other.half_width)}."
            )
        found.append(f"{other.title}: {reason}")
    return tuple(found)


def _digits(number: float) -> str:
    """Write a figure with two digits that mean something, rounded up."""
    if number <= 0:
        return "0"
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 1)
    return show(math.ceil(Fraction(number) / unit - Fraction(1, 10**9)) * unit)
