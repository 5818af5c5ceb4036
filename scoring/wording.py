"""Every word that a file is rejected with, in one catalogue of plain data.

Readers note a code and its fields (`scoring.errors.Problem`); pages, the API and the command line
word them with `describe` and `expectation`, from this catalogue or from a translated one.

A template has fields in braces. Their formats: {value:quoted}; {names:listed}, each in quotes, and
{names:plain}, where None stands for those left out; {limit:size}, of bytes; {hint:phrase}, from
`PHRASES`; {rows:# row/# rows}, one or several. Text in square brackets is left out where a field
of it is missing; what follows a bar there stands in for it.
"""

import re
import string
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scoring.errors import Problem


class Rejection(NamedTuple):
    """What a code means, and how it is worded.

    variants: messages for special cases, by the field `variant`.
    """

    about: str
    message: str
    expected: str = ""
    variants: Mapping[str, str] = {}


_CHOICES = "[{total} classes ({choices})|{choices}]"
_CELL = "Line {line}, column `{column}`: "
_QUOTED = _CELL + "{value:quoted} "
_EMPTY = _CELL + "the cell is empty; give {expected}."
_HEADER = "{columns:plain}[ ({total} columns)]"
_COLUMNS = "; the columns are {columns:listed}[ ({total} columns)]."
_NOT_CSV = "a CSV file"

# Every code. Codes are stable: programs match them.
REJECTIONS: Mapping[str, Rejection] = {
    "file_empty": Rejection(
        "The file has no bytes, or nothing but blank lines.",
        "The file is empty.",
        "a header and rows",
    ),
    "too_many_bytes": Rejection(
        "The file, or what it expands to, is larger than allowed.",
        "The file is more than {limit:size}, which is the limit.",
        "at most {limit} bytes",
        {"expanded": "The file expands to more than {limit:size}, which is the limit."},
    ),
    "expands_too_much": Rejection(
        "An archive expands to many times its size.",
        "The file expands to more than {limit} times its size.",
        "at most {limit} times the size of the upload",
    ),
    "binary_file": Rejection(
        "The file is not text: a spreadsheet, an image, NUL bytes …",
        "This is {value:phrase}, not a CSV file. Save the table as CSV (UTF-8).",
        _NOT_CSV,
        {
            "nul": "Line {line}: byte {byte} of the text is NUL, so it isn't text. "
            "Upload a CSV file."
        },
    ),
    "not_utf8": Rejection(
        "The text is not UTF-8.",
        "Line {line}: byte {byte} of the text, {value}[ ('{looks}' in Windows-1252?)], is not "
        "UTF-8. Save the file as UTF-8.",
        "UTF-8",
        {"encoding": "The file is {value:phrase}. Save it as CSV UTF-8."},
    ),
    "not_csv": Rejection(
        "The text is HTML or JSON.", "This is {value:phrase}, not a CSV file.", _NOT_CSV
    ),
    "gzip_damaged": Rejection(
        "The gzip file is cut off or damaged.",
        "The gzip file is damaged.",
        "CSV",
        {"cut": "The gzip file is cut off."},
    ),
    "zstd_damaged": Rejection(
        "The zstd file is cut off or damaged.", "The zstd file is cut off or damaged.", "CSV"
    ),
    "zip_damaged": Rejection(
        "The zip archive is cut off or damaged, or has a password.",
        "The zip archive is cut off or damaged.",
        "CSV",
        {
            "password": "The zip archive has a password.",
            "method": "The zip archive is compressed in an unusual way.",
        },
    ),
    "zip_not_one_file": Rejection(
        "The zip archive has no file or several files.",
        "The zip archive has {count:# file/# files}[: {names:listed}]. Put one CSV file into it.",
        "one CSV file",
    ),
    "parquet_damaged": Rejection(
        "The Parquet file is cut off, damaged or encrypted.",
        "The Parquet file is cut off or damaged.",
        "a Parquet or CSV file",
        {"encrypted": "The Parquet file is encrypted."},
    ),
    "parquet_type": Rejection(
        "A Parquet column holds neither texts nor numbers, or lists that aren't expected.",
        "The column {column:quoted} has the Parquet type {value:quoted}; give texts, numbers or "
        "lists of them.",
        "texts, numbers or lists of them",
        {
            "list": "The column {column:quoted} has the Parquet type {value:quoted}; give "
            "{expected}."
        },
    ),
    "line_too_long": Rejection(
        "A line is longer than any row can be.",
        "Line {line} is longer than {limit} characters.",
        "one row on each line",
    ),
    "broken_quotes": Rejection(
        "A quoted cell doesn't end, or text follows its closing quote.",
        "Line {line}: a quoted cell that starts here doesn't end, or goes on after its closing "
        'quote. Double the quotes inside a cell ("") or leave them out.',
        "matching quotes",
    ),
    "wrong_delimiter": Rejection(
        "Columns are separated by something else than commas.",
        "Line {line}: columns are separated by {delimiter:phrase}; use commas.",
        "[{columns:plain}|commas between columns][ ({total} columns)]",
        {
            "probable": "Line {line}: columns seem to be separated by {delimiter:phrase}; "
            "use commas."
        },
    ),
    "header_missing": Rejection(
        "The first line is a row of data.",
        f"Line {{line}} is a row of data; the header '{_HEADER}' is missing.",
        _HEADER,
    ),
    "too_many_columns": Rejection(
        "The header has more columns than allowed.",
        "Line {line}: {count} columns are more than {limit}, which is the limit.",
        "at most {limit} columns",
        {"parquet": "The Parquet file has {value} columns; {limit} are the limit."},
    ),
    "missing_column": Rejection(
        "A column isn't there.",
        "Line {line}: the column {column:quoted} is missing; the header has to be "
        f"'{_HEADER}', in any order.",
        "[{columns:plain}|an id column and the columns to predict][ ({total} columns)]",
        {
            "sample": "Line {line}: a sample submission has an id and at least one more column.",
            "other": "Line {line}: this table has none of the columns {columns:listed}"
            "[ ({total} columns)].",
        },
    ),
    "misspelt_column": Rejection(
        "A column's name is nearly right: case, spaces, a typing mistake.",
        "Line {line}: the column {value:quoted} has to be called {column:quoted}[{hint:phrase}].",
        "{column}",
    ),
    "extra_column": Rejection(
        "A column isn't expected.",
        "Line {line}: the column {value:quoted} isn't expected" + _COLUMNS,
        _HEADER,
        {
            "unnamed": "Line {line}: column {position} has no name (pandas: write with "
            "`index=False`)" + _COLUMNS
        },
    ),
    "duplicate_column": Rejection(
        "A column is there twice.",
        "Line {line}: the column {column:quoted} is there {count:# time/# times}.",
        "each column once",
    ),
    "unusable_column": Rejection(
        "A sample file's column can't be a column of a schema.", "{message}"
    ),
    "no_rows": Rejection(
        "There is a header and nothing else.", "The file has a header and no rows.", "rows"
    ),
    "too_many_rows": Rejection(
        "There are more rows than allowed.",
        "Line {line}: there are more than {limit} rows, which is the limit.",
        "[at most {limit} rows|rows]",
        {
            "blank": "Line {line}: there are more than {blank} blank lines, which is the limit.",
            "parquet": "The Parquet file has {value} rows; {limit} are the limit.",
        },
    ),
    "ragged_row": Rejection(
        "A row has more or fewer cells than the header.",
        "Line {line} has {count:# cell/# cells}, the header has {width}[{hint:phrase}].",
        "{width:# cell/# cells}",
    ),
    "empty_id": Rejection("A row's id is empty.", _CELL + "the id is empty.", "an id"),
    "unknown_id": Rejection(
        "An id isn't in the sample file.",
        _QUOTED + "is no id of the sample file[{hint:phrase}][; did you mean {meant:quoted}?|.]",
        "[{meant}|an id of the sample file]",
    ),
    "duplicate_id": Rejection(
        "An id is there twice.",
        _CELL + "the id {value:quoted} is on line {first} already.",
        "each id once",
    ),
    "missing_id": Rejection(
        "An id of the sample file isn't there.",
        "{count:# id/# ids} of the sample file's {rows} {count:is/are} missing ({ids:listed}).",
        "every id of the sample file",
    ),
    "empty_cell": Rejection(
        "A cell is empty.",
        _EMPTY,
        "",
        {"scored": _EMPTY + " Only ignored rows may leave it empty."},
    ),
    "cell_too_long": Rejection(
        "A cell is longer than allowed.",
        _CELL + "the cell has {length} characters; {limit} are the limit.",
        "at most {limit} characters",
        {"csv": "Line {line}: a cell has more than {limit} characters."},
    ),
    "not_a_number": Rejection(
        "A cell isn't a number.", _QUOTED + "is not a number[{hint:phrase}]."
    ),
    "missing_value": Rejection(
        "A cell says that the value is missing: nan, NA, null …",
        _QUOTED + "is no value; every row needs a number.",
    ),
    "infinite": Rejection("A number is infinite.", _QUOTED + "is infinite; give a finite number."),
    "number_too_large": Rejection(
        "A number is beyond 64-bit floating point.",
        _QUOTED + "is beyond a 64-bit floating-point number (1.8e308 at most).",
    ),
    "thousands_separator": Rejection(
        "A number has thousands separators.", _QUOTED + "has thousands separators; write {meant}."
    ),
    "decimal_comma": Rejection(
        "A number has a decimal comma.", _QUOTED + "has a decimal comma; write {meant}."
    ),
    "probability_out_of_range": Rejection(
        "A probability is below 0 or above 1.", _QUOTED + "is not a probability from 0 to 1."
    ),
    "unknown_label": Rejection(
        "A label isn't one of the classes.",
        _QUOTED + f"is not one of {_CHOICES}[; did you mean {{meant:quoted}}?|.]",
        "",
        {
            "python": _QUOTED + "is a Python list; write its labels with {separator:phrase} "
            "between, without brackets and quotes."
        },
    ),
    "duplicate_label": Rejection(
        "A list of labels has a label twice.", _QUOTED + "is there twice."
    ),
    "too_many_labels": Rejection(
        "A ranking is longer than allowed.", _CELL + "{count} labels are more than {most}."
    ),
    "metric_refused": Rejection(
        "The check of a custom metric refuses the predictions.",
        "[{message}|The metric refuses this file.]",
    ),
    "too_many_runs": Rejection(
        "There are more answers to one id than runs are taken.",
        _CELL + "{count} answers are more than [{most}|1]; a run has one for each id.",
        "[answers of at most {most} runs|one answer]",
    ),
    "runs_differ": Rejection(
        "Some ids have answers of more runs than others.",
        _CELL + "{count:# answer/# answers}, but {other} in line {first}.",
        "as many answers for each id",
    ),
    "log_columns": Rejection(
        "A log of a language model where predictions have several columns.",
        "A log has one answer for each id; predictions have {count} columns here: "
        "{columns:listed}.",
        "a CSV or Parquet file",
    ),
    "log_damaged": Rejection(
        "A log has something else than a JSON object in a line, or one too large to be read.",
        "Line {line}: this is no JSON object.",
        "a sample of a log as a JSON object",
        {"large": "Line {line}: the JSON is too large to be read ({limit:size} at most)."},
    ),
    "log_field": Rejection(
        "A log's sample lacks a field, or has something else there: another version wrote it.",
        "Line {line}: `{value}` is missing in this sample of {log}, or holds something else. "
        "Another version may have written it.",
        "a log of lm-evaluation-harness 0.4 with doc_id and resps, or of Inspect with id, epoch "
        "and output",
    ),
    "log_version": Rejection(
        "An Inspect log of another version.",
        "This is an Inspect log of [version {value}|an unknown version]; version {known} is read.",
        "version {known}",
    ),
    "unknown_usage": Rejection(
        "A solution's usage isn't Public, Private, Final or Ignored.",
        _QUOTED + "is not {expected}.",
    ),
    "negative_weight": Rejection(
        "A solution's weight is below 0.", _QUOTED + "is below 0; give {expected}."
    ),
    "no_weight": Rejection(
        "A solution's scored rows all have the weight 0.",
        "All {usage} rows have the weight 0.",
        "a row with a weight above 0",
    ),
    "group_split": Rejection(
        "Rows of one group are in several of Public, Private and Final.",
        _QUOTED + "is in {usage} here, and in {other} in line {first}.",
        "one of Public, Private and Final for all rows of a group",
    ),
    "no_private_rows": Rejection(
        "A solution has no private rows.",
        "No row is Private, so there is nothing to hold out.",
        "at least one Private row",
    ),
    "solution_damaged": Rejection(
        "A stored solution can't be read back.", "The stored solution can't be read back."
    ),
    "row_ids_damaged": Rejection(
        "Stored row ids can't be read back.", "The stored row ids can't be read back."
    ),
}
# What a cell has to be, by the kind of its column: the field `kind`.
CELLS = {
    "label": f"one of {_CHOICES}",
    "labels": f"any number of {_CHOICES}, with {{separator:phrase}} between",
    "ranking": f"1 to {{most}} of {_CHOICES}, with {{separator:phrase}} between",
    "text": "an answer[, or a JSON list with those of at most {most} runs]",
    "probability": "a number from 0 to 1",
    "number": "a finite number",
    "weight": "a number from 0",
    "group": "the name of the row's group",
    "usage": "Public, Private, Final or Ignored",
    "single": "one text or number for each row",
}
PHRASES = {
    " ": "spaces",
    ",": "commas",
    ";": "semicolons",
    "|": "vertical bars",
    "\t": "tabs",
    "HTML": "a web page or XML",
    "UTF-16": "UTF-16 (Excel calls it Unicode Text)",
    "gzip": "a gzip file inside another archive",
    "zstd": "a zstd file inside another archive",
    "zip": "a zip archive inside another archive",
    "encrypted Parquet": "an encrypted Parquet file",
    "PDF": "a PDF",
    "xls": "an old Excel workbook (.xls)",
    "xlsx": "an Excel workbook (.xlsx)",
    "OpenDocument": "an OpenDocument file",
    "bzip2": "a bzip2 archive",
    "xz": "an xz archive",
    "7-Zip": "a 7-Zip archive",
    "RAR": "a RAR archive",
    "npy": "a NumPy file",
    "npz": "a NumPy archive (.npz)",
    "HDF5": "an HDF5 file",
    "Feather": "a Feather file",
    "SQLite": "an SQLite database",
    "image": "an image",
    "program": "a program",
    "pickle": "a Python pickle",
    "case": " (upper and lower case differ)",
    "spaces": ", without spaces around it",
    "id_spaces": " and has spaces around it",
    "percent": "; write 0.5, not 50%",
    "comma": " (a decimal comma? Write 0.5, not 0,5)",
}
_ALIKE = " {others:# more line/# more lines} like it ({lines:numbers})."
_PARTS = re.compile(r"([^\[\]]+)|\[([^\[\]|]*)\|?([^\[\]]*)\]")


def describe(problem: "Problem") -> str:
    """Return what is wrong as full sentences."""
    known = REJECTIONS.get(problem.code, Rejection(problem.code, "{message}"))
    facts = {**problem.fields, "expected": expectation(problem)}
    template = known.variants.get(facts.get("variant", ""), known.message)
    message = str(facts["message"]) if "message" in facts else fill(template, facts, known.about)
    return message + (fill(_ALIKE, facts) if "others" in facts else "")


def expectation(problem: "Problem") -> str | None:
    """Return what was expected as a phrase, None where that makes no sense."""
    facts, known = problem.fields, REJECTIONS.get(problem.code)
    template = CELLS.get(facts.get("kind", ""), known.expected if known else "")
    return facts.get("expected") or fill(template, facts) or None


def fill(template: str, facts: Mapping[str, Any], otherwise: str = "") -> str:
    """Fill the fields in; give `otherwise` where one is missing outside of brackets."""
    text = ""
    for plain, optional, instead in _PARTS.findall(template):
        try:
            text += _WORDS.vformat(plain or optional, (), facts)
        except KeyError:
            if plain:
                return otherwise
            text += fill(instead, facts)
    return text


def in_bytes(count: int) -> str:
    """Return a number of bytes for people: 1.2 MB, where 1 MB is 10^6 bytes."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    value, units = count / 1000, ["TB", "GB", "MB", "kB"]
    while value >= 999.95 and len(units) > 1:
        value, _ = value / 1000, units.pop()
    return f"{value:,.1f}".removesuffix(".0") + f" {units[-1]}"


class _Words(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if "/" in format_spec:
            one, several = format_spec.split("/")
            return (one if value == 1 else several).replace("#", str(value))
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        return str(super().format_field(value, format_spec))


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "quoted": lambda text: f"'{text}'",
    "listed": lambda texts: ", ".join("…" if each is None else f"'{each}'" for each in texts),
    "plain": lambda texts: ",".join("…" if each is None else each for each in texts),
    "numbers": lambda numbers: ", ".join("…" if each is None else str(each) for each in numbers),
    "size": in_bytes,
    "phrase": lambda name: PHRASES.get(name, name),
}
_WORDS = _Words()
