"""Whatever goes wrong ends as a plain reason on stderr and an exit code, never as a traceback."""

import ssl
import sys
from collections.abc import Callable

import httpx
import pytest

from holdfast import connection
from tests.holdfast.conftest import URL, Endless, Run, Server, Unread, ok, page, problem

pytestmark = pytest.mark.usefixtures("signed_in")


def _tls_failure(request: httpx.Request) -> httpx.Response:
    cause = ssl.SSLCertVerificationError("verify failed")
    cause.verify_message = "self-signed certificate"
    try:
        raise cause
    except ssl.SSLError as error:
        raise httpx.ConnectError("[SSL]", request=request) from error


@pytest.mark.parametrize(
    ("answer", "reason", "advice"),
    [
        (
            httpx.ConnectError("[Errno 111] Connection refused"),
            f"Cannot connect to {URL}: Connection refused.",
            "Check the address",
        ),
        (httpx.ConnectTimeout("slow"), "did not answer in time", "Check the address"),
        (httpx.ReadTimeout("slow"), "took too long to answer", "may have arrived"),
        (httpx.ReadError("reset"), "broke: reset", "may have arrived"),
        (httpx.ProxyError("403 Forbidden"), "proxy in between failed", "HTTPS_PROXY"),
        (_tls_failure, "cannot be trusted: self-signed certificate", "SSL_CERT_FILE"),
        (httpx.Response(200, html="<p>Hi</p>"), "200 with a web page", "Check the address"),
        (httpx.Response(404, html="<p>Hi</p>"), "404 with a web page", "Check the address"),
        (httpx.Response(200, json=[1]), "not as a Holdfast server does", "Check the address"),
        (httpx.Response(200, text=""), "not as a Holdfast server does", "Check the address"),
        (
            httpx.Response(301, headers={"location": "https://new.example/"}),
            "redirects to https://new.example/",
            "holdfast login --url",
        ),
        (
            httpx.Response(200, headers={"content-encoding": "gzip, gzip"}, stream=Unread()),
            "compressed its answer as 'gzip, gzip'",
            "proxy in between",
        ),
        (httpx.Response(200, stream=Endless()), "more than 64 MB", ""),
        (httpx.Response(404, stream=Endless()), "more than 64 MB", ""),
        (httpx.Response(502, html="Bad gateway"), "not available at the moment (502)", "Try again"),
        (
            problem(401, "not_authenticated", "The token is not valid."),
            "The token is not valid.",
            "expired or been revoked",
        ),
        (problem(429, "throttled", "Too many requests."), "Too many requests.", ""),
        (problem(500, "internal_error", "It broke here."), "It broke here.", ""),
    ],
)
def test_a_failure_has_a_reason_and_a_way_on(
    answer: httpx.Response | Exception | Callable[[httpx.Request], httpx.Response],
    reason: str,
    advice: str,
    server: Server,
    run: Run,
) -> None:
    server.on("GET", "competitions/", answer)
    ran = run("competitions", "list")
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("Error: ")
    assert reason in ran.err
    assert advice in ran.err
    assert "Traceback" not in ran.err


def test_without_a_token_the_advice_is_to_sign_in(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_TOKEN")
    server.on("GET", "me/", problem(401, "not_authenticated", "Sign in first."))
    ran = run("whoami")
    assert "Sign in first." in ran.err
    assert "expired" not in ran.err
    assert "Run `holdfast login`" in ran.err


def test_an_answer_of_another_shape_is_no_traceback(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", ok({"unexpected": True}))
    ran = run("competitions", "list")
    assert ran.code == 1
    assert "server is newer than this command" in ran.err
    assert "Traceback" not in ran.err


def test_an_interrupted_command_exits_130(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(connection.Connection, "get", interrupt)
    ran = run("competitions", "list")
    assert ran.code == 130
    assert ran.err == "Interrupted.\n"


def test_problems_say_where_and_how_many_more(server: Server, run: Run) -> None:
    errors = [
        {"code": "unknown_label", "message": "'cat ' is not one of 0-9.", "line": 18,
         "column": "label", "value": "cat ", "expected": "0-9"},
        {"code": "bad", "message": "The header is wrong.", "line": None, "column": None},
        {"code": "bad", "message": "Line 7, column `id`: unknown.", "line": 7, "column": "id"},
    ]  # fmt: skip
    server.on("GET", "me/", problem(422, "invalid", "Not accepted.", errors=errors, total=7))
    assert run("whoami").err.splitlines() == [
        "Error: Not accepted.",
        "  Line 18, column `label`: 'cat ' is not one of 0-9.",
        "  The header is wrong.",
        "  Line 7, column `id`: unknown.",
        "  7 in all.",
    ]


def test_a_full_disk_is_a_reason(server: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "train.csv")

    monkeypatch.setattr(connection.Connection, "get", full)
    ran = run("competitions", "list")
    assert (ran.code, ran.err) == (1, "Error: train.csv: No space left on device.\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["competitions", "nonsense"], "nonsense"),
        (["submit", "digits"], "--file"),
        (["submit", "digits", "-f", "missing.csv"], "missing.csv"),
        (["files"], "name a competition"),
        (["files", "digits", "-c", "letters"], "two competitions"),
        (["files", "../me"], "no competition's short name"),
        (["submission", "digits", "three"], "number"),
        (["competitions", "list", "--format", "xml"], "xml"),
        (["competitions", "list", "--page-size", "500"], "200"),
        (["download", "digits", "-w", "-p", "x"], "two folders"),
        (["join", "digits"], "--accept-rules"),
    ],
)
def test_wrong_usage_exits_2_before_anything_is_asked(
    arguments: list[str], reason: str, server: Server, run: Run
) -> None:
    server.on("GET", "competitions/digits/", ok({"slug": "digits", "rules": "Be fair."}))
    ran = run(*arguments)
    assert ran.code == 2
    assert reason in ran.err
    assert ran.out == ""
    assert all(request.method == "GET" for request in server.requests)


def test_help_needs_no_server_and_no_account(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_URL")
    monkeypatch.delenv("HOLDFAST_TOKEN")
    for command in ([], ["competitions"], ["c", "submit"], ["login"], ["leaderboard"]):
        assert run(*command, "--help").code == 0


def test_names_cannot_steer_the_terminal(server: Server, run: Run) -> None:
    evil = "\x1b]0;owned\x07\x1b[31mred\u202e\nnext"
    server.on("GET", "competitions/", page({"slug": "digits", "title": evil}))
    out = run("competitions", "list").out
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert "red next" in out


def test_names_cannot_become_formulas(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page({"slug": "digits", "title": "=HYPERLINK(1);@x"}))
    assert "'=HYPERLINK(1);'@x" in run("competitions", "list", "-v").out


def test_a_terminal_that_cannot_show_a_sign_is_no_failure(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on("GET", "competitions/", page({"slug": "digits", "title": "Ziffern → 数字"}))
    sys.stdout.reconfigure(encoding="ascii")  # type: ignore[union-attr]  # a TextIOWrapper
    ran = run("competitions", "list", "--format", "csv")
    assert ran.code == 0
    assert "Ziffern ? ??" in ran.out


def test_the_client_identifies_itself(server: Server, run: Run) -> None:
    server.on("GET", "me/", ok({"username": "alice"}))
    run("whoami")
    assert server.last.headers["user-agent"].startswith("holdfast/")


def test_parts_of_a_path_are_quoted() -> None:
    assert connection.competition_path("digits", "files", "a b/c") == (
        "competitions/digits/files/a%20b%2Fc/"
    )
