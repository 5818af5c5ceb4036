"""Logs of language models as rows of ids and answers: what a model said, and nothing else of them.

Samples of the lm-evaluation-harness (0.4; `--log_samples`) are JSON Lines; `doc_id` is the id, or
the field of `doc` that is called like the id column, and `resps` what the model said, before any
filter. Of a multiple choice by likelihoods the answer is the likeliest choice. Logs of Inspect
(version 2) are a JSON document with `samples`, or a zip archive with a file for each; `id` is the
id, and `output` has the answer. Several answers to one id, by repeats, epochs or several logs in
one archive, are those of several runs. Targets and scores that stand in a log are not looked at.

A line of JSON Lines is a line; of an Inspect log each sample counts as one, from 1.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NoReturn

from scoring.errors import Problem
from scoring.predictions.limits import CHUNK, MB, Limits, check_member
from scoring.predictions.problems import Problems, shortened
from scoring.predictions.schema import Schema

_LARGEST: Final = 64 * MB  # of one JSON value
_ITEMS: Final = 4_000_000  # commas and brackets in it: each may take a hundred bytes of memory
_VERSION: Final = 2  # of Inspect's logs
_HEADERS: Final = {"header.json", "_journal/start.json", "start.json"}
_HARNESS, _INSPECT = "lm-evaluation-harness", "Inspect"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Sample = Mapping[str, Any]
Id = int | str
# An answer in words, or the place of the choice that was made, from 0.
Answer = str | int


class _Missing(Exception):
    """A sample lacks this field, or it holds something else."""


def is_log(text: bytes) -> bool:
    """Return whether a text is a JSON object, or begins with one."""
    return text[:1000].lstrip()[:1] == b"{"


def read_rows(
    text: bytes, schema: Schema, limits: Limits, problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    """Yield a line and the cells of its row, in the schema's order, for each id."""
    if len(schema.columns) != 1:
        names = [column.name for column in schema.columns]
        problems.fail(Problem("log_columns", count=len(names), columns=names[:5]))
    (column,) = schema.columns
    most = column.most if column.kind == "text" else None
    for name, (line, said) in _said(text, schema, limits, problems).items():
        answers = [answer for _, answer in sorted(said, key=lambda each: each[0])]
        words = [_in_words(each, column.classes) for each in answers]
        cell = words[0] if column.kind == "text" else words[0].strip()
        yield line, [name, json.dumps(words) if most else cell]


def _said(
    text: bytes, schema: Schema, limits: Limits, problems: Problems
) -> dict[str, tuple[int, list[tuple[int, Answer]]]]:
    """Return the first line of each id, and its answers with the epoch of each.

    By texts: numbers could be chosen so that a table of them gets slow.
    """
    found = dict[str, tuple[int, list[tuple[int, Answer]]]]()
    (column,) = schema.columns
    most = column.most if column.kind == "text" else None
    kept, log, read = None, _HARNESS, _of_harness
    for line, sample in _samples(text, problems):
        if not found:
            kept = sample.get("filter")
            log, read = (_INSPECT, _of_inspect) if "output" in sample else (log, read)
        try:
            name, run, answers = read(sample, schema.id_column)
        except _Missing as missing:
            _fail_field(problems, line, str(missing), log)
        # Each filter of the harness has a line of its own, of the same answers.
        if sample.get("filter") == kept:
            first, of_id = found.setdefault(str(name), (line, []))
            of_id += [(run, answer) for answer in answers]
            if len(of_id) > (most or 1):
                facts = {"column": column.name, "value": str(name), "count": len(of_id)}
                problems.fail(Problem("too_many_runs", line=first, most=most, **facts))
        if len(found) > limits.max_rows:
            problems.fail(Problem("too_many_rows", line=line, limit=limits.max_rows))
    return found


def samples_of(
    archive: zipfile.ZipFile, size: int, limits: Limits, problems: Problems
) -> Iterator[bytes] | None:
    """Return the JSON Lines that an archive of so many bytes stands for.

    That is an Inspect log, or several logs of the harness; None for another archive.
    """
    members = sorted(archive.infolist(), key=lambda member: member.filename)
    files = [each for each in members if not each.is_dir() and "__MACOSX" not in each.filename]
    heads = [each for each in files if each.filename in _HEADERS]
    if not heads:
        if len(files) < 2 or not all(each.filename.endswith(".jsonl") for each in files):
            return None
        return (_read(archive, each) + b"\n" for each in _within(files, size, limits, problems))
    (head,) = _within(heads[:1], size, limits, problems)
    samples = [each for each in files if each.filename.startswith("samples/")]
    _check_version(_parsed(_read(archive, head), 1, problems), problems)
    return (
        _compact(_parsed(_read(archive, each), line, problems), line, problems)
        for line, each in enumerate(_within(samples, size, limits, problems), 1)
    )


def _within(
    members: Sequence[zipfile.ZipInfo], size: int, limits: Limits, problems: Problems
) -> Iterator[zipfile.ZipInfo]:
    """Yield members as long as what they announce is within the limits; `_read` reads no more."""
    expanded = 0
    for member in members:
        check_member(member, problems)
        expanded += member.file_size
        limits.check_expanded(expanded, size, problems)
        yield member


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return what is in a member, expanded a step at a time: it may announce too little."""
    with archive.open(member) as file:
        return b"".join(iter(partial(file.read, CHUNK), b""))


def _samples(text: bytes, problems: Problems) -> Iterator[tuple[int, Sample]]:
    """Yield the samples of a log with their lines."""
    lines = _lines(text)
    line, first = next(lines)
    # A document is indented and goes on over lines.
    document = _object(first) or _parsed(text, 1, problems)
    if not {"doc_id", "output"} & set(document):
        yield from _of_document(document, problems)
        return
    yield line, document
    for line, data in lines:
        yield line, _parsed(data, line, problems)


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that aren't blank, with their numbers."""
    for line, data in enumerate(io.BytesIO(text), 1):
        if not data.isspace():
            yield line, data


def _of_document(document: Sample, problems: Problems) -> Iterator[tuple[int, Sample]]:
    if not {"eval", "samples", "version"} & set(document):
        problems.fail(Problem("not_csv", line=1, value="JSON"))
    _check_version(document, problems)
    samples = document.get("samples")
    if not isinstance(samples, list):
        _fail_field(problems, 1, "samples", _INSPECT)
    for line, sample in enumerate(samples, 1):
        if not isinstance(sample, dict) or "output" not in sample:
            _fail_field(problems, line, "output", _INSPECT)
        yield line, sample


def _parsed(data: bytes, line: int, problems: Problems) -> Sample:
    """Return a JSON object that isn't too large to be read."""
    if _is_too_large(data):
        problems.fail(Problem("log_damaged", variant="large", line=line, limit=_LARGEST))
    if (found := _object(data)) is None:
        problems.fail(Problem("log_damaged", line=line))
    return found


def _object(data: bytes) -> Sample | None:
    if _is_too_large(data):
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_too_large(data: bytes) -> bool:
    return len(data) > _LARGEST or sum(map(data.count, (b",", b"[", b"{"))) > _ITEMS


def _check_version(document: Sample, problems: Problems) -> None:
    version = document.get("version")
    if version != _VERSION:
        value = None if version is None else shortened(str(version))
        problems.fail(Problem("log_version", value=value, known=_VERSION))


def _fail_field(problems: Problems, line: int, field: str, log: str) -> NoReturn:
    problems.fail(Problem("log_field", line=line, value=field, log=log))


def _compact(sample: Sample, line: int, problems: Problems) -> bytes:
    """Return what is read of a sample as a line of its own, so that the rest takes no memory."""
    try:
        name, epoch, (answer,) = _of_inspect(sample, "")
    except _Missing as missing:
        _fail_field(problems, line, str(missing), _INSPECT)
    found = {"id": name, "epoch": epoch, "output": {"completion": answer}}
    return json.dumps(found).encode() + b"\n"


def _of_inspect(sample: Sample, id_column: str) -> tuple[Id, int, list[Answer]]:
    """Return the id, the epoch and the answer of a sample of Inspect. Raises _Missing."""
    name = _id(sample.get("id"), "id")
    epoch, output = sample.get("epoch", 1), sample.get("output")
    if type(epoch) is not int:
        raise _Missing("epoch")
    if not isinstance(output, dict):
        raise _Missing("output")
    answer = output.get("completion")
    if not answer and output.get("choices"):  # a model that failed has none
        answer = _content(output)
    if not isinstance(answer or "", str):
        raise _Missing("output")
    attachments = sample.get("attachments")
    if isinstance(attachments, dict):
        answer = attachments.get(str(answer).removeprefix("attachment://"), answer)
    return name, epoch, [str(answer or "")]


def _content(output: Sample) -> str:
    """Return the text of the first choice: as it is, or in parts."""
    try:
        content = output["choices"][0]["message"]["content"]
        if isinstance(content, str):
            return content
        return "".join(part["text"] for part in content if part["type"] == "text")
    except (KeyError, IndexError, TypeError):
        raise _Missing("output") from None


def _of_harness(sample: Sample, id_column: str) -> tuple[Id, int, list[Answer]]:
    """Return the id and the answers of a sample of the harness. Raises _Missing."""
    doc, resps = sample.get("doc"), sample.get("resps")
    if isinstance(doc, dict) and id_column in doc:
        name = _id(doc[id_column], id_column)
    else:
        name = _id(sample.get("doc_id"), "doc_id")
    if not isinstance(resps, list) or not resps or not all(map(_is_filled, resps)):
        raise _Missing("resps")
    if all(isinstance(each, str) for each in resps[0]):
        if len(resps) > 1:
            raise _Missing("resps")
        return name, 1, list(resps[0])
    try:
        # Of each choice log-likelihood and whether it is the likeliest text, once for each repeat.
        likelihoods = [[float(each[0]) for each in choice] for choice in resps]
        repeats = zip(*likelihoods, strict=True)
        return name, 1, [max(range(len(each)), key=each.__getitem__) for each in repeats]
    except (ValueError, TypeError, IndexError, KeyError, OverflowError):
        raise _Missing("resps") from None


def _is_filled(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _id(value: object, field: str) -> Id:
    if isinstance(value, str) or type(value) is int:
        return value
    raise _Missing(field)


def _in_words(answer: Answer, classes: Sequence[str]) -> str:
    """Return a choice as the class in its place, or as a letter."""
    if isinstance(answer, str):
        return answer
    names = classes or _LETTERS
    return names[answer] if answer < len(names) else str(answer)
