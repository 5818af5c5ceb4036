"""What Prometheus is told, and who may ask."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries, Settings

from leaderboard.models import Holdout, Release, Rescore, Standing, Status, Submission
from leaderboard.organize.revisions import revise_solution
from leaderboard.platform import health
from leaderboard.queries import operation
from leaderboard.tasks import score_submission
from tests.cast import World, make_checked, predictions, solution, upload

TOKEN = "0123456789abcdef"
SECONDS = timedelta(seconds=1)

Read = Callable[..., float | None]


@pytest.fixture(autouse=True)
def forgotten(settings: Settings) -> None:
    """No token is set, and nothing is kept from the test before."""
    settings.METRICS_TOKEN = ""
    cache.clear()
    FakeRedis.workers.clear()


@pytest.fixture
def read(client: Client, db: None) -> Read:
    """Asks for a sample by name and labels."""

    def read(name: str, **labels: str) -> float | None:
        text = client.get("/metrics").content.decode()
        samples = [
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and sample.labels == labels
        ]
        assert len(samples) <= 1
        return samples[0] if samples else None

    return read


def _finished(world: World, took: tuple[int, int, int], **fields: Any) -> None:
    """A released submission that waited, was read, and was measured for so many seconds."""
    _times(world.score(world.join(world.alice)), took, **fields)


def _times(submission: Submission, took: tuple[int, int, int], **fields: Any) -> None:
    start = timezone.now() - timedelta(hours=1)
    claimed = start + took[0] * SECONDS
    read = claimed + took[1] * SECONDS
    moments = {
        "created_at": start,
        "claimed_at": claimed,
        "read_at": read,
        "finished_at": read + took[2] * SECONDS,
    }
    Submission.objects.filter(pk=submission.pk).update(**moments | fields)


# --- Who may ask ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_without_a_token_this_machine_may_ask(client: Client) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["203.0.113.5", "10.0.0.1", "", "localhost"])
def test_without_a_token_other_machines_find_no_such_page(client: Client, address: str) -> None:
    assert client.get("/metrics", REMOTE_ADDR=address).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_without_a_token_nobody_may_ask_through_a_proxy(client: Client, name: str) -> None:
    assert client.get("/metrics", headers={name: "127.0.0.1"}).status_code == 404


@pytest.mark.django_db
def test_behind_a_proxy_a_token_is_needed(client: Client, settings: Settings) -> None:
    settings.BEHIND_PROXY = True
    assert client.get("/metrics").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        ("", 404),
        (f"Bearer {TOKEN}x", 404),
        (f"Token {TOKEN}", 404),
        ("Bearer ", 404),
        ("Bearer é", 404),
    ],
)
def test_with_a_token_set_it_is_needed_from_anywhere(
    client: Client, settings: Settings, given: str, status: int
) -> None:
    settings.METRICS_TOKEN = TOKEN
    settings.BEHIND_PROXY = True
    headers = {"Authorization": given}
    for address in ("127.0.0.1", "203.0.113.5"):
        assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_who_may_not_ask_sees_what_any_missing_page_shows(db: None, method: str) -> None:
    client = Client(enforce_csrf_checks=True)
    refused = client.generic(method, "/metrics", REMOTE_ADDR="203.0.113.5")
    missing = client.generic(method, "/nothing", REMOTE_ADDR="203.0.113.5")
    assert (refused.status_code, refused.content) == (missing.status_code, missing.content)


@pytest.mark.django_db
def test_an_organizer_is_nobody_here(client: Client, world: World) -> None:
    client.force_login(world.organizer)
    assert client.get("/metrics", REMOTE_ADDR="203.0.113.5").status_code == 404


def test_a_token_that_could_be_guessed_stops_the_start(settings: Settings) -> None:
    settings.METRICS_TOKEN = "short"
    with pytest.raises(SystemCheckError, match=r"holdfast\.E002"):
        call_command("check")


def test_it_is_asked_without_a_detour_over_https(
    client: Client, db: None, settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/metrics").status_code == 200


# --- What it says ---------------------------------------------------------------------------------


def test_the_queue_is_counted_by_competition_and_status(world: World, read: Read) -> None:
    world.submit(world.join(world.alice))
    assert read("holdfast_queue_length", competition="digits", status="queued") == 1
    assert read("holdfast_queue_length", competition="digits", status="scoring") == 0


def test_the_oldest_in_the_queue_has_an_age(world: World, read: Read) -> None:
    assert read("holdfast_queue_oldest_seconds") == 0
    world.submit(world.join(world.alice))
    Submission.objects.update(created_at=timezone.now() - timedelta(hours=1))
    age = read("holdfast_queue_oldest_seconds")
    assert age is not None
    assert age >= 3600


def test_so_has_what_a_worker_holds(world: World, read: Read) -> None:
    world.submit(world.join(world.alice))
    claimed = timezone.now() - timedelta(hours=1)
    Submission.objects.update(status=Status.SCORING, claimed_at=claimed)
    age = read("holdfast_scoring_oldest_seconds")
    assert age is not None
    assert age >= 3600


def test_outcomes_are_counted(world: World, read: Read) -> None:
    alice = world.join(world.alice)
    world.score(alice)
    world.score(alice, b"not,a,file\n")
    world.score(alice, predictions([9]))
    name = "holdfast_submissions_finished"
    assert read(name, competition="digits", outcome="released") == 2
    assert read(name, competition="digits", outcome="rejected") == 1


def test_times_are_told_in_all_and_by_part(world: World, read: Read) -> None:
    _finished(world, (7, 2, 20))
    name = "holdfast_submission_seconds"
    sums = {
        part: read(f"{name}_sum", part=part)
        for part in ("all", "wait", "read", "measure_and_release")
    }
    expected = {"all": 29, "wait": 7, "read": 2, "measure_and_release": 20}
    assert sums == pytest.approx(expected, abs=0.001)
    assert read(f"{name}_bucket", part="all", le="10.0") == 0
    assert read(f"{name}_bucket", part="all", le="30.0") == 1
    assert read(f"{name}_count", part="all") == 1


def test_what_is_scored_again_is_counted_from_the_revision_on(world: World, read: Read) -> None:
    submission = world.score(world.join(world.alice))
    revise_solution(
        world.round, upload(solution()), by=None, reason="Two labels.", rescore=Rescore.ALL
    )
    score_submission(submission_id=submission.pk)
    _times(submission, (7, 2, 20))
    start = Submission.objects.get().created_at
    Holdout.objects.filter(version=2).update(created_at=start)
    Submission.objects.update(created_at=start - timedelta(days=3))
    assert read("holdfast_submission_seconds_sum", part="all") == pytest.approx(29, abs=0.001)
    assert read("holdfast_submission_seconds_sum", part="wait") == pytest.approx(7, abs=0.001)


def test_what_waited_for_its_first_answer_over_a_revision_waited_all_the_time(
    world: World, read: Read
) -> None:
    team = world.join(world.alice)
    world.score(team)
    waiting = world.submit(team, predictions([9]))
    revise_solution(
        world.round, upload(solution()), by=None, reason="Two labels.", rescore=Rescore.NONE
    )
    score_submission(submission_id=waiting.pk)
    Submission.objects.exclude(pk=waiting.pk).update(read_at=None)  # leaves one to count
    _times(waiting, (7, 2, 20))
    assert read("holdfast_submission_seconds_sum", part="all") == pytest.approx(29, abs=0.001)


def test_what_was_not_released_has_no_time(world: World, read: Read) -> None:
    _finished(world, (1, 1, 1), status=Status.FAILED)
    assert read("holdfast_submission_seconds_count", part="all") == 0


def test_the_ledger_s_releases_and_budget_are_told(world: World, read: Read) -> None:
    checked = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=checked)
    world.score(team, predictions(range(60, 100), rows=100))
    assert read("holdfast_releases_total", competition="checked") == 1
    assert read("holdfast_releases_total", competition="digits") == 0
    assert read("holdfast_budget_left", competition="checked", part="unassigned") == 1
    assert read("holdfast_budget_left", competition="checked", part="shares") == 1
    assert read("holdfast_budget_left", competition="digits", part="shares") is None


def test_totals_outlive_a_restart(world: World, read: Read) -> None:
    """They are rows: nothing that a process remembers."""
    world.score(world.join(world.alice))
    before = read("holdfast_releases_total", competition="digits")
    cache.clear()
    assert read("holdfast_releases_total", competition="digits") == before == 1


def test_while_redis_is_away_the_rest_is_told(read: Read) -> None:
    assert read("holdfast_up", part="redis") == 0
    assert read("holdfast_workers") is None
    assert read("holdfast_queue_oldest_seconds") == 0


def test_while_the_database_is_away_that_is_told(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError

    monkeypatch.setattr(operation, "queue", away)
    assert read("holdfast_up", part="database") == 0


def test_workers_messages_and_sweeps_are_told(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "redis_client", FakeRedis)
    for name in ("one", "two", "three"):
        health.note_worker(name)
    health.note_worker_gone("three")
    health.note_sweep_run()
    assert read("holdfast_workers") == 2
    assert read("holdfast_messages") == 7
    assert read("holdfast_sweeps_total") == 1
    assert read("holdfast_up", part="redis") == 1


def test_a_worker_that_was_killed_is_soon_forgotten(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "redis_client", FakeRedis)
    health.note_worker("killed")
    FakeRedis.workers["killed"] -= 60
    health.note_worker("alive")
    assert read("holdfast_workers") == 1
    assert set(FakeRedis.workers) == {"alive"}


class FakeRedis:
    """A Redis with seven messages, and the workers that made themselves known."""

    workers: ClassVar[dict[str, float]] = {}
    notes: ClassVar[dict[str, float]] = {}

    def __enter__(self) -> "FakeRedis":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def zadd(self, key: str, members: dict[str, float]) -> None:
        self.workers.update(members)

    def zrem(self, key: str, name: str) -> None:
        del self.workers[name]

    def zremrangebyscore(self, key: str, low: float, high: float) -> None:
        for name in [name for name, at in self.workers.items() if at <= high]:
            del self.workers[name]

    def zcount(self, key: str, low: float, high: str) -> int:
        return sum(at >= low for at in self.workers.values())

    def set(self, key: str, value: float) -> None:
        self.notes[key] = value

    def incr(self, key: str) -> None:
        self.notes[key] = self.notes.get(key, 0) + 1

    def get(self, key: str) -> bytes | None:
        return str(self.notes[key]).encode() if key in self.notes else None

    def llen(self, key: str) -> int:
        return {"celery": 4, "long": 3}[key]


def test_requests_are_counted_by_route_and_status(client: Client, read: Read) -> None:
    labels = {"method": "GET", "route": "c/<slug:slug>/leaderboard/", "status": "404"}
    before = read("holdfast_http_requests_total", **labels) or 0
    client.get("/c/one/leaderboard/")
    client.get("/c/another/leaderboard/")
    assert read("holdfast_http_requests_total", **labels) == before + 2
    route = {"route": labels["route"]}
    assert (read("holdfast_http_request_seconds_count", **route) or 0) >= 2


def test_nobody_can_add_labels(client: Client, db: None) -> None:
    client.get("/made-up-page/")
    client.generic("MADEUP", "/made-up-page/")
    text = client.get("/metrics").content.decode()
    assert "made-up" not in text
    assert "MADEUP" not in text
    assert 'method="other",route="no such page"' in text


# --- What it costs and hides ----------------------------------------------------------------------


def test_the_number_of_queries_does_not_grow_with_rows(
    world: World, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(5):
        client.get("/metrics")
    cache.clear()
    make_checked("checked", world.organizer)
    for user in (world.alice, world.bob):
        world.score(world.join(user))
    with django_assert_num_queries(5):
        client.get("/metrics")


def test_whole_tables_are_not_read_at_each_question(
    world: World, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get("/metrics")
    with django_assert_num_queries(3):
        client.get("/metrics")


def test_labels_are_short_names_of_competitions_and_words_of_ours(
    world: World, client: Client
) -> None:
    world.score(world.join(world.alice, "A Team With A Name"))
    text = client.get("/metrics").content.decode()
    ours = [line for line in text.splitlines() if not line.startswith("#") and "http_" not in line]
    labels = {value for line in ours for value in re.findall(r'(?<!le)="([^"]*)"', line)}
    assert labels == {
        *("database", "redis"),
        *("digits", "queued", "scoring", "released"),
        *("all", "wait", "read", "measure_and_release"),
    }


def test_no_released_score_changes_what_is_told(world: World, client: Client) -> None:
    def told() -> list[str]:
        cache.clear()
        text = client.get("/metrics").content.decode()
        return [line for line in text.splitlines() if "http_" not in line]

    world.score(world.join(world.alice), predictions([9]))
    before = told()
    Standing.objects.update(loss=0.25)
    Release.objects.update(level=5, reference_level=7, width=0.3, tolerance=0.1, certificate=0.4)
    assert told() == before
