"""A deadline: people read the board, send files and wait, most of them late, while workers die.

    python -m benchmarks.storm [--people 3500] [--files 6000] [--minutes 10]
                               [--database sqlite|postgres] [--large 60]

Starts the site as `make run` does, and the people in this process, on the same machine. Each file
is a visit: the person opens the board, uploads by the API, asks every second until the answer is
there, and looks at the board again. Whoever is told to come back does. Moments rise towards the
deadline (`--late 3`: as the square of the time). Some send the head of a request before it and the
rest after it, some begin after it. Each minute a process of the worker, parent or child, gets a
kill -9. `--large` people more send one file of `--large-rows` each to a second competition.

Ends with 1 if an accepted file was lost, one accepted that began after the deadline, or one refused
whose head came before. What a killed worker held, and this process's own CPU, are told apart.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from benchmarks.storm_people import Crowd, Visit
from tests.servers.deployment import ROOT, without_our_own
from tests.servers.embedded import free_port
from tests.servers.postgres import PostgresServer, make_database

INSIDE = "--inside"
SMALL, LARGE = "storm", "large"
READY = "Holdfast is ready"
PATIENCE_SECONDS = 300
UNLIMITED = "1000000/min"
PARTS = ("gunicorn", "celery", "redis", "postgres")  # by what their commands are known


def main() -> None:
    """Start everything, play, and report."""
    arguments = _arguments()
    directory = Path(tempfile.mkdtemp(prefix="holdfast-storm-"))
    postgres = PostgresServer() if arguments.database == "postgres" else None
    port = free_port()
    environment = {
        **without_our_own(os.environ),
        "VAR_DIR": str(directory),
        "DJANGO_SETTINGS_MODULE": "leaderboard.settings",
        "LOG_LEVEL": "WARNING",
        "EMAIL_URL": "dummy:",
        **({"DATABASE_URL": make_database(postgres.directory)} if postgres else {}),
        # All people come from one address.
        **{f"THROTTLE_{name}": UNLIMITED for name in ("ANON", "USER", "UPLOAD", "UPLOAD_ADDRESS")},
    }
    site = _start(directory, environment, port)
    try:
        people = _inside(environment, "set_up", arguments)
        seconds = arguments.minutes * 60
        closes_at = _inside(environment, "begin", arguments)
        visits = _plan(arguments, people, closes_at - seconds, closes_at)
        crowd = Crowd(port, closes_at)
        killed = asyncio.run(_play(crowd, visits, site.pid, arguments.kill_every, closes_at))
        rows = _inside(environment, "end", arguments)
        _report(arguments, crowd, killed, rows)
        _report_processor(site.pid, postgres)
        sys.exit(not _is_sound(crowd, rows, closes_at))
    finally:
        site.terminate()
        site.wait()
        if postgres:
            postgres.close()
        if arguments.keep:
            print(f"Logs and data: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--people", type=int, default=3500)
    parser.add_argument("--files", type=int, default=6000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=1200, help="of each file")
    parser.add_argument("--late", type=float, default=3.0, help="1: no later than early")
    parser.add_argument("--large", type=int, default=0, help="people who send one large file")
    parser.add_argument("--large-rows", type=int, default=1_000_000)
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds; 0: nobody dies")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the directory")
    return parser.parse_args()


def _start(directory: Path, environment: dict[str, str], port: int) -> subprocess.Popen[bytes]:
    log = directory / "run.log"
    with log.open("wb") as file:
        site = subprocess.Popen(
            [sys.executable, "manage.py", "run", "--no-demo", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    give_up = time.monotonic() + PATIENCE_SECONDS
    while READY not in log.read_text():
        if site.poll() is not None or time.monotonic() > give_up:
            site.terminate()
            raise SystemExit(log.read_text())
        time.sleep(0.2)
    return site


def _plan(
    arguments: argparse.Namespace, people: dict[str, Any], begins_at: float, closes_at: float
) -> list[Visit]:
    """Return who sends when; everybody in `people` sends at least one file, if there are enough."""
    chance = random.Random(arguments.seed)
    length, small, large = closes_at - begins_at, people[SMALL], people[LARGE]

    def moment() -> float:
        early = begins_at + length * chance.random() ** (1 / arguments.late)
        return float(min(early, closes_at - 0.5))

    order = [small[number % len(small)] for number in range(arguments.files)]
    visits = [Visit(SMALL, person, moment(), arguments.rows) for person in order]
    for visit in visits:
        fate = chance.random()
        if fate < 0.01:
            visit.begins_at, visit.body_at = closes_at - 2, closes_at + 1
        elif fate < 0.03:
            visit.begins_at = closes_at + 0.1 + chance.random()
    for number, person in enumerate(large):
        at = begins_at + length * (number + chance.random()) / len(large)
        visits.append(Visit(LARGE, person, at, arguments.large_rows))
    return visits


async def _play(
    crowd: Crowd, visits: list[Visit], pid: int, kill_every: float, closes_at: float
) -> list[str]:
    """Let everybody play, and kill; return who was killed."""
    killed: list[str] = []

    async def kill() -> None:
        while kill_every:
            await asyncio.sleep(kill_every)
            if time.time() > closes_at:
                return
            parent = psutil.Process(pid)
            workers = [each for each in parent.children(recursive=True) if _is_worker(each)]
            if workers:
                victim = random.choice(workers)
                killed.append("parent" if victim.ppid() == pid else "child")
                victim.kill()

    killing = asyncio.create_task(kill())
    await crowd.play(visits)
    killing.cancel()
    return killed


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "celery,sweeper" in process.cmdline()
    except psutil.Error:
        return False


def _report(
    arguments: argparse.Namespace, crowd: Crowd, killed: list[str], rows: list[list[Any]]
) -> None:
    print(
        f"{arguments.people} people, {arguments.files} files of {arguments.rows} rows"
        + (f", {arguments.large} of {arguments.large_rows}" if arguments.large else "")
        + f", {arguments.minutes:g} minutes, {arguments.database}; "
        f"killed: {', '.join(killed) or 'nobody'}"
    )
    print("| what | count | p50 | p99 | worst |\n|---|---|---|---|---|")
    for name, seconds in sorted(crowd.seconds.items()):
        _line(name, seconds)
    for slug in (SMALL, LARGE):
        done = [row for row in rows if row[0] == slug and row[3] is not None]
        _line(f"release, {slug}", [row[3] for row in done if row[4] == 1])
        _line(f"release, {slug}, held by a killed worker", [row[3] for row in done if row[4] > 1])
    print(
        f"statuses {dict(Counter(row[2] for row in rows))}; answers by status "
        f"{dict(sorted(crowd.answers.items()))}; the generator took {crowd.cpu:.0f} s of processor "
        f"({100 * crowd.cpu / crowd.lasted:.0f} % of one core)"
    )


def _report_processor(pid: int, postgres: PostgresServer | None) -> None:
    """Print what the site's processes took; of killed ones, what their parents know."""
    took = Counter[str]()
    processes = psutil.Process(pid).children(recursive=True)
    if postgres:
        for each in psutil.process_iter(["cmdline"]):
            if str(postgres.directory) in (each.info["cmdline"] or ()):
                processes += [each, *each.children(recursive=True)]
    for process in processes:
        words, times = " ".join(process.cmdline()), process.cpu_times()
        part = next((part for part in PARTS if part in words), "other")
        took[part] += times.user + times.system + times.children_user + times.children_system
    print("processor: " + ", ".join(f"{part} {took[part]:.0f} s" for part in sorted(took)))


def _line(name: str, seconds: Iterable[float]) -> None:
    """Print a line of the table."""
    found = sorted(seconds)
    if found:
        p50, p99 = (found[min(len(found) - 1, int(part * len(found)))] for part in (0.5, 0.99))
        print(f"| {name} | {len(found)} | {p50:.2f} s | {p99:.2f} s | {found[-1]:.2f} s |")


def _is_sound(crowd: Crowd, rows: list[list[Any]], closes_at: float) -> bool:
    """Print what is wrong; return whether nothing is."""
    known = {(row[0], row[1], row[5]): row for row in rows}
    lost = [each for each in crowd.accepted if each not in known]
    unanswered = [row for row in rows if row[2] != "released"]
    late = [row for row in rows if row[6] >= closes_at]
    for name, found in (
        ("accepted and lost", lost),
        ("accepted without an answer", unanswered),
        ("accepted after the deadline", [*late, *crowd.late_accepted]),
        ("refused though the head came before the deadline", crowd.early_refused),
    ):
        print(f"{name}: {len(found)} {found[:5] if found else ''}")
    return not (lost or unanswered or late or crowd.late_accepted or crowd.early_refused)


def _inside(environment: dict[str, str], part: str, arguments: argparse.Namespace) -> Any:
    """Run a part in a process that has the site's settings, and return what it says."""
    private = Path(environment["VAR_DIR"]) / "vault" / "private.key"
    words = vars(arguments) | {"private": str(private)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.storm", INSIDE, part, json.dumps(words)],
        env=environment,
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


def inside(part: str, chosen: dict[str, Any]) -> Any:
    """Play a part with the site's settings."""
    import django

    django.setup()
    return {"set_up": _set_up, "begin": _begin, "end": _end}[part](chosen)


def _set_up(chosen: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Make competitions and people; return each one's name, token and session."""
    from tests import cast

    organizer = cast.make_user("organizer")
    people: dict[str, list[list[str]]] = {SMALL: [], LARGE: []}
    for slug, count, rows in (
        (SMALL, chosen["people"], chosen["rows"]),
        (LARGE, chosen["large"], chosen["large_rows"]),
    ):
        if not count:
            continue
        competition = cast.make_competition(slug, organizer, rows=rows, public=rows // 5)
        cast.set_round(competition, daily_limit=1000)
        people[slug] = [_join(competition, f"{slug}{number}") for number in range(count)]
    return people


def _join(competition: Any, name: str) -> list[str]:
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from leaderboard.models import User
    from leaderboard.participate import membership, tokens

    user = User(username=name, email=f"{name}@example.org")
    user.set_unusable_password()
    user.save()
    membership.join(competition=competition, user=user, accept_rules=True, team_name=name)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return [name, tokens.issue(user, days=1).text, session.session_key or ""]


def _begin(chosen: dict[str, Any]) -> float:
    """Set the deadline, and return it."""
    from leaderboard.models import Round

    closes_at = datetime.now(UTC) + timedelta(minutes=chosen["minutes"], seconds=3)
    Round.objects.update(closes_at=closes_at)
    return closes_at.timestamp()


def _end(chosen: dict[str, Any]) -> list[list[Any]]:
    """Wait until everything is answered. Return of each file what there is to know.

    That is competition, number, status, seconds until its release, attempts, who sent it, and the
    moment that counts.
    """
    from leaderboard.models import FINAL, Submission

    give_up = time.monotonic() + PATIENCE_SECONDS + chosen["large"] * 30
    while Submission.objects.exclude(status__in=FINAL).exists() and time.monotonic() < give_up:
        time.sleep(0.5)
    return [
        [
            each.round.competition.slug,
            each.number,
            each.status,
            (each.finished_at - each.created_at).total_seconds() if each.finished_at else None,
            each.attempts,
            each.user.username,
            each.created_at.timestamp(),
        ]
        for each in Submission.objects.select_related("round__competition", "user")
    ]


if __name__ == "__main__":
    if INSIDE in sys.argv:
        _, _, part, words = sys.argv
        print(json.dumps(inside(part, json.loads(words))))
    else:
        main()
