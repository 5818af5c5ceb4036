"""`holdfast witness`: heads of public logs are kept, compared, signed, and proven false."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from scoring.transparency.notes import Key, Note, Verifier
from tests.holdfast.conftest import URL, Ran, Run, Server, ok, problem
from tests.holdfast.logged import KEY, Logged

ADDRESS = f"{URL}/c/played"
AT = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def log(server: Server) -> Logged:
    """A log of two entries on the server."""
    logged = Logged()
    for each in ("a1", "b2"):
        logged.team(each, each, AT)

    def answer(request: httpx.Request) -> httpx.Response:
        path, params = request.url.path, dict(request.url.params)
        if request.method == "POST":
            return ok(logged.send("POST", path, json=json.loads(request.content)))
        return ok(logged.get(path, **params))

    for path in ("", "entries/", "consistency/"):
        server.on("GET", f"competitions/played/log/{path}", answer)
    server.on("POST", "competitions/played/log/witness/", answer)
    return logged


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    return tmp_path / "heads.jsonl"


def look(run: Run, heads: Path, *words: str) -> Ran:
    return run("witness", ADDRESS, "--file", str(heads), *words)


def sizes(heads: Path) -> list[int]:
    lines = heads.read_text().splitlines()
    return [int(json.loads(line)["note"].splitlines()[1]) for line in lines]


def test_heads_of_a_log_that_grows_are_kept(log: Logged, run: Run, heads: Path) -> None:
    assert look(run, heads).out == f"{ADDRESS}: 2 entries.\n"
    assert look(run, heads).code == 0  # nothing new
    log.team("c3", "c3", AT)
    assert look(run, heads).code == 0
    assert sizes(heads) == [2, 3]


def test_a_head_that_contradicts_the_kept_one_is_refused_with_evidence(
    log: Logged, run: Run, heads: Path
) -> None:
    look(run, heads)
    log.change(1, at="2026-01-01T00:00:09+00:00")
    log.team("c3", "c3", AT)
    ran = look(run, heads)
    assert ran.code == 1
    assert "The log contradicts what was seen." in ran.err
    assert "2 entries with the root" in ran.err
    assert "now: 3 entries with the root" in ran.err
    assert sizes(heads) == [2]
    (evidence,) = heads.parent.glob("evidence-2-3-*.json")
    proof = run("witness", "--evidence", str(evidence))
    assert proof.code == 0, proof.err
    assert "signed two histories of holdfast/c0: 2 entries" in proof.out


def test_a_log_that_shows_no_proof_is_refused(
    log: Logged, run: Run, server: Server, heads: Path
) -> None:
    look(run, heads)
    log.team("c3", "c3", AT)
    away = problem(404, "not_found", "The log was never so long.")
    server.on("GET", "competitions/played/log/consistency/", away)
    server.on("GET", "competitions/played/log/entries/", away)
    ran = look(run, heads)
    assert ran.code == 1
    assert "The log contradicts what was seen. The log was never so long." in ran.err
    (evidence,) = heads.parent.glob("evidence-*.json")
    ran = run("witness", "--evidence", str(evidence))
    assert ran.code == 1
    assert "The heads are signed; that they can't both hold is not shown." in ran.err


def test_a_server_that_is_away_is_accused_of_nothing(
    log: Logged, run: Run, server: Server, heads: Path
) -> None:
    look(run, heads)
    log.team("c3", "c3", AT)
    server.on("GET", "competitions/played/log/consistency/", httpx.ConnectError("refused"))
    ran = look(run, heads)
    assert ran.code == 1
    assert "contradicts" not in ran.err
    assert list(heads.parent.glob("evidence-*")) == []


def test_two_heads_that_agree_prove_nothing(log: Logged, run: Run, tmp_path: Path) -> None:
    evidence = {"format": "holdfast evidence 1", "key": str(KEY.verifier), "root": "", "proof": []}
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps(evidence | {"first": log.note, "second": log.note}))
    ran = run("witness", "--evidence", str(path))
    assert ran.code == 1
    assert "Both heads can be true." in ran.err


def test_another_key_of_the_log_is_refused(log: Logged, run: Run, heads: Path) -> None:
    look(run, heads)
    log.key = Key(KEY.name, bytes([8] * 32))
    ran = look(run, heads)
    assert ran.code == 1
    assert "has another key than before" in ran.err
    ran = look(run, heads.with_name("other.jsonl"), "--key", str(KEY.verifier))
    assert ran.code == 1


def test_heads_are_signed_and_handed_in(log: Logged, run: Run, heads: Path) -> None:
    key = heads.with_name("witness.key")
    log.witnesses = ["w.example/1"]
    ran = look(run, heads, "--cosign", str(key), "--name", "w.example/1")
    assert ran.code == 0, ran.err
    assert key.stat().st_mode & 0o077 == 0
    verifier = Verifier.parse(ran.out.splitlines()[0].rpartition(" ")[2])
    assert Note.parse(log.cosigned[-1]).signed_by([verifier])
    kept = json.loads(heads.read_text())["note"]
    assert Note.parse(kept).signed_by([verifier, KEY.verifier]).keys() == {verifier, KEY.verifier}


def test_a_site_that_does_not_know_the_witness_is_handed_nothing(
    log: Logged, run: Run, heads: Path
) -> None:
    key = heads.with_name("witness.key")
    ran = look(run, heads, "--cosign", str(key), "--name", "w.example/1")
    assert ran.code == 0
    assert "doesn't know the witness w.example/1" in ran.err
    assert not log.cosigned
    assert "w.example/1" in json.loads(heads.read_text())["note"]


def test_a_key_is_made_only_under_a_name(log: Logged, run: Run, heads: Path) -> None:
    ran = look(run, heads, "--cosign", str(heads.with_name("witness.key")))
    assert ran.code == 1
    assert "With --name, one is made." in ran.err


def test_heads_are_committed_to_a_git_repository(log: Logged, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    for _ in range(2):
        assert run("witness", ADDRESS, "--git", str(folder)).code == 0
    log.team("c3", "c3", AT)
    assert run("witness", ADDRESS, "--git", str(folder)).code == 0
    command = ["git", "-C", str(folder), "log", "--oneline"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert listed.count("Keep heads of public logs") == 2


def test_one_bad_log_does_not_keep_the_others_from_being_seen(
    log: Logged, run: Run, heads: Path
) -> None:
    ran = run("witness", "nowhere", ADDRESS, "--file", str(heads))
    assert ran.code == 1
    assert "nowhere is no competition's page" in ran.err
    assert sizes(heads) == [2]
