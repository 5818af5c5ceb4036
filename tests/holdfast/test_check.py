"""Checking a file on the participant's own machine."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.holdfast.conftest import Run, Server, ok

pytestmark = pytest.mark.usefixtures("signed_in")

ROOT = Path(__file__).parents[2]
SAMPLE = "id,label\n1,cat\n2,dog\n3,cat\n"
GOOD = "label,id\r\ndog,3\r\ndog,1\r\ncat,2\r\n"
BAD = "id,label\n1,cat\n2,Dog\n3,bird\n"
SCHEMA = {
    "id_column": "id",
    "columns": [{"name": "label", "kind": "label", "classes": ["cat", "dog", "fish"]}],
}
DETAIL: dict[str, Any] = {"slug": "pets", "schema": SCHEMA, "max_file_bytes": 1000}
ENTRY = {
    "name": "sample_submission.csv", "role": "sample", "size": len(SAMPLE),
    "sha256": hashlib.sha256(SAMPLE.encode()).hexdigest(),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of a participant."""
    (tmp_path / "sample.csv").write_text(SAMPLE)
    (tmp_path / "good.csv").write_text(GOOD, newline="")
    (tmp_path / "bad.csv").write_text(BAD)
    (tmp_path / "fish.csv").write_text(SAMPLE.replace("3,cat", "3,fish"))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.fixture
def pets(server: Server) -> Server:
    """Return a server with a competition and its sample."""
    server.on("GET", "competitions/pets/", ok(DETAIL))
    server.on("GET", "competitions/pets/files/", ok({"results": [ENTRY], "next": None}))
    server.on(
        "GET",
        "competitions/pets/files/sample_submission.csv/",
        lambda request: httpx.Response(200, content=SAMPLE.encode()),
    )
    return server


def test_a_good_file_is_fine_without_a_server(folder: Path, run: Run, server: Server) -> None:
    ran = run("check", str(folder / "good.csv"), "--sample", str(folder / "sample.csv"))
    assert ran.code == 0, ran.err
    assert "good.csv is fine: 3 rows with `label`." in ran.out
    assert "guessed from the sample" in ran.err
    assert server.requests == []


def test_what_is_wrong_is_said_as_the_server_says_it(folder: Path, run: Run) -> None:
    ran = run("check", str(folder / "bad.csv"), "--sample", str(folder / "sample.csv"))
    assert ran.code == 1
    assert "bad.csv would be rejected." in ran.err
    assert "Line 3, column `label`: 'Dog' is not one of cat, dog; did you mean 'dog'?" in ran.err
    assert "Line 4, column `label`: 'bird' is not one of cat, dog." in ran.err


def test_a_line_is_named_once(folder: Path, run: Run) -> None:
    (folder / "header.csv").write_text("ID,label\na,cat\nb,dog\nc,cat\n")
    ran = run("check", str(folder / "header.csv"), "--sample", str(folder / "sample.csv"))
    assert ran.code == 1
    assert ran.err.count("Line 1") == 1


def test_a_schema_says_more_than_a_sample(folder: Path, run: Run) -> None:
    arguments = ("check", str(folder / "fish.csv"), "--sample", str(folder / "sample.csv"))
    assert run(*arguments).code == 1
    ran = run(*arguments, "--schema", str(folder / "schema.json"))
    assert (ran.code, ran.err) == (0, "")


def test_the_competition_has_its_own_columns_and_sample(
    folder: Path, run: Run, pets: Server
) -> None:
    ran = run("check", str(folder / "fish.csv"), "pets")
    assert ran.code == 0, ran.err
    assert "fish.csv is fine" in ran.out
    assert {request.method for request in pets.requests} == {"GET"}


def test_the_competitions_largest_size_counts(folder: Path, run: Run, pets: Server) -> None:
    pets.on("GET", "competitions/pets/", ok(DETAIL | {"max_file_bytes": 10}))
    ran = run("check", str(folder / "good.csv"), "-c", "pets")
    assert ran.code == 1
    assert "The file is more than 10 bytes" in ran.err


def test_a_local_sample_is_not_downloaded(folder: Path, run: Run, pets: Server) -> None:
    ran = run("check", str(folder / "good.csv"), "pets", "--sample", str(folder / "sample.csv"))
    assert ran.code == 0
    assert len(pets.requests) == 1


def test_without_a_sample_there_is_nothing_to_check_against(
    folder: Path, run: Run, pets: Server
) -> None:
    assert run("check", str(folder / "good.csv")).code == 2
    pets.on("GET", "competitions/pets/files/", ok({"results": [], "next": None}))
    ran = run("check", str(folder / "good.csv"), "pets")
    assert (ran.code, "has no sample submission" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is not JSON"), ("[]", "columns can't be read"), ("{}", "columns can't be read")],
)
def test_a_schema_that_is_none_is_refused(folder: Path, run: Run, text: str, says: str) -> None:
    (folder / "schema.json").write_text(text)
    options = ("--sample", str(folder / "sample.csv"), "--schema", str(folder / "schema.json"))
    ran = run("check", str(folder / "good.csv"), *options)
    assert (ran.code, says in ran.err) == (1, True)


def test_a_sample_that_is_none_is_refused(folder: Path, run: Run) -> None:
    (folder / "sample.csv").write_text("")
    ran = run("check", str(folder / "good.csv"), "--sample", str(folder / "sample.csv"))
    assert ran.code == 1
    assert "The sample submission sample.csv can't be used: The file is empty." in ran.err


WITHOUT = """
import sys
for name in ("numpy", "pyarrow"):
    sys.modules[name] = None
from holdfast.cli import main
sys.argv = ["holdfast", *sys.argv[1:]]
main()
"""


def without_packages(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_without_its_packages_it_says_what_to_install(folder: Path) -> None:
    ran = without_packages(
        "check", str(folder / "good.csv"), "--sample", str(folder / "sample.csv")
    )
    assert ran.returncode == 1
    assert "which isn't installed" in ran.stderr
    assert 'pip install ".[science]"' in ran.stderr


def test_everything_else_runs_without_its_packages() -> None:
    assert without_packages("--help").returncode == 0


def test_zeros_in_every_row_of_a_sample_are_numbers_of_any_kind(tmp_path: Path, run: Run) -> None:
    (tmp_path / "zeros.csv").write_text("id,target\n1,0\n2,0\n")
    (tmp_path / "mine.csv").write_text("id,target\n1,0.25\n2,7\n")
    ran = run("check", str(tmp_path / "mine.csv"), "--sample", str(tmp_path / "zeros.csv"))
    assert ran.code == 0


def test_a_sample_of_one_class_does_not_tell_the_others(tmp_path: Path, run: Run) -> None:
    (tmp_path / "rome.csv").write_text("id,city\n1,Rome\n2,Rome\n")
    (tmp_path / "mine.csv").write_text("id,city\n1,Oslo\n2,Rome\n")
    ran = run("check", str(tmp_path / "mine.csv"), "--sample", str(tmp_path / "rome.csv"))
    assert ran.code == 1
    assert "“Rome” in every row of `city`" in ran.err
    assert "Name the competition" in ran.err


def test_a_rejection_by_guessed_columns_says_that_they_were_guessed(folder: Path, run: Run) -> None:
    ran = run("check", str(folder / "bad.csv"), "--sample", str(folder / "sample.csv"))
    assert (ran.code, "guessed from the sample" in ran.err) == (1, True)
