"""What a board will promise at the end of a normal season, before it is opened.

Teams are rehearsed one after the other, as in `rehearsal`, on the ledger that the board would have.
The laws learn: what the later teams cost is taken for all that are not rehearsed.
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.guarantees.rehearsal import Season
from scoring.laws.books import Account, budget, law_width
from scoring.laws.index import declared
from scoring.ledger import Board, Standing, ask, begin
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import State, TeamState
from scoring.mechanisms.needs import Need
from scoring.noise import SeededNoise
from scoring.parameters import Value

QUESTIONS: Final = 600  # about a second
FILES: Final = 100  # of a team; more tell little once it has its level


@lru_cache(maxsize=64)
def expected_width(
    need: Need, mechanism: str, parameters: tuple[tuple[str, Value], ...]
) -> float | None:
    """Return w and tolerance of the last question, as a loss; None where that says nothing.

    Raises ParameterError where the parameters don't fit each other.
    """
    if need.metric == "set":
        return None
    chosen = MECHANISMS[mechanism]
    params = chosen.parse(dict(parameters))
    board = Board("planned", chosen, params, need.rows, need.public)
    terms = begin([(chosen, board.laws)], question_limit=need.questions)
    files = min(need.submissions, FILES)
    teams = min(need.teams, max(2, QUESTIONS // files))
    generator = np.random.default_rng(0)
    season, noise = Season(need, generator, teams, files), SeededNoise(generator)
    known = Standing(State(chosen.initial_holdout(params), TeamState()), Account())
    lengths, tolerance = [known.account.length(terms.weight)], 1.0
    for team in range(teams):
        known = replace(known, state=State(known.state.holdout, TeamState()), book=None)
        for file in range(files):
            known, answer, _ = ask(terms, board, known, season.measured(team, file), noise)
            if chosen.kind(answer.kind).bounds == "both":
                tolerance = answer.tolerance
        lengths.append(known.account.length(terms.weight))
    half = teams // 2
    each = Fraction(lengths[-1] - lengths[half], teams - half)
    code = lengths[-1] + round(each * (need.teams - teams))
    index = declared(need.questions, need.questions)
    width = law_width(budget(chosen.ledger_beta(params), index, code), need.rows) + tolerance
    return width if width < NO_CERTIFICATE else None
