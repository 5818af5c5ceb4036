"""Gates, for continuous integration: one yes or no about a file, as an exit code and a report."""

from __future__ import annotations

import os
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from holdfast import options, output
from holdfast.checking import require
from holdfast.client import Client
from holdfast.connection import problem_lines
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.output import Column, Format
from holdfast.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from holdfast.records import GateAnswer, Submission

PASSED, FAILED, NOT_ANSWERED = 0, 1, 2
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
COLUMNS = [
    Column("name", "Gate"),
    Column("asks", "Asks"),
    Column("margin", "May err by", "{:.4g}".format, numeric=True),
    Column("on_pass", "A pass says"),
    Column("on_fail", "A fail says"),
    Column("in_use", "In use", numeric=True),
    Column("left", "Left", numeric=True),
    Column("closed", "Closed"),
]
ANSWER_COLUMNS = [
    Column("gate", "Gate"),
    Column("number", "Submission", numeric=True),
    Column("status", "Status"),
    Column("passed", "Passed"),
    Column("promise", "What that says"),
    Column("left", "Gates left", numeric=True),
    Column("is_repeat", "Answered before"),
]
PLAN_COLUMNS = [
    Column("rows", "Rows", numeric=True),
    Column("gates", "Gates", numeric=True),
    Column("margin", "Margin ±", numeric=True),
    Column("differing", "Rows that differ", numeric=True),
    Column("confidence", "Confidence", numeric=True),
]


def gate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which gate.")],
    option: options.CompetitionOption = None,
    *,
    file: Annotated[
        Path, typer.Option("-f", "--file", help="Your predictions.", **options.EXISTING)
    ],
    message: Annotated[str, typer.Option("-m", "--message", help="A note for your team.")] = "",
    seconds: Annotated[
        float, typer.Option("--wait", min=0, help="How many seconds to wait for the answer.")
    ] = WAIT_SECONDS,
    interval: options.PollInterval = 2.0,
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            help="Write what happened as Markdown; without it, behind $GITHUB_STEP_SUMMARY if set.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the result as JUnit XML.")
    ] = None,
    style: options.FormatOption = Format.table,
) -> None:
    """Ask a gate about a prediction file: exits 0 on a pass, 1 on a fail.

    Whatever else happens exits 2: refused, rejected, not answered in time. The same predictions
    are asked about once: after that, the stored answer comes back, and nothing is counted.
    """
    slug = competition_of(None, option)
    try:
        found = _ask(slug, name, file, message, seconds, interval)
        answer = found.gate_answer
        if answer is None:
            problems = problem_lines(found.problems, found.problem_count)
            raise Failure(f"Submission {found.number}: {found.summary}", details=problems)
        _report(slug, name, found, answer, style)
        text = _in_markdown(slug, name, found, answer)
        _write(summary, junit, text, _in_junit(slug, name, answer))
    except (Failure, OSError) as error:
        failure = _as_failure(error)
        output.report(failure)
        try:
            text = f"### Gate `{name}` of {slug}: not answered\n\n{failure}\n"
            _write(summary, junit, text, _in_junit(slug, name, failure))
        except OSError as error:
            output.report(_as_failure(error))
        raise typer.Exit(NOT_ANSWERED) from None
    raise typer.Exit(PASSED if answer.passed else FAILED)


def gates(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    is_plan: Annotated[
        bool, typer.Option("--plan", help="No server: how many gates rows bear, and rows needed.")
    ] = False,
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="Private rows.")] = None,
    count: Annotated[int, typer.Option("--gates", min=1, help="How many gates.")] = 32,
    margin: Annotated[str, typer.Option("--margin", help="How far an answer may err.")] = "0.01",
    differing: Annotated[
        str, typer.Option("--differing", help="On which share of the rows files may differ.")
    ] = "0.1",
    confidence: Annotated[str, typer.Option("--confidence", help="Of all answers.")] = "0.9999",
    style: options.FormatOption = Format.table,
) -> None:
    """List the gates of a competition, or plan some with --plan."""
    if is_plan:
        _plan(rows, count, (margin, differing, confidence), style)
        return
    slug = competition_of(competition, option)
    with Client() as server:
        found = [each.json for each in server.competition(slug).gates()]
    if style is Format.json:
        output.show_json(found)
    else:
        output.show(found, COLUMNS, style, "This round has no gates.")


def _ask(
    slug: str, name: str, file: Path, message: str, seconds: float, interval: float
) -> Submission:
    with Client() as server:
        competition = server.competition(slug)
        sent = competition.submit(file, message=message, gate=name)
        return competition.wait(sent, seconds, interval)


def _as_failure(error: Failure | OSError) -> Failure:
    if isinstance(error, Failure):
        return error
    return Failure(f"{error.filename or 'This machine'}: {error.strerror or error}.")


def _report(slug: str, name: str, found: Submission, answer: GateAnswer, style: Format) -> None:
    if style is Format.json:
        output.show_json(found.json)
    elif style is Format.csv:
        output.show_one(found.json | answer.json, ANSWER_COLUMNS, style)
    else:
        output.say(f"{_verdict(answer)}: gate {name} of {slug}, submission {found.number}.", "bold")
        for line in _told(answer):
            output.say(line)


def _verdict(answer: GateAnswer) -> str:
    return "Passed" if answer.passed else "Failed"


def _told(answer: GateAnswer) -> list[str]:
    """Return what was asked, what the answer says, and what is left, as sentences."""
    left = f"{answer.left:,} of {answer.limit:,} answers of gates are left."
    before = "Answered before; nothing was asked." if answer.is_repeat else ""
    return [line for line in (answer.asks, answer.promise, before, left) if line]


def _in_markdown(slug: str, name: str, found: Submission, answer: GateAnswer) -> str:
    lines = "".join(f"- {line}\n" for line in _told(answer))
    verdict = _verdict(answer).lower()
    return f"### Gate `{name}` of {slug}: {verdict}\n\nSubmission {found.number}.\n\n{lines}"


def _in_junit(slug: str, name: str, result: GateAnswer | Failure) -> bytes:
    """Return one test in one suite: it passes, fails, or has an error where there is no answer."""
    is_error = isinstance(result, Failure)
    has_failed = not isinstance(result, Failure) and not result.passed
    counts = {"tests": "1", "failures": str(int(has_failed)), "errors": str(int(is_error))}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "holdfast gates"} | counts)
    case = ElementTree.SubElement(suite, "testcase", classname=f"holdfast.{slug}", name=name)
    if isinstance(result, Failure):
        error = ElementTree.SubElement(case, "error", message=output.clean(result.message))
        error.text = output.clean(result)
    else:
        told = "\n".join(map(output.clean, _told(result)))
        if has_failed:
            failure = ElementTree.SubElement(case, "failure", message=output.clean(result.promise))
            failure.text = told
        else:
            ElementTree.SubElement(case, "system-out").text = told
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml


def _write(summary: Path | None, junit: Path | None, text: str, xml: bytes) -> None:
    """Write both reports, where they are wanted. Raises OSError."""
    if junit is not None:
        junit.write_bytes(xml)
    if summary is not None:
        summary.write_text(text, encoding="utf-8")
    elif there := os.environ.get(SUMMARY_VARIABLE):
        with Path(there).open("a", encoding="utf-8") as file:
            file.write(text)


def _plan(rows: int | None, count: int, texts: tuple[str, str, str], style: Format) -> None:
    """Show how many gates rows bear, and how many rows as many gates take."""
    require("Planning", "scoring.gates")
    rules, errors = import_module("scoring.gates"), import_module("scoring.errors")
    margin, differing, confidence = map(_number, ("margin", "differing", "confidence"), texts)
    if not 0 < differing <= 1 or not 0 < confidence < 1:
        raise typer.BadParameter("--differing is above 0 and at most 1, --confidence between both.")
    beta, found, borne = 1 - confidence, list[dict[str, object]](), 0
    asked = dict(zip(("margin", "differing", "confidence"), texts, strict=True))
    try:
        needed = rules.rows_needed(count, float(margin), beta, differing)
        found.append({"rows": needed, "gates": count, **asked})
        if rows is not None:
            borne = rules.count_gates(rows, float(margin), beta, differing)
            found.insert(0, {"rows": rows, "gates": borne, **asked})
    except errors.HoldfastError as error:
        raise typer.BadParameter(str(error)) from None
    if style is Format.json:
        output.show_json(found)
        return
    output.show(found, PLAN_COLUMNS, style)
    if style is Format.table:
        if rows is not None:
            output.say(f"{rows:,} rows bear {output.number(borne, 'gate', 'gates')}.")
        output.say(f"{output.number(count, 'gate takes', 'gates take')} {needed:,} rows.")


def _number(option: str, text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"{text!r} is not a number, for --{option}.") from None
