"""Measure how the boards' pages grow with the teams, beside the bare query of their rows.

    python -m benchmarks.boards [--teams 100 10000 1000000] [--rounds 15] [--csv 10000]
        [--database sqlite|postgres]

Whole answers through Django's test client, for a person whose own row is in the middle: the first,
the middle and the last page of fifty rows, a search, the final board, and the CSV. Bare is the SQL
of the same rows, ordered and paged by the database, fetched and thrown away. Sizes, pages and bare
queries take turns, and medians are compared. Peak memory is Python's while a CSV is sent.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

INSIDE = "--inside"
PAGE = 50
LEVELS = 101
BARE = """
SELECT s.id, t.id, t.name, t.is_baseline, t.is_verified, s.loss, s.reached_at, s.entries,
       b.low, b.high, b.holdout_id, l.kind, l.created_at, l.holdout_id
FROM leaderboard_standing s JOIN leaderboard_team t ON t.id = s.team_id
LEFT JOIN leaderboard_release b ON b.id = s.best_id JOIN leaderboard_release l ON l.id = s.last_id
WHERE s.board_id = %s ORDER BY s.loss, s.reached_at, s.id
"""
BARE_FINAL = """
SELECT f.*, t.name, t.is_baseline, t.is_verified, u.number
FROM leaderboard_finalscore f JOIN leaderboard_team t ON t.id = f.team_id
JOIN leaderboard_submission u ON u.id = f.submission_id
WHERE f.board_id = %s ORDER BY f.position
"""
Action = Callable[[], object]


def main() -> None:
    from tests.servers.deployment import Deployment
    from tests.servers.postgres import PostgresServer, make_database

    arguments = _arguments(sys.argv[1:])
    directory = Path(tempfile.mkdtemp(prefix="holdfast-boards-"))
    postgres = PostgresServer() if arguments.database == "postgres" else None
    url = make_database(postgres.directory) if postgres else f"sqlite:///{directory}/db.sqlite3"
    site = Deployment(directory, url, LOG_LEVEL="ERROR")
    try:
        site.prepare()
        site.manage("collectstatic", "--no-input", "--verbosity", "0")
        site.start_redis()
        command = [sys.executable, "-m", "benchmarks.boards", INSIDE, *sys.argv[1:]]
        subprocess.run(command, env=site.environment, check=True)
    finally:
        site.close()
        if postgres:
            postgres.close()
        shutil.rmtree(directory, ignore_errors=True)


def _arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--teams", type=int, nargs="+", default=[100, 10_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--csv", type=int, default=10_000, help="the most teams of a CSV")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    return parser.parse_args(given)


def inside(arguments: argparse.Namespace) -> None:
    """Fill the database and measure, in a process with the site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    import django

    django.setup()
    from tests.cast import make_user

    me = make_user("me", is_organizer=True)
    boards = {}
    for teams in arguments.teams:
        began = time.perf_counter()
        boards[teams] = _fill(me, teams)
        print(f"{teams:,} teams made in {time.perf_counter() - began:.0f} s", flush=True)
    _analyze()
    actions = {teams: _actions(me, board, teams) for teams, board in boards.items()}
    _report({teams: _released(*each) for teams, each in actions.items()}, arguments.rounds)
    csv = {teams: _files(*each) for teams, each in actions.items() if teams <= arguments.csv}
    _report(csv, max(3, arguments.rounds // 3))
    _print_memory(csv)
    _reveal(list(boards.values()))
    _report({teams: _final(*each) for teams, each in actions.items()}, arguments.rounds)


# --- The database ---------------------------------------------------------------------------------


def _fill(me: Any, teams: int) -> Any:
    """Make a competition whose teams have one release and one final score each."""
    from django.utils import timezone

    from leaderboard import models
    from leaderboard.ledger import levels
    from tests.cast import make_competition

    competition = make_competition(
        f"teams-{teams}",
        me,
        rows=1000,
        mechanism_parameters={"steps": "100", "confidence": "0.95"},
    )
    board, holdout = competition.current_round.board, competition.current_round.active_holdout
    now = timezone.now()
    team = models.Team(competition=competition, captain=me, uid="", name="", created_at=now)
    _multiply(team, teams, uid=f"'{teams}-' || i", name=f"'Team {teams} ' || i")
    first = int(models.Team.objects.filter(competition=competition).order_by("pk")[0].pk)
    by_team = f"{first} - 1 + i"
    mine = models.Team.objects.get(pk=first + teams // 2)
    models.Membership.objects.create(
        competition=competition, team=mine, user=me, rules_version=1, accepted_at=now
    )
    submission = models.Submission(
        round=board.round, user=me, number=1, file="f", file_name="f.csv", sha256="0" * 64, size=9,
        status="released", created_at=now, finished_at=now,
    )  # fmt: skip
    _multiply(submission, teams, team=by_team)
    sent = models.Submission.objects.filter(round=board.round).order_by("pk")[0].pk
    release = models.Release(
        holdout=holdout, board=board, submission_number=1, kind="improved", level=0, steps=100,
        width=0.2, tolerance=0.01, low=0.1, high=0.6, bound="kl", asked=1, answered=1,
        log_alphabets=1.0, firings=0, question="", parameters_hash="", hash="", created_at=now,
    )  # fmt: skip
    level = f"(i % {LEVELS} * 7919) % {LEVELS}"  # no number beyond an integer
    _multiply(
        release, teams, team=by_team, submission=f"{sent} - 1 + i", number="i", level=level,
        predictions_tag=f"'{teams}-' || i",
    )  # fmt: skip
    answer = models.Release.objects.filter(board=board).order_by("pk")[0].pk
    curve = [[int(now.timestamp()) - 3600 * hours, hours / 100] for hours in range(10, 0, -1)]
    standing = models.Standing(board=board, reached_at=now, entries=1, low=0.1, curve=curve)
    _multiply(
        standing, teams, team=by_team, best=f"{answer} - 1 + i", last=f"{answer} - 1 + i",
        loss=f"{level} / 100.0", reached_at=_moment(),
    )  # fmt: skip
    levels.recount(board.pk)
    levels.begin_day(board.pk, now)  # as on a day on which the board has moved
    score = models.FinalScore(
        board=board, holdout=holdout, chosen=True, rows=teams + 1, resolution=100, low=0.1,
        high=0.6, released_loss=0.5, created_at=now,
    )  # fmt: skip
    _multiply(
        score, teams, team=by_team, submission=f"{sent} - 1 + i", units="i", place="i",
        position="i", released_place=f"{teams} + 1 - i",
    )  # fmt: skip
    models.Board.objects.filter(pk=board.pk).update(finalists=teams)
    return board


def _multiply(prototype: Any, count: int, **varying: str) -> None:
    """Write many rows like one; `varying` has SQL of the number i, from 1."""
    from django.db import connection

    fields = [field for field in prototype._meta.concrete_fields if not field.primary_key]
    values = [varying.get(field.name, "%s") for field in fields]
    fixed = [
        field.get_db_prep_save(field.pre_save(prototype, add=True), connection)
        for field in fields
        if field.name not in varying
    ]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    text = ", ".join(values).replace("% ", "%% ")
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "  # noqa: S608
            f"INSERT INTO {prototype._meta.db_table} ({columns}) SELECT {text} FROM n",
            fixed,
        )


def _moment() -> str:
    from django.db import connection

    if connection.vendor == "sqlite":
        return "datetime('2026-01-01', '+' || i || ' seconds')"
    return "timestamptz '2026-01-01 00:00+00' + i * interval '1 second'"


def _analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _reveal(boards: list[Any]) -> None:
    from django.utils import timezone

    from leaderboard.models import Round

    now = timezone.now()
    Round.objects.filter(boards__in=boards).update(
        closes_at=now - timedelta(minutes=1),
        finals_started_at=now,
        finals_scored_at=now,
        revealed_at=now,
    )


# --- What is measured -----------------------------------------------------------------------------


def _actions(me: Any, board: Any, teams: int) -> tuple[Any, Any, int]:
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.force_login(me, backend="django.contrib.auth.backends.ModelBackend")
    return client, board, teams


def _released(client: Any, board: Any, teams: int) -> dict[str, tuple[Action, Action]]:
    pages = _pages(client, board, teams, BARE)
    named = f"Team {teams} {teams // 2 + 1}"
    path = f"/c/teams-{teams}/leaderboard/"
    like = BARE.replace("ORDER", "AND UPPER(t.name) LIKE UPPER(%s) ORDER") + f" LIMIT {PAGE}"
    pages["search"] = (
        lambda: _get(client, path, team=named),
        lambda: _query(like, board.pk, f"%{named}%"),
    )
    return pages


def _final(client: Any, board: Any, teams: int) -> dict[str, tuple[Action, Action]]:
    found = _pages(client, board, teams, BARE_FINAL)
    return {f"final, {name}": pair for name, pair in found.items()}


def _files(client: Any, board: Any, teams: int) -> dict[str, tuple[Action, Action]]:
    path = f"/c/teams-{teams}/leaderboard.csv"
    return {"CSV": (lambda: _get(client, path), lambda: _query(BARE, board.pk))}


def _pages(client: Any, board: Any, teams: int, bare: str) -> dict[str, tuple[Action, Action]]:
    last = -(-teams // PAGE)

    def pair(page: int) -> tuple[Action, Action]:
        paged = f"{bare} LIMIT {PAGE} OFFSET {PAGE * (page - 1)}"
        return (
            lambda: _get(client, f"/c/teams-{teams}/leaderboard/", page=page),
            lambda: _query(paged, board.pk),
        )

    return {"first page": pair(1), "middle page": pair((last + 1) // 2), "last page": pair(last)}


def _get(client: Any, path: str, **query: object) -> int:
    response = client.get(path, query)
    if response.status_code != 200:
        raise SystemExit(f"{path}: {response.status_code}")
    if response.streaming:
        return sum(map(len, response.streaming_content))
    if b"You: " not in response.content:
        raise SystemExit(f"{path}: the own row is missing")
    return len(response.content)


def _query(sql: str, *parameters: int | str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        cursor.fetchall()


def _report(sizes: dict[int, dict[str, tuple[Action, Action]]], rounds: int) -> None:
    """Let all take turns, and print medians in milliseconds with their ratios."""
    seconds = dict[tuple[int, str, int], list[float]]()
    for number in range(rounds + 1):
        for teams, pairs in sizes.items():
            for name, pair in pairs.items():
                for which, action in enumerate(pair):
                    began = time.perf_counter()
                    action()
                    took = time.perf_counter() - began
                    if number:  # the first turn fills caches
                        seconds.setdefault((teams, name, which), []).append(took)
    middle = {key: 1000 * statistics.median(each) for key, each in seconds.items()}
    least = min(sizes, default=0)
    print(f"\n{'':24}{'teams':>10}{'ms':>10}{'bare ms':>10}{'x bare':>9}{f'x {least}':>9}")
    for name in sizes.get(least, {}):
        for teams in sizes:
            whole, bare = middle[teams, name, 0], middle[teams, name, 1]
            print(
                f"{name:24}{teams:>10,}{whole:>10.1f}{bare:>10.2f}{whole / bare:>9.1f}"
                f"{whole / middle[least, name, 0]:>9.2f}",
                flush=True,
            )


def _print_memory(sizes: dict[int, dict[str, tuple[Action, Action]]]) -> None:
    for teams, pairs in sizes.items():
        tracemalloc.start()
        size = pairs["CSV"][0]()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"CSV of {teams:,} teams: {size:,} bytes, peak memory {peak / 1e6:.1f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(_arguments(sys.argv[2:]))
    else:
        main()
