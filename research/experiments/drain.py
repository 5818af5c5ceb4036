"""A team that memorises the public rows, and what it costs the others.

Its predictions are the public labels themselves and coins on the private rows, so its public loss
is 0 and its private loss 1/2: Thresholdout corrects every one of its scores. Honest teams overfit
the public rows a little. With one pot for all, the memoriser empties it before they come; with a
share for each team it can only use up its own.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from research.experiments.boards import PLAIN_BOARDS, QuickNoise
from research.experiments.results import (
    Panel,
    Result,
    Samples,
    Series,
    Table,
    compare,
)
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import Answer, State, TeamState

Shares = Literal["one pot", "a share each"]


@dataclass(frozen=True)
class Contest:
    """`honest` teams and one memoriser, `rounds` submissions each, the memoriser's first."""

    rows: int = 4000
    honest: int = 9
    rounds: int = 30
    budget: int = 20
    share: int = 2
    start_loss: float = 0.4
    end_loss: float = 0.2
    overfitting: float = 0.04  # of honest teams' public scores at the end


class Teams:
    """One Thresholdout holdout with many teams."""

    def __init__(self, contest: Contest, shares: Shares, generator: np.random.Generator) -> None:
        self._mechanism = get("thresholdout")
        pot = shares == "one pot"
        raw = {
            "threshold": "1/20",
            "budget": contest.budget,
            "team_share": contest.budget if pot else contest.share,
        }
        self._params: Any = self._mechanism.parse(raw)
        self._noise = QuickNoise(generator)
        self._holdout = self._mechanism.initial_holdout(self._params)
        self._teams: dict[int, TeamState] = {}
        self._pot = contest.budget if pot else None

    def ask(self, team: int, measurement: Measurement) -> Answer:
        state = State(self._holdout, self._enter(team))
        state, answer = self._mechanism.step(self._params, state, measurement, self._noise)
        self._holdout, self._teams[team] = state.holdout, state.team
        if self._pot is not None:
            self._pot = state.team.share_left
        return answer

    def _enter(self, team: int) -> TeamState:
        """Return the team's state; without shares it has what is left in the pot."""
        known = self._teams.get(team, TeamState())
        return known if self._pot is None else replace(known, share_left=self._pot)


@dataclass
class Outcome:
    """One run: for each round the share of honest teams that got an answer; of the last round, by
    how much what the board shows of honest teams is off; corrections that the memoriser took."""

    answered: Samples
    errors: list[float] = field(default_factory=list)
    memoriser_shown: float | None = None
    memoriser_corrections: int = 0


def play(contest: Contest, shares: Shares, generator: np.random.Generator) -> Outcome:
    """Play one contest."""
    teams = Teams(contest, shares, generator)
    outcome = Outcome(np.zeros(contest.rounds))
    for turn in range(contest.rounds):
        memorised = teams.ask(0, _measure(contest, 0.5, 0.0, generator))
        outcome.memoriser_corrections += memorised.kind == "corrected"
        outcome.memoriser_shown = None if memorised.loss is None else float(memorised.loss)
        for team in range(1, contest.honest + 1):
            progress = turn / (contest.rounds - 1)
            loss = contest.start_loss + progress * (contest.end_loss - contest.start_loss)
            public = loss - progress * contest.overfitting * team / contest.honest
            answer = teams.ask(team, _measure(contest, loss, public, generator))
            outcome.answered[turn] += (answer.kind != "exhausted") / contest.honest
            if turn == contest.rounds - 1:
                shown = 1.0 if answer.loss is None else float(answer.loss)
                outcome.errors.append(abs(shown - loss))
    return outcome


def _measure(
    contest: Contest, loss: float, public: float, generator: np.random.Generator
) -> Measurement:
    private_errors, public_errors = generator.binomial(contest.rows, (loss, public))
    return Measurement(
        Mean(int(private_errors), contest.rows, 1), Mean(int(public_errors), contest.rows, 1)
    )


def run(runs: int, seed: int, contest: Contest | None = None) -> Result:
    """Compare one pot with a share for each team, beside boards of public scores."""
    contest = contest or Contest()
    generator = np.random.default_rng(seed)
    ways: tuple[Shares, ...] = ("one pot", "a share each")
    outcomes = {way: [play(contest, way, generator) for _ in range(runs)] for way in ways}
    return Result(
        "drain",
        "A memorising team: one pot of corrections, or a share for each team",
        {
            "runs": runs,
            "seed": seed,
            "n": contest.rows,
            "honest teams": contest.honest,
            "budget": contest.budget,
            "share": contest.share,
        },
        tuple(
            compare(f"{way}: {name}", values)
            for way, played in outcomes.items()
            for name, values in _quantities(played).items()
        ),
        (_board_table(outcomes),),
        (_panel(contest, outcomes),),
    )


def _quantities(played: list[Outcome]) -> dict[str, list[float]]:
    return {
        "honest submissions answered": [float(o.answered.mean()) for o in played],
        "of the last round": [float(o.answered[-1]) for o in played],
        "error of honest scores at the end": [float(np.mean(o.errors)) for o in played],
        "corrections the memoriser took": [float(o.memoriser_corrections) for o in played],
    }


def _board_table(outcomes: dict[Shares, list[Outcome]]) -> Table:
    """Tabulate boards of public scores: they show whatever was memorised, however they round."""
    rows = [(f"{board.name}, public rows", float(board.show(np.zeros(1))[0]), 0.5)
            for board in PLAIN_BOARDS]  # fmt: skip
    for way, played in outcomes.items():
        shown = [o.memoriser_shown for o in played if o.memoriser_shown is not None]
        rows.append((f"Thresholdout, {way}", float(np.mean(shown)), 0.5))
    return Table("The memoriser's loss at the end", ("board", "shown", "truth"), tuple(rows))


def _panel(contest: Contest, outcomes: dict[Shares, list[Outcome]]) -> Panel:
    x = range(1, contest.rounds + 1)
    series = (
        Series("a share each", x, _mean_answered(outcomes["a share each"]), "ours"),
        Series("one pot", x, _mean_answered(outcomes["one pot"]), "other"),
    )
    return Panel(
        f"{contest.honest} honest teams, budget {contest.budget}",
        "submission of each team",
        "honest teams that get an answer",
        series,
    )


def _mean_answered(played: list[Outcome]) -> Samples:
    mean: Samples = np.mean([outcome.answered for outcome in played], axis=0)
    return mean
