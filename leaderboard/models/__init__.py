"""The nouns, one file each: fields and constraints, nothing else."""

from leaderboard.models.competition import (
    Competition,
    CompetitionFile,
    FileRole,
    Phase,
    Visibility,
)
from leaderboard.models.final import FinalScore, Selection
from leaderboard.models.holdout import (
    Halt,
    Holdout,
    HoldoutState,
    LedgerNote,
    NoteKind,
    Rescore,
)
from leaderboard.models.release import Kind, Release, Standing
from leaderboard.models.submission import COUNTED, FINAL, Status, Submission
from leaderboard.models.team import Invitation, Membership, Team, TeamState
from leaderboard.models.user import User

__all__ = [
    "COUNTED",
    "FINAL",
    "Competition",
    "CompetitionFile",
    "FileRole",
    "FinalScore",
    "Halt",
    "Holdout",
    "HoldoutState",
    "Invitation",
    "Kind",
    "LedgerNote",
    "Membership",
    "NoteKind",
    "Phase",
    "Release",
    "Rescore",
    "Selection",
    "Standing",
    "Status",
    "Submission",
    "Team",
    "TeamState",
    "User",
    "Visibility",
]
