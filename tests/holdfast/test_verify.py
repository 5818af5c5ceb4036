"""`holdfast verify`: the ledger, checked on the participant's own machine."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from scoring.verification.publications import Lost
from tests.holdfast.conftest import Endless, Ran, Run, Server, Unread, ok, page
from tests.scoring.ledgers import ROWS, File, Played, rewritten, truth

pytestmark = pytest.mark.usefixtures("signed_in")

ROOT = Path(__file__).parents[2]
SAMPLE = "id,label\n" + "".join(f"r{row},0\n" for row in range(ROWS))
ROUNDS = ok({"rounds": [{"number": 1, "title": "", "ledger": "1" * 32, "boards": []}]})
WRONG = (60, 30, 30, 10)


@pytest.fixture
def board() -> Played:
    """Return a competition with four entries of one team."""
    played = Played()
    for wrong in WRONG:
        played.take(File("1", tuple(range(ROWS - wrong, ROWS))))
    return played


@pytest.fixture
def publish(server: Server) -> Callable[..., None]:
    """Put a ledger, and a publication if there is one, on the server."""

    def put(lines: list[bytes], publication: bytes | None = None) -> None:
        ledger = b"".join(lines)
        server.on("GET", "competitions/played/", ROUNDS)
        server.on(
            "GET", "competitions/played/ledger/", lambda _: httpx.Response(200, content=ledger)
        )
        rows: list[Any] = []
        if publication is not None:
            rows = [{"version": 1, "sha256": hashlib.sha256(publication).hexdigest()}]
            server.on(
                "GET",
                "competitions/played/publications/1/",
                lambda _: httpx.Response(200, content=publication),
            )
        server.on("GET", "competitions/played/publications/", page(*rows))
        entry = {
            "name": "sample_submission.csv",
            "role": "sample",
            "size": len(SAMPLE),
            "sha256": hashlib.sha256(SAMPLE.encode()).hexdigest(),
        }
        server.on("GET", "competitions/played/files/", ok({"results": [entry], "next": None}))
        server.on(
            "GET",
            "competitions/played/files/sample_submission.csv/",
            lambda _: httpx.Response(200, content=SAMPLE.encode()),
        )

    return put


Verify = Callable[..., Ran]


@pytest.fixture
def verify(board: Played, publish: Callable[..., None], run: Run) -> Verify:
    """Return a function that verifies the board, or other lines, as the server has them."""

    def verify(
        *words: str, lines: list[bytes] | None = None, published: bool = False, **changes: Any
    ) -> Ran:
        publication = board.publication(**changes).getvalue() if published else None
        publish(board.lines() if lines is None else lines, publication)
        return run("verify", "played", *words)

    return verify


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Return the file that the team sent last."""
    labels = [1 - label if row >= ROWS - WRONG[-1] else label for row, label in enumerate(truth())]
    path = tmp_path / "sent.csv"
    path.write_text("id,label\n" + "".join(f"r{row},{label}\n" for row, label in enumerate(labels)))
    return path


def test_before_publication_chain_and_books_are_verified(
    board: Played, verify: Verify, server: Server
) -> None:
    ran = verify()
    assert ran.code == 0, ran.err
    assert "The hash chain of played is whole: 4 entries." in ran.out
    assert board.entries[-1]["hash"] in ran.out
    assert "played is verified: counts, budgets, widths and shares" in ran.out
    assert "not published" in ran.err
    (asked,) = (each.url for each in server.requests if each.url.path.endswith("/ledger/"))
    assert asked.params["format"] == "jsonl"


def test_after_publication_every_answer_is_recomputed(verify: Verify) -> None:
    ran = verify(published=True)
    assert ran.code == 0, ran.err
    assert "Recomputed from solution and secret: 4 answers." in ran.out


def test_one_s_own_files_are_scored_again(verify: Verify, sent: Path) -> None:
    ran = verify("--predictions", str(sent), published=True)
    assert ran.code == 0, ran.err
    assert "Of your different files, 1 of 1 are in the ledger" in ran.out


def test_a_file_that_was_never_scored_is_reported(verify: Verify, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(SAMPLE)
    ran = verify("-f", str(tmp_path / "other.csv"), published=True)
    assert ran.code == 0, ran.err
    assert "never scored" in ran.err


def test_own_files_wait_for_publication(verify: Verify, sent: Path) -> None:
    ran = verify("-f", str(sent))
    assert ran.code == 1
    assert "once solution and secret are published" in ran.err


def test_a_lie_about_one_s_own_file_is_found(board: Played, verify: Verify, sent: Path) -> None:
    """The publication gives the last file the measurement of the one before it."""
    lies = [each.line() for each in board.origins]
    other = board.origins[2].line().replace(b'"number":3', b'"number":4')
    mine, theirs = board.origins[3].digest.encode(), board.origins[2].digest.encode()
    lies[3] = other.replace(theirs, mine)
    ran = verify("-f", str(sent), published=True, releases=lies)
    assert ran.code == 1
    assert "Entry 4, holdout" in ran.err


def test_the_first_entry_that_differs_is_named_and_the_exit_is_1(
    board: Played, verify: Verify
) -> None:
    entries = list(board.entries)
    entries[2] = {**entries[2], "width": 0.01}
    ran = verify(lines=board.lines(rewritten(entries)))
    assert ran.code == 1
    assert "The ledger differs. Entry 3, width" in ran.err
    assert "Correct before it: 2 entries." in ran.err


def test_a_broken_chain_is_named(board: Played, verify: Verify) -> None:
    ran = verify(lines=[*board.lines()[:2], *board.lines()[3:]])
    assert ran.code == 1
    assert "Entry 2, number" in ran.err


def test_a_saved_copy_shows_later_that_nothing_was_rewritten(
    board: Played, verify: Verify, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    assert verify("--save", str(kept), lines=board.lines(board.entries[:2])).code == 0
    ran = verify("--since", str(kept))
    assert ran.code == 0, ran.err
    assert "Unchanged since the earlier copy: 2 entries." in ran.out
    rewrite = [{**board.entries[0], "created_at": "2020-01-01T00:00:00+00:00"}, *board.entries[1:]]
    assert verify(lines=board.lines(rewritten(rewrite))).code == 0
    ran = verify("--since", str(kept), lines=board.lines(rewritten(rewrite)))
    assert ran.code == 1
    assert "Entry 1, created_at" in ran.err


def test_nothing_is_kept_unless_asked_and_no_copy_is_overwritten(
    verify: Verify, tmp_path: Path
) -> None:
    before = set(tmp_path.rglob("*"))
    assert verify().code == 0
    assert set(tmp_path.rglob("*")) == before
    kept = tmp_path / "kept.jsonl"
    kept.write_text("mine")
    assert verify("--save", str(kept)).code == 1
    assert kept.read_text() == "mine"


def test_a_ledger_that_differs_is_kept_where_one_asked_for_it(
    board: Played, verify: Verify, tmp_path: Path
) -> None:
    """It is the evidence: the server may give another one the next time."""
    broken = [*board.lines()[:2], *board.lines()[3:]]
    kept = tmp_path / "kept.jsonl"
    assert verify("--save", str(kept), lines=broken).code == 1
    assert kept.read_bytes() == b"".join(broken)


def test_a_damaged_copy_of_one_s_own_accuses_nobody(
    board: Played, verify: Verify, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join([*board.lines()[:2], *board.lines()[3:]]))
    ran = verify("--since", str(damaged))
    assert ran.code == 1
    assert "damaged.jsonl is not a complete copy of a ledger. Entry 2, number" in ran.err
    assert "organizer" not in ran.err


def test_copies_are_verified_without_a_server(
    board: Played, run: Run, server: Server, tmp_path: Path, sent: Path
) -> None:
    ledger, publication, sample = (tmp_path / name for name in ("l.jsonl", "o.zip", "s.csv"))
    ledger.write_bytes(b"".join(board.lines()))
    publication.write_bytes(board.publication().getvalue())
    sample.write_text(SAMPLE)
    ran = run(
        *("verify", "--ledger", str(ledger), "--publication", str(publication)),
        *("-f", str(sent), "--sample", str(sample)),
    )
    assert ran.code == 0, ran.err
    assert server.requests == []
    assert "Of your different files, 1 of 1" in ran.out


def test_the_ledger_of_another_competition_is_refused(
    board: Played, run: Run, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(board.lines()))
    ran = run("verify", "other", "--ledger", str(ledger))
    assert ran.code == 1
    assert "the ledger of played, not of other" in ran.err


def test_what_is_no_ledger_is_refused(run: Run, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text("not json\n")
    assert run("verify", "--ledger", str(ledger)).code == 1
    assert run("verify").code == 2


def test_a_damaged_publication_is_not_used(
    board: Played, publish: Callable[..., None], run: Run, server: Server
) -> None:
    publish(board.lines(), board.publication().getvalue())
    server.on("GET", "competitions/played/publications/1/", httpx.Response(200, content=b"half"))
    ran = run("verify", "played")
    assert ran.code == 1
    assert "arrived damaged" in ran.err


def test_lost_files_are_counted(board: Played, verify: Verify) -> None:
    releases = [each.line() for each in board.origins]
    releases[1] = Lost(2, "The stored file is gone.").line()
    ran = verify(published=True, releases=releases)
    assert ran.code == 0, ran.err
    assert "as the server has lost their files: 1 answer." in ran.out


def _endless(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, stream=Endless())


def test_an_endless_ledger_is_not_accepted(server: Server, run: Run, tmp_path: Path) -> None:
    server.on("GET", "competitions/played/", ROUNDS)
    server.on("GET", "competitions/played/ledger/", _endless)
    kept = tmp_path / "kept.jsonl"
    ran = run("verify", "played", "--limit", "1", "--save", str(kept))
    assert ran.code == 1
    assert "The ledger has more than 1 MB. Nothing was kept." in ran.err
    assert "--limit" in ran.err
    assert not kept.exists()


def test_an_endless_publication_is_not_accepted(
    board: Played, publish: Callable[..., None], run: Run, server: Server
) -> None:
    publish(board.lines(), board.publication().getvalue())
    server.on("GET", "competitions/played/publications/1/", _endless)
    ran = run("verify", "played", "--limit", "1")
    assert ran.code == 1
    assert "The publication of version 1 has more than 1 MB." in ran.err


def test_a_length_that_is_announced_and_too_large_is_refused_before_the_first_byte(
    server: Server, run: Run
) -> None:
    def announced(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-length": str(2**40)}, stream=Unread())

    server.on("GET", "competitions/played/", ROUNDS)
    server.on("GET", "competitions/played/ledger/", announced)
    assert "The ledger has more than 1 GB." in run("verify", "played").err


def test_no_more_publications_are_downloaded_than_the_ledger_has_versions(
    board: Played, publish: Callable[..., None], run: Run, server: Server
) -> None:
    publication = board.publication().getvalue()
    publish(board.lines(), publication)
    row = {"version": 1, "sha256": hashlib.sha256(publication).hexdigest()}
    more = ok({"results": [row] * 200, "next": "more"})
    server.on("GET", "competitions/played/publications/", lambda _: more)
    ran = run("verify", "played")
    assert ran.code == 0, ran.err
    asked = [request.url.path.removeprefix("/api/v1/") for request in server.requests]
    assert asked.count("competitions/played/publications/1/") == 1
    assert asked.count("competitions/played/publications/") == 1


def test_a_sample_too_large_to_download_unasked_is_named_by_hand(
    board: Played, publish: Callable[..., None], run: Run, server: Server, sent: Path
) -> None:
    publish(board.lines(), board.publication().getvalue())
    entry = {"name": "s.csv", "role": "sample", "size": 2**40, "sha256": "0" * 64}
    server.on("GET", "competitions/played/files/", ok({"results": [entry], "next": None}))
    ran = run("verify", "played", "-f", str(sent))
    assert ran.code == 1
    assert "--sample" in ran.err


WITHOUT_PACKAGES = """
import sys
for name in ("numpy", "scipy", "pyarrow", "pandas", "sklearn", "django"):
    sys.modules[name] = None
from holdfast.cli import main
sys.argv = ["holdfast", *sys.argv[1:]]
main()
"""


@pytest.fixture
def run_bare(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `holdfast` as after plain `pip install .`: only the base requirements can be imported."""

    def run(lines: list[bytes], *arguments: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(b"".join(lines))
        command = [sys.executable, "-c", WITHOUT_PACKAGES, "verify", "--ledger", str(path)]
        return subprocess.run(
            [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )

    return run


def test_the_chain_is_verified_without_numpy(
    board: Played, run_bare: Callable[..., Any], tmp_path: Path
) -> None:
    earlier = tmp_path / "earlier.jsonl"
    earlier.write_bytes(b"".join(board.lines(board.entries[:2])))
    ran = run_bare(board.lines(), "--since", str(earlier))
    assert ran.returncode == 0, ran.stderr
    assert "The hash chain of played is whole: 4 entries." in ran.stdout
    assert "Unchanged since the earlier copy: 2 entries." in ran.stdout
    assert board.entries[-1]["hash"] in ran.stdout
    assert "is verified" not in ran.stdout
    assert "Only the hash chain was checked" in ran.stderr
    assert 'pip install ".[science]"' in ran.stderr


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda lines: [*lines[:2], *lines[3:]], "Entry 2, number"),
        (lambda lines: lines[:-1], "Entry 4, number"),
        (lambda lines: [*lines[:2], lines[2].replace(b'"asked":2', b'"asked":3'), *lines[3:]],
         "Entry 2, hash"),
    ],
)  # fmt: skip
def test_a_broken_chain_is_found_without_numpy(
    change: Callable[[list[bytes]], list[bytes]],
    difference: str,
    board: Played,
    run_bare: Callable[..., Any],
) -> None:
    ran = run_bare(change(board.lines()))
    assert ran.returncode == 1
    assert f"The ledger differs. {difference}" in ran.stderr


def test_quiet_still_reports_that_only_the_chain_was_checked(
    board: Played, run_bare: Callable[..., Any]
) -> None:
    ran = run_bare(board.lines(), "-q")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "Only the hash chain was checked" in ran.stderr


def test_answers_need_the_packages_of_the_check_extra(
    board: Played, run_bare: Callable[..., Any], sent: Path
) -> None:
    ran = run_bare(board.lines(), "-f", str(sent))
    assert ran.returncode == 1
    assert "packages that aren't installed: numpy, scipy, pyarrow." in ran.stderr
    assert 'pip install ".[science]"' in ran.stderr


def test_an_earlier_copy_of_another_competition_accuses_nobody(
    board: Played, run: Run, tmp_path: Path
) -> None:
    now, other = tmp_path / "now.jsonl", tmp_path / "other.jsonl"
    now.write_bytes(b"".join(board.lines()))
    other.write_bytes(b"".join(line.replace(b'"played"', b'"other"') for line in board.lines()))
    ran = run("verify", "--ledger", str(now), "--since", str(other))
    assert ran.code == 1
    assert "other.jsonl is the ledger of other, not of played." in ran.err
    assert "organizer" not in ran.err
