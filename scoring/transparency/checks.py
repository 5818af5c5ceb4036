"""What a server shows, held against its log: names, boards, times and limits.

Each check raises Differs at the first thing that is not as the log says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from scoring import metrics
from scoring.chain import document_hash
from scoring.transparency.history import History
from scoring.transparency.ledgers import Answer, is_same_second
from scoring.verification.differences import Differs, shown
from scoring.verification.ledgers import Header

Row = Mapping[str, Any]
_CLOSE: Final = 1e-9
_LIMITS: Final = ("daily_limit", "total_limit", "max_file_bytes", "finals_limit")
_UNRANKED: Final = ("baseline", "disqualified", "hidden")
_ASKED: Final = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")


@dataclass(frozen=True)
class Standing:
    """A team's best released loss, and when the file that first reached it was accepted."""

    team: str
    loss: Fraction
    at: str


class Shown:
    """What a server shows of a competition, by the names that its log commits to.

    names: of teams, by their ids. A team without one goes by a name that nobody can check. then:
    the history up to the reveal of a round, since when its boards stand still.
    """

    def __init__(
        self, history: History, names: Mapping[str, str], then: History | None = None
    ) -> None:
        """Compare nothing yet."""
        self.history = history
        self.then = then or history
        self.name_teams(names)

    def name_teams(self, names: Mapping[str, str]) -> None:
        """Compare names with these."""
        self.names = names
        self.teams = {name: team for team, name in names.items()}

    def find_renamed(self, rows: Iterable[Row]) -> Differs | None:
        """Return what to raise of a row whose name is not the one that the log has of its team."""
        for row in rows:
            team, name = row["team_uid"], row["team"]
            if self.names.get(team, name) != name:
                return of_row(row, "team", f"The log names it {shown(self.names[team])}.")
            if self.teams.get(name, team) != team:
                return of_row(row, "team", "The log has this name for another team.")
        return None

    def standings(self, answers: Mapping[str, Sequence[Answer]]) -> list[Standing]:
        """Return all teams with a score on a board, in its order: who was first is above equals."""
        found, then, excluded = list[Standing](), self.then, self.then.excluded
        for team, given in answers.items():
            counted = [each for each in given if then.now(*each.submission) not in excluded]
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

    def ranked(self, standings: Iterable[Standing]) -> list[Standing]:
        """Return those of teams that take a place: no baselines, and none under a sanction."""
        return [
            each
            for each in standings
            if not any(self.then.is_on(mark, each.team) for mark in _UNRANKED)
        ]

    def check_board(self, expected: Sequence[Standing], facts: Row, rows: Sequence[Row]) -> None:
        """Compare a board's rows, in their order, with the ranked ones that ledger and log have.

        facts: what the board asks, of a ledger's header.
        """
        self.check_baselines(rows)
        ranked = [row for row in rows if row["rank"] is not None and row["score"] is not None]
        places = places_of(each.loss for each in expected)
        for row, standing in zip(ranked, expected, strict=False):
            place = places[standing.loss]
            if row["team_uid"] != standing.team:
                expected_name = self.names.get(standing.team, standing.team)
                message = f"Ledger and log have {expected_name} here."
                raise of_row(row, f"place {place}", message)
            self._check_row(row, standing, place, _score(facts, standing.loss))
        if len(ranked) != len(expected):
            message = f"It has {len(ranked)} teams; ledger and log have {len(expected)}."
            raise Differs(None, "board", message)

    def check_baselines(self, rows: Iterable[Row]) -> None:
        """Raise Differs where a row is not marked as a baseline as the log has it."""
        for row in rows:
            if row["is_baseline"] != self.history.is_on("baseline", row["team_uid"]):
                raise of_row(row, "is_baseline", "The log says otherwise.")

    def _check_row(self, row: Row, standing: Standing, place: int, score: float | None) -> None:
        if row["rank"] != place:
            raise of_row(row, "rank", f"It is {row['rank']}; computed again it is {place}.")
        if score is not None and abs(row["score"] - score) > _CLOSE * max(1.0, abs(score)):
            raise of_row(row, "score", f"It is {row['score']}; the ledger has {score}.")
        at = row["last_improvement_at"]
        if not is_same_second(at, standing.at):
            raise of_row(row, "last_improvement_at", f"It is {at}; the log has {standing.at}.")

    def check_facts(self, facts: Row, round: int) -> None:
        """Compare deadline and limits, as they are shown, with those that the round has."""
        latest = self.history.latest
        deadline, limits = latest["deadline"].get((round,)), latest["limits"].get((round,))
        closes_at: str | None = deadline["closes_at"] if deadline else None
        if deadline is None or not is_same_second(facts["closes_at"], closes_at):
            raise Differs(
                None, "closes_at", f"It is {facts['closes_at']}; the log has {closes_at}."
            )
        for name in _LIMITS:
            logged = limits and limits["limits"].get(name)
            if limits is None or facts[name] != logged:
                message = f"It is {shown(facts[name])}; the log has {shown(logged)}."
                raise Differs(None, name, message)

    def check_scoring(self, round: int, header: Header, boards: Sequence[str]) -> None:
        """Raise Differs unless these are the round's boards, in their order, and ask what they say.

        boards: their ids, the one that ranks first.
        """
        logged = self.history.latest["scoring"].get((round,))
        known = header.scoring["boards"]
        if logged is None or not known.keys() >= set(boards):
            raise Differs(None, f"boards of round {round}", "Ledger or log don't have them.")
        asked = {uid: {name: known[uid][name] for name in _ASKED} for uid in boards}
        facts = {"boards": asked, "order": list(boards), "schema": header.holdout["schema"]}
        if document_hash(facts) != logged["parameters_hash"]:
            message = f"Log entry {logged.index} commits to others, or to another order."
            raise Differs(None, f"boards of round {round}", message)


def places_of(losses: Iterable[Fraction]) -> dict[Fraction, int]:
    """Return the place of each of sorted losses; equal ones share it."""
    places = dict[Fraction, int]()
    for place, loss in enumerate(losses, start=1):
        places.setdefault(loss, place)
    return places


def _score(facts: Row, loss: Fraction) -> float | None:
    """Return the score that people read for a loss; None for a metric of the server's own."""
    metric = metrics.METRICS.get(facts["metric"])
    if metric is None:
        return None
    return float(metric.score(float(loss), metric.parse(facts["metric_parameters"])))


def of_row(row: Row, name: str, message: str) -> Differs:
    """Return the error that names a row by its team."""
    return Differs(None, f"{row['team']}, {name}", message)
