"""Kill a local oracle at random while a client asks: no answer lost, doubled or uncounted.

    python -m benchmarks.oracle_kills [--kills 200] [--seed 1]

The client asks about file after file, and about the same file again when its connection breaks.
After the last kill every answer that it got is asked for again, the ledger has each file once, and
its lines verify. Ends with 1 if something was broken. When a kill comes follows from the seed; what
the machine makes of it doesn't.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast import Failure, Oracle
from holdfast.errors import Unreachable
from scoring.verification.run import verify
from tests.holdfast.oracles import Place, Process, guess, listens

MOST_ANSWERS, LATEST = 4, 0.1  # a kill comes after so many answers, and so many seconds


@dataclass
class Client:
    """Asks until it is told to end; what it was told, by the file."""

    address: str
    told: dict[int, dict[str, Any]] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)
    ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        number, waits = 0, False
        while waits or not self.ends.is_set():
            if not listens(self.address):
                time.sleep(0.01)
                continue
            try:
                with Oracle(self.address) as oracle:
                    while waits or not self.ends.is_set():
                        waits = True
                        self.ask(oracle, number)
                        number, waits = number + 1, False
            except Unreachable:
                self.broken["connections"] += 1

    def ask(self, oracle: Oracle, number: int) -> None:
        try:
            answer = oracle.ask(file_of(number))
        except Unreachable:
            raise
        except Failure as failure:
            self.broken[f"refused: {failure}"] += 1
            return
        self.told[number] = answer.json
        self.broken["given again"] += answer.is_repeat


def file_of(number: int) -> bytes:
    """Return predictions that no other number has."""
    return guess(1 + number % 150, first=number // 150)


def play(folder: Path, kills: int, seed: int) -> tuple[Client, list[str]]:
    """Return the client, and what was broken."""
    chance, served = random.Random(seed), Process(Place(folder).order(limit=None))
    client = Client(served.address)
    thread = threading.Thread(target=client.run)
    served.start()
    thread.start()
    for kill in range(kills):
        told = len(client.told) + chance.randint(0, MOST_ANSWERS)
        while len(client.told) < told:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, LATEST))
        served.kill()
        served.start()
        if kill % 20 == 19:
            print(f"{kill + 1} kills, {len(client.told)} answers", flush=True)
    client.ends.set()
    thread.join()
    with Oracle(served.address) as oracle:
        found = judge(oracle, client)
    served.kill()
    print(f"{kills} kills, {len(client.told)} answers, {dict(client.broken)}", flush=True)
    return client, found


def judge(oracle: Oracle, client: Client) -> list[str]:
    """Return what the ledger and a second look at all answers find wrong."""
    wrong = [each for each in client.broken if each.startswith("refused")]
    lines = oracle.ledger().splitlines(keepends=True)
    report = verify(lines)
    if report.difference is not None:
        wrong.append(f"the ledger differs: {report.difference}")
    if report.entries != len(client.told):
        wrong.append(f"{report.entries} entries of {len(client.told)} files")
    for number, told in client.told.items():
        again = oracle.ask(file_of(number)).json
        if (again["number"], again["release"]) != (told["number"], told["release"]):
            wrong.append(f"file {number} got another answer")
        if not again["is_repeat"]:
            wrong.append(f"the answer to file {number} was lost")
    numbers = sorted(told["number"] for told in client.told.values())
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append("numbers are missing or doubled")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _, found = play(Path(folder), arguments.kills, arguments.seed)
    print("\n".join(found) or "no answer lost, doubled or uncounted")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
