"""What is to be predicted, by what the files' columns have in common."""

import re
from dataclasses import dataclass
from typing import Final

from scoring.dropped.roles import Sheet
from scoring.errors import ParameterError
from scoring.predictions.schema import GROUP_NAMES, USAGE_NAMES, WEIGHT_NAMES
from scoring.predictions.training import match_classes

_IDS: Final = re.compile(r"(^|_|\s)(id|key|index|uid|uuid|row)$|[a-z]Id$|^ID")


@dataclass(frozen=True)
class Question:
    """The columns of ids and labels.

    labels: the solution's columns with labels. columns: those of a prediction file; others than
        labels where it has one of each class of the only label. `reasons`: why, by field.
    """

    id_column: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    reasons: dict[str, str]


def find_question(
    solution: Sheet, *, train: Sheet | None, test: Sheet | None, sample: Sheet | None
) -> Question:
    """Return what the files ask for. Raise ParameterError naming the role that doesn't fit."""
    if test is None and sample is None:
        raise ParameterError("test", "Give the test data or a sample submission: one has the rows.")
    if train is None and sample is None:
        raise ParameterError(
            "train",
            "Give training data or a sample submission: what a prediction is can't be read from "
            "hidden labels.",
        )
    _refuse_published_solution(solution, train, test, sample)
    id_column, why = _find_id(solution, test, sample)
    labels = _find_labels(solution, id_column, train, test, sample)
    columns = tuple(sample.header[1:]) if sample is not None else labels
    shown = ", ".join(f"“{name}”" for name in labels)
    if sample is not None:
        reason = f"{sample.name} has the columns that a prediction has; {solution.name} has {shown}"
    else:
        assert train is not None  # noqa: S101  (else refused above)
        assert test is not None  # noqa: S101  (else refused above)
        reason = f"{train.name} and {solution.name} have {shown}, and {test.name} has not"
    return Question(id_column, labels, columns, {"id": why, "columns": f"{reason}."})


def _refuse_published_solution(
    solution: Sheet, train: Sheet | None, test: Sheet | None, sample: Sheet | None
) -> None:
    """Refuse a public file that is the solution, or looks like it."""
    for role, sheet in (("train", train), ("test", test), ("sample", sample)):
        if sheet is None:
            continue
        if sheet.is_whole and sheet.text == solution.text:
            raise ParameterError(
                role, f"{sheet.name} is the solution itself, and participants would download it."
            )
        if (usage := sheet.has(USAGE_NAMES)) is not None and len(solution.header) > 1:
            raise ParameterError(
                role,
                f"{sheet.name} looks like the solution: its column “{usage}” splits the rows. "
                "Participants download this file.",
            )


def _find_id(solution: Sheet, test: Sheet | None, sample: Sheet | None) -> tuple[str, str]:
    if sample is not None:
        name = sample.header[0]
        for role, sheet in (("solution", solution), ("test", test)):
            if sheet is not None and name not in sheet.header:
                text = f"{sheet.name} has no column “{name}”, with which {sample.name} begins."
                raise ParameterError(role, text)
        return name, f"The first column of {sample.name}."
    assert test is not None  # noqa: S101  (refused before)
    of_rows = {*USAGE_NAMES, *WEIGHT_NAMES, *GROUP_NAMES}
    shared = [name for name in test.header if name in solution.header]
    shared = [name for name in shared if name.strip().casefold() not in of_rows]
    if not shared:
        raise ParameterError(
            "solution",
            f"{solution.name} and {test.name} have no column in common: both need the ids of the "
            f"rows. {solution.name} has {_listed(solution)}.",
        )
    name = next(filter(_IDS.search, shared), shared[0])
    return name, f"{test.name} and {solution.name} both have it."


def _find_labels(
    solution: Sheet, id_column: str, train: Sheet | None, test: Sheet | None, sample: Sheet | None
) -> tuple[str, ...]:
    """Return the solution's columns with labels."""
    own = {*USAGE_NAMES, *WEIGHT_NAMES, *GROUP_NAMES, id_column.casefold()}
    rest = [name for name in solution.header if name.strip().casefold() not in own]
    if sample is not None:
        return _match_sample(solution, rest, train, test, sample)
    assert train is not None  # noqa: S101  (refused before)
    assert test is not None  # noqa: S101  (refused before)
    lacked = [name for name in train.header if name not in test.header and name != id_column]
    if not lacked:
        raise ParameterError(
            "train",
            f"{train.name} has no column that {test.name} lacks: what is to be predicted stands in "
            "the training data alone.",
        )
    if labels := tuple(name for name in rest if name in lacked):
        return labels
    shown = [name for name in rest if name in test.header and name in train.header]
    if shown:
        raise ParameterError(
            "test",
            f"{test.name} has the column “{shown[0]}”, which is to be predicted: participants "
            "download this file.",
        )
    raise ParameterError(
        "solution",
        f"{solution.name} has no column “{lacked[0]}”, which {train.name} has and {test.name} "
        f"lacks. It has {_listed(solution)}.",
    )


def _match_sample(
    solution: Sheet, rest: list[str], train: Sheet | None, test: Sheet | None, sample: Sheet
) -> tuple[str, ...]:
    """Return the columns of the sample, or the one label whose classes they are."""
    columns = sample.header[1:]
    if not columns:
        raise ParameterError("sample", f"{sample.name} has no column besides the ids.")
    for name in columns:
        if test is not None and name in test.header:
            raise ParameterError(
                "test",
                f"{test.name} has the column “{name}”, which {sample.name} wants predicted: "
                "participants download this file.",
            )
    missing = [name for name in columns if name not in rest]
    if not missing:
        return columns
    for name in rest if train is not None else ():
        if train is not None and name in train.header and not (test and name in test.header):
            seen = set(train.cells([name])[name].unique().to_pylist())
            if match_classes(columns, seen) is not None:
                return (name,)
    raise ParameterError(
        "sample",
        f"{sample.name} has the column “{missing[0]}”, and {solution.name} has neither that nor a "
        f"column whose values are the classes. It has {_listed(solution)}.",
    )


def _listed(sheet: Sheet) -> str:
    shown = ", ".join(f"“{name}”" for name in sheet.header[:8])
    return shown + (f" and {len(sheet.header) - 8} more" if len(sheet.header) > 8 else "")
