"""Oracles for tests: in this process, or as a process of their own that can be killed."""

import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import Oracle
from holdfast.oracle.labels import Layout
from holdfast.oracle.run import Order, Running, running
from holdfast.oracle.setup import Choice

ROWS = 400
TRUTH = np.random.default_rng(3).integers(0, 2, ROWS)
START_SECONDS = 60


def table(values: Iterable[Any], *, usage: Iterable[str] | None = None) -> bytes:
    """A file of labels or predictions, with ids from r0 on."""
    names, columns = ["id", "target"], [values]
    if usage is not None:
        names, columns = [*names, "Usage"], [*columns, usage]
    rows = (
        ",".join(map(str, (f"r{at}", *row))) for at, row in enumerate(zip(*columns, strict=True))
    )
    return ("\n".join([",".join(names), *rows]) + "\n").encode()


def guess(wrong: int, *, first: int = 0) -> bytes:
    """Predictions that err on so many rows, from `first` on."""
    values = TRUTH.copy()
    values[first : first + wrong] ^= 1
    return table(values)


def halves() -> list[str]:
    """A split: the first half of the rows is Public."""
    return ["Public"] * (ROWS // 2) + ["Private"] * (ROWS // 2)


@dataclass
class Place:
    """A folder with labels, and the oracles that are started there."""

    folder: Path
    labels: bytes = field(default_factory=lambda: table(TRUTH))

    @property
    def file(self) -> Path:
        return self.folder / "labels.csv"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def order(self, metric: str = "accuracy", limit: int | None = 100, **chosen: Any) -> Order:
        own = {name: chosen.pop(name) for name in tuple(chosen) if name in Choice.__annotations__}
        declared = chosen.pop("order_gates", ())  # `gates` is how many
        self.file.write_bytes(self.labels)
        self.file.chmod(0o600)
        return Order(
            labels=self.file,
            directory=self.ledger,
            layout=chosen.pop("layout", Layout()),
            choice=Choice(metric, limit, **own),
            gates=declared,
            socket=self.folder / "o.sock",
            user=chosen.pop("user", "root" if os.geteuid() == 0 else ""),
            **chosen,
        )

    @contextmanager
    def serve(self, *args: Any, **chosen: Any) -> Iterator[tuple[Oracle, Running]]:
        """An oracle in this process, and a client of it."""
        with running(self.order(*args, **chosen)) as served, ExitStack() as stack:
            oracle = Oracle(served.address)
            stack.callback(oracle.close)
            yield oracle, served


FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(["tests.holdfast.oracles"])


@dataclass
class Process:
    """An oracle in a process of its own; `kill` ends it as nothing else does."""

    order: Order
    process: "Any | None" = None

    @property
    def address(self) -> str:
        return f"unix:{self.order.socket}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.process = FORKED.Process(target=answer_forever, args=(self.order,))
        self.process.start()
        until = time.monotonic() + START_SECONDS
        while not listens(self.address):
            if not self.process.is_alive() or time.monotonic() > until:
                raise AssertionError("the oracle does not start")
            time.sleep(0.005)

    def kill(self) -> None:
        """End it at once, wherever it is."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process.close()
            self.process = None


def listens(address: str) -> bool:
    """Whether somebody listens at a local socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(address.removeprefix("unix:")) == 0


def answer_forever(order: Order) -> None:
    """What the process does."""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  (until it is killed)
    with running(order) as served:
        served.wait()
