"""From a prediction file to the mean loss on each split, beside the plain way to do it.

    python -m benchmarks.scoring [ROWS ...]

Ours: an open file to a `Mean` for each split, as a worker does it. Plain: pandas.read_csv, then for
each split isin, sort_values and the scikit-learn metric; nothing else is checked. Arrow: pyarrow
reads the file and does nothing with it. All have the same processors; what a worker keeps between
submissions (row ids, solution) is read before the clock starts, for the plain way too. The digest
that a release needs (sha256 of the arrays, 5 ms for a million numbers) is not in ours.

What is wanted at a million rows is at most twice pyarrow's time (four times for ROC AUC) and a
fifth of the plain way's. On two cores ours took 1.4 to 2.2 times pyarrow's (2.5 to 3.2), and was 50
to 130 times faster than the plain way for text ids, 4 to 6 times for integer ids, but for MSE with
them only 1.6 (in order) and 2.6 times (shuffled): of the plain way's time most is reading too, and
pyarrow alone is only 3 to 5 times faster there.

Each case runs in its own process, so that its memory is its own: "peak" is the most that the
process held in all, libraries and what it keeps included. Times are the median after a warm-up,
and the best of three such processes that take turns with the others, since what else a machine does
can only add to them.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from scoring.metrics import get
from scoring.predictions import (
    Column,
    RowIds,
    Schema,
    Solution,
    Usage,
    read_predictions,
    read_solution,
)

REPEATS = {"ours": 7, "csv": 7, "plain": 2}
ROUNDS = 3
MANY_ROWS = 5_000_000  # are timed once, without a warm-up for the plain way
PRIVATE_SHARE = 0.7
SCHEMAS = {
    "mse": Schema("id", (Column("value", "number"),)),
    "accuracy": Schema("id", (Column("value", "label", tuple("0123456789")),)),
    "roc_auc": Schema("id", (Column("value", "probability"),)),
}


@dataclass(frozen=True)
class Files:
    """The solution as the plain way reads it, what a worker keeps of a competition, an upload."""

    solution: Path
    row_ids: Path
    sealed: Path
    upload: Path


def main() -> None:
    arguments = _arguments()
    if arguments.case is not None:
        print(json.dumps(_case(**json.loads(arguments.case))))
        return
    print(
        f"{'rows':>9} {'ids':<8} {'order':<8} {'metric':<8} {'ours ms':>8} {'plain ms':>9} "
        f"{'faster':>6} {'arrow ms':>8} {'slower':>6} {'file MB':>7} {'ours peak MB':>12} "
        f"{'plain peak MB':>13}"
    )
    for rows in arguments.rows:
        for ids in ("integer", "text"):
            for order in ("sorted", "shuffled"):
                _compare(rows, ids, order)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--case", help=argparse.SUPPRESS)
    return parser.parse_args()


def _compare(rows: int, ids: str, order: str) -> None:
    for metric in SCHEMAS:
        with TemporaryDirectory() as folder:
            files = _write(Path(folder), rows, ids, order, metric)
            ours, plain, csv = _best(files, metric, 1 if rows >= MANY_ROWS else ROUNDS)
            print(
                f"{rows:>9} {ids:<8} {order:<8} {metric:<8} {ours['ms']:>8.1f} "
                f"{plain['ms']:>9.1f} {plain['ms'] / ours['ms']:>6.1f} {csv['ms']:>8.1f} "
                f"{ours['ms'] / csv['ms']:>6.2f} {files.upload.stat().st_size / 1e6:>7.1f} "
                f"{ours['peak']:>12.0f} {plain['peak']:>13.0f}",
                flush=True,
            )


def _write(folder: Path, rows: int, ids: str, order: str, metric: str) -> Files:
    random = np.random.default_rng(0)
    names = np.arange(rows) if ids == "integer" else [f"row_{i:08x}" for i in range(rows)]
    truth = random.random(rows) if metric == "mse" else random.integers(0, 2, rows)
    guess = random.integers(0, 10, rows) if metric == "accuracy" else random.random(rows)
    usage = np.where(random.random(rows) < PRIVATE_SHARE, "Private", "Public")
    files = Files(*(folder / name for name in ("solution.csv", "row_ids", "sealed", "upload.csv")))
    solution = pd.DataFrame({"id": names, "value": truth, "Usage": usage})
    solution.to_csv(files.solution, index=False)
    _write_what_workers_keep(files, SCHEMAS[metric])
    upload = pd.DataFrame({"id": names, "value": guess})
    if order == "shuffled":
        upload = upload.iloc[random.permutation(rows)]
    upload.to_csv(files.upload, index=False)
    return files


def _write_what_workers_keep(files: Files, schema: Schema) -> None:
    table = pd.read_csv(files.solution, dtype=str)
    row_ids = RowIds(table["id"].tolist())
    files.row_ids.write_bytes(row_ids.to_bytes())
    solution = read_solution(files.solution.read_bytes(), schema, row_ids)
    files.sealed.write_bytes(solution.to_bytes())


def _best(files: Files, metric: str, count: int) -> list[dict[str, float]]:
    """Ours, plain and arrow."""
    ways = ("ours", "plain", "csv")
    rounds = [[_run(files, metric, way) for way in ways] for _ in range(count)]
    return [min(figures, key=lambda each: each["ms"]) for figures in zip(*rounds, strict=True)]


def _run(files: Files, metric: str, way: str) -> dict[str, float]:
    paths = {name: str(path) for name, path in vars(files).items()}
    case = json.dumps({"files": paths, "metric": metric, "way": way})
    command = [sys.executable, "-m", "benchmarks.scoring", "--case", case]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _case(files: dict[str, str], metric: str, way: str) -> dict[str, float]:
    """Median milliseconds, and the most memory that the process had, in megabytes."""
    paths = Files(**{name: Path(path) for name, path in files.items()})
    work = {"ours": _ours, "plain": _plain, "csv": _csv_alone}[way](paths, metric)
    repeats = REPEATS[way]
    if way == "plain" and paths.upload.stat().st_size > 10 * MANY_ROWS:
        repeats = 1
    else:
        work()
    times = [_milliseconds(work) for _ in range(repeats)]
    return {"ms": statistics.median(times), "peak": _peak_mb()}


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def _peak_mb() -> float:
    """Of this process since it began (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def _ours(files: Files, name: str) -> Callable[[], object]:
    schema, metric = SCHEMAS[name], get(name)
    row_ids = RowIds.from_bytes(files.row_ids.read_bytes())
    solution = Solution.from_bytes(files.sealed.read_bytes())
    params = metric.parse({})

    def work() -> object:
        with files.upload.open("rb") as upload:
            predictions = read_predictions(upload, schema, row_ids)
        return [
            metric.measure(predictions, solution, solution.usage == usage, params)
            for usage in (Usage.PUBLIC, Usage.PRIVATE)
        ]

    return work


def _plain(files: Files, name: str) -> Callable[[], object]:
    from sklearn import metrics

    score: dict[str, Any] = {
        "mse": metrics.mean_squared_error,
        "accuracy": metrics.accuracy_score,
        "roc_auc": metrics.roc_auc_score,
    }
    solution = pd.read_csv(files.solution).sort_values("id")
    splits = [solution[solution["Usage"] == usage] for usage in ("Public", "Private")]

    def work() -> object:
        upload = pd.read_csv(files.upload)
        return [
            score[name](
                split["value"], upload[upload["id"].isin(split["id"])].sort_values("id")["value"]
            )
            for split in splits
        ]

    return work


def _csv_alone(files: Files, name: str) -> Callable[[], object]:
    from pyarrow import csv

    return lambda: csv.read_csv(files.upload)


if __name__ == "__main__":
    main()
