"""The finals of a round, computed again from log, ledger and publication.

`entries_of` has the exact scores that the log reveals, `check_places` the places that follow from
them, `check_tests` the rank sets that follow from the published p-values at the level that ledger
and parameters give, and `check_rows` holds the final board against all of it. Each raises Differs.
p-values rest on all teams' files; of them is checked that they are possible with these scores.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from scoring import mechanisms, metrics
from scoring.contest import MOST_ENTRIES
from scoring.duels import form_of
from scoring.errors import HoldfastError
from scoring.guarantees.paired import binomial_p_values
from scoring.guarantees.rank_sets import (
    RankSets,
    count_heads,
    count_hypotheses,
    pair_level,
    place_teams,
)
from scoring.metrics.base import FINE
from scoring.predictions import Schema, Solution
from scoring.transparency.checks import Standing, of_row, places_of
from scoring.transparency.history import Entry, History, Key
from scoring.verification.differences import Differs, shown
from scoring.verification.ledgers import Header

Row = Mapping[str, Any]
Ends = tuple[int, int]
Losses = Mapping[Key, Fraction]
_CLOSE: Final = 1e-9


def entries_of(history: History, round: int) -> dict[Key, Entry]:
    """Return a round's final entries by team and submission, as they were called at the reveal."""
    finals = history.latest["final"].values()
    return {(each["team"], each["submission"]): each for each in finals if each["round"] == round}


def losses_of(entries: Mapping[Key, Entry], board: str) -> dict[Key, Fraction]:
    """Return the exact losses of final entries on a board."""
    return {key: _loss(entry, board) for key, entry in entries.items()}


def check_measured(
    entries: Mapping[Key, Entry], board: str, measured: Mapping[Key, tuple[int, int]]
) -> int:
    """Compare final scores with published measurements on the same rows; return how many.

    measured: units and what they are out of, by submission; those of other rows are left out.
    """
    compared = 0
    for key, entry in entries.items():
        score, found = entry["scores"].get(board), measured.get(key)
        if score is None or found is None:
            continue
        if (score["units"], score["of"]) != found:
            message = f"It is {score['units']} of {score['of']}; measured were {found[0]} of "
            raise entry.differs("scores", f"{message}{found[1]}.")
        compared += 1
    return compared


def check_places(
    entries: Mapping[Key, Entry], losses: Losses, unplaced: Collection[str]
) -> dict[str, Fraction]:
    """Return the best loss of each team that takes a place, if the places follow from these.

    unplaced: teams that are baselines. A team stands by one entry, the best that it has.
    """
    best = dict[str, Fraction]()
    for (team, _), loss in losses.items():
        if team not in unplaced:
            best[team] = min(loss, best.get(team, loss))
    places, standing = places_of(sorted(best.values())), dict[str, Entry]()
    for (team, number), entry in entries.items():
        if entry["place"] is None:
            continue
        if team in unplaced or team in standing:
            problem = "A baseline takes none." if team in unplaced else "Its team has two places."
            raise entry.differs("place", problem)
        expected = places[best[team]]
        if losses[team, number] != best[team] or entry["place"] != expected:
            raise entry.differs("place", _says(entry["place"], expected))
        standing[team] = entry
    if without := best.keys() - standing.keys():
        raise _differs(f"final scores of team {min(without)}", "None of them has its place.")
    return best


class Tests:
    """The published tests of all pairs of a round's entries, held against what they rest on.

    facts: what the ranking board asks. season_code: -ln of the chance of all answers on these rows,
    None of a ledger without laws. rows: how many rows the entries were compared on, and whether
    these had answered nothing (`final`) or are the board's own (`private`).
    """

    def __init__(
        self, header: Header, board: str, season_code: float | None, rows: tuple[str, int]
    ) -> None:
        """Compute which tests there must be."""
        facts = header.boards[board]
        self.kind, self.rows = rows
        self.metric = metrics.METRICS.get(facts["metric"])
        parameters = mechanisms.get(facts["mechanism"]).parse(facts["mechanism_parameters"])
        self.level: float | None = None
        code = 0.0 if self.kind == "final" else season_code
        if self.metric is not None and self.metric.is_mean and code is not None:
            self.level = pair_level(float(1 - parameters.confidence), code) or None
        is_plain = facts["effective_private_rows"] == facts["private_rows"]
        schema = Schema.from_json(facts["schema"])
        self.form = form_of(self.metric, schema, is_plain=is_plain) if self.metric else ""

    def check(
        self, document: Row | None, losses: Losses, order: Sequence[Standing]
    ) -> tuple[Any, list[Key]] | None:
        """Return who is surely better than whom, and the entries in their order; None without.

        losses: of all entries. order: the teams of the released board, as far as they had a score.
        """
        if self.metric is None:  # the server's own: what follows from it isn't known here
            return None
        if (document is None) != (self.level is None):
            problem = "There are none." if document is None else "No tests are possible here."
            raise _differs("tests", problem)
        if document is None or self.level is None:
            return None
        try:
            entries = [(str(team), int(number)) for team, number in document["entries"]]
            level, pairs = float(document["level"]), list(document["better"])
            found = RankSets.from_json(document, level)
            p = {(int(a), int(b)): float(p) for a, b, p in pairs}
        except (HoldfastError, ArithmeticError, LookupError, TypeError, ValueError):
            raise _differs("tests", "They can't be read.") from None
        self._check_facts(document, level, len(entries))
        self._check_order(entries, losses, order)
        if len(found.rejected) != len(pairs):
            raise _differs("tests, better", "Not all p-values are small enough for this level.")
        self._check_possible([losses[key] for key in entries], p)
        if [list(ends) for ends in found.places] != document["places"]:
            raise _differs("tests, places", "The places do not follow from the p-values.")
        return found.better, entries

    def _check_facts(self, document: Row, level: float, entries: int) -> None:
        assert self.level is not None  # noqa: S101  (there are tests)
        expected: dict[str, Any] = {"rows": self.kind}
        if document["form"] not in (self.form, "betting"):  # all weights alike still bet
            expected["form"] = self.form
        heads = count_heads(entries, self.rows, document["form"])
        expected["hypotheses"] = count_hypotheses(entries, heads)
        for name, value in expected.items():
            if document[name] != value:
                raise _differs(f"tests, {name}", _says(document[name], value))
        if not math.isclose(level, self.level, rel_tol=_CLOSE):
            raise _differs("tests, level", _says(level, self.level))

    def _check_order(
        self, entries: Sequence[Key], losses: Losses, order: Sequence[Standing]
    ) -> None:
        """Check that the tests have all final entries, as the released board has their teams."""
        known = set(entries)
        if len(known) != min(len(losses), MOST_ENTRIES) or not known <= losses.keys():
            raise _differs("tests, entries", "They are not the final entries that the log has.")
        spots = {each.team: (each.loss, each.at) for each in order}
        last = (max((each.loss for each in order), default=Fraction(0)) + 1, "")
        placed = [(spots.get(team, last), team, number) for team, number in entries]
        for (spot, team, number), (after, other, later) in pairwise(placed):
            if spot > after or (team == other and number > later):
                message = f"Submission {later} of team {other} stands behind one of team {team}."
                raise _differs("tests, entries", message)

    def _check_possible(self, losses: Sequence[Fraction], p: Mapping[Ends, float]) -> None:
        """Check that the better entry has the better score, and p-values of two classes.

        How many rows differ is not published; the fewest give the smallest p-value, the most the
        largest one.
        """
        for better, worse in p:
            if not losses[better] < losses[worse]:
                message = f"Entry {better} is not better than entry {worse} by its score."
                raise _differs("tests, better", message)
        if self.form != "binomial" or self.level is None:
            return
        wrong = np.array([int(loss * self.rows) for loss in losses])
        heads = count_heads(len(losses), self.rows, "binomial")
        first, second = np.triu_indices(min(heads, len(losses)), 1, len(losses))
        gap, both = np.abs(wrong[first] - wrong[second]), wrong[first] + wrong[second]
        most = np.minimum(both, self.rows)
        most -= (most - gap) % 2
        least_p, most_p = (binomial_p_values(rows, (rows + gap) // 2) for rows in (gap, most))
        limit = self.level / max(1, 2 * len(first))
        for place, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            found = p.get((a, b), p.get((b, a)))
            if found is None and 1.001 * most_p[place] <= limit:  # p-values have four digits
                message = f"Entries {a} and {b} differ by too much to be left out."
                raise _differs("tests, better", message)
            if found is not None and found < least_p[place] * (1 - _CLOSE):
                message = f"{found} is too small a p-value for the scores of entries {a} and {b}."
                raise _differs("tests, better", message)


def check_rows(
    rows: Sequence[Row],
    entries: Mapping[Key, Entry],
    losses: Losses,
    best: Mapping[str, Fraction],
    released: Mapping[str, int],
) -> None:
    """Compare the final board with scores and places; released: places on the board before it."""
    _check_teams(rows, best)
    logged = dict[str, list[int]]()
    for team, number in sorted(entries):
        logged.setdefault(team, []).append(number)
    for row in rows:
        team = row["team_uid"]
        _check_scores(row, entries, losses, logged.get(team, []))
        entry = entries[team, row["best"]["number"]]
        if entry["place"] != row["rank"]:
            message = f"It is {row['rank']}; log entry {entry.index} has {entry['place']}."
            raise of_row(row, "rank", message)
        if team in released and row["rank"] is not None and row["released_rank"] != released[team]:
            raise of_row(row, "released_rank", _says(row["released_rank"], released[team]))


def _check_teams(rows: Sequence[Row], best: Mapping[str, Fraction]) -> None:
    """Check that those with a place are ranked, and that no team has two rows."""
    ranked = [row["team_uid"] for row in rows if row["rank"] is not None]
    if len(ranked) != len(best):
        raise _differs("final board", f"It has {len(ranked)} teams; the log has {len(best)}.")
    if lost := sorted(best.keys() - set(ranked)):
        raise _differs("final board", f"It lacks team {lost[0]}, which has a place in the log.")
    seen = set[str]()
    for row in rows:
        if row["team_uid"] in seen:
            raise of_row(row, "team", "The board has two rows of its team.")
        seen.add(row["team_uid"])


def _check_scores(
    row: Row, entries: Mapping[Key, Entry], losses: Losses, logged: Sequence[int]
) -> None:
    """Check that a row shows the team's final entries, which are `logged`, with their scores."""
    team, shown_entries = row["team_uid"], (row["best"], *row["others"])
    for each in shown_entries:
        number = each["number"]
        entry = entries.get((team, number))
        if entry is None:
            message = f"The log has no final score of its submission {number}."
            raise of_row(row, "best", message)
        loss = Fraction(each["loss_numerator"], each["loss_denominator"])
        if loss != losses[team, number]:
            raise of_row(row, "score", f"Log entry {entry.index} has another one.")
    numbers = sorted(each["number"] for each in shown_entries)
    if numbers != logged:
        message = f"It shows the submissions {numbers}; the log has {list(logged)}."
        raise of_row(row, "others", message)


def check_rank_sets(
    rows: Iterable[Row], better: Any, order: Sequence[Key], unplaced: Collection[str]
) -> None:
    """Compare the places that each team could have with those that the tests allow it."""
    ends = place_teams(better, [team for team, _ in order], unplaced)
    for row in rows:
        places = ends.get(row["team_uid"], (None, None))
        for name, place in zip(("best_place", "worst_place"), places, strict=True):
            if row[name] != place:
                raise of_row(row, name, _says(row[name], place))


def check_untested(rows: Iterable[Row]) -> None:
    """Raise Differs where a team has a set of places without tests."""
    for row in rows:
        if row["best_place"] is not None or row["worst_place"] is not None:
            raise of_row(row, "best_place", "No tests are published that it could follow from.")


def rows_of(
    entries: Iterable[Entry], header: Header, board: str, facts: Row, solution: Solution | None
) -> tuple[str, int]:
    """Return which rows final scores are on, and how many there are, as the facts of a board say.

    They must be what the scores are counted in and, once it is published, what the solution has.
    """
    asked, kind, count = header.boards[board], str(facts["rows"]), facts["count"]
    known: dict[str, Any] = {}
    if solution is not None:
        counts = solution.counts()
        known = {"rows": "final" if counts.final else "private"}
        known["count"] = counts.final or counts.private
    elif kind == "private":
        known = {"count": asked["private_rows"]}
    for name, value in known.items():
        if facts[name] != value:
            raise _differs(f"final board, {name}", _says(facts[name], value))
    metric = metrics.METRICS.get(asked["metric"])
    effective = asked["effective_private_rows"] if kind == "private" else facts["effective"]
    wholes = {effective * units for units in (metric.units if metric else FINE, FINE)}
    for entry in entries:
        if board in entry["scores"] and entry["scores"][board]["of"] not in wholes:
            raise entry.differs("scores", f"They are not counted in {effective} {kind} rows.")
    return kind, count


def _loss(entry: Entry, board: str) -> Fraction:
    score = entry["scores"].get(board)
    if score is None or not score["units"] <= score["of"] or not score["of"]:
        raise entry.differs("scores", "It has no score of the board that ranks.")
    return Fraction(score["units"], score["of"])


def _says(found: object, computed: object) -> str:
    return f"It is {shown(found)}; computed again it is {shown(computed)}."


def _differs(name: str, message: str) -> Differs:
    return Differs(None, name, message)
