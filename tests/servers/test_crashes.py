"""Every process may be killed at any moment: nothing is lost, nothing happens twice.

Workers, Redis, databases and deaths (SIGKILL) are real; see `tests/servers/doom.py` for where.
"""

import itertools
import signal
from collections import Counter

import pytest

from tests.cast import CHECKED_ROWS, predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment
from tests.servers.doom import FINALS, INTAKE, RELEASE_WRITES, SWEEP, WORKER
from tests.servers.postgres import PostgresServer

DATABASES = ["sqlite", "postgres"]
# Leases end soon, so that the tests needn't wait; what is slow is then done more than once.
HASTE = {"LEASE_SECONDS": "1", "REQUEUE_SECONDS": "1", "SWEEP_SECONDS": "0.3", "MAX_ATTEMPTS": "99"}
# A whole worker starts slowly, so it dies at fewer places here; `benchmarks.crashes` has all.
WITH_PARENT = (
    "claim: after",
    "measure: inside",
    "release: after write 3",
    "release: before the commit",
    "release: after the commit",
)
DEATHS = [
    *((boundary, "die") for boundary in WORKER),
    *((boundary, "die with group") for boundary in WITH_PARENT),
]
SPACE_LEFT = 64 * 1024
KEPT_BY_INTAKE = INTAKE[4:]

_files = itertools.count()


@pytest.fixture(scope="module", params=DATABASES)
def site(request: pytest.FixtureRequest, deploy: Deploy) -> Deployment:
    """An installation with Redis, beat, a worker that can be told to die, and a team."""
    on_postgres = request.param == "postgres"
    url = request.getfixturevalue("new_database")() if on_postgres else ""
    site = deploy(url, **HASTE)
    site.start_redis()
    site.start_doomed()
    site.start_beat()
    site.ask("set_up")
    site.ask("set_up_checked", slug="checked", team="A", budget="10000", team_share="5000")
    return site


def next_file() -> str:
    """Predictions, other ones each time, so wrong on the private rows that they are corrected."""
    bits = next(_files)
    wrong = {*range(20, 80), *(80 + bit for bit in range(20) if bits >> bit & 1)}
    return predictions(wrong, rows=CHECKED_ROWS).decode()


def submit(site: Deployment, team: str = "A", **more: bool) -> int:
    """Uploads the next file."""
    key: int = site.ask("submit", content=next_file(), team=team, **more)
    return key


def test_the_team_is_corrected_each_time(site: Deployment) -> None:
    submit(site)
    assert site.violations() == []
    assert set(site.ask("kinds", team="A")) == {"corrected"}


@pytest.mark.parametrize(("boundary", "deed"), DEATHS)
def test_a_worker_may_die_anywhere(site: Deployment, boundary: str, deed: str) -> None:
    site.orders.give(boundary, deed)
    submission = submit(site)
    site.wait_until_obeyed()
    site.ask("deliver", submission=submission, times=2)
    seen = site.wait_for(submission, "released")
    assert seen["releases"] == 1
    assert site.violations() == []


@pytest.mark.parametrize("deed", ["die", "die with group"])
@pytest.mark.parametrize("boundary", SWEEP)
def test_a_sweeper_may_die_anywhere(site: Deployment, boundary: str, deed: str) -> None:
    site.orders.give(boundary, deed)
    submission = submit(site, silent=True)
    # A message that an earlier death left over may bring a worker to the file before the sweeper.
    while not site.wait_until_obeyed_or_released(submission):
        submission = submit(site, silent=True)
    assert site.wait_for(submission, "released")["releases"] == 1
    assert site.violations() == []


@pytest.mark.parametrize("boundary", INTAKE)
def test_who_accepts_a_file_may_die_anywhere(site: Deployment, boundary: str) -> None:
    before, content = site.ask("sent", team="A"), next_file()
    assert site.ask("die_submitting", boundary=boundary, content=content, team="A")
    kept = site.ask("sent", team="A") - before
    assert kept == (boundary in KEPT_BY_INTAKE)
    site.ask("submit", content=content, team="A")
    assert site.violations() == []
    assert site.ask("sent", team="A") == before + kept + 1


def test_every_write_of_a_release_has_its_boundary(site: Deployment) -> None:
    submit(site)
    assert site.violations() == []
    met = {path.name for path in site.directory.glob("write-*")}
    assert {f"write-{number}" for number in range(1, RELEASE_WRITES + 1)} <= met
    # The boundary before the commit follows what only some releases write.
    assert len(met) <= RELEASE_WRITES + 5


def test_an_emptied_redis_loses_nothing(site: Deployment) -> None:
    site.orders.give("parse: before", "wait")
    submissions = [submit(site) for _ in range(3)]
    site.wait_until_obeyed()
    site.ask("flush_redis")
    site.orders.go_on()
    assert site.violations() == []
    assert {site.ask("seen", submission=each)["releases"] for each in submissions} == {1}


@pytest.mark.parametrize("boundary", ["claim: after", "release: after write 3"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_redis_may_be_restarted_while_work_is_under_way(
    site: Deployment, boundary: str, number: int
) -> None:
    site.orders.give(boundary, "wait")
    submissions = [submit(site)]
    site.wait_until_obeyed()
    site.stop("redis", number)
    site.orders.go_on()
    submissions += [submit(site), submit(site)]
    site.start_redis()
    assert site.violations() == []
    assert {site.ask("seen", submission=each)["releases"] for each in submissions} == {1}


def test_a_broker_that_hangs_does_not_hold_an_upload(site: Deployment) -> None:
    site.send("redis", signal.SIGSTOP)
    submission = submit(site)
    assert site.ask("seen", submission=submission)["status"] == "queued"
    site.send("redis", signal.SIGCONT)
    assert site.violations() == []


def test_a_broker_that_hangs_at_an_acknowledgement_stops_no_worker(site: Deployment) -> None:
    site.orders.give("task: done, before it is acknowledged", "wait")
    submit(site)
    site.wait_until_obeyed()
    known = len(site.logs("doomed"))
    site.send("redis", signal.SIGSTOP)
    site.orders.go_on()
    noticed = ("Couldn't ack", "Connection to broker lost")
    site.eventually(
        lambda: site.logs("doomed")[known:], lambda log: any(text in log for text in noticed)
    )
    site.send("redis", signal.SIGCONT)
    submit(site)
    assert site.violations() == []


def test_a_full_disk_refuses_a_file_and_keeps_nothing_of_it(site: Deployment) -> None:
    content = next_file() + "\n" * 2 * SPACE_LEFT
    before, stored = site.ask("sent", team="A"), files_of(site)
    with site.full_disk("stage", free=SPACE_LEFT):
        assert site.ask("refusal", content=content, team="A") == "storage_full"
    assert (site.ask("sent", team="A"), files_of(site)) == (before, stored)
    site.ask("submit", content=content, team="A")
    assert site.violations() == []


def test_what_a_worker_without_space_began_is_finished_later(site: Deployment) -> None:
    site.orders.give("parse: after", "wait")
    submission = submit(site)
    site.wait_until_obeyed()
    with site.full_disk("doomed"):
        site.orders.go_on(to_die_at="task: done, before it is acknowledged")
        site.wait_until_obeyed()
    assert site.violations() == []
    assert site.ask("seen", submission=submission)["releases"] == 1


def files_of(site: Deployment) -> int:
    """How many prediction files are stored."""
    return sum(path.is_file() for path in (site.directory / "storage/submissions").rglob("*"))


def test_the_last_submission_of_the_day_is_given_once(site: Deployment) -> None:
    used = site.ask("used", team="A")
    site.ask("limit", competition="checked", daily_limit=used + 1)
    said = site.ask("race_for_quota", contents=[next_file() for _ in range(20)], team="A")
    site.ask("limit", competition="checked", daily_limit=100_000)
    assert Counter(said) == {"accepted": 1, "daily_limit_reached": 19}
    assert site.violations() == []


def test_a_file_that_is_sent_twenty_times_at_once_takes_the_last_unit_once(
    site: Deployment,
) -> None:
    used = site.ask("used", team="A")
    site.ask("limit", competition="checked", daily_limit=used + 1)
    said = site.ask("race_for_quota", contents=[next_file()] * 20, team="A")
    over = site.ask("race_for_quota", contents=[next_file()], team="A")
    site.ask("limit", competition="checked", daily_limit=100_000)
    assert Counter(said) == {"accepted": 20}
    assert over == ["daily_limit_reached"]
    assert site.violations() == []


def test_the_last_correction_of_a_team_is_given_once(site: Deployment) -> None:
    site.ask("set_up_checked", slug="scarce", team="B", budget="2", team_share="2")
    submit(site, "B")
    assert site.violations() == []
    site.orders.give("claim: before", "wait")  # the worker leaves these to the crowd
    submissions = [submit(site, "B") for _ in range(20)]
    site.wait_until_obeyed()
    assert set(site.ask("race_for_share", submissions=submissions)) == {""}
    site.orders.go_on()
    assert site.violations() == []
    assert Counter(site.ask("kinds", team="B")) == {"corrected": 2, "exhausted": 19}


@pytest.mark.parametrize("site", DATABASES[1:], indirect=True)
@pytest.mark.parametrize("boundary", ["release: after write 3", "release: before the commit"])
def test_postgresql_may_lose_power_during_a_release(
    site: Deployment, boundary: str, postgres_server: PostgresServer
) -> None:
    site.orders.give(boundary, "wait")
    submission = submit(site)
    site.wait_until_obeyed()
    postgres_server.stop_at_once()
    site.orders.go_on()
    postgres_server.start_again()
    assert site.violations() == []
    assert site.ask("seen", submission=submission)["releases"] == 1


@pytest.mark.parametrize("boundary", FINALS)
def test_the_final_scoring_may_be_cut_off_anywhere(site: Deployment, boundary: str) -> None:
    slug = f"ends-{FINALS.index(boundary)}"
    site.ask("set_up_checked", slug=slug, team=slug, budget="9", team_share="9")
    entered = [submit(site, slug) for _ in range(2)]
    assert site.violations() == []
    site.ask("choose", slug=slug, numbers=[1, 2])
    site.orders.give(boundary, "die with group")
    site.ask("end", slug=slug)
    site.wait_until_obeyed()
    found = site.eventually(
        lambda: site.ask("finals", slug=slug), lambda finals: bool(finals["complete"])
    )
    assert set(found["losses"]) == {str(each) for each in entered}
    assert all(loss >= 60 / 80 for loss in found["losses"].values())
    assert site.violations() == []


@pytest.mark.parametrize("site", DATABASES[1:], indirect=True)
def test_no_upload_slips_into_a_draft(site: Deployment) -> None:
    site.ask("set_up_checked", slug="drafted", team="D", budget="9", team_share="9")
    said = site.ask("race_to_the_draft", slug="drafted", content=next_file(), team="D")
    assert said == ["accepted", "frozen"]
    assert site.violations() == []


def test_no_upload_slips_through_while_the_finals_start(site: Deployment) -> None:
    """Whatever the order: either something was accepted, and the finals do not start, or not."""
    site.ask("set_up_checked", slug="races", team="R", budget="9", team_share="9")
    submit(site, "R")
    assert site.violations() == []
    contents = [next_file() for _ in range(8)]
    site.orders.give("claim: before", "wait")  # what is accepted waits, however late the start is
    start, *uploads = site.ask("race_for_the_end", slug="races", contents=contents, team="R")
    if not site.orders.withdraw():
        site.orders.go_on()
    accepted = uploads.count("accepted")
    assert start == ("submissions_waiting" if accepted else "started")
    assert accepted + uploads.count("deadline_passed") == 8
    assert site.violations() == []
