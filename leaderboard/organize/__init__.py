"""Setting a competition up: files, the sealed solution, the checklist, and the opening.

What freezes is refused here, whoever asks. Schema, metric and mechanism are written in a draft; an
open competition goes back to being one only as long as nobody has submitted. The holdout freezes at
the first release.
"""

from leaderboard.organize.budgets import add_budget
from leaderboard.organize.creation import add_board, add_round, create_competition
from leaderboard.organize.drafts import (
    change_schema,
    delete_competition,
    has_answers,
    is_frozen,
    return_to_draft,
    withdraw_solution,
)
from leaderboard.organize.files import add_file, remove_file
from leaderboard.organize.opening import Check, checklist, open_competition
from leaderboard.organize.practice import change_practice
from leaderboard.organize.proposals import propose, use_proposal
from leaderboard.organize.rounds import (
    change_round,
    foresee_columns,
    remove_board,
    remove_round,
)
from leaderboard.organize.scoring import RowCounts, Scoring, change_scoring, effective_rows
from leaderboard.organize.solutions import (
    CheckedSolution,
    check_solution,
    create_revision,
    install_solution,
)
from leaderboard.organize.warnings import SetupWarning, find_warnings

__all__ = [
    "Check",
    "CheckedSolution",
    "RowCounts",
    "Scoring",
    "SetupWarning",
    "add_board",
    "add_budget",
    "add_file",
    "add_round",
    "change_practice",
    "change_round",
    "change_schema",
    "change_scoring",
    "check_solution",
    "checklist",
    "create_competition",
    "create_revision",
    "delete_competition",
    "effective_rows",
    "find_warnings",
    "foresee_columns",
    "has_answers",
    "install_solution",
    "is_frozen",
    "open_competition",
    "propose",
    "remove_board",
    "remove_file",
    "remove_round",
    "return_to_draft",
    "use_proposal",
    "withdraw_solution",
]
