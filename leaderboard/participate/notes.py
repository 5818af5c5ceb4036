"""The note that a team keeps with a submission, which any of its members may edit."""

from leaderboard.errors import Refused
from leaderboard.models import Membership, Submission, User

NOTE_LENGTH = 300


def edit_note(*, submission: Submission, user: User, text: str) -> None:
    """Replace the submission's message; an empty one is none. Raises Refused.

    It is the team's own, of no consequence, and so may change at any time.
    """
    if not Membership.objects.active().filter(team=submission.team_id, user=user).exists():
        raise Refused("not_a_member")
    cleaned = " ".join(text.split())
    if len(cleaned) > NOTE_LENGTH:
        raise Refused("invalid", field="message", variant="note_long", limit=NOTE_LENGTH)
    Submission.objects.filter(pk=submission.pk).update(message=cleaned)
    submission.message = cleaned
