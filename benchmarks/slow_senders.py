"""How quickly the site answers while one host holds many slow connections open.

    python -m benchmarks.slow_senders [--connections 200] [--seconds 20]

A third of the connections each: half-sent headers, bodies of a byte every 4 s, answers that are
read by the byte. Each that is cut off is opened again. Servers run here and listen on loopback
only. The table compares gunicorn's own threads, with 15 s for a client that falls silent, as
Holdfast used them once, with what it uses now: how many probes were answered within 5 s, and how
soon.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

import httpx

from leaderboard.operate.embedded import processes
from tests.servers.deployment import Deployment
from tests.servers.embedded import free_port
from tests.servers.slow import SlowClients

PAGES = ("/healthz", "/")
PROBE_SECONDS = 0.1
PATIENCE_SECONDS = 5.0
LARGE = "large.bin"
THREADS = """
import socket, struct
from runpy import run_path
globals().update(run_path("gunicorn.conf.py"))
worker_class, sendfile = "gthread", False
def when_ready(server):
    for listener in server.LISTENERS:
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", 15, 0))
"""


def main() -> None:
    """Measure both servers, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0, help="of probing, each time")
    chosen = parser.parse_args()
    count, seconds = min(chosen.connections, 1000), min(chosen.seconds, 300.0)
    print("| server | slow connections | page | answered | p50 | p99 |")
    print("|---|---|---|---|---|---|")
    directory = Path(tempfile.mkdtemp(prefix="holdfast-slow-"))
    site = Deployment(directory, f"sqlite:///{directory / 'db.sqlite3'}")
    try:
        site.prepare()
        site.manage("collectstatic", "--no-input", "--verbosity", "0")
        (directory / "static" / LARGE).write_bytes(bytes(32 * 2**20))
        (directory / "threads.conf.py").write_text(THREADS)
        site.start_redis()
        for name, more in {
            "threads": ("--config", str(directory / "threads.conf.py")),
            "now": (),
        }.items():
            measure(site, name, more, count, seconds)
    finally:
        site.close()
        shutil.rmtree(directory, ignore_errors=True)


def measure(site: Deployment, name: str, more: tuple[str, ...], count: int, seconds: float) -> None:
    """Print how one server answers without and with the slow connections."""
    port = free_port()
    site.start("web", (*processes.web("127.0.0.1", port), *more))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client:
        site.eventually(lambda: probe(client, "/") is not None, bool)
        report(name, 0, client, seconds)
        with SlowClients(port, count, f"/static/{LARGE}", again=True):
            report(name, count, client, seconds)
    site.stop("web")


def report(name: str, count: int, client: httpx.Client, seconds: float) -> None:
    """Probe for so long, and print a line for each page."""
    took: dict[str, list[float | None]] = {page: [] for page in PAGES}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for page in PAGES:
            took[page].append(probe(client, page))
        time.sleep(PROBE_SECONDS)
    for page, all_ in took.items():
        answered = [each for each in all_ if each is not None]
        waits = [PATIENCE_SECONDS if each is None else each for each in all_]
        cuts = quantiles(waits * 2, n=100)
        share = f"{len(answered)} of {len(all_)}"
        p50, p99 = (f"{cuts[rank] * 1e3:.0f} ms" for rank in (49, 98))
        print(f"| {name} | {count} | {page} | {share} | {p50} | {p99} |")
        sys.stdout.flush()


def probe(client: httpx.Client, page: str) -> float | None:
    """Return the seconds that an answer took, on a new connection; None if none came."""
    began = time.monotonic()
    try:
        client.get(page, headers={"Connection": "close"}).raise_for_status()
    except httpx.HTTPError:
        return None
    return time.monotonic() - began


if __name__ == "__main__":
    main()
