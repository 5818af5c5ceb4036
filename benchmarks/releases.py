"""Measure release transactions per second, and the time from upload to answer under load.

    python -m benchmarks.releases [--files 200] [--workers 4] [--database sqlite|postgres]

Three figures on a database of its own, with real processes:

- `release` alone: all files are parsed and measured, then as many processes as there are workers
  release them at once;
- for comparison, the least that any such ledger costs: the same rows written by bare SQL, with the
  same indexes, in one durable transaction, by as many processes on the same database;
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
from pathlib import Path
from typing import Any

INSIDE = "--inside"
Writes = list[tuple[str, list[Any]]]
IN_FLIGHT = 8


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
        writes = _record_writes()
        plain = _rate(files, workers, _plain_transactions(writes, files // workers))
        ours = _rate(files, workers, _releases(files, workers))
        print(
            f"release: {ours[0]:.0f} transactions per second with {workers} processes, "
            f"{ours[1]:.1f} ms of processor each"
        )
        print(
            f"the same {len(writes)} writes by bare SQL: {plain[0]:.0f} per second, "
            f"{plain[1]:.1f} ms each; "
            f"ratio of the rates {ours[0] / plain[0]:.2f}"
        )
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


def _rate(files: int, workers: int, work: Any) -> tuple[float, float]:
    """Return the transactions per second of `workers` processes that start at the same moment.

    The second figure is the milliseconds of processor time that each transaction takes here.
    """
    from tests.servers.crowd import crowd

    said = [json.loads(each) for each in crowd(workers, work)]
    began, ended = min(each[0] for each in said), max(each[1] for each in said)
    done = files // workers * workers
    return done / float(ended - began), 1000 * sum(each[2] for each in said) / done


def _releases(files: int, workers: int) -> Any:
    """Return the work of releasing a share of the files, once all are measured."""
    from leaderboard.pipeline.release import release

    keys = [_submit(number).pk for number in range(files // workers * workers)]

    def work(number: int, wait_for_all: Any) -> str:
        ready = [_measured(key) for key in keys[number::workers]]
        wait_for_all()
        began, cpu = time.monotonic(), time.process_time()
        for key, holdout, measured, digest in ready:
            assert release(key, holdout, digest, measured)
        return json.dumps([began, time.monotonic(), time.process_time() - cpu])

    return work


def _measured(key: int) -> tuple[Any, ...]:
    """Return key, holdout, measurements and digest of a submission, as `release` takes them."""
    from leaderboard import tasks
    from leaderboard.pipeline.measure import measure
    from leaderboard.pipeline.parse import parse

    submission = tasks._claim(key)
    assert submission is not None
    parsed = parse(submission)
    return (key, *measure(submission, parsed), parsed.digest)


def _record_writes() -> Writes:
    """Return what a release writes that is not its team's first."""
    from django.db import connection

    from leaderboard.pipeline.release import release

    writes: Writes = []

    def note(execute: Any, sql: str, params: Any, *more: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")):
            writes.append((sql, list(params)))
        return execute(sql, params, *more)

    for number in (2**18, 2**18 + 1):
        key, holdout, measured, digest = _measured(_submit(number).pk)
        writes.clear()
        with connection.execute_wrapper(note):
            assert release(key, holdout, digest, measured)
    return writes


def _plain_transactions(writes: Writes, each: int) -> Any:
    """Return the work of the same writes on copies of the tables.

    What is unique there is only indexed here, and the version is not compared: all write one row.
    """
    from django.db import connection, transaction

    plain = [(_freed(sql).replace('"leaderboard_', '"plain_'), params) for sql, params in writes]
    with connection.cursor() as cursor:
        for name in {sql.split('"')[1].removeprefix("leaderboard_") for sql, _ in writes}:
            rows = f"SELECT * FROM leaderboard_{name}"  # noqa: S608  (our own names)
            cursor.execute(f"CREATE TABLE plain_{name} AS {rows}")
            for definition in _indexes(cursor, f"leaderboard_{name}"):
                cursor.execute(definition)

    def work(number: int, wait_for_all: Any) -> str:
        wait_for_all()
        began, cpu = time.monotonic(), time.process_time()
        for _ in range(each):
            with transaction.atomic(durable=True), connection.cursor() as cursor:
                for sql, params in plain:
                    cursor.execute(sql, params)
        return json.dumps([began, time.monotonic(), time.process_time() - cpu])

    return work


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
