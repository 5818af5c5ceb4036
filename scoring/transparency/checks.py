"""What a server shows, held against its log: names, boards, the final board, times and limits.

Each check raises Differs at the first thing that is not as the log says.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from scoring import metrics
from scoring.errors import HoldfastError
from scoring.guarantees.rank_sets import RankSets
from scoring.transparency.history import Entry, History
from scoring.transparency.ledgers import Answer
from scoring.verification.differences import Differs, shown

Row = Mapping[str, Any]
_CLOSE: Final = 1e-9
_LIMITS: Final = ("daily_limit", "total_limit", "max_file_bytes", "finals_limit")
_UNRANKED: Final = ("baseline", "disqualified", "hidden")


@dataclass(frozen=True)
class Standing:
    """A team's best released loss, and when the file that first reached it was accepted."""

    team: str
    loss: Fraction
    at: str


class Shown:
    """What a server shows of a competition, by the names that its log commits to.

    names: of teams, by their ids. A team without one goes by a name that nobody can check.
    """

    def __init__(self, history: History, names: Mapping[str, str]) -> None:
        """Compare nothing yet."""
        self.history = history
        self.names = names
        self.teams = {name: team for team, name in names.items()}

    def standings(self, answers: Mapping[str, Sequence[Answer]]) -> list[Standing]:
        """Return the ranked teams of a board in its order: who was first stands above equals."""
        found, excluded = list[Standing](), self.history.excluded
        for team, given in answers.items():
            if any(self.history.is_on(mark, team) for mark in _UNRANKED):
                continue
            counted = [each for each in given if each.submission not in excluded]
            latest = max((each.version for each in counted), default=0)
            reached = dict[str, tuple[Fraction, int, str]]()  # by the team that asked
            for place, each in enumerate(counted):
                if each.version == latest and each.loss is not None:
                    first = (each.loss, place, each.at)
                    reached[each.team] = min(reached.get(each.team, first), first)
            if reached:
                loss, at = min((loss, at) for loss, _, at in reached.values())
                found.append(Standing(team, loss, at))
        return sorted(found, key=lambda each: (each.loss, each.at))

    def check_board(self, expected: Sequence[Standing], facts: Row, rows: Sequence[Row]) -> None:
        """Compare a board's rows, in their order, with those that follow from ledger and log.

        facts: what the board asks, of a ledger's header.
        """
        self._check_baselines(rows)
        ranked = [row for row in rows if row["rank"] is not None and row["score"] is not None]
        places = _places(each.loss for each in expected)
        for row, standing in zip(ranked, expected, strict=False):
            place = places[standing.loss]
            if self.teams.get(row["team"], standing.team) != standing.team:
                expected_name = self.names.get(standing.team, standing.team)
                message = f"Ledger and log have {expected_name} here."
                raise _of_row(row, f"place {place}", message)
            self._check_row(row, standing, place, _score(facts, standing.loss))
        if len(ranked) != len(expected):
            message = f"It has {len(ranked)} teams; ledger and log have {len(expected)}."
            raise Differs(None, "board", message)

    def _check_baselines(self, rows: Sequence[Row]) -> None:
        for row in rows:
            team = self.teams.get(row["team"])
            if team and row["is_baseline"] != self.history.is_on("baseline", team):
                raise _of_row(row, "is_baseline", "The log says otherwise.")

    def _check_row(self, row: Row, standing: Standing, place: int, score: float | None) -> None:
        if row["rank"] != place:
            raise _of_row(row, "rank", f"It is {row['rank']}; computed again it is {place}.")
        if score is not None and abs(row["score"] - score) > _CLOSE * max(1.0, abs(score)):
            raise _of_row(row, "score", f"It is {row['score']}; the ledger has {score}.")
        at = row["last_improvement_at"]
        if not _same_second(at, standing.at):
            raise _of_row(row, "last_improvement_at", f"It is {at}; the log has {standing.at}.")

    def check_final(self, rows: Sequence[Row]) -> int:
        """Compare the final board with the scores and places that the log has.

        Return how many entries have a final score. Those places must follow from the scores.
        """
        history = self.history
        rounds = [number for (number,) in history.latest["revealed"]]
        finals = [each for each in history.latest["final"].values() if each["round"] in rounds]
        for number in rounds:
            self._check_places([each for each in finals if each["round"] == number])
        last = [each for each in finals if each["round"] == max(rounds)]
        # A team that was merged later keeps its name on boards of rounds that had ended.
        entered = {history.now(each["team"], each["submission"]): each for each in last}
        entered |= {(each["team"], each["submission"]): each for each in last}
        self._check_baselines(rows)
        for row in rows:
            if (team := self.teams.get(row["team"])) is not None:
                _check_final_row(row, entered.get((team, row["best"]["number"])))
        return len(finals)

    def check_facts(self, facts: Row) -> None:
        """Compare deadline and limits, as they are shown, with those of the round that runs.

        Which one runs is not known here: they must be those of some round.
        """
        latest = self.history.latest
        deadlines = [each["closes_at"] for each in latest["deadline"].values()]
        if not any(_same_second(facts["closes_at"], each) for each in deadlines):
            known = ", ".join(map(str, deadlines)) or "none"
            raise Differs(None, "closes_at", f"It is {facts['closes_at']}; the log has {known}.")
        found = {name: facts[name] for name in _LIMITS}
        limits = [
            {name: each["limits"].get(name) for name in _LIMITS}
            for each in latest["limits"].values()
        ]
        if found not in limits:
            known_limits = limits[-1] if limits else {}
            name = next(name for name in _LIMITS if found[name] != known_limits.get(name))
            message = f"It is {shown(found[name])}; the log has {shown(known_limits.get(name))}."
            raise Differs(None, name, message)

    def _check_places(self, finals: Sequence[Entry]) -> None:
        """Raise Differs where a round's places do not follow from its exact scores."""
        placed = [each for each in finals if each["place"] is not None]
        board = _ranking_board(placed)
        places = _places(sorted(_loss(each, board) for each in placed))
        for entry in placed:
            place = places[_loss(entry, board)]
            if entry["place"] != place:
                message = f"It is {entry['place']}; computed again it is {place}."
                raise entry.differs("place", message)
        teams = Counter(each["team"] for each in placed)
        for entry in placed:
            if teams[entry["team"]] > 1:
                raise entry.differs("place", "Its team has two places.")


def check_tests(document: Row) -> None:
    """Raise Differs where the places of a final board do not follow from its tests' p-values."""
    try:
        places = RankSets.from_json(document, float(document["level"])).places
    except (HoldfastError, ArithmeticError, LookupError, TypeError, ValueError):
        raise Differs(None, "tests", "They can't be read.") from None
    if [list(ends) for ends in places] != document["places"]:
        raise Differs(None, "tests", "The places do not follow from the p-values.")


def _check_final_row(row: Row, entry: Entry | None) -> None:
    best = row["best"]
    if entry is None:
        message = f"The log has no final score of its submission {best['number']}."
        raise _of_row(row, "best", message)
    if entry["place"] != row["rank"]:
        message = f"It is {row['rank']}; log entry {entry.index} has {entry['place']}."
        raise _of_row(row, "rank", message)
    loss = Fraction(best["loss_numerator"], best["loss_denominator"])
    if loss not in (_loss(entry, board) for board in entry["scores"]):
        raise _of_row(row, "score", f"Log entry {entry.index} has another one.")


def _places(losses: Iterable[Fraction]) -> dict[Fraction, int]:
    """Return the place of each of sorted losses; equal ones share it."""
    places = dict[Fraction, int]()
    for place, loss in enumerate(losses, start=1):
        places.setdefault(loss, place)
    return places


def _ranking_board(placed: Sequence[Entry]) -> str:
    """Return the board by whose scores the places can be as they are, or any."""
    ordered = sorted(placed, key=lambda each: int(each["place"]))
    boards = sorted({str(name) for each in placed for name in each["scores"]})
    for board in boards:
        if all(board in each["scores"] for each in placed):
            losses = [_loss(each, board) for each in ordered]
            if losses == sorted(losses):
                return board
    return boards[0] if boards else ""


def _loss(entry: Entry, board: str) -> Fraction:
    score = entry["scores"].get(board)
    if score is None or not score["units"] <= score["of"] or not score["of"]:
        raise entry.differs("scores", "It has no score of the board that ranks.")
    return Fraction(score["units"], score["of"])


def _score(facts: Row, loss: Fraction) -> float | None:
    """Return the score that people read for a loss; None for a metric of the server's own."""
    metric = metrics.METRICS.get(facts["metric"])
    if metric is None:
        return None
    return float(metric.score(float(loss), metric.parse(facts["metric_parameters"])))


def _same_second(shown_at: str | None, logged: str | None) -> bool:
    """Return whether a moment of the API is the logged one, to the second; both are in UTC."""
    if shown_at is None or logged is None:
        return shown_at is logged
    return shown_at[:19] == logged[:19] and shown_at.endswith(("Z", "+00:00"))


def _of_row(row: Row, name: str, message: str) -> Differs:
    return Differs(None, f"{row['team']}, {name}", message)
