"""What dropped files propose: which is which, what is predicted, the metric and the split.

Only training data, test data and the sample submission are looked at for it: what is proposed is
published with the competition, and hidden labels have no part in that.
"""

from scoring.dropped.questions import Question, find_question
from scoring.dropped.roles import ROLES, Sheet, assign_roles, open_sheet
from scoring.dropped.splits import SplitProposal, draw_split, propose_splits
from scoring.dropped.targets import Target, propose_target, write_constant

__all__ = [
    "ROLES",
    "Question",
    "Sheet",
    "SplitProposal",
    "Target",
    "assign_roles",
    "draw_split",
    "find_question",
    "open_sheet",
    "propose_splits",
    "propose_target",
    "write_constant",
]
