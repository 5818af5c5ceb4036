"""Two workers share a queue, as in the embedded start: one is killed, the other works on."""

import pytest

from tests.cast import CHECKED_ROWS, predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment

# Nobody but the start takes anything back while the test goes on.
PATIENT = {"LEASE_SECONDS": "600", "REQUEUE_SECONDS": "600", "SWEEP_SECONDS": "0.3"}


@pytest.fixture(scope="module")
def site(deploy: Deploy) -> Deployment:
    """An installation with two workers that can be told to die, and a team."""
    site = deploy(**PATIENT)
    site.start_redis()
    site.start_beat()
    site.ask("set_up")
    site.ask("set_up_checked", slug="checked", team="A", budget="99", team_share="99")
    for name in ("worker", "worker-2"):
        site.start_doomed(name)
    return site


def submit(site: Deployment, number: int) -> int:
    """Uploads a file of its own."""
    content = predictions(range(20, 80 + number), rows=CHECKED_ROWS).decode()
    key: int = site.ask("submit", content=content, team="A")
    return key


@pytest.mark.parametrize("at_once", [False, True])
def test_what_the_other_worker_holds_is_taken_back_and_released_once(
    site: Deployment, *, at_once: bool
) -> None:
    before = len(site.ask("kinds", team="A"))
    site.orders.give("measure: after", "wait")
    held = submit(site, before)
    site.wait_until_obeyed()
    site.orders.give("measure: after", "die with group")
    lost = submit(site, before + 1)
    site.wait_until_obeyed()
    if at_once:  # who was killed claims again as the other releases
        site.orders.give("claim: before", "wait")
    site.manage("run", "--take-back", "worker")
    if at_once:
        site.wait_until_obeyed()
        site.orders.go_on()
    for submission in (held, lost):
        seen = site.wait_for(submission, "released")
        assert seen["attempts"] <= 2
    if not at_once:  # the other, who knows nothing of all this, comes last
        site.orders.give("release: after the commit", "wait")
        site.orders.go_on()
        site.wait_until_obeyed()
    assert site.violations() == []
    assert site.ask("kinds", team="A")[before:] == ["corrected"] * 2
