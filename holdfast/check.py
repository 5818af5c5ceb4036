"""Checking a prediction file here, by the server's own parser, before it is sent."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from holdfast import output
from holdfast.client import Client, Json, competition_path, connect, problem_lines
from holdfast.competitions import files_of
from holdfast.download import download, local_name
from holdfast.errors import Failure
from holdfast.options import (
    EXISTING,
    Competition,
    CompetitionOption,
    Quiet,
    SampleOption,
    competition_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scoring.predictions import Limits, Predictions, RowIds, Schema

LONGEST_SAMPLE = 10**9  # bytes: it goes to a temporary folder that may be in memory
_GUESSED = "The columns were guessed from the sample; name the competition to use its own."


@dataclass(frozen=True)
class Rules:
    """What a file is checked against."""

    schema: Schema
    row_ids: RowIds
    limits: Limits
    guessed: bool = False


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Your predictions.", **EXISTING)],
    competition: Competition = None,
    option: CompetitionOption = None,
    sample: SampleOption = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            help="The columns, as `schema` in the API's JSON; guessed from the sample if left out.",
            **EXISTING,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check a prediction file on this machine, as the server will, before you send it.

    Against a competition, or without any server against --sample. Nothing is sent or counted.
    Exits 1 if the file would be rejected.
    """
    _require_parser()
    if competition or option:
        rules = _rules_of(competition_of(competition, option), sample, schema)
    elif sample is not None:
        rules = _local_rules(sample, schema)
    else:
        raise typer.BadParameter("name a competition, or give its sample with --sample.")
    found = read(file, rules)
    if quiet:
        return
    names = ", ".join(f"`{column.name}`" for column in rules.schema.columns)
    output.say(f"{file} is fine: {found.rows:,} rows with {names}.", "bold")
    if rules.guessed:
        output.note(_GUESSED)


def _require_parser() -> None:
    """Check that the server's code is there. Raises Failure with what to install."""
    try:
        import_module("scoring.predictions")
    except ModuleNotFoundError as error:
        raise Failure(
            f"Checking here needs the package {error.name}, which isn't installed.",
            hint='In a clone of Holdfast: pip install ".[check]".',
        ) from None


def read(file: Path, rules: Rules) -> Predictions:
    """Return the predictions of a file. Raises Failure with what is wrong with it."""
    from scoring.errors import PredictionError
    from scoring.predictions import read_predictions

    try:
        with file.open("rb") as source:
            return read_predictions(source, rules.schema, rules.row_ids, rules.limits)
    except PredictionError as error:
        problems = [problem.render() for problem in error.problems]
        raise Failure(
            f"{file} would be rejected.",
            details=problem_lines(problems, error.total),
            hint=_GUESSED if rules.guessed else "",
        ) from None


def _rules_of(slug: str, sample: Path | None, schema: Path | None) -> Rules:
    """Return the server's rules; a local sample or schema goes before its own."""
    from scoring.predictions import Limits

    with connect() as client, tempfile.TemporaryDirectory() as folder:
        found = client.get(competition_path(slug))
        if schema is None and not found.get("schema"):
            raise Failure(f"{slug} has not said yet what a prediction file looks like.")
        columns = _schema(found["schema"]) if schema is None else _read_schema(schema)
        path = sample or download_sample(client, slug, Path(folder))
        ids = row_ids(path, columns)
    return Rules(columns, ids, Limits.of_upload(int(found["max_file_bytes"])))


def _local_rules(sample: Path, schema: Path | None) -> Rules:
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


def download_sample(client: Client, slug: str, folder: Path) -> Path:
    """Return the competition's sample submission, saved in the folder."""
    entry = next((each for each in files_of(client, slug) if each.get("role") == "sample"), None)
    if entry is None:
        raise Failure(f"{slug} has no sample submission to check against.")
    size = int(entry["size"])
    if size > LONGEST_SAMPLE:
        raise Failure(
            f"The sample submission has {output.size(size)}, more than is taken unasked.",
            hint="Get it with `holdfast download`, and name it with --sample.",
        )
    download(client, slug, entry, folder, force=False, advance=lambda _: None)
    return folder / local_name(str(entry["name"]))
