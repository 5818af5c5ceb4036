"""A process with the server's real settings that plays a participant, and says what it sees.

Reads one JSON request a line, `{"do": NAME, ...}`, and answers each with one JSON line.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
django.setup()

# Django has to be set up before models can be imported.
from django.conf import settings  # noqa: E402
from knox.models import AuthToken  # noqa: E402

from leaderboard.models import Release, Standing, Submission, Team  # noqa: E402
from leaderboard.pipeline import intake, membership  # noqa: E402
from leaderboard.queue import enqueue  # noqa: E402
from tests import cast  # noqa: E402


def set_up() -> str:
    """Makes the competition `digits` and alice's team in it. Returns a token of alice's."""
    competition = cast.make_competition("digits", cast.make_user("organizer"), daily_limit=1000)
    alice = cast.make_user("alice")
    membership.join(competition=competition, user=alice, accept_rules=True, team_name="Alice")
    _, token = AuthToken.objects.create(alice)
    return str(token)


def submit(content: str) -> int:
    """Uploads a file for alice. Returns the submission's key."""
    team = Team.objects.get(name="Alice")
    file = cast.upload(content.encode())
    return intake.submit(team=team, user=team.captain, upload=file).pk


def seen(submission: int) -> dict[str, Any]:
    """What is known of a submission, and of the board."""
    row = Submission.objects.get(pk=submission)
    standing = Standing.objects.filter(team=row.team).first()
    return {
        "status": row.status,
        "attempts": row.attempts,
        "problems": row.problems,
        "releases": Release.objects.filter(submission=row).count(),
        "entries": standing.entries if standing else 0,
        "path": str(Path(settings.VAR_DIR) / "storage" / row.file),
    }


def deliver(submission: int, times: int) -> None:
    """Puts the submission's message on the queue, as often as asked."""
    for _ in range(times):
        enqueue(submission)


ACTIONS: dict[str, Callable[..., Any]] = {
    "set_up": set_up,
    "submit": submit,
    "seen": seen,
    "deliver": deliver,
}


def main() -> None:
    """Answers until the input ends."""
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        answer = ACTIONS[request.pop("do")](**request)
        print(json.dumps(answer), flush=True)  # noqa: T201  (the answer)


if __name__ == "__main__":
    main()
