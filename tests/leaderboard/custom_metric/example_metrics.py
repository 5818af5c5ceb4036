"""An operator's package: metrics as on Kaggle, and some that misbehave."""

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

import pandas as pd

title = "Mean distance from the truth, at most 10"
description = "The mean absolute error of two columns, cut to 10."
worst, best = 10.0, 0.0
takes = ("number", "label")


class ParticipantVisibleError(Exception):
    pass


def check(submission: pd.DataFrame) -> None:
    if (submission["y"] < 0).any():
        raise ParticipantVisibleError("Distances are not negative.")
    if (submission["y"] == 77).any():
        raise ValueError("the value 77 is secret")


def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
    for stream in (sys.stdout, sys.stderr):
        print("the labels are", solution["y"].tolist(), file=stream, flush=True)
    both = solution.merge(submission, on=row_id_column_name, suffixes=("", "_guess"))
    return float((both["y"] - both["y_guess"]).abs().mean())


class Trouble:
    """Scores what its process may see."""

    title = "Trouble"
    worst, best = 0.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        seen = " ".join([*os.environ, *os.environ.values(), *sys.argv])
        secret = any(word in seen for word in ("SECRET", "VAULT", "DATABASE"))
        try:
            Path("/tmp/example_metrics_leak").write_text("labels")  # noqa: S108
        except OSError:
            return 0.0 if secret else 1.0
        return 0.0


class Endless:
    title = "Endless"
    worst, best = 0.0, 1.0
    seconds = 1

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        while True:
            pass


class Waiting:
    title = "Waiting"
    worst, best = 0.0, 1.0
    seconds = 1

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        time.sleep(3600)
        return 1.0


class Busy:
    """Leaves a copy of its process and a thread behind, and writes where it answers."""

    title = "Busy"
    worst, best = 0.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        os.fork()
        threading.Thread(target=time.sleep, args=(3600,)).start()
        if (submission["y"] == 77).any():
            for descriptor in range(3, 10):
                with contextlib.suppress(OSError):
                    os.write(descriptor, b"{")
        return float(solution["y"].iloc[0])


class Greedy:
    title = "Greedy"
    worst, best = 0.0, 1.0
    megabytes = 3000

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        return float(len(bytearray(4 * 2**30)))


class Raising:
    title = "Raising"
    worst, best = -1.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        labels = solution["y"].tolist()
        raise ParticipantVisibleError(f"the labels are {labels}")


class Fussy:
    title = "Fussy"
    worst, best = 0.0, 1.0

    @staticmethod
    def check(submission: pd.DataFrame) -> None:
        if (submission["label"] == 3).all():
            raise ParticipantVisibleError("All rows are of class 3.")

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        wrong = solution.loc[solution["label"] != submission["label"], row_id_column_name]
        if len(wrong):
            raise ParticipantVisibleError(f"wrong in {wrong.tolist()}")
        return 1.0


class NoRange:
    title = "No range"
    worst, best = 1.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        return 1.0


class Ids:
    """Scores only where the ids are those of the sample."""

    title = "Ids"
    worst, best = 0.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        ids = submission[row_id_column_name].tolist()
        return float(ids == solution[row_id_column_name].tolist() in (["b", "c"], [7, 5]))


class Touchy:
    """Fails or not, as the labels are; a wrong file gets the worst score either way."""

    title = "Touchy"
    worst, best = 0.0, 1.0

    @staticmethod
    def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
        if (solution["label"] == submission["label"]).all():
            return 1.0
        if solution["label"].sum() % 2:
            raise ValueError(f"odd labels: {solution['label'].tolist()}")
        return 0.0
