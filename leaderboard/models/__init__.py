"""The nouns, one file each: fields and constraints, nothing else."""

from leaderboard.models.competition import (
    Competition,
    CompetitionFile,
    FileRole,
    Organizer,
    Role,
    Visibility,
)
from leaderboard.models.event import Audience, Event, EventCount, EventKind
from leaderboard.models.final import FinalScore, Selection
from leaderboard.models.holdout import (
    BoardState,
    Holdout,
    Ledger,
    LedgerNote,
    NoteKind,
    Pause,
    Rescore,
)
from leaderboard.models.release import LevelCount, Release, Standing
from leaderboard.models.round import Board, Phase, Round
from leaderboard.models.submission import COUNTED, FINAL, Status, Submission
from leaderboard.models.team import Invitation, Membership, Team, TeamState
from leaderboard.models.user import User

__all__ = [
    "COUNTED",
    "FINAL",
    "Audience",
    "Board",
    "BoardState",
    "Competition",
    "CompetitionFile",
    "Event",
    "EventCount",
    "EventKind",
    "FileRole",
    "FinalScore",
    "Holdout",
    "Invitation",
    "Ledger",
    "LedgerNote",
    "LevelCount",
    "Membership",
    "NoteKind",
    "Organizer",
    "Pause",
    "Phase",
    "Release",
    "Rescore",
    "Role",
    "Round",
    "Selection",
    "Standing",
    "Status",
    "Submission",
    "Team",
    "TeamState",
    "User",
    "Visibility",
]
