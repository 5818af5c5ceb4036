"""docs/files.md shows every rejection as it is really said: a file for each code is read here."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from scoring.errors import PredictionError, Problem, SolutionError
from scoring.predictions import (
    REJECTIONS,
    Column,
    Limits,
    RowIds,
    Schema,
    Solution,
    propose,
    read_predictions,
    read_solution,
)
from scoring.predictions.problems import metric_refused
from scoring.wording import PHRASES
from tests.scoring.packed import in_parquet, in_zip, zstd

DOCS = Path(__file__).parents[2] / "docs" / "files.md"
SOURCE = Path(__file__).parents[2] / "scoring" / "predictions"
SCHEMA = Schema("id", (Column("pet", "label", ("cat", "dog")), Column("p", "probability")))
RANKED = Schema("id", (Column("top", "ranking", ("a", "b", "c"), most=2),))
ANSWERS = Schema("id", (Column("answer", "text", most=2),))
IDS = RowIds(["1", "2", "3"])
ROWS = "1,cat,0.5\n2,dog,0.25\n3,cat,1\n"
GOOD = f"id,pet,p\n{ROWS}"


def upload(
    data: str | bytes, schema: Schema = SCHEMA, limits: Limits | None = None
) -> Callable[[], object]:
    raw = data.encode() if isinstance(data, str) else data
    return lambda: read_predictions(raw, schema, IDS, limits or Limits())


def row(text: str) -> Callable[[], object]:
    """The good file with another second row."""
    return upload(GOOD.replace("2,dog,0.25", text))


def header(text: str) -> Callable[[], object]:
    return upload(f"{text}\n{ROWS}")


def solution(rows: str, last: str = "Weight") -> Callable[[], object]:
    schema = Schema("id", (Column("p", "probability"),))
    return lambda: read_solution(f"id,p,Usage,{last}\n{rows}".encode(), schema, IDS)


def said(name: int, *answers: str) -> str:
    """A sample of lm-evaluation-harness."""
    return json.dumps({"doc_id": name, "resps": [answers]}) + "\n"


PARTICIPANTS: dict[str, Callable[[], object]] = {
    "file_empty": upload(""),
    "too_many_bytes": upload(GOOD, limits=Limits(max_bytes=20)),
    "expands_too_much": upload(gzip.compress(bytes(2**21))),
    "binary_file": upload(b"%PDF-1.7"),
    "not_utf8": upload(GOOD.replace("dog", "d\xf4g").encode("latin-1")),
    "not_csv": upload("<html><body>Sign in</body></html>"),
    "gzip_damaged": upload(gzip.compress(GOOD.encode())[:-4]),
    "zstd_damaged": upload(zstd(GOOD.encode())[:-4]),
    "zip_damaged": upload(in_zip({"a.csv": b"id"})[:-4]),
    "zip_not_one_file": upload(in_zip({"a.csv": b"id", "b.csv": b"id"})),
    "parquet_damaged": upload(in_parquet({"id": [1]})[:-4]),
    "parquet_type": upload(in_parquet({"id": pa.array([1], pa.date32())})),
    "line_too_long": upload(GOOD + "9" * 2**22),
    "broken_quotes": row('2,"dog,0.25'),
    "wrong_delimiter": upload(GOOD.replace(",", ";")),
    "header_missing": upload(ROWS),
    "too_many_columns": upload(GOOD, limits=Limits(max_columns=2)),
    "missing_column": upload("id,pet\n1,cat\n2,dog\n3,cat\n"),
    "misspelt_column": header("Id,pet,p"),
    "extra_column": upload("id,pet,p,model\n1,cat,0.5,x\n"),
    "duplicate_column": upload("id,pet,p,p\n1,cat,0.5,0.5\n"),
    "no_rows": upload("id,pet,p\n"),
    "too_many_rows": upload(GOOD, limits=Limits(max_rows=2)),
    "ragged_row": row("2,dog,0,25"),
    "empty_id": row(",dog,0.25"),
    "unknown_id": row("2.0,dog,0.25"),
    "duplicate_id": row("1,dog,0.25"),
    "missing_id": row(""),
    "empty_cell": row("2,,0.25"),
    "cell_too_long": row("2," + "dog" * 400 + ",0.25"),
    "not_a_number": row("2,dog,25%"),
    "missing_value": row("2,dog,NaN"),
    "infinite": row("2,dog,inf"),
    "number_too_large": row("2,dog,1e999"),
    "thousands_separator": row('2,dog,"1,234.5"'),
    "decimal_comma": row('2,dog,"0,25"'),
    "probability_out_of_range": row("2,dog,1.25"),
    "unknown_label": row("2,Dog,0.25"),
    "duplicate_label": upload("id,top\n1,a b\n2,a a\n3,c\n", RANKED),
    "too_many_labels": upload("id,top\n1,a b\n2,a b c\n3,c\n", RANKED),
    "too_many_runs": upload(said(1, "a", "b", "c"), ANSWERS),
    "runs_differ": upload(said(1, "a") + said(2, "b", "c") + said(3, "a"), ANSWERS),
    "log_columns": upload(said(1, "a")),
    "log_damaged": upload(said(1, "a") + "No connection.\n", ANSWERS),
    "log_field": upload(said(1, "a") + '{"doc_id": 2, "logit_0": "b"}\n', ANSWERS),
    "log_version": upload('{"version": 1, "eval": {}, "samples": []}', ANSWERS),
}


def refuse() -> None:
    """As a custom metric does, see `leaderboard.vault.custom_metrics`."""
    raise PredictionError([metric_refused("Sales are not negative.")])


PARTICIPANTS["metric_refused"] = refuse


ORGANIZERS: dict[str, Callable[[], object]] = {
    "unusable_column": lambda: propose(b"id,usage\n1,0.5\n"),
    "unknown_usage": solution("1,1,Public,1\n2,0,Secret,1\n3,0,Private,1\n"),
    "negative_weight": solution("1,1,Public,1\n2,0,Private,-1\n3,0,Private,1\n"),
    "no_weight": solution("1,1,Public,1\n2,0,Private,0\n3,0,Private,0\n"),
    "group_split": solution(
        "1,1,Public,monday\n2,0,Private,tuesday\n3,0,Private,monday\n", "Group"
    ),
    "no_private_rows": solution("1,1,Public,1\n2,0,Public,1\n3,0,Ignored,1\n"),
    "solution_damaged": lambda: Solution.from_bytes(b"PK"),
    "row_ids_damaged": lambda: RowIds.from_bytes(b"PK"),
}
EXAMPLES = PARTICIPANTS | ORGANIZERS


def found(code: str) -> Problem:
    with pytest.raises((PredictionError, SolutionError)) as caught:
        EXAMPLES[code]()
    assert isinstance(caught.value, PredictionError | SolutionError)
    return next(each for each in caught.value.problems if each.code == code)


def table_row(code: str) -> str:
    """A code's line of the table."""
    problem = found(code)
    facts = (problem.message, problem.line, problem.column, problem.value, problem.expected)
    cells = ["" if fact is None else str(fact).replace("|", "\\|") for fact in facts]
    return f"| `{code}` | {REJECTIONS[code].about} | {' | '.join(cells)} |"


def test_every_code_has_an_example() -> None:
    assert set(EXAMPLES) == set(REJECTIONS)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_table_says_what_the_reader_says(code: str) -> None:
    assert table_row(code) in DOCS.read_text(encoding="utf-8").splitlines()


def test_the_table_has_no_code_that_is_gone() -> None:
    lines = DOCS.read_text(encoding="utf-8").partition("## What is wrong")[2].splitlines()
    codes = {line.split("`")[1] for line in lines if line.startswith("| `")}
    assert codes == set(REJECTIONS)


def test_every_special_case_and_phrase_is_in_the_catalogue() -> None:
    source = "".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")))
    used = re.findall(r'Problem\(\s*"(\w+)",\s*variant="(\w+)"', source)
    assert len(used) > 10
    assert [case for case in used if case[1] not in REJECTIONS[case[0]].variants] == []
    hints = re.findall(r'hint = "(\w+)"|hint="(\w+)"', source)
    assert {"".join(hint) for hint in hints} <= set(PHRASES)


def test_templates_can_be_translated() -> None:
    """Whatever is missing is left out; nothing breaks on a word of another language."""
    for code, known in REJECTIONS.items():
        for template in (known.message, known.expected, *known.variants.values()):
            assert template.count("[") == template.count("]"), code
            assert template.count("{") == template.count("}"), code
