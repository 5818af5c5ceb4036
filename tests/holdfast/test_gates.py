"""`holdfast gate` in continuous integration: an exit code, reports, and a plan without a server."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from holdfast.gates import SUMMARY_VARIABLE
from tests.holdfast.conftest import Ran, Run, Server, ok, page, problem
from tests.holdfast.test_submissions import NEW, ONE, QUEUED, REJECTED, SENT

ANSWER = {
    "passed": True, "asks": "Is the score at least 0.8?", "is_repeat": False, "earlier": False,
    "promise": "Its true score is at least 0.7312.", "left": 5, "limit": 6,
}  # fmt: skip
GATE = {
    "name": "ci", "kind": "mark", "metric": "accuracy", "asks": ANSWER["asks"], "bound": 0.8,
    "margin": 0.07, "on_pass": ANSWER["promise"], "on_fail": "At most 0.8569.", "in_use": None,
    "left": 6, "limit": 6, "closed": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _terminal(signed_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUMMARY_VARIABLE, raising=False)
    Path("p.csv").write_text("id,label\n", encoding="utf-8")


def answered(**changes: Any) -> dict[str, Any]:
    answer = ANSWER | changes
    gate = {"gate": "ci", "passed": answer["passed"], "gate_answer": answer}
    return QUEUED | {"status": "released", "is_final": True, "summary": "Done."} | gate


def ask(run: Run, server: Server, answer: httpx.Response, *arguments: str) -> Ran:
    server.on("POST", SENT, ok(NEW | {"gate": "ci"}, 201))
    server.on("GET", ONE, answer)
    return run("gate", "ci", "-c", "digits", "-f", "p.csv", *arguments)


def test_a_pass_exits_0_and_a_fail_exits_1(run: Run, server: Server) -> None:
    passed = ask(run, server, ok(answered()))
    assert (passed.code, passed.err) == (0, "")
    assert "Passed: gate ci of digits, submission 3." in passed.out
    assert "Its true score is at least 0.7312." in passed.out
    assert "5 of 6 answers of gates are left." in passed.out
    failed = ask(run, server, ok(answered(passed=False)))
    assert failed.code == 1
    assert "Failed: gate ci" in failed.out


def test_the_gate_s_name_goes_with_the_file(run: Run, server: Server) -> None:
    ask(run, server, ok(answered()), "-m", "abc123")
    sent = next(each for each in server.requests if each.method == "POST").content
    assert b'name="gate"\r\n\r\nci\r\n' in sent
    assert b"abc123" in sent


def test_what_was_answered_before_says_so(run: Run, server: Server) -> None:
    assert "nothing was asked" in ask(run, server, ok(answered(is_repeat=True))).out


@pytest.mark.parametrize(
    ("sent", "answer", "told"),
    [
        (ok(NEW | REJECTED, 201), ok(REJECTED), "Submission 3: Not accepted."),
        (ok(NEW, 201), ok(QUEUED), "still queued"),
        (problem(409, "gate_closed", "None are left."), ok(QUEUED), "None are left."),
        (httpx.ConnectError("no"), ok(QUEUED), "holdfast.example"),
    ],
)
def test_everything_else_exits_2(
    run: Run, server: Server, sent: Any, answer: httpx.Response, told: str
) -> None:
    server.on("POST", SENT, sent)
    server.on("GET", ONE, answer)
    ran = run("gate", "ci", "-c", "digits", "-f", "p.csv", "--wait", "0", "--junit", "out.xml")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    suites = ElementTree.parse("out.xml").getroot()  # noqa: S314  (our own)
    assert [each.tag for each in suites.iter()][-1] == "error"
    assert suites.get("errors") == "1"


def test_a_file_that_is_not_there_exits_2(run: Run, server: Server) -> None:
    assert run("gate", "ci", "-c", "digits", "-f", "missing.csv").code == 2
    assert not server.requests


def test_the_answer_comes_as_json_or_csv(run: Run, server: Server) -> None:
    found = json.loads(ask(run, server, ok(answered()), "--format", "json").out)
    assert found["gate_answer"] == ANSWER
    assert ask(run, server, ok(answered()), "--format", "csv").out.splitlines() == [
        "gate,number,status,passed,promise,left,is_repeat",
        "ci,3,released,true,Its true score is at least 0.7312.,5,false",
    ]


def test_a_summary_is_written_or_goes_behind_the_step_s(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(run, server, ok(answered()), "--summary", "own.md")
    text = Path("own.md").read_text(encoding="utf-8")
    assert text.startswith("### Gate `ci` of digits: passed\n")
    assert "- 5 of 6 answers of gates are left.\n" in text
    Path("step.md").write_text("Before.\n", encoding="utf-8")
    monkeypatch.setenv(SUMMARY_VARIABLE, "step.md")
    ask(run, server, ok(answered()))
    assert Path("step.md").read_text(encoding="utf-8") == "Before.\n" + text


@pytest.mark.parametrize(("passed", "failures"), [(True, "0"), (False, "1")])
def test_junit_has_one_suite_with_one_test(
    run: Run, server: Server, passed: bool, failures: str
) -> None:
    ask(run, server, ok(answered(passed=passed)), "--junit", "out.xml")
    suites = ElementTree.parse("out.xml").getroot()  # noqa: S314  (our own)
    (suite,) = suites
    (case,) = suite
    assert (suites.tag, suite.tag, case.tag) == ("testsuites", "testsuite", "testcase")
    counts = {"tests": "1", "failures": failures, "errors": "0"}
    assert suites.attrib == counts
    assert suite.attrib == counts | {"name": "holdfast gates"}
    assert case.attrib == {"classname": "holdfast.digits", "name": "ci"}
    assert [each.tag for each in case] == ["system-out" if passed else "failure"]


def test_gates_are_listed(run: Run, server: Server) -> None:
    server.on("GET", "competitions/digits/gates/", page(GATE))
    listed = run("gates", "digits")
    assert (listed.code, listed.err) == (0, "")
    assert "Is the score at least 0.8?" in listed.out


def test_a_plan_needs_no_server(run: Run, server: Server) -> None:
    planned = run("gates", "--plan", "--rows", "70000", "--margin", ".01")
    assert "32 gates take 64,209 rows." in planned.out
    assert "70,000 rows bear 36 gates." in planned.out
    assert not server.requests


@pytest.mark.parametrize(
    "wrong", [("--margin", "0"), ("--differing", "2"), ("--confidence", "1"), ("--margin", "x")]
)
def test_a_plan_that_cannot_be_made_is_wrong_usage(run: Run, wrong: tuple[str, str]) -> None:
    ran = run("gates", "--plan", *wrong)
    assert (ran.code, "Traceback" in ran.err) == (2, False)
