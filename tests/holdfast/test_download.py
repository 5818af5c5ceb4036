"""Downloads: complete or not at all, resumed, never in the way of what is there."""

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.download import local_name
from holdfast.errors import Failure
from tests.holdfast.conftest import Run, Server, page, problem

pytestmark = pytest.mark.usefixtures("signed_in")

CONTENT = b"id,label\n1,0\n2,1\n"
FILES = "competitions/digits/files/"
TRAIN = f"{FILES}train.csv/"
LONGER = f"longer than the {len(CONTENT)} bytes that the server announced"


def _entry(name: str = "train.csv", content: bytes = CONTENT) -> dict[str, Any]:
    return {
        "name": name,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "description": "",
        "created_at": "2026-11-01T08:00:00Z",
    }


def _serve(request: httpx.Request) -> httpx.Response:
    """Answer with the file, or with the rest of it, as the server does."""
    asked = request.headers.get("range")
    if asked is None or request.headers.get("if-range") != f'"{_entry()["sha256"]}"':
        return httpx.Response(200, content=CONTENT)
    first = int(asked.removeprefix("bytes=").removesuffix("-"))
    return httpx.Response(206, content=CONTENT[first:])


@pytest.fixture
def files(server: Server) -> Server:
    server.on("GET", FILES, page(_entry()))
    server.on("GET", TRAIN, _serve)
    return server


def _part(folder: Path, content: bytes) -> Path:
    part = folder / f".train.csv.{_entry()['sha256'][:16]}.part"
    part.write_bytes(content)
    return part


def test_all_files_are_saved_here(files: Server, run: Run, environment: Path) -> None:
    ran = run("competitions", "download", "digits")
    assert (ran.code, ran.out) == (0, "train.csv: saved\n")
    assert (environment / "train.csv").read_bytes() == CONTENT
    assert [path.name for path in environment.iterdir()] == ["train.csv"]


def test_one_file_is_saved_in_a_folder(files: Server, run: Run, environment: Path) -> None:
    assert run("download", "-c", "digits", "-f", "train.csv", "-p", "data/raw", "-q").out == ""
    assert (environment / "data" / "raw" / "train.csv").read_bytes() == CONTENT


def test_an_unknown_file_is_answered_with_the_known_ones(files: Server, run: Run) -> None:
    ran = run("download", "digits", "-f", "test.csv")
    assert ran.code == 1
    assert "no file named 'test.csv'. Its files: train.csv." in ran.err


def test_an_unchanged_file_is_skipped(files: Server, run: Run, environment: Path) -> None:
    (environment / "train.csv").write_bytes(CONTENT)
    assert run("download", "digits").out == "train.csv: unchanged, skipped\n"
    assert len(files.requests) == 1


def test_a_file_of_one_s_own_is_never_replaced_unasked(
    files: Server, run: Run, environment: Path
) -> None:
    (environment / "train.csv").write_bytes(b"mine")
    ran = run("download", "digits")
    assert ran.code == 1
    assert "Use -o to replace it" in ran.err
    assert (environment / "train.csv").read_bytes() == b"mine"


def test_force_replaces_it(files: Server, run: Run, environment: Path) -> None:
    (environment / "train.csv").write_bytes(b"mine")
    assert run("download", "digits", "-o").code == 0
    assert (environment / "train.csv").read_bytes() == CONTENT


@pytest.mark.parametrize("have", [1, 7, len(CONTENT) - 1])
def test_a_broken_download_goes_on_where_it_stopped(
    have: int, files: Server, run: Run, environment: Path
) -> None:
    _part(environment, CONTENT[:have])
    assert run("download", "digits").code == 0
    assert files.last.headers["range"] == f"bytes={have}-"
    assert (environment / "train.csv").read_bytes() == CONTENT


def test_a_part_that_is_whole_is_not_fetched_again(
    files: Server, run: Run, environment: Path
) -> None:
    _part(environment, CONTENT)
    assert run("download", "digits").code == 0
    assert len(files.requests) == 1
    assert (environment / "train.csv").read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_thrown_away(files: Server, run: Run, environment: Path) -> None:
    _part(environment, CONTENT + b"more")
    assert run("download", "digits").code == 0
    assert (environment / "train.csv").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_sends_the_whole(
    server: Server, run: Run, environment: Path
) -> None:
    server.on("GET", FILES, page(_entry()))
    server.on("GET", TRAIN, httpx.Response(200, content=CONTENT))
    _part(environment, b"id,")
    assert run("download", "digits").code == 0
    assert (environment / "train.csv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answer", "part", "reason"),
    [
        (httpx.Response(200, content=b"x" * len(CONTENT)), b"", "arrived damaged"),
        (httpx.Response(200, content=CONTENT + b"more"), b"", LONGER),
        (httpx.Response(206, content=CONTENT), CONTENT[:5], LONGER),
    ],
)
def test_what_is_not_the_announced_file_is_not_kept(
    answer: httpx.Response, part: bytes, reason: str, server: Server, run: Run, environment: Path
) -> None:
    server.on("GET", FILES, page(_entry()))
    server.on("GET", TRAIN, answer)
    if part:
        _part(environment, part)
    ran = run("download", "digits")
    assert ran.code == 1
    assert reason in ran.err
    assert list(environment.iterdir()) == []


def test_a_broken_connection_keeps_what_came(server: Server, run: Run, environment: Path) -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            yield CONTENT[:5]
            raise httpx.ReadError("reset")

    server.on("GET", FILES, page(_entry()))
    server.on("GET", TRAIN, httpx.Response(200, stream=Broken()))
    ran = run("download", "digits")
    assert ran.code == 1
    assert "broke: reset" in ran.err
    assert not (environment / "train.csv").exists()
    server.on("GET", TRAIN, _serve)
    assert run("download", "digits").code == 0
    assert server.last.headers["range"] == "bytes=5-"


def test_rules_that_are_not_accepted_are_the_reason(server: Server, run: Run) -> None:
    server.on("GET", FILES, page(_entry()))
    server.on("GET", TRAIN, problem(403, "rules_not_accepted", "Accept the rules first."))
    ran = run("download", "digits")
    assert (ran.code, ran.err) == (
        1,
        "Error: Accept the rules first.\nTo join, run `holdfast join COMP`.\n",
    )


HOSTILE = [
    "", ".", "..", "../train.csv", "/etc/passwd", "a/b", "..\\x", "C:\\x", "C:x", ".bashrc",
    "a\nb", "a\x00b", "\u202egnp.exe",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_lead_anywhere_else(
    name: str, server: Server, run: Run, environment: Path
) -> None:
    server.on("GET", FILES, page(_entry(name)))
    ran = run("download", "digits", "-p", "data")
    assert ran.code == 1
    assert "cannot be saved safely" in ran.err
    assert list(environment.parent.rglob("*")) == [environment]


def test_a_checksum_cannot_lead_anywhere_else(server: Server, run: Run, environment: Path) -> None:
    server.on("GET", FILES, page(_entry() | {"sha256": "../../../../etc/passwd"}))
    ran = run("download", "digits")
    assert ran.code == 1
    assert "no valid checksum" in ran.err


@pytest.mark.parametrize("name", ["train.csv", "Daten für alle.csv", "数字.csv", "a..b", "-f"])
def test_ordinary_names_are_kept(name: str) -> None:
    assert local_name(name) == name


def test_a_name_that_is_refused_is_a_failure() -> None:
    with pytest.raises(Failure):
        local_name("../x")
