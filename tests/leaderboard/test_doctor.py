"""The doctor: each check says what is wrong, how to fix it, and no secret."""

import io
import json
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from django.conf import settings as site
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils import timezone
from pytest_django import Settings
from redis.exceptions import AuthenticationError

from leaderboard.ledger.watermark import file_of
from leaderboard.log import heads
from leaderboard.management.commands import doctor
from leaderboard.models import Holdout, Ledger, Pause, Status, Submission
from leaderboard.operate.doctor import broker, database, files, report, submissions, vault, workers
from leaderboard.operate.doctor.ledgers import ledgers
from leaderboard.operate.doctor.public_log import public_log
from leaderboard.operate.doctor.report import Finding, ok, wrong
from leaderboard.operate.doctor.site import site as site_check
from leaderboard.platform import health
from leaderboard.platform.broker import LONG, OUTBOX, QUEUE, QUEUES
from leaderboard.vault import public_fingerprint
from leaderboard.vault.keys import generate
from tests.cast import World, set_round


def problems(check: report.Check) -> list[Finding]:
    """What is wrong, by a check."""
    return [finding for finding in check() if finding.state == "wrong"]


def only(check: report.Check) -> Finding:
    """The one thing that is wrong; it comes with advice."""
    (finding,) = problems(check)
    assert finding.fix
    return finding


# --- Running checks -------------------------------------------------------------------------------


def test_a_check_that_hangs_is_given_up_and_keeps_what_it_found() -> None:
    forever = threading.Event()

    def hangs() -> Iterator[Finding]:
        yield ok("The beginning.")
        forever.wait()

    found = report.examine({"slow": hangs, "quick": lambda: [ok("Well.")]}, seconds=0.2)
    forever.set()
    assert [finding.says for finding in found["slow"]] == [
        "The beginning.",
        "No answer within 0.2 s.",
    ]
    assert found["quick"] == [ok("Well.")]


def test_a_check_that_fails_itself_does_not_stop_others_and_says_no_value() -> None:
    def fails() -> Iterable[Finding]:
        raise ValueError("the holdout mean is 0.123456")

    found = report.examine({"broken": fails, "well": lambda: [ok("Well.")]}, seconds=10)
    assert found["broken"][0].says.startswith("The check itself failed: ValueError at")
    assert "0.123456" not in found["broken"][0].says
    assert found["well"] == [ok("Well.")]


def test_the_command_ends_with_0_when_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor, "CHECKS", {"clock": lambda: [ok("Right."), report.note("By hand.")]}
    )
    out = io.StringIO()
    call_command("doctor", stdout=out)
    assert "Right." in out.getvalue()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_command_ends_with_1_and_the_advice_when_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", {"clock": lambda: [wrong("Late.", "Wind it.")]})
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", *form, stdout=out)
    assert ended.value.code == 1
    assert "Wind it." in out.getvalue()


def test_the_json_form_lists_check_state_and_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", {"clock": lambda: [ok("Right.")]})
    out = io.StringIO()
    call_command("doctor", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {
        "ok": True,
        "findings": [{"check": "clock", "state": "ok", "says": "Right.", "fix": ""}],
    }


def test_what_a_service_answered_is_told_without_passwords(settings: Settings) -> None:
    settings.REDIS_URL = "redis://:open%20sesame@localhost/0"
    said = report.told(AuthenticationError("invalid: open sesame\nopen%20sesame"))
    assert said == "AuthenticationError: invalid: ***"


# --- Settings, database, storage ------------------------------------------------------------------


def test_settings_that_fail_a_system_check_are_told(settings: Settings, tmp_path: Path) -> None:
    settings.VAULT_PUBLIC_KEY_FILE = tmp_path / "none"
    assert "holdfast.W001" in only(site_check).says


def test_mail_that_is_printed_is_worth_a_note_on_a_real_site(settings: Settings) -> None:
    settings.SECURE = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert any("Mails are printed" in finding.says for finding in site_check())


@pytest.mark.django_db
def test_a_database_that_keeps_what_it_is_told_is_well() -> None:
    assert problems(database.database) == []


def test_a_database_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise DatabaseError("connection refused")

    monkeypatch.setattr(connection, "ensure_connection", refuse)
    assert only(database.database).says == (
        "The database does not answer. DatabaseError: connection refused"
    )


@pytest.mark.parametrize(("journal", "synchronous"), [("delete", 2), ("wal", 1)])
def test_a_sqlite_that_could_forget_is_told(
    monkeypatch: pytest.MonkeyPatch, journal: str, synchronous: int
) -> None:
    answers = {"PRAGMA journal_mode": journal, "PRAGMA synchronous": synchronous}
    monkeypatch.setattr(database, "_ask", answers.__getitem__)
    assert "power cut" in only(database._sqlite).says


POSTGRES = {
    "SHOW server_version": "16.4",
    "SELECT pg_is_in_recovery()": False,
    "SHOW fsync": "on",
    "SHOW synchronous_commit": "on",
    "SHOW default_transaction_isolation": "read committed",
    "SELECT count(*) FROM pg_stat_activity": 5,
    "SHOW max_connections": "100",
}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"SELECT pg_is_in_recovery()": True}, "read-only"),
        ({"SHOW fsync": "off"}, "fsync is off"),
        ({"SHOW synchronous_commit": "off"}, "synchronous_commit is off"),
        ({"SHOW default_transaction_isolation": "serializable"}, "'serializable'"),
        ({"SELECT count(*) FROM pg_stat_activity": 95}, "95 of 100"),
    ],
)
def test_a_postgresql_that_is_set_up_otherwise_is_told(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], says: str
) -> None:
    monkeypatch.setattr(database, "_ask", (POSTGRES | changed).__getitem__)
    assert says in only(database._postgresql).says


def test_a_postgresql_as_it_comes_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_ask", POSTGRES.__getitem__)
    assert problems(database._postgresql) == []


@pytest.mark.parametrize("state", ["old", "ok"])
def test_missing_migrations_are_told(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    monkeypatch.setattr(health, "database", lambda: state)
    assert len(problems(database.migrations)) == (state == "old")


def test_storage_that_works_keeps_nothing_of_the_trial() -> None:
    before = default_storage.listdir("")
    assert problems(files.storage) == []
    assert default_storage.listdir("") == before


def test_storage_that_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(default_storage, "save", full)
    assert "No space left on device" in only(files.storage).says


def test_a_disk_without_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_places", lambda: [Path("/")])
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10_000_000))
    assert only(files.disk).says == "10 MB are free below /; two large uploads need 1 GB."


def test_missing_static_files_are_told(settings: Settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    assert "collectstatic" in only(files.static_files).fix


# --- Redis ----------------------------------------------------------------------------------------


def test_a_redis_that_is_away_is_told() -> None:
    assert "Redis does not answer." in only(broker.broker).says


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"redis_version": "5.0.14"}, "too old"),
        ({"role": "slave"}, "replica"),
        ({"maxmemory_policy": "allkeys-lru"}, "allkeys-lru"),
        ({"used_memory": 95}, "nine tenths"),
    ],
)
def test_a_redis_of_the_wrong_kind_or_that_may_drop_messages_is_told(
    info: dict[str, Any], says: str
) -> None:
    info = {"redis_version": "7.2", "maxmemory": 100} | info
    assert says in only(lambda: broker._settings(info)).says


def test_a_redis_without_a_limit_may_have_any_policy() -> None:
    info = {"redis_version": "7.2", "maxmemory_policy": "allkeys-lru"}
    assert problems(lambda: broker._settings(info)) == []


# --- Vault ----------------------------------------------------------------------------------------


def test_the_keys_of_this_run_are_a_pair() -> None:
    assert problems(vault.keys) == []


def test_a_process_without_the_private_key_is_as_it_should_be(settings: Settings) -> None:
    settings.VAULT_PRIVATE_KEY_FILE = ""
    states = [finding.state for finding in list(vault.keys())]
    assert states == ["ok", "note"]


def test_a_missing_public_key_is_told(settings: Settings, tmp_path: Path) -> None:
    settings.VAULT_PUBLIC_KEY_FILE = tmp_path / "none"
    assert "public key" in only(vault.keys).says


@pytest.mark.parametrize("content", [None, "not a key", "abcd"])
def test_a_private_key_that_can_t_be_read_is_told_without_its_content(
    settings: Settings, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "private.key"
    if content is not None:
        path.write_text(content)
    settings.VAULT_PRIVATE_KEY_FILE = str(path)
    says = only(vault.keys).says
    assert str(path) in says
    assert "not a key" not in says


@pytest.fixture
def other_key(settings: Settings, tmp_path: Path) -> Path:
    """This process has a private key that belongs to another pair."""
    path = tmp_path / "private.key"
    generate(tmp_path / "public.key", path)
    settings.VAULT_PRIVATE_KEY_FILE = str(path)
    return path


def test_a_private_key_of_another_pair_is_told(other_key: Path) -> None:
    finding = only(vault.keys)
    assert "not to the public key" in finding.says
    assert other_key.read_text().strip() not in finding.says + finding.fix


def test_a_private_key_that_others_can_read_is_told(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "private.key"
    path.write_text(Path(str(site.VAULT_PRIVATE_KEY_FILE)).read_text())
    path.chmod(0o644)
    settings.VAULT_PRIVATE_KEY_FILE = str(path)
    assert only(vault.keys).fix == f"Run `chmod 600 {path}`."


def test_an_active_solution_that_opens_is_well(world: World) -> None:
    assert problems(vault.holdouts) == []


def test_a_holdout_that_can_t_be_opened_is_told(world: World, other_key: Path) -> None:
    assert only(vault.holdouts).says.startswith(
        "digits v1 can't be opened: VaultClosed at vault.py"
    )


def test_a_sealed_file_that_is_gone_is_told_even_without_the_key(
    world: World, settings: Settings
) -> None:
    settings.VAULT_PRIVATE_KEY_FILE = ""
    default_storage.delete(Holdout.objects.get().sealed_solution.name or "")
    assert "is missing" in only(vault.holdouts).says


# --- Ledgers --------------------------------------------------------------------------------------


def _ledger(world: World) -> QuerySet[Ledger]:
    return Ledger.objects.filter(rounds=world.round)


def test_a_ledger_that_its_watermark_knows_is_well(world: World) -> None:
    world.score(world.join(world.alice))
    assert [finding.says for finding in ledgers()] == ["1 found: each agrees with its watermark."]


def test_a_ledger_that_was_rewound_is_told(world: World) -> None:
    world.score(world.join(world.alice))
    _ledger(world).update(entries=0, head_hash="")
    finding = only(ledgers)
    assert finding.says.endswith("the database at entry 0 (empty).")
    assert "manage.py rewind digits" in finding.fix


def test_so_is_one_that_went_on_otherwise(world: World) -> None:
    world.score(world.join(world.alice))
    _ledger(world).update(head_hash="0" * 64)
    assert "the watermark is at entry 1" in only(ledgers).says


def test_what_a_crash_left_unwritten_is_no_rewind(world: World) -> None:
    """The next release writes it: the database may be ahead of the watermark."""
    world.score(world.join(world.alice))
    _ledger(world).update(entries=2)
    assert problems(ledgers) == []


def test_a_watermark_s_file_that_is_gone_is_told(world: World) -> None:
    world.score(world.join(world.alice))
    file_of(_ledger(world).get().uid).unlink()
    assert "is missing" in only(ledgers).says


def test_a_watermark_that_can_t_be_read_is_told(world: World, settings: Settings) -> None:
    settings.WATERMARK_DIR = Path("/proc/version")
    assert "WATERMARK_DIR" in only(ledgers).fix


@pytest.mark.parametrize(
    ("reason", "advice"), [(Pause.REWOUND, "rewind digits"), (Pause.MOVED_ROWS, "The organizer")]
)
def test_a_ledger_that_answers_nobody_is_told(world: World, reason: Pause, advice: str) -> None:
    _ledger(world).update(paused_at=timezone.now(), paused_for=reason, paused_because="Because.")
    finding = only(ledgers)
    assert finding.says == "digits answers nobody. Because."
    assert advice in finding.fix


# --- Workers, sweeper, clocks ---------------------------------------------------------------------


@pytest.fixture
def redis_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "redis", lambda: "ok")


def a_worker(**changed: Any) -> workers.Worker:
    well: dict[str, Any] = {
        "code": workers.code_version(),
        "vault": public_fingerprint(),
        "drift": 0.0,
        "queues": QUEUES,
    }
    return workers.Worker("worker@here", **(well | changed))


@pytest.mark.usefixtures("redis_answers")
@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([], "No worker answers."),
        ([{"queues": (OUTBOX,), "vault": None}], "No worker answers."),
        ([{"queues": (QUEUE,)}, {"queues": (OUTBOX,)}], "No worker takes long files"),
        ([{"queues": (QUEUE,)}, {"queues": (LONG,)}], "No worker sends mails"),
        ([{"code": "0123"}], "other code"),
        ([{"vault": None}], "no readable private key"),
        ([{"vault": "0123"}], "not that of our public key"),
    ],
)
def test_workers_that_are_missing_or_differ_are_told(
    monkeypatch: pytest.MonkeyPatch, found: list[dict[str, Any]], says: str
) -> None:
    monkeypatch.setattr(workers, "ask_workers", lambda: [a_worker(**each) for each in found])
    assert says in only(workers.workers).says


@pytest.mark.usefixtures("redis_answers")
def test_a_worker_of_this_code_with_the_key_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "ask_workers", lambda: [a_worker()])
    assert problems(workers.workers) == []


def test_while_redis_is_away_workers_and_sweeper_can_t_be_seen() -> None:
    for check in (workers.workers, workers.sweeper):
        assert [finding.fix for finding in check()] == ["See redis."]


@pytest.mark.usefixtures("redis_answers")
@pytest.mark.parametrize(
    ("sent", "run", "says"),
    [
        (None, None, "Beat asked for a sweep at no time that Redis remembers."),
        (1000, 1000, "Beat asked for a sweep 1000 s ago."),
        (1, 1000, "Beat asks for sweeps, but a worker did one 1000 s ago."),
    ],
)
def test_a_sweeper_that_stands_still_is_told(
    monkeypatch: pytest.MonkeyPatch, sent: int | None, run: int | None, says: str
) -> None:
    monkeypatch.setattr("time.time", lambda: 10_000.0)
    seen = health.Sweeps(_before(sent), _before(run), 1)
    monkeypatch.setattr(health, "sweeps", lambda: seen)
    assert only(workers.sweeper).says == says


def _before(age: int | None) -> float | None:
    return None if age is None else 10_000.0 - age


@pytest.mark.usefixtures("redis_answers")
def test_a_sweep_is_noted_when_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: dict[str, float] = {}
    client = MagicMock()
    client.__enter__.return_value = client
    client.set.side_effect = notes.__setitem__
    client.incr.side_effect = lambda key: notes.update({key: notes.get(key, 0) + 1})
    client.get.side_effect = notes.get
    monkeypatch.setattr(health, "redis_client", lambda: client)
    health.note_sweep_sent()
    health.note_sweep_run()
    assert problems(workers.sweeper) == []
    assert health.sweeps().count >= 1


@pytest.mark.parametrize("drift", [-3.0, 3.0])
def test_a_clock_that_is_off_is_told(monkeypatch: pytest.MonkeyPatch, drift: float) -> None:
    monkeypatch.setattr(workers, "read_clocks", lambda: [("Redis", drift)])
    assert only(workers.clocks).says.startswith(f"The clock of Redis is {drift:+.1f} s")


def test_the_time_that_an_answer_takes_is_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_010.0)
    assert [workers._drift(now, 1_000.0) for now in (1_005.0, 990.0, 1_013.0)] == [0, -10, 3]


# --- Submissions ----------------------------------------------------------------------------------


def _submission(world: World, **fields: Any) -> Submission:
    submission = world.submit(world.join(world.alice))
    Submission.objects.filter(pk=submission.pk).update(**fields)
    return submission


def test_submissions_that_move_are_well(world: World) -> None:
    _submission(world)
    assert [finding.says for finding in submissions.submissions()] == ["None is stuck; 1 wait."]


def test_one_that_waits_too_long_is_told(world: World) -> None:
    submission = _submission(world, created_at=timezone.now() - timedelta(hours=1, seconds=1))
    assert only(submissions.submissions).says == (
        f"1 wait to be scored, the oldest (submission {submission.pk}) for 1 hour."
    )


def test_one_that_is_held_past_its_lease_is_told(world: World) -> None:
    submission = _submission(
        world, status=Status.SCORING, claimed_at=timezone.now() - timedelta(hours=1)
    )
    assert f"past their lease ({submission.pk})" in only(submissions.submissions).says


def _fail(world: World) -> Submission:
    return _submission(
        world, status=Status.FAILED, finished_at=timezone.now(), failure="ValueError at x.py:1"
    )


def test_one_that_failed_is_told_with_its_place(world: World) -> None:
    submission = _fail(world)
    finding = only(submissions.submissions)
    assert finding.says == f"1 failed ({submission.pk}). The last: ValueError at x.py:1"
    assert "manage.py requeue" in finding.fix


def test_after_the_finals_a_failure_is_history(world: World) -> None:
    _fail(world)
    set_round(world.digits, finals_started_at=timezone.now(), finals_scored_at=timezone.now())
    assert problems(submissions.submissions) == []


def test_final_scores_that_don_t_come_are_told(world: World) -> None:
    set_round(world.digits, finals_started_at=timezone.now() - timedelta(hours=1, seconds=1))
    assert only(submissions.submissions).says == (
        "The final scores of digits have been incomplete for 1 hour."
    )


@pytest.mark.parametrize(("claimed", "told"), [(None, True), (timedelta(), False)])
def test_a_publication_that_nobody_writes_is_told(
    world: World, claimed: timedelta | None, told: bool
) -> None:
    now = timezone.now()
    names = ("finals_started_at", "finals_scored_at", "publication_at")
    set_round(world.digits, **dict.fromkeys(names, now - timedelta(hours=1)))
    Holdout.objects.update(publication_claimed_at=None if claimed is None else now - claimed)
    assert bool(problems(submissions.submissions)) is told


@pytest.mark.parametrize("slug", [(), ("digits",)])
def test_the_command_the_doctor_names_queues_it_again(world: World, slug: tuple[str, ...]) -> None:
    submission = _fail(world)
    out = io.StringIO()
    call_command("requeue", *slug, stdout=out)
    submission.refresh_from_db()
    assert submission.status == Status.QUEUED
    assert out.getvalue() == "1 failed submissions are queued again.\n"


def test_a_log_without_a_signed_head_is_reported_once_it_is_late(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads.sign(world.digits)
    assert problems(public_log) == []
    world.join(world.alice)
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(minutes=5))
    assert "The log of digits has no signed head over entry " in only(public_log).says
    heads.sign(world.digits)
    assert problems(public_log) == []
    monkeypatch.setattr(site, "LOG_KEY_FILE", "/nowhere")
    assert "There is no key of the log here" in only(public_log).says
