"""Predictions read by the server's own parser, on the participant's machine."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdfast.connection import Connection, Json, competition_path, problem_lines
from holdfast.download import download, files_of, local_name
from holdfast.errors import Failure, NotInstalled, Rejected
from holdfast.output import size as in_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scoring.predictions import Limits, Predictions, RowIds, Schema

LONGEST_SAMPLE = 10**9  # bytes: it goes to a temporary folder that may be in memory
GUESSED = "The columns were guessed from the sample; name the competition to use its own."


@dataclass(frozen=True)
class Rules:
    """What a file is checked against."""

    schema: Schema
    row_ids: RowIds
    limits: Limits
    guessed: bool = False

    @property
    def header(self) -> Sequence[str]:
        return self.schema.header

    @property
    def ids(self) -> Iterable[str]:
        return (self.row_ids[row] for row in range(len(self.row_ids)))


def require(what: str, *modules: str) -> None:
    """Check that the server's code is there. Raises NotInstalled with what to install."""
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise NotInstalled(what, str(error.name)) from None


def read(source: BinaryIO, rules: Rules, name: str) -> Predictions:
    """Return the predictions of a file. Raises Rejected with what is wrong with it."""
    from scoring.errors import PredictionError
    from scoring.predictions import read_predictions

    try:
        return read_predictions(source, rules.schema, rules.row_ids, rules.limits)
    except PredictionError as error:
        raise rejected(
            f"{name} would be rejected.", error, GUESSED if rules.guessed else ""
        ) from None


def rejected(message: str, error: Exception, hint: str = "") -> Rejected:
    """Return what a parser found, with its lines."""
    from scoring.errors import PredictionError, SolutionError

    if not isinstance(error, PredictionError | SolutionError):
        raise error
    problems = [problem.render() for problem in error.problems]
    found = Rejected(message, details=problem_lines(problems, error.total), hint=hint)
    found.problems = problems
    return found


def read_file(file: Path, rules: Rules) -> Predictions:
    """Return the predictions of a file on the disk."""
    with file.open("rb") as source:
        return read(source, rules, str(file))


def rules_of(
    client: Connection, slug: str, sample: Path | None = None, schema: Path | None = None
) -> Rules:
    """Return the server's rules; a local sample or schema goes before its own."""
    from scoring.predictions import Limits

    with tempfile.TemporaryDirectory() as folder:
        found = client.get(competition_path(slug))
        columns = schema_of(found, slug) if schema is None else _read_schema(schema)
        path = sample or download_sample(client, slug, Path(folder))
        ids = row_ids(path, columns)
    return Rules(columns, ids, Limits.of_upload(int(found["max_file_bytes"])))


def schema_of(found: Json, slug: str) -> Schema:
    """Return the columns that the server gives for a competition."""
    if not found.get("schema"):
        raise Failure(f"{slug} has not said yet what a prediction file looks like.")
    return _schema(found["schema"])


def local_rules(sample: Path, schema: Path | None) -> Rules:
    """Return the given columns, or the likeliest.

    A number is likeliest where all cells say the same and a number is among the guesses.
    """
    from scoring.predictions import Column, Limits, Schema, propose

    if schema is not None:
        known = _read_schema(schema)
        return Rules(known, row_ids(sample, known), Limits())
    with _opened(sample) as file:
        proposal = propose(file)
    columns = list[Column]()
    for each in proposal.columns:
        kinds = [guess.kind for guess in each.guesses]
        if each.only is None or kinds == ["probability"]:
            columns.append(each.column)
        elif "number" in kinds:
            columns.append(Column(each.name, "number"))
        else:
            raise Failure(
                f"{sample.name} has “{each.only}” in every row of `{each.name}`, "
                "which doesn't tell what else may stand there.",
                hint="Name the competition, or give its columns with --schema.",
            )
    guessed = Schema(proposal.id_column, tuple(columns))
    return Rules(guessed, row_ids(sample, guessed), Limits(), guessed=True)


def row_ids(sample: Path, schema: Schema) -> RowIds:
    """Return the expected ids: those of the sample submission."""
    from scoring.predictions import read_row_ids

    with _opened(sample) as file:
        return read_row_ids(file, schema)


@contextmanager
def _opened(sample: Path) -> Iterator[BinaryIO]:
    from scoring.errors import SolutionError

    try:
        with sample.open("rb") as file:
            yield file
    except SolutionError as error:
        message = f"The sample submission {sample.name} can't be used: {error}"
        raise Failure(message) from None


def _read_schema(path: Path) -> Schema:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise Failure(f"{path} is not JSON.") from None
    return _schema(data.get("schema", data) if isinstance(data, dict) else data)


def _schema(data: Json) -> Schema:
    from scoring.errors import ParameterError
    from scoring.predictions import Schema

    try:
        return Schema.from_json(data)
    except ParameterError as error:
        raise Failure(
            f"The columns can't be read: {error.message}",
            hint="Perhaps the server is newer than this command.",
        ) from None


def download_sample(client: Connection, slug: str, folder: Path) -> Path:
    """Return the competition's sample submission, saved in the folder."""
    entry = next((each for each in files_of(client, slug) if each.get("role") == "sample"), None)
    if entry is None:
        raise Failure(f"{slug} has no sample submission to check against.")
    size = int(entry["size"])
    if size > LONGEST_SAMPLE:
        raise Failure(
            f"The sample submission has {in_bytes(size)}, more than is taken unasked.",
            hint="Get it with `holdfast download`, and name it with --sample.",
        )
    download(client, slug, entry, folder, force=False, advance=lambda _: None)
    return folder / local_name(str(entry["name"]))
