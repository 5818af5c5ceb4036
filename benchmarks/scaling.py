"""Measure what a page, a submission, a row and a sweep cost where there are many teams.

    python -m benchmarks.scaling [--teams 1000 100000] [--rounds 15] [--database postgres|sqlite]

A competition for each size, with as many teams as submissions, all in one database. All sizes take
turns, and medians are compared with those of the smallest. Pages and files go through Django's test
client; intake, and what a worker does with a file, are the product's own functions, with Redis
beside them; "own" is the processor's time of this process, without the database's. At last the
bytes that a submission takes in the database, and the processor's time for each row of a file.
docs/scaling.md tells what follows.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import boards

INSIDE = "--inside"
ROWS = 1000
LARGE = 200_000
Action = Callable[[], object]


def main() -> None:
    from tests.servers.deployment import PRIVATE_KEY, Deployment
    from tests.servers.postgres import PostgresServer, make_database

    arguments = _arguments(sys.argv[1:])
    directory = Path(tempfile.mkdtemp(prefix="holdfast-scaling-"))
    postgres = PostgresServer() if arguments.database == "postgres" else None
    url = make_database(postgres.directory) if postgres else f"sqlite:///{directory}/db.sqlite3"
    key = {"VAULT_PRIVATE_KEY_FILE": str(directory / PRIVATE_KEY)}
    site = Deployment(directory, url, LOG_LEVEL="ERROR", SWEEP_SECONDS="10", **key)
    try:
        site.prepare()
        site.manage("collectstatic", "--no-input", "--verbosity", "0")
        site.start_redis()
        command = [sys.executable, "-m", "benchmarks.scaling", INSIDE, *sys.argv[1:]]
        environment = site.environment | site.redis("worker")
        subprocess.run(command, env=environment, check=True)
    finally:
        site.close()
        if postgres:
            postgres.close()
        shutil.rmtree(directory, ignore_errors=True)


def _arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teams", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="postgres")
    return parser.parse_args(given)


def inside(arguments: argparse.Namespace) -> None:
    """Fill the database and measure, in a process with the site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    import django

    django.setup()
    from django.db.models import OuterRef, Subquery

    from leaderboard.models import Ledger, Release, Submission
    from tests.cast import make_user

    me = make_user("me", is_organizer=True)
    found = {}
    for teams in arguments.teams:
        began = time.perf_counter()
        board = boards._fill(me, teams)
        # The answers that were written beside the mechanism count as given.
        Ledger.objects.filter(rounds=board.round).update(entries=teams)
        given = Release.objects.filter(submission=OuterRef("pk")).values("pk")
        Submission.objects.filter(round=board.round).update(release=Subquery(given))
        found[teams] = board
        print(f"{teams:,} teams made in {time.perf_counter() - began:.0f} s", flush=True)
    boards._analyze()
    _report({teams: _actions(me, board, teams) for teams, board in found.items()}, arguments.rounds)
    _print_size(sum(arguments.teams))
    _print_rows(me)


def _actions(me: Any, board: Any, teams: int) -> dict[str, Action]:
    from django.test import Client

    from leaderboard import tasks
    from leaderboard.models import Team

    client = Client(SERVER_NAME="localhost")
    client.force_login(me, backend="django.contrib.auth.backends.ModelBackend")
    slug, last = f"teams-{teams}", -(-teams // boards.PAGE)
    team = Team.objects.get(memberships__user=me, competition__slug=slug)

    def get(path: str, **query: int) -> Action:
        def act() -> None:
            answer: Any = client.get(f"/c/{slug}/{path}", query)
            assert answer.status_code == 200, (path, answer.status_code)
            if answer.streaming:
                for _ in answer.streaming_content:
                    pass

        return act

    sent = _sending(team)
    return {
        "overview page": get(""),
        "board, first page": get("leaderboard/"),
        "board, last page": get("leaderboard/", page=last),
        "own submissions": get("submissions/"),
        "intake of a file": sent["intake"],
        f"scoring of {ROWS:,} rows": sent["score"],
        "sweep": tasks.sweep,
        "CSV of the board, a row": get("leaderboard.csv"),
        "ledger, an entry": get("ledger.jsonl"),
    }


def _sending(team: Any) -> dict[str, Action]:
    """Upload a file, and score the one that was uploaded, by turns."""
    from leaderboard.models import Round
    from leaderboard.pipeline import intake
    from leaderboard.tasks import score_submission
    from tests import cast

    Round.objects.filter(competition=team.competition).update(daily_limit=1000, total_limit=None)
    wrong, waiting = iter(range(20, ROWS)), list[int]()

    def upload() -> None:
        content = cast.predictions(range(8, next(wrong)), rows=ROWS)
        file = cast.upload(content)
        waiting.append(intake.submit(team=team, user=team.captain, upload=file).pk)

    def score() -> None:
        from leaderboard.models import Submission

        key = waiting.pop()
        score_submission(submission_id=key)
        row = Submission.objects.get(pk=key)
        assert row.status == "released", (row.status, row.failure, row.problems)

    return {"intake": upload, "score": score}


def _report(sizes: dict[int, dict[str, Action]], rounds: int) -> None:
    seconds = dict[tuple[int, str], list[tuple[float, float]]]()
    for number in range(rounds + 1):
        for teams, actions in sizes.items():
            for name, act in actions.items():
                if name.endswith((" a row", " an entry")) and number > 1:
                    continue
                began, busy = time.perf_counter(), time.process_time()
                act()
                took = time.perf_counter() - began, time.process_time() - busy
                if number:  # the first turn fills caches
                    seconds.setdefault((teams, name), []).append(took)
    least = min(sizes)
    print(f"\n{'':28}{'teams':>12}{'median ms':>12}{f'x {least:,}':>10}{'own ms':>10}")
    for name in sizes[least]:
        each_row = name.endswith((" a row", " an entry"))
        per = {teams: teams if each_row else 1 for teams in sizes}
        middle = {
            teams: [
                1000 * statistics.median(each) / per[teams]
                for each in zip(*seconds[teams, name], strict=True)
            ]
            for teams in sizes
        }
        for teams, (whole, own) in middle.items():
            ratio = whole / middle[least][0]
            print(f"{name:28}{teams:>12,}{whole:>12.3f}{ratio:>10.2f}{own:>10.3f}", flush=True)


def _print_size(submissions: int) -> None:
    from django.db import connection

    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relname LIKE 'leaderboard_%%' ORDER BY 2 DESC LIMIT 8"
        )
        rows = cursor.fetchall()
    print("\nBytes in the database, with indexes, for each submission:")
    for name, size in rows:
        print(f"  {name:32}{size / submissions:>10.0f}")


def _print_rows(me: Any) -> None:
    """Time what a worker does with a large file, beyond what a small one takes."""
    from leaderboard.models import Submission
    from leaderboard.participate import membership
    from leaderboard.pipeline import intake
    from leaderboard.tasks import score_submission
    from tests import cast

    competition = cast.make_competition("large", me, rows=LARGE)
    cast.set_round(competition, max_file_bytes=100_000_000)
    someone = cast.make_user("someone")
    team = membership.join(
        competition=competition, user=someone, accept_rules=True, team_name="Large"
    )
    took = list[float]()
    for wrong in range(20, 25):
        file = cast.upload(cast.predictions(range(8, wrong), rows=LARGE))
        key = intake.submit(team=team, user=someone, upload=file).pk
        began = time.process_time()
        score_submission(submission_id=key)
        took.append(time.process_time() - began)
        assert Submission.objects.get(pk=key).status == "released"
    print(f"\nScoring {LARGE:,} rows: {statistics.median(took[1:]):.2f} s of processor,", end=" ")
    print(f"{1e6 * statistics.median(took[1:]) / LARGE:.2f} s for a million rows")


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(_arguments(sys.argv[2:]))
    else:
        main()
