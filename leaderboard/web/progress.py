"""The four stages of a submission, as they light up."""

from dataclasses import dataclass

from leaderboard.models import Status
from leaderboard.queries import SubmissionRow


@dataclass(frozen=True)
class Stage:
    """A stage and how it stands: "done", "now", "wrong" or "ahead"."""

    name: str
    state: str


_NAMES = ("Received", "Checked", "Scored", "Published")
_NEXT = {
    Status.QUEUED: "ahead",
    Status.SCORING: "now",
    Status.RELEASED: "ahead",
    Status.REJECTED: "wrong",
    Status.FAILED: "wrong",
}


def stages(row: SubmissionRow) -> tuple[Stage, ...]:
    """Return the four stages as they stand. A rejected file stops at the check."""
    if row.status is Status.RELEASED:
        done = 4
    else:
        done = 2 if row.read_at is not None and row.status is not Status.REJECTED else 1
    states = ["done"] * done + [_NEXT[row.status]] + ["ahead"] * len(_NAMES)
    return tuple(Stage(name, state) for name, state in zip(_NAMES, states, strict=False))
