"""A competition moves from an installation on SQLite to one on PostgreSQL, with real workers."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cast import predictions
from tests.servers.conftest import Deploy

SLUG = "digits"


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_an_archive_that_is_written_while_files_come_in_is_of_one_moment(
    database: str, deploy: Deploy, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Before each table that is read another file comes in: none waits, none is half there."""
    is_sqlite = database == "sqlite"
    site = deploy() if is_sqlite else deploy(request.getfixturevalue("new_database")())
    site.start_redis()
    site.ask("set_up")
    for wrong in ([8, 9], [8]):
        site.ask("submit", content=predictions(wrong).decode())
    path = tmp_path / "archive.zip"
    contents = [predictions([10 + number]).decode() for number in range(20)]
    assert site.ask("archive_while_submitting", path=str(path), contents=contents) == 20

    def rows(table: str) -> list[Any]:
        with zipfile.ZipFile(path) as archive:
            return [json.loads(each) for each in archive.read(f"tables/{table}.jsonl").splitlines()]

    sent, log, answers = rows("submission"), rows("logentry"), rows("release")
    (ledger,) = rows("ledger")
    assert {each["number"] for each in sent} == {1, 2}
    assert all(each["file"] for each in sent)
    told = [each["document"]["submission"] for each in log if each["kind"] == "accepted"]
    assert sorted(told) == [1, 2]
    assert [each["index"] for each in log] == list(range(len(log)))
    assert len(answers) == ledger["entries"] == 0
    there = deploy()
    there.ask("person", name="olga")
    there.manage("archive", "import", str(path), "--owner", "olga")
    assert "Verified." in there.manage("verify", SLUG)


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
