"""A competition moves from an installation on SQLite to one on PostgreSQL, with real workers."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.cast import predictions
from tests.servers.conftest import Deploy

SLUG = "digits"


def test_a_competition_goes_on_at_another_installation(
    deploy: Deploy, new_database: Callable[[], str], tmp_path: Path
) -> None:
    here, there = deploy(), deploy(new_database())
    for site in (here, there):
        site.start_redis()
        site.start_worker()
    here.ask("set_up")
    for wrong in ([10, 11, 12], [10], []):
        here.wait_for(here.ask("submit", content=predictions(wrong).decode()), "released")

    here.ask("move", competition=SLUG, key=there.ask("own_key"))
    here.eventually(lambda: here.ask("handovers"), lambda found: found == ["done"])
    archive = tmp_path / "archive.zip"
    here.manage("archive", "export", SLUG, str(archive), "--with-people")
    there.ask("person", name="olga")
    there.manage("archive", "import", str(archive), "--owner", "olga")
    there.eventually(lambda: there.ask("handovers"), lambda found: found == ["done"])

    assert there.ask("ledger", competition=SLUG) == here.ask("ledger", competition=SLUG)
    assert "Verified." in there.manage("verify", SLUG)
    again = there.wait_for(there.ask("submit", content=predictions([10]).decode()), "released")
    more = there.wait_for(there.ask("submit", content=predictions([9]).decode()), "released")
    entries = [json.loads(line) for line in there.ask("ledger", competition=SLUG).splitlines()]
    assert [entry["repeat"] for entry in entries if "repeat" in entry][-2:] == [True, False]
    assert again["status"] == more["status"] == "released"
    assert "Verified." in there.manage("verify", SLUG)
    assert here.ask("refusal", content=predictions([3]).decode(), team="Alice") == "paused"
