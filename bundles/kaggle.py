"""The files that hosts of Kaggle's competitions upload: train, test, sample and solution.

They say nothing of texts, times or the metric, so all of that is set later. A solution's column
`Usage` is Kaggle's own, and read as it is.
"""

import re
from typing import Final

from bundles.bundle import BoardPart, Bundle, FilePart, RoundPart
from bundles.errors import BundleError, Trouble
from bundles.folders import Folder
from bundles.tables import (
    USAGE,
    default_metric,
    guess_column,
    make_sample,
    read_header,
    read_table,
)

_ROLES: Final = {
    "solution": re.compile(r"solution|ground_?truth|test_?labels", re.IGNORECASE),
    "sample": re.compile(r"sample_?submission|sample", re.IGNORECASE),
    "train": re.compile(r"train", re.IGNORECASE),
    "test": re.compile(r"test", re.IGNORECASE),
}
_MADE: Final = "sample_submission.csv"


def is_kaggle(folder: Folder) -> bool:
    """Return whether the files look like those of a host: a solution beside what is published."""
    return bool(_by_role(folder).get("solution"))


def read_kaggle(folder: Folder) -> Bundle:
    """Return the competition that the files make. Raises BundleError."""
    by_role = _by_role(folder)
    troubles = [
        Trouble(names[1], f"“{names[0]}” looks like the {role} file as well. Leave one of them.")
        for role, names in by_role.items()
        if role in ("solution", "sample") and len(names) > 1
    ]
    if troubles:
        raise BundleError(*troubles)
    (path,) = by_role["solution"]
    solution = read_table(folder.read(path), path)
    sample = by_role.get("sample", [""])[0]
    header = read_header(folder.read(sample)) if sample else []
    others = {*USAGE, "weight", "weights", "sample_weight", "group", "groups"}
    wanted = header[1:] or [n for n in solution.names[1:] if n.casefold() not in others]
    id_column = header[0] if header else solution.id_column
    missing = [name for name in (id_column, *wanted) if name not in solution.columns]
    if missing or not wanted:
        what = f"The columns {', '.join([id_column, *wanted])} were expected, as in the sample."
        found = f" It has {', '.join(solution.names)}."
        raise BundleError(Trouble(path, what + found))
    train = next((name for name in by_role.get("train", []) if name.endswith(".csv")), "")
    known = read_table(folder.read(train), train).columns if train else {}
    shown = read_table(folder.read(sample), sample).columns if sample else {}
    columns = [
        guess_column(name, known.get(name) or solution.columns[name], shown.get(name, ()))
        for name in wanted
    ]
    metric = default_metric(columns)
    lost = [
        "Kaggle's files hold no texts, times or limits: write them on the page Settings.",
        f"They don't tell the metric: {metric} is set. Choose yours on the page Scoring.",
    ]
    if not any(name.casefold() in USAGE for name in solution.names):
        lost.append("The solution has no column Usage: every row becomes Private.")
    files = [
        FilePart(name, role if role in ("train", "test", "sample") else "other")
        for role, names in by_role.items()
        for name in names
        if role != "solution"
    ]
    if not sample:
        folder = _with(folder, _MADE, make_sample(solution.columns[id_column], id_column, columns))
        files.append(FilePart(_MADE, "sample"))
        lost.append("There is no sample submission: one is made, which says the same of every row.")
    round = RoundPart(
        boards=(BoardPart(metric),),
        columns={"id_column": id_column, "columns": columns},
        files=tuple(files),
        solution=path,
    )
    return Bundle("", {}, {}, (round,), folder, tuple(lost), "Kaggle")


def _by_role(folder: Folder) -> dict[str, list[str]]:
    """Return the files by what they are called; the first word that fits counts."""
    found = dict[str, list[str]]()
    for name in folder.names:
        stem = name.rpartition("/")[2]
        role = next((role for role, word in _ROLES.items() if word.search(stem)), "other")
        if role == "solution" and not stem.endswith(".csv"):
            role = "other"
        found.setdefault(role, []).append(name)
    return found


def _with(folder: Folder, name: str, content: bytes) -> Folder:
    """Return the folder with a file more."""
    return Folder(
        {**folder.sizes, name: len(content)},
        lambda each: content if each == name else folder.reader(each),
    )
