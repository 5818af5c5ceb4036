"""Play participants in a process with the server's real settings, and report what is seen.

Reads one JSON request a line, `{"do": NAME, ...}`, and answers each with one JSON line.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from io import StringIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any
from unittest.mock import patch

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
django.setup()

# Django has to be set up before models can be imported.
import redis  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from django.utils import timezone  # noqa: E402
from knox.models import AuthToken  # noqa: E402

from leaderboard import queries, tasks  # noqa: E402
from leaderboard.errors import Refused  # noqa: E402
from leaderboard.ledger.archives import rows_of  # noqa: E402
from leaderboard.models import (  # noqa: E402
    COUNTED,
    FINAL,
    Competition,
    EventCount,
    FinalScore,
    Handover,
    Holdout,
    Ledger,
    Phase,
    Release,
    Round,
    Standing,
    Submission,
    Team,
    TeamState,
    User,
)
from leaderboard.operate import archives  # noqa: E402
from leaderboard.organize import drafts, moves  # noqa: E402
from leaderboard.organize.revisions import revise_solution  # noqa: E402
from leaderboard.participate import membership, selection  # noqa: E402
from leaderboard.pipeline import finalize, intake  # noqa: E402
from leaderboard.pipeline.measure import measure  # noqa: E402
from leaderboard.pipeline.parse import parse  # noqa: E402
from leaderboard.pipeline.queue import enqueue  # noqa: E402
from leaderboard.pipeline.release import release as release_stage  # noqa: E402
from leaderboard.platform.statements import insert_row  # noqa: E402
from leaderboard.vault import VaultClosed  # noqa: E402
from tests import cast, ending  # noqa: E402
from tests.servers import doom, invariants  # noqa: E402
from tests.servers.crowd import alone, crowd  # noqa: E402

PRIVATE_KEY = Path(settings.VAR_DIR) / "vault" / "private.key"


def set_up() -> str:
    """Make the competition `digits` and alice's team in it. Return a token of alice's."""
    competition = cast.make_competition("digits", cast.make_user("organizer"), daily_limit=1000)
    alice = cast.make_user("alice")
    membership.join(competition=competition, user=alice, accept_rules=True, team_name="Alice")
    _, token = AuthToken.objects.create(alice)
    return str(token)


def draft(slug: str, rows: int) -> int:
    """Make a draft of numbers to predict, of an organizer whose password is `olga-password`, with
    its sample, and alice's account. Return the competition's key."""
    competition = cast.make_draft(slug, cast.make_user("olga", is_organizer=True), rows)
    cast.make_user("alice")
    return competition.pk


def join(slug: str) -> str:
    """Have alice join. Return a token of hers."""
    alice = User.objects.get(username="alice")
    competition = Competition.objects.get(slug=slug)
    membership.join(competition=competition, user=alice, accept_rules=True, team_name="Alice")
    _, token = AuthToken.objects.create(alice)
    return str(token)


def close(slug: str) -> dict[str, Any]:
    """Close the round, if that is still to be done; return how far the end has come."""
    round = Round.objects.select_related("competition").get(competition__slug=slug)
    if round.phase(timezone.now()) is Phase.OPEN:
        finalize.close_early(round)
    published = Holdout.objects.filter(ledger__rounds=round, published_at__isnull=False).count()
    return {"scored": round.finals_scored_at is not None, "published": published}


def open_vault(slug: str) -> str:
    """Try to measure in this process, which has no private key. Return what came of it."""
    submission = Submission.objects.filter(team__competition__slug=slug).latest("pk")
    try:
        measure(submission, parse(submission))
    except VaultClosed as closed:
        return f"VaultClosed: {closed}"
    return "it measured"


def set_up_checked(slug: str, team: str, daily_limit: int = 100_000, **parameters: str) -> None:
    """Make a competition with Thresholdout, and a team of alice's in it."""
    competition = cast.make_checked(slug, User.objects.get(username="organizer"), **parameters)
    cast.set_round(competition, daily_limit=daily_limit)
    alice = User.objects.get(username="alice")
    membership.join(competition=competition, user=alice, accept_rules=True, team_name=team)


def set_up_numbers(solution: str) -> None:
    """Make a competition of numbers, scored by their distance, and alice's team in it."""
    with patch.object(cast, "solution", lambda rows, public: solution.encode()):
        competition = cast.make_competition(
            "numbers",
            cast.make_user("organizer"),
            schema={"id_column": "id", "columns": [{"name": "label", "kind": "number"}]},
            metric="mae",
            metric_parameters={"clip": "100"},
        )
    alice = cast.make_user("alice")
    membership.join(competition=competition, user=alice, accept_rules=True, team_name="Alice")


def spoil_the_team() -> None:
    """Write a state that no mechanism takes: what is measured next can't be released."""
    TeamState.objects.update(best=20, last=0)


def submit(content: str, team: str = "Alice", *, silent: bool = False) -> int:
    """Upload a file for a team. Return the submission's key. `silent`: without a message."""
    with ExitStack() as entered:
        if silent:
            entered.enter_context(patch.object(intake, "enqueue_quietly"))
        return _submit(content, team)


def archive_while_submitting(path: str, contents: list[str]) -> int:
    """Export `digits` while a file of alice's comes in before each table that is read, and, every
    other time, its answer. Return how many came in."""
    came, read, left = list[int](), rows_of, iter(contents)

    def send(content: str) -> None:
        came.append(_submit(content, "Alice"))
        if len(came) % 2:
            tasks.score_submission(submission_id=came[-1])
        connections.close_all()

    def meanwhile(*table: Any) -> Any:
        if content := next(left, ""):
            with ThreadPoolExecutor(1) as another:
                another.submit(send, content).result()
        return read(*table)

    settings.VAULT_PRIVATE_KEY_FILE = str(PRIVATE_KEY)
    competition = Competition.objects.get(slug="digits")
    owner = User.objects.get(username="organizer")
    with patch("leaderboard.operate.archives.rows_of", meanwhile):
        archive = archives.export_archive(competition, by=owner)
    with archive, Path(path).open("wb") as out:
        copyfileobj(archive, out)
    return len(came)


def refusal(content: str, team: str) -> str:
    """Upload a file that is refused. Return the refusal's code."""
    try:
        _submit(content, team)
    except Refused as refused:
        return refused.code
    return ""


def _submit(content: str, team: str) -> int:
    row = Team.objects.get(name=team)
    file = cast.upload(content.encode())
    return intake.submit(team=row, user=row.captain, upload=file).pk


def die_submitting(boundary: str, content: str, team: str) -> bool:
    """Upload a file in a process that is killed at a boundary of intake; return whether it was."""
    orders = doom.Orders(Path(settings.VAR_DIR))
    orders.give(boundary, "die")

    def upload() -> None:
        with ExitStack() as entered:
            for each in doom.arm_intake():
                entered.enter_context(each)
            _submit(content, team)

    alone(upload)
    return not orders.withdraw()


def race_for_quota(contents: list[str], team: str) -> list[str]:
    """Upload all files at once, each from its own process. Return what became of each."""

    def upload(number: int) -> str:
        try:
            _submit(contents[number], team)
        except Refused as refused:
            return refused.code
        return "accepted"

    return crowd(len(contents), upload)


def race_for_share(submissions: list[int]) -> list[str]:
    """Score all at once, each in its own process, all of which measure before any releases.
    Return what became of each."""
    settings.VAULT_PRIVATE_KEY_FILE = str(PRIVATE_KEY)
    release = release_stage

    def score(number: int, wait_for_all: Callable[[], object]) -> str:
        def late(*args: Any) -> bool:
            wait_for_all()
            return release(*args)

        with patch.object(tasks, "release", late):
            tasks.score_submission(submission_id=submissions[number])
        return ""

    return crowd(len(submissions), score)


def end(slug: str) -> None:
    """Let a competition's deadline pass and start its finals."""
    ending.start(Competition.objects.get(slug=slug))


def finals(slug: str) -> dict[str, Any]:
    """Return what is known of a competition's final scores: losses by submission."""
    scores = FinalScore.objects.filter(team__competition__slug=slug)
    return {
        "complete": Round.objects.get(competition__slug=slug).finals_scored_at is not None,
        "losses": {str(each.submission_id): each.units / each.rows for each in scores},
    }


def choose(slug: str, numbers: list[int]) -> None:
    """Have alice's team of a competition enter these."""
    alice = User.objects.get(username="alice")
    team = Team.objects.get(competition__slug=slug, memberships__user=alice)
    selection.select(team=team, user=alice, numbers=numbers)


def race_for_the_end(slug: str, contents: list[str], team: str) -> list[str]:
    """Start the finals while files are uploaded by servers whose clocks are an hour late, from a
    process each. Return what became of each; of the start, first."""
    round = ending.close(Competition.objects.get(slug=slug)).current_round
    late = timezone.now() - timedelta(hours=1)
    store = intake._store

    def act(number: int, wait_for_all: Callable[[], object]) -> str:
        def stored(*args: Any) -> str:
            kept = store(*args)
            wait_for_all()
            return kept

        try:
            if number == 0:
                wait_for_all()
                finalize.start_finals(round)
                return "started"
            with (
                patch.object(timezone, "now", lambda: late),
                patch.object(intake, "_store", stored),
            ):
                _submit(contents[number - 1], team)
        except Refused as refused:
            return refused.code
        return "accepted"

    return crowd(len(contents) + 1, act)


def race_to_the_draft(slug: str, content: str, team: str) -> list[str]:
    """Take the competition's opening back in one process while another has inserted an upload and
    not committed it. Return what became of the upload, and of the way back."""
    competition = Competition.objects.get(slug=slug)

    def act(number: int, wait_for_all: Callable[[], object]) -> str:
        def inserted(row: Any) -> None:
            insert_row(row)
            wait_for_all()
            _wait_until_somebody_waits()

        try:
            if number == 0:
                with patch.object(intake, "insert_row", inserted):
                    _submit(content, team)
                return "accepted"
            wait_for_all()
            drafts.return_to_draft(competition)
        except Refused as refused:
            return refused.code
        return "returned"

    return crowd(2, act)


def _wait_until_somebody_waits() -> None:
    """Wait until a transaction of PostgreSQL waits for another, or has had the time to."""
    with connections["default"].cursor() as cursor:
        for _ in range(100):
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
            if cursor.fetchone():
                return
            time.sleep(0.05)


def seen(submission: int) -> dict[str, Any]:
    """Return what is known of a submission, and of the board."""
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


def sent(team: str) -> int:
    """Return how many submissions a team has."""
    return Submission.objects.filter(team__name=team).count()


def lost(team: str) -> list[int]:
    """Return the numbers of the submissions whose files were lost with a database."""
    return list(
        Submission.objects.filter(team__name=team, file="").values_list("number", flat=True)
    )


def used(team: str) -> int:
    """Return how many units of its quota a team has used."""
    counted = Submission.objects.filter(team__name=team, status__in=COUNTED)
    return counted.filter(takes_quota=True).count()


def kinds(team: str) -> list[str]:
    """Return what the mechanism said to a team, in order."""
    return list(Release.objects.filter(team__name=team).values_list("kind", flat=True))


def unfinished() -> int:
    """Return how many submissions haven't ended."""
    return Submission.objects.exclude(status__in=FINAL).count()


def violations(*, settled: bool = True) -> list[str]:
    """Return what is wrong with the database; see `tests/servers/invariants.py`."""
    return invariants.violations(settled=settled)


def deliver(submission: int, times: int) -> None:
    """Put the submission's message on the queue, as often as asked."""
    for _ in range(times):
        enqueue(submission)


def flush_redis() -> None:
    """Empty Redis."""
    redis.Redis.from_url(os.environ["TESTER_REDIS_URL"]).flushall()


def ledger(competition: str) -> str:
    """Return the published ledger."""
    return b"".join(queries.ledger_lines(_ledger_of(competition))).decode()


def head(competition: str) -> dict[str, Any]:
    """Return the ledger's head, why it is paused, and how long the competition's log is."""
    row = _ledger_of(competition)
    columns = ("asked", "entries", "paused_for", "watermarked", "uid")
    log_size = EventCount.objects.get(competition__slug=competition).log_size
    return {name: getattr(row, name) for name in columns} | {"log_size": log_size}


def move(competition: str, key: str) -> None:
    """Close a competition's ledger for the installation whose vault has this public key."""
    moves.move(Competition.objects.get(slug=competition), key, by=None)


def handovers() -> list[str]:
    """Return how far secrets are on their way: what failed, "done", or "" for those that wait."""
    return [each.failure or "done" * bool(each.finished_at) for each in Handover.objects.all()]


def own_key() -> str:
    """Return the public key of this installation's vault."""
    return moves.own_key()


def person(name: str) -> None:
    """Make an account that may run competitions."""
    cast.make_user(name, is_organizer=True)


def _ledger_of(competition: str) -> Ledger:
    return Ledger.objects.get(rounds__competition__slug=competition)


def race_a_revision(submissions: list[int], competition: str) -> list[str]:
    """Measure all submissions, and then release them while the solution is revised, each in its own
    process. Return what became of each; the revision is the last."""
    settings.VAULT_PRIVATE_KEY_FILE = str(PRIVATE_KEY)
    release = release_stage

    def play(number: int, wait_for_all: Callable[[], object]) -> str:
        if number == len(submissions):
            wait_for_all()
            round = Round.objects.get(competition__slug=competition)
            file = cast.upload(cast.solution().replace(b"r39,3", b"r39,0"))
            revised = revise_solution(round, file, by=None, reason="Row 39.", rescore="all")
            return f"version {revised.version}"

        def late(*args: Any) -> bool:
            wait_for_all()
            return release(*args)

        with patch.object(tasks, "release", late), patch.object(tasks, "enqueue"):
            tasks.score_submission(submission_id=submissions[number])
        return Submission.objects.get(pk=submissions[number]).status

    return crowd(len(submissions) + 1, play)


def back_up() -> None:
    """Write a backup."""
    call_command("backup", stdout=StringIO())


def restore() -> str:
    """Restore the newest backup. Return what was printed."""
    told = StringIO()
    call_command("restore", no_input=True, stdout=told)
    return told.getvalue()


def limit(competition: str, daily_limit: int) -> None:
    """Change a competition's daily quota."""
    Round.objects.filter(competition__slug=competition).update(daily_limit=daily_limit)


ACTIONS: dict[str, Callable[..., Any]] = {
    "set_up": set_up,
    "draft": draft,
    "join": join,
    "close": close,
    "open_vault": open_vault,
    "set_up_checked": set_up_checked,
    "set_up_numbers": set_up_numbers,
    "spoil_the_team": spoil_the_team,
    "submit": submit,
    "refusal": refusal,
    "die_submitting": die_submitting,
    "race_for_quota": race_for_quota,
    "race_for_share": race_for_share,
    "end": end,
    "finals": finals,
    "choose": choose,
    "race_for_the_end": race_for_the_end,
    "race_to_the_draft": race_to_the_draft,
    "seen": seen,
    "sent": sent,
    "lost": lost,
    "used": used,
    "kinds": kinds,
    "unfinished": unfinished,
    "violations": violations,
    "deliver": deliver,
    "flush_redis": flush_redis,
    "archive_while_submitting": archive_while_submitting,
    "back_up": back_up,
    "restore": restore,
    "limit": limit,
    "ledger": ledger,
    "head": head,
    "race_a_revision": race_a_revision,
    "move": move,
    "handovers": handovers,
    "own_key": own_key,
    "person": person,
}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        answer = ACTIONS[request.pop("do")](**request)
        connections.close_all()  # the database may be another one, or away, by the next request
        print(json.dumps(answer), flush=True)  # noqa: T201  (the answer)


if __name__ == "__main__":
    main()
