"""The vault with real processes: what web can't see, and how all can be verified after the end."""

import gzip
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from tests.servers.conftest import Deploy
from tests.servers.deployment import PRIVATE_KEY, ROOT, Deployment
from tests.servers.embedded import free_port
from tests.servers.searching import (
    family,
    files_below,
    files_of,
    found_in_file,
    found_in_memory,
)

ROWS = 60
LABELS = np.random.default_rng(20_26).uniform(size=ROWS)
TEXTS = [repr(float(label)).encode() for label in LABELS]
SLUG = "sealed"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def site(deploy: Deploy, port: int, static_files: Path) -> Deployment:
    """An installation with web and a worker, and a draft in it."""
    site = deploy()
    shutil.copytree(static_files, site.directory / "static")
    site.start_redis()
    site.start_worker()
    site.start_web(port)
    return site


@pytest.fixture(scope="module")
def olga(site: Deployment, port: int) -> Iterator[httpx.Client]:
    """The organizer's browser, after she has uploaded the labels."""
    site.ask("draft", slug=SLUG, rows=ROWS)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        site.eventually(lambda: is_up(client), bool)
        post(client, "/account/login/", login="olga", password="olga-password")
        client.base_url = client.base_url.join(f"/organize/{SLUG}/")
        upload(client)
        post(client, "open/", see="./")
        yield client


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def post(client: httpx.Client, path: str, see: str = "", **fields: str) -> None:
    """Fills a form in, as a browser does, and follows it."""
    client.get(see or path)
    token = client.cookies["csrftoken"]
    answer = client.post(path, data={"csrfmiddlewaretoken": token, **fields})
    assert answer.status_code == 302, answer.text


def upload(client: httpx.Client) -> None:
    lines = [
        f"r{row},{text.decode()},{'Public' if row < 10 else 'Private'}"
        for row, text in enumerate(TEXTS)
    ]
    content = ("id,y,Usage\n" + "\n".join(lines) + "\n").encode()
    client.get("data/solution/")
    answer = client.post(
        "data/solution/",
        data={"csrfmiddlewaretoken": client.cookies["csrftoken"]},
        files={"solution": ("solution.csv", content)},
    )
    assert answer.status_code == 302, answer.text


@pytest.fixture(scope="module")
def token(site: Deployment, olga: httpx.Client) -> str:
    """Alice's token; she has sent a file, and it is released."""
    token: str = site.ask("join", slug=SLUG)
    submit(site, guess(0.5))
    return token


def guess(value: float) -> str:
    return "id,y\n" + "".join(f"r{row},{value}\n" for row in range(ROWS))


def submit(site: Deployment, content: str) -> None:
    site.wait_for(site.ask("submit", content=content), "released")


def web_processes(site: Deployment) -> list[psutil.Process]:
    return family(site.process("web"))


def labels() -> list[bytes]:
    """What would give labels away: each as text, and as a number in an array."""
    return [*TEXTS, *(label.tobytes() for label in LABELS)]


def test_the_search_finds_labels_in_every_form_that_it_looks_for(tmp_path: Path) -> None:
    array = io.BytesIO()
    np.savez_compressed(array, labels=LABELS)
    forms = {
        "plain": b"x" + b",".join(TEXTS),
        "gzip": b"behind something " + gzip.compress(b",".join(TEXTS)),
        "npy": LABELS.tobytes(),
        "npz": array.getvalue(),
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        assert len(found_in_file(tmp_path / name, labels())) == ROWS, name


def test_no_label_is_in_any_file_of_the_installation(site: Deployment, token: str) -> None:
    """Database, storage, Redis, logs: in plain, in gzip, or in an array."""
    searched = list(files_below(site.directory))
    assert any(path.name == "db.sqlite3" for path in searched)
    assert any("storage" in path.parts for path in searched)
    found = {path: found_in_file(path, labels()) for path in searched}
    assert not any(found.values()), [path for path, labels in found.items() if labels]


def test_no_label_and_no_private_key_is_in_any_file_that_web_maps_or_has_open(
    site: Deployment, token: str
) -> None:
    secret = (site.directory / PRIVATE_KEY).read_text().strip()
    wanted = [*labels(), secret.encode(), bytes.fromhex(secret)]
    there = {path for process in web_processes(site) for path in files_of(process)}
    assert any(".so" in path.name for path in there)
    assert site.directory / PRIVATE_KEY not in there
    # What was not written since the keys were drawn can hold neither.
    drawn = (site.directory / PRIVATE_KEY).stat().st_mtime
    searched = [path for path in there if path.stat().st_mtime >= drawn]
    assert any(path.name == "web.log" for path in searched)
    assert not [path for path in searched if found_in_file(path, wanted)]


def test_web_has_the_private_key_neither_in_its_environment_nor_in_its_memory(
    site: Deployment, token: str
) -> None:
    secret = (site.directory / PRIVATE_KEY).read_text().strip()
    for process in web_processes(site):
        assert "VAULT_PRIVATE_KEY_FILE" not in process.environ()
        assert found_in_memory(process, [secret.encode(), bytes.fromhex(secret)]) == []


def test_the_search_of_memory_finds_what_is_there() -> None:
    needle = bytearray(os.urandom(32))
    assert found_in_memory(psutil.Process(), [bytes(needle)]) == [bytes(needle)]


def test_a_process_with_web_s_environment_can_not_measure(site: Deployment, token: str) -> None:
    assert site.ask("open_vault", slug=SLUG).startswith(
        "VaultClosed: There is no vault private key"
    )


def test_keys_are_rotated_while_the_site_runs(site: Deployment, token: str) -> None:
    before = (site.directory / PRIVATE_KEY).read_text()
    said = site.manage("vault_rotate")
    assert "Nothing is sealed to the old key any more" in said
    assert (site.directory / PRIVATE_KEY).read_text() != before
    submit(site, guess(0.4))


def holdfast(site: Deployment, port: int, token: str, *arguments: str) -> str:
    """What the command line says, which must end well."""
    more = {"HOLDFAST_URL": f"http://127.0.0.1:{port}", "HOLDFAST_TOKEN": token}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        cwd=ROOT,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_after_the_finals_everybody_verifies_what_a_worker_has_published(
    site: Deployment, olga: httpx.Client, token: str, port: int, tmp_path: Path
) -> None:
    kept, mine = tmp_path / "kept.jsonl", tmp_path / "mine.csv"
    holdfast(site, port, token, "verify", SLUG, "--save", str(kept))
    submit(site, guess(0.45))
    site.ask("close", slug=SLUG)
    post(olga, "finals/start/", see="finals/")
    site.eventually(lambda: site.ask("close", slug=SLUG), lambda seen: bool(seen["scored"]))
    post(olga, "finals/reveal/", see="finals/")
    post(olga, "finals/publication/", slug=SLUG)
    site.eventually(lambda: site.ask("close", slug=SLUG), lambda seen: bool(seen["published"]))
    mine.write_text(guess(0.45))
    said = holdfast(site, port, token, "verify", SLUG, "--since", str(kept), "-f", str(mine))
    assert "Recomputed from solution and secret: 3 answers" in said
    assert "Unchanged since the earlier copy: 2 entries" in said
    assert "Of your different files, 1 of 1 are in the ledger" in said
    assert "from what was published" in site.manage("verify", SLUG)
