"""Measure release transactions per second, and the time from upload to answer under load.

    python -m benchmarks.releases [--files 200] [--workers 4] [--database sqlite|postgres]

Three figures on a database of its own, with real processes:

- `release` alone: all files are parsed and measured, then as many processes as there are workers
  release them at once;
- for comparison, the least that any such ledger costs: the same rows written by bare SQL, with the
  same indexes, in one durable transaction, by the same processes on the same database. Both take
  turns, for as many transactions; figures are medians over the turns, and ratios are those of
  neighbouring ones. The processor's time has that of PostgreSQL's processes in it;
- the whole way: files uploaded one after another, eight in flight at any time, to one Celery worker
  with as many processes. Times are by this process's clock, from before the upload until the
  database shows the answer.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil

INSIDE = "--inside"
Writes = list[tuple[str, list[Any]]]
IN_FLIGHT = 8
TURNS = 7  # after one that is not counted


def main() -> None:
    arguments = _arguments()
    postgres = None
    directory = Path(tempfile.mkdtemp(prefix="holdfast-releases-"))
    from tests.servers.deployment import PRIVATE_KEY, Deployment
    from tests.servers.postgres import PostgresServer, make_database

    url = f"sqlite:///{directory / 'db.sqlite3'}"
    if arguments.database == "postgres":
        postgres = PostgresServer()
        url = make_database(postgres.directory)
    site = Deployment(
        directory,
        url,
        WORKER_CONCURRENCY=str(arguments.workers),
        LEASE_SECONDS="600",
        REQUEUE_SECONDS="60",
        SWEEP_SECONDS="10",
        LOG_LEVEL="WARNING",
        VAULT_PRIVATE_KEY_FILE=str(directory / PRIVATE_KEY),
    )
    try:
        site.prepare()
        site.start_redis()
        _inside(site.environment, "releases", arguments)
        site.start_worker()
        site.start_beat()
        _inside(site.environment, "flow", arguments)
    finally:
        site.close()
        if postgres:
            postgres.close()
        shutil.rmtree(directory, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    return parser.parse_args()


def _inside(environment: dict[str, str], part: str, arguments: argparse.Namespace) -> None:
    """Run a part in a process that has the site's settings."""
    command = [sys.executable, "-m", "benchmarks.releases", INSIDE, part]
    command += [str(arguments.files), str(arguments.workers)]
    subprocess.run(command, env=environment, check=True)


def inside(part: str, files: int, workers: int) -> None:
    """Run one part, in a process with the site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    import django

    django.setup()
    if part == "releases":
        _set_up()
        _compare(files // workers, workers)
    else:
        _flow(files)


def _set_up() -> None:
    from leaderboard.participate import membership
    from tests import cast

    organizer, alice = cast.make_user("organizer"), cast.make_user("alice")
    competition = cast.make_checked("checked", organizer, budget="1000000", team_share="100000")
    cast.set_round(competition, daily_limit=1_000_000)
    membership.join(competition=competition, user=alice, accept_rules=True, team_name="A")


def _submit(number: int) -> Any:
    from leaderboard.models import Team
    from leaderboard.pipeline import intake
    from tests import cast

    team = Team.objects.get(name="A")
    wrong = {*range(20, 80), *(80 + bit for bit in range(20) if number >> bit & 1)}
    upload = cast.upload(cast.predictions(wrong, rows=cast.CHECKED_ROWS))
    return intake.submit(team=team, user=team.captain, upload=upload)


def _compare(each: int, workers: int) -> None:
    """Print what `workers` processes do that release `each` files in a turn, and what bare SQL."""
    from leaderboard.platform.collection import settle
    from tests.servers.crowd import crowd

    writes, statements = _record_release()
    plain_writes = _copy_tables(writes)
    keys = [_submit(number).pk for number in range(each * workers * (TURNS + 1))]
    settle()  # as workers do

    def work(number: int, wait_for_all: Any) -> str:
        ready = [_measured(key) for key in keys[number::workers]]
        turns = []
        for turn in range(TURNS + 1):
            files = ready[turn * each : (turn + 1) * each]
            plain = _timed(wait_for_all, partial(_write_plainly, plain_writes, each))
            turns.append((plain, _timed(wait_for_all, partial(_release, files))))
        return json.dumps(turns)

    by_process = [json.loads(said)[1:] for said in crowd(workers, work)]
    plain, ours = (
        [_figures([turns[at][which] for turns in by_process], each) for at in range(TURNS)]
        for which in (0, 1)
    )
    for name, turns in (
        (f"release, of {statements} statements", ours),
        (f"its {len(writes)} writes by bare SQL", plain),
    ):
        rate, cpu = (statistics.median(figures) for figures in zip(*turns, strict=True))
        print(f"{name}: {rate:.0f} per second, {cpu:.1f} ms of processor each")
    rates = [mine[0] / other[0] for mine, other in zip(ours, plain, strict=True)]
    cpus = [other[1] / mine[1] for mine, other in zip(ours, plain, strict=True)]
    print(
        f"{workers} processes; ratio of the rates {statistics.median(rates):.2f} "
        f"({min(rates):.2f} to {max(rates):.2f}), of processor time {statistics.median(cpus):.2f}"
    )


def _timed(wait_for_all: Any, do: Any) -> tuple[float, float, float]:
    """Return when all began, when this process was done, and the processor time that it took."""
    wait_for_all()
    began, cpu = time.monotonic(), _processor()
    do()
    return began, time.monotonic(), _processor() - cpu


def _processor() -> float:
    """Return the seconds that this process has used, and the one that serves it in PostgreSQL."""
    from django.db import connection

    used = time.process_time()
    if connection.vendor == "postgresql":
        connection.ensure_connection()
        served = psutil.Process(connection.connection.info.backend_pid).cpu_times()
        used += served.user + served.system
    return used


def _figures(turn: list[list[float]], each: int) -> tuple[float, float]:
    """Return transactions per second, and milliseconds of processor for each, of one turn."""
    began, ended = min(said[0] for said in turn), max(said[1] for said in turn)
    done = each * len(turn)
    return done / (ended - began), 1000 * sum(said[2] for said in turn) / done


def _release(files: list[Any]) -> None:
    from leaderboard.pipeline.release import release

    for key, holdout, measured, digest in files:
        assert release(key, holdout, digest, measured)


def _measured(key: int) -> tuple[Any, ...]:
    """Return key, holdout, measurements and digest of a submission, as `release` takes them."""
    from leaderboard import tasks
    from leaderboard.pipeline.measure import measure
    from leaderboard.pipeline.parse import parse

    submission = tasks._claim(key)
    assert submission is not None
    parsed = parse(submission)
    return (key, *measure(submission, parsed), parsed.digest)


def _record_release() -> tuple[Writes, int]:
    """Return what a release writes that is not its team's first, and of how many statements."""
    from django.db import connection

    from leaderboard.pipeline.release import release

    writes: Writes = []
    statements = list[str]()

    def note(execute: Any, sql: str, params: Any, *more: Any) -> Any:
        statements.append(sql)
        if sql.startswith(("INSERT", "UPDATE")):
            writes.append((sql, list(params)))
        return execute(sql, params, *more)

    for number in (2**18, 2**18 + 1):
        key, holdout, measured, digest = _measured(_submit(number).pk)
        writes.clear()
        statements.clear()
        with connection.execute_wrapper(note):
            assert release(key, holdout, digest, measured)
    return writes, len(statements)


def _copy_tables(writes: Writes) -> Writes:
    """Return the same writes on copies of the tables, which are made.

    What is unique there is only indexed here, and the version is not compared: all write one row.
    """
    from django.db import connection

    plain = [(_freed(sql).replace('"leaderboard_', '"plain_'), params) for sql, params in writes]
    with connection.cursor() as cursor:
        for name in {sql.split('"')[1].removeprefix("leaderboard_") for sql, _ in writes}:
            rows = f"SELECT * FROM leaderboard_{name}"  # noqa: S608  (our own names)
            cursor.execute(f"CREATE TABLE plain_{name} AS {rows}")
            for definition in _indexes(cursor, f"leaderboard_{name}"):
                cursor.execute(definition)

    return plain


def _write_plainly(writes: Writes, times: int) -> None:
    from django.db import connection, transaction

    for _ in range(times):
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            for sql, params in writes:
                cursor.execute(sql, params)


def _indexes(cursor: Any, table: str) -> list[str]:
    """Return the statements that index the copy of a table as the table is."""
    from django.db import connection

    if connection.vendor == "sqlite":
        asked = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = %s"
    else:
        asked = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s"
    cursor.execute(asked, [table])
    copy = table.replace("leaderboard_", "plain_")
    columns = []
    for name, sql in cursor.fetchall():
        if sql:
            columns.append(sql[sql.index("(") :])
        else:  # one of SQLite's own, for what a table's definition calls unique
            cursor.execute("SELECT name FROM pragma_index_info(%s) ORDER BY seqno", [name])
            names = ", ".join(f'"{each}"' for (each,) in cursor.fetchall())
            columns.append(f"({names})")
    if connection.vendor == "sqlite":  # nor has it one for a key that is the row's own number
        cursor.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608  (our own names)
        columns.append(f"({cursor.description[0][0]})")
    return [f"CREATE INDEX {copy}_{at} ON {copy} {each}" for at, each in enumerate(columns)]


def _freed(sql: str) -> str:
    """Return a statement that writes whatever the ledger's version is."""
    return sql.replace(' AND "version" = %s', ' AND "version" <> -%s')


def _flow(files: int) -> None:
    """Upload files, eight in flight at any time, and measure each until its answer is there."""
    from leaderboard.models import FINAL, Status, Submission

    started = dict[int, float]()
    seconds = list[float]()

    def wait_until_fewer_than(limit: int) -> None:
        while True:
            done = Submission.objects.filter(pk__in=started, status__in=FINAL)
            for key, status in done.values_list("pk", "status"):
                assert status == Status.RELEASED
                seconds.append(time.perf_counter() - started.pop(key))
            if len(started) < limit:
                return
            time.sleep(0.01)

    def send() -> None:
        now = time.perf_counter()
        started[_submit(next(numbers)).pk] = now

    numbers = itertools.count(2**19)
    for _ in range(IN_FLIGHT):  # until then the worker starts, and opens the vault
        send()
    wait_until_fewer_than(1)
    seconds.clear()
    began = time.perf_counter()
    for _ in range(files):
        wait_until_fewer_than(IN_FLIGHT)
        send()
    wait_until_fewer_than(1)
    rate = files / (time.perf_counter() - began)
    seconds.sort()
    print(
        f"upload to answer, {IN_FLIGHT} in flight: {rate:.0f} files per second, "
        f"median {statistics.median(seconds):.3f} s, 95 % within {seconds[int(0.95 * files)]:.3f} s"
    )


if __name__ == "__main__":
    if INSIDE in sys.argv:
        _, _, part, files_text, workers_text = sys.argv
        inside(part, int(files_text), int(workers_text))
    else:
        main()
