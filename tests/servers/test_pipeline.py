"""The pipeline with a real Redis, real worker processes and real databases."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment

DATABASES = ["sqlite", "postgres"]


@pytest.fixture(scope="module", params=DATABASES)
def site(request: pytest.FixtureRequest, deploy: Deploy) -> Deployment:
    """An installation with Redis, beat and a worker, a competition and alice in it."""
    on_postgres = request.param == "postgres"
    url = request.getfixturevalue("new_database")() if on_postgres else ""
    site = deploy(url, REQUEUE_SECONDS="600")
    site.start_redis()
    site.start_worker()
    site.start_beat()
    site.ask("set_up")
    return site


def submit(site: Deployment, *wrong: int) -> int:
    """Submits predictions that err on the given rows."""
    key: int = site.ask("submit", content=predictions(wrong).decode())
    return key


def test_an_upload_is_scored_and_released(site: Deployment) -> None:
    seen = site.wait_for(submit(site, 30), "released")
    assert seen["releases"] == 1
    assert seen["attempts"] == 1


def test_a_wrong_file_is_rejected_with_its_line_and_column(site: Deployment) -> None:
    content = predictions().decode().replace("r18,2", "r18,cat")
    seen = site.wait_for(site.ask("submit", content=content), "rejected")
    assert seen["releases"] == 0
    assert (seen["problems"][0]["line"], seen["problems"][0]["column"]) == (20, "label")


def test_a_message_delivered_many_times_makes_one_release_and_one_entry(site: Deployment) -> None:
    before = site.wait_for(submit(site, 20), "released")["entries"]
    submission = submit(site, 20, 21)
    site.ask("deliver", submission=submission, times=5)
    site.wait_for(submission, "released")
    site.ask("deliver", submission=submission, times=5)
    # What is queued behind those deliveries shows that they have been worked off.
    seen = site.wait_for(submit(site, 20, 21, 22), "released")
    assert site.ask("seen", submission=submission)["releases"] == 1
    assert seen["entries"] == before + 2


def test_a_message_that_is_lost_is_missed_when_all_others_are_taken(site: Deployment) -> None:
    site.stop("worker")
    submission = submit(site, 20, 22)
    site.ask("flush_redis")
    site.start_worker()
    assert site.wait_for(submission, "released")["releases"] == 1


def test_what_a_killed_worker_held_is_finished_by_another(site: Deployment) -> None:
    site.stop("worker", signal.SIGKILL)
    submission = submit(site, 23, 24)
    stored = Path(site.ask("seen", submission=submission)["path"])
    kept = stored.with_suffix(".kept")
    shutil.move(stored, kept)
    os.mkfifo(stored)  # whoever reads it waits: the worker is in the middle of its work
    site.start_worker("victim")
    site.wait_for(submission, "scoring")
    site.stop("victim", signal.SIGKILL)
    stored.unlink()
    shutil.move(kept, stored)
    site.start_worker()
    seen = site.wait_for(submission, "released")
    assert seen["attempts"] >= 2
    assert seen["releases"] == 1


def test_an_upload_is_accepted_while_redis_is_away_and_scored_when_it_is_back(
    site: Deployment,
) -> None:
    site.stop("redis")
    submission = submit(site, 25, 26)
    assert site.ask("seen", submission=submission)["status"] == "queued"
    site.start_redis()
    assert site.wait_for(submission, "released")["releases"] == 1


def test_losing_all_of_redis_loses_nothing(site: Deployment) -> None:
    site.stop("worker")
    submission = submit(site, 27, 28)
    site.stop("redis", signal.SIGKILL)
    for path in (site.directory / "redis").glob("append*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    site.start_redis()
    site.start_worker()
    assert site.wait_for(submission, "released")["releases"] == 1
