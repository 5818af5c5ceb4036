"""Measure the time from upload to answer through real servers: web, worker, Redis, SQLite.

    python -m benchmarks.pipeline [--uploads 20] [--rows 1000000]

Uploads to the digits demo one after another, then two files with many rows, through the API. Prints
the seconds from the start of each request until polling shows the answer, by this process's clock;
the peak memory of a worker process; and, for comparison, what reading and scoring the same file
takes with pandas and scikit-learn.
"""

import argparse
import io
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score

from tests.servers.deployment import Deployment

COLUMNS = ["id", "label"]
POLL_SECONDS = 0.02  # how far off a measured time can be
CREATE_LARGE = """
from datetime import timedelta
from django.core.files.base import File
from django.utils import timezone
from leaderboard import organize
from leaderboard.models import User
organizer = User.objects.get(username="organizer")
now = timezone.now()
large = organize.create_competition(
    slug="large", organizer=organizer, title="Large", description="Large.", rules="Play fair.",
    opens_at=now - timedelta(days=1), closes_at=now + timedelta(days=1), max_file_bytes=2**30,
    metric="accuracy", mechanism="ladder",
    schema={"id_column": "id", "columns": [
        {"name": "label", "kind": "label", "classes": [str(each) for each in range(10)]}]},
)
folder, round = "%s", large.current_round
organize.add_file(round, File(open(folder + "/sample.csv", "rb"), name="sample.csv"), role="sample")
organize.install_solution(round, File(open(folder + "/solution.csv", "rb")), by=organizer)
organize.open_competition(large)
"""


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        site = Deployment(
            Path(folder),
            f"sqlite:///{folder}/db.sqlite3",
            LEASE_SECONDS="600",
            SITE_URL="http://127.0.0.1:8000",
            EMAIL_URL="dummy:",
        )
        try:
            _run(site, arguments)
        finally:
            site.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    return parser.parse_args()


def _run(site: Deployment, arguments: argparse.Namespace) -> None:
    site.prepare()
    site.manage("collectstatic", "--no-input", "--verbosity", "0")
    site.manage("load_demo")
    site.start_redis()
    site.start_worker()
    site.start_beat()
    port = _free_port()
    site.start_web(port)
    token = site.manage("create_token", "alice").strip()
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}/api/v1/",
        headers={"Authorization": f"Token {token}"},
        timeout=120,
    ) as client:
        _wait_until_up(client)
        _small(client, arguments.uploads)
        _large(client, site, arguments.rows)


def _small(client: httpx.Client, uploads: int) -> None:
    _join(client, "digits")
    sample = client.get("competitions/digits/files/sample_submission.csv/").text
    frame = pd.read_csv(io.StringIO(sample))
    random = np.random.default_rng(0)
    seconds = [
        _submit(client, "digits", frame.assign(label=random.integers(0, 10, len(frame))))
        for _ in range(uploads)
    ]
    print(
        f"digits: upload to answer, {uploads} uploads: median {statistics.median(seconds):.3f} s, "
        f"longest {max(seconds):.3f} s"
    )


def _large(client: httpx.Client, site: Deployment, rows: int) -> None:
    random = np.random.default_rng(1)
    truth = pd.DataFrame({"id": np.arange(rows), "label": random.integers(0, 10, rows)})
    truth.assign(label=0).to_csv(site.directory / "sample.csv", index=False)
    truth.assign(Usage="Private").to_csv(site.directory / "solution.csv", index=False)
    site.manage("shell", "--verbosity", "0", "--command", CREATE_LARGE % site.directory)
    _join(client, "large")
    first, second = (
        _submit(client, "large", truth.assign(label=random.integers(0, 10, rows)).sample(frac=1))
        for _ in range(2)
    )
    print(
        f"{rows} shuffled rows: upload to answer {first:.2f} s the first time (the worker reads "
        f"sample and solution), {second:.2f} s after that; peak memory of a worker process "
        f"{_peak_mb(site)} MB"
    )
    file = truth.sample(frac=1, random_state=2)
    plain, memory = _plain(site.directory, file)
    print(
        f"plain pandas and scikit-learn, the same file: {plain:.2f} s, {memory} MB; "
        f"ratio {second / plain:.2f}"
    )


def _join(client: httpx.Client, slug: str) -> None:
    answer = client.post(
        f"competitions/{slug}/join/", json={"accept_rules": True, "team_name": "Benchmark"}
    )
    answer.raise_for_status()


def _submit(client: httpx.Client, slug: str, frame: pd.DataFrame) -> float:
    """Upload, poll, and return the seconds from the request's start to the visible answer."""
    content = frame[COLUMNS].to_csv(index=False).encode()
    path = f"competitions/{slug}/submissions/"
    started = time.perf_counter()
    answer = client.post(path, files={"file": ("p.csv", content)})
    answer.raise_for_status()
    address = f"{path}{answer.json()['number']}/"
    while not (seen := client.get(address).raise_for_status().json())["is_final"]:
        time.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - started
    if seen["status"] != "released":
        raise SystemExit(f"{slug}: {seen['status']}: {seen['summary']}")
    return seconds


def _plain(folder: Path, frame: pd.DataFrame) -> tuple[float, int]:
    """Run the usual script in its own process, and return its seconds and megabytes."""
    frame[COLUMNS].to_csv(folder / "upload.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pipeline_plain", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = done.stdout.split()
    return float(seconds), int(memory)


def plain_score(folder: Path) -> float:
    """Score as the usual script does: read both files, match the ids, compute the metric."""
    solution = pd.read_csv(folder / "solution.csv")
    upload = pd.read_csv(folder / "upload.csv")
    if not upload["id"].isin(solution["id"]).all():
        raise SystemExit("unknown ids")
    solution, upload = solution.sort_values("id"), upload.sort_values("id")
    return float(accuracy_score(solution["label"], upload["label"]))


def _peak_mb(site: Deployment) -> int:
    """Return the peak resident memory of any worker process of the site, in MB (10^6 bytes)."""
    peaks = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            status = (process / "status").read_text()
        except OSError:
            continue
        if f"VAULT_PRIVATE_KEY_FILE={site.directory}".encode() in environment:
            lines = dict(line.split(":", 1) for line in status.splitlines())
            peaks.append(int(lines.get("VmHWM", "0 kB").split()[0]) * 1024 // 10**6)
    return max(peaks)


def _wait_until_up(client: httpx.Client) -> None:
    for _ in range(300):
        try:
            client.get("competitions/").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise SystemExit("The web server did not start.")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
