"""A local oracle: what it answers, what it counts, and what it refuses."""

import dataclasses
import gc
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

from benchmarks import oracle_kills
from durable.watermark import WatermarkAway
from holdfast import Failure, Oracle, Rejected
from holdfast.errors import Refused
from holdfast.oracle import engine, ledger, report
from holdfast.oracle.labels import Layout
from holdfast.oracle.run import running
from scoring.verification.run import verify
from tests.holdfast.conftest import Run
from tests.holdfast.oracles import ROWS, TRUTH, Place, guess, halves, table

GUARD = table(TRUTH, usage=halves())


@pytest.fixture
def place() -> Iterator[Place]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        yield Place(Path(folder))


def asked(place: Place) -> int:
    return int(report.read(place.ledger)["guarantee"]["answered"])


def raw(address: str) -> httpx.Client:
    """A client that checks nothing before it sends."""
    way = httpx.HTTPTransport(uds=address.removeprefix("unix:"), verify=False)
    return httpx.Client(transport=way, base_url="http://oracle/api/v1/")


def test_the_same_predictions_have_one_answer_and_one_cost(place: Place) -> None:
    with place.serve() as (oracle, _):
        first = oracle.ask(guess(80))
        backwards = b"\n".join([b"id,target", *guess(80).splitlines()[:0:-1]])
        again = oracle.ask(backwards)
    assert (first.score, first.kind, first.is_repeat) == (0.8, "improved", False)
    assert (again.score, again.number, again.is_repeat) == (0.8, 1, True)
    assert again.left.questions == 99
    assert asked(place) == 1


def test_guard_confirms_on_public_rows_and_says_how_sure_it_is(place: Place) -> None:
    place.labels = GUARD
    with place.serve() as (oracle, _):
        answer = oracle.ask(TRUTH)  # an array, in the order of the labels
        for wrong in range(1, 10):
            oracle.ask(guess(wrong))
        promised = oracle.guarantee()
    assert (answer.kind, answer.score) == ("confirmed", 1.0)
    assert answer.certificate is not None
    assert answer.certificate.low < 1.0 == answer.certificate.high
    assert promised.half_width is not None
    assert promised.half_width_at_end is not None
    assert promised.half_width_at_end >= promised.half_width


def test_rows_are_split_by_a_share_that_stays_the_same(place: Place) -> None:
    layout = Layout(public=Fraction(1, 4))
    for _ in range(2):
        with place.serve(layout=layout) as (oracle, _):
            facts = oracle.facts
        assert (facts["public_rows"], facts["private_rows"]) == (ROWS // 4, 3 * ROWS // 4)


def test_a_mark_is_one_bit(place: Place) -> None:
    with place.serve(mechanism="mark", mark=0.9) as (oracle, _):
        kinds = [oracle.ask(guess(wrong)).kind for wrong in (41, 40)]
    assert kinds == ["fail", "pass"]


def test_a_metric_without_a_guarantee_is_served_and_says_so(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with place.serve("roc_auc") as (oracle, _):
        answer = oracle.ask(table(TRUTH * 0.5))
        sentence = oracle.guarantee().sentence
    said = "No guarantee. ROC AUC: It isn't a mean over rows, so scores carry no guarantee."
    assert said == sentence
    assert said in capsys.readouterr().err
    assert said in answer.summary
    assert (answer.score, answer.certificate, answer.guarantee_text) == (1.0, None, "none")


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        (table(TRUTH), {"metric": "accuracy"}),
        (GUARD, {"metric": "accuracy"}),
        (table(TRUTH), {"metric": "accuracy", "mechanism": "mark", "mark": 0.8}),
        (table(TRUTH), {"metric": "f1"}),
    ],
)
def test_the_ledger_goes_on_after_a_restart_and_verifies(
    place: Place, labels: bytes, chosen: dict[str, Any]
) -> None:
    place.labels = labels
    lines: list[bytes] = []
    for start in (0, 40):
        with place.serve(**chosen) as (oracle, _):
            for wrong in range(start, start + 40, 5):
                oracle.ask(guess(120 - wrong))
            lines = oracle.ledger().splitlines(keepends=True)
    found = verify(lines)
    assert found.difference is None
    assert found.entries == 16
    assert report.read(place.ledger)["head"] == {"number": 16, "hash": found.head_hash}


def test_beyond_the_limit_answers_say_nothing(place: Place) -> None:
    with place.serve(limit=2) as (oracle, _):
        kinds = [oracle.ask(guess(wrong)).kind for wrong in (90, 60, 30)]
        known = oracle.ask(guess(90))
        lines = oracle.ledger().splitlines(keepends=True)
    assert kinds == ["improved", "improved", "limit"]
    assert (known.is_repeat, known.left.questions) == (True, 0)
    assert verify(lines).difference is None


def test_campaigns_are_counted_apart(place: Place) -> None:
    with place.serve() as (oracle, _):
        for wrong, campaign in ((100, "forest"), (101, "forest"), (50, "net")):
            oracle.ask(guess(wrong), campaign=campaign)
        oracle.ask(guess(100), campaign="net")  # known, so it tells the campaign nothing
    rows = report.read(place.ledger)["campaigns"]
    told = [(row["campaign"], row["questions"], row["informative"]) for row in rows]
    assert told == [("forest", 2, 1), ("net", 1, 1)]
    assert all(row["nats"] > 0 for row in rows)


def test_the_report_is_read_without_labels_and_its_ledger_verifies(place: Place, run: Run) -> None:
    with place.serve("roc_auc") as (oracle, _):
        oracle.ask(table(TRUTH * 0.5), campaign="trees")
    place.file.unlink()
    saved = str(place.folder / "saved.jsonl")
    found = run("oracle", "report", str(place.ledger), "--save", saved)
    assert found.code == 0
    for said in ("1 of 100 questions answered", "1 said more", "No guarantee.", "trees", "Head of"):
        assert said in found.out
    assert "is verified" in run("verify", "--ledger", saved).out


@pytest.mark.parametrize(
    ("option", "value", "expected"),  # found before root would become another user
    [
        ("--http", "0.0.0.0:8000", "127.0.0.1:PORT was expected, not '0.0.0.0:8000'"),
        ("--public", "2", "a share between 0 and 1 was expected"),
        ("--parameter", "steps", "NAME=VALUE was expected"),
    ],
)
def test_a_wrong_option_says_what_was_expected(
    place: Place, run: Run, option: str, value: str, expected: str
) -> None:
    place.file.write_bytes(place.labels)
    options = {"--labels": str(place.file), "--metric": "accuracy", option: value}
    found = run("oracle", "serve", *(text for pair in options.items() for text in pair))
    assert found.code == 1
    assert expected in found.err


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        (table(["yes"] * ROWS), {}, "Line 2, column `target`: 'yes' is not one of 0, 1."),
        (guess(1)[:-10], {}, "r399"),
        ([0, 1], {}, "2 rows and 1 columns; expected are 400"),
        (guess(1), {"claim": 0.5}, "takes no claims"),
        (guess(1), {"campaign": "x" * 101}, "at most 100 characters"),
        (b"\x89PNG", {}, "image"),
    ],
)
def test_what_is_wrong_is_named_and_not_counted(
    place: Place, file: Any, options: dict[str, Any], expected: str
) -> None:
    with place.serve() as (oracle, _):
        with pytest.raises(Failure, match=expected.replace("(", r"\(")):
            oracle.ask(file, **options)
        assert oracle.facts["left"]["questions"] == 100
    assert asked(place) == 0


def test_a_rejected_file_has_its_problems(place: Place) -> None:
    with place.serve() as (oracle, _), pytest.raises(Rejected) as rejected:
        oracle.ask(table(["2"] * ROWS))
    assert rejected.value.problems[0]["line"] == 2
    assert rejected.value.problems[0]["expected"]


def test_100_mb_are_refused_before_they_are_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("read")

    with place.serve() as (oracle, served), raw(served.address) as client:
        monkeypatch.setattr(engine.Engine, "read", read)
        sent = client.post("questions/", content=bytes(100_000_000))
        assert sent.status_code == 413
        assert "100 MB; at most 50 MB" in sent.json()["detail"]
        unknown = client.post("questions/", content=iter([b"id"]))
        assert unknown.json()["code"] == "length_required"
        with pytest.raises(Refused, match="Nothing was sent"):
            oracle.ask(bytes(100_000_000))
    assert asked(place) == 0


def test_requests_of_web_pages_are_refused_on_loopback(place: Place) -> None:
    with running(dataclasses.replace(place.order(), socket=None, port=0)) as served:
        with Oracle(served.address) as oracle:
            assert oracle.ask(guess(10)).kind == "improved"
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            answer = httpx.get(f"{served.address}/api/v1/", headers=headers)
            assert answer.json()["code"] == "not_allowed"


def test_what_is_no_request_of_it_is_answered_as_a_problem(place: Place) -> None:
    with place.serve() as (_, served), raw(served.address) as client:
        answers = [client.get("nothing/"), client.put(""), client.post("gates/none/", content=b"")]
    assert [each.status_code for each in answers] == [404, 501, 404]
    assert {each.headers["content-type"] for each in answers} == {"application/problem+json"}


# --- What doesn't fit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "metric", "chosen", "expected"),
    [
        (table(1 - TRUTH), "accuracy", {}, "The labels, or how they are split or weighted, are"),
        (table(TRUTH[:-1]), "accuracy", {}, "The rows are others"),
        (table(TRUTH), "error_rate", {}, "Its metric is accuracy; this is error_rate"),
        (table(TRUTH), "accuracy", {"limit": 101}, "Its question limit is 100; this is 101"),
        (table(TRUTH), "accuracy", {"gates": 3}, "Its gate limit is None; this is 3"),
        (table(TRUTH), "accuracy", {"mechanism": "mark", "mark": 0.9}, "Its mechanism is ladder"),
        (table(TRUTH), "accuracy", {"parameters": {"steps": "20"}}, "mechanism parameters"),
    ],
)
def test_labels_or_terms_that_do_not_fit_the_ledger_start_nothing(
    place: Place, labels: bytes, metric: str, chosen: dict[str, Any], expected: str
) -> None:
    with place.serve() as (oracle, _):
        oracle.ask(guess(10))
    place.labels = labels
    with pytest.raises(Failure, match=expected), place.serve(metric, **chosen):
        pass
    place.labels = table(TRUTH)
    with place.serve() as (oracle, _):
        assert oracle.ask(guess(10)).is_repeat


@pytest.mark.parametrize(
    ("labels", "metric", "chosen", "expected"),
    [
        (b"id,a,b\n1,0,1\n2,1,0\n", "accuracy", {}, "2 columns besides the id"),
        (b"id,a\n1,0\n1,1\n", "accuracy", {}, "“1” stands there twice"),
        (b"id,a\n1,0\n2,\n", "accuracy", {}, "Line 3, column `a`"),
        (table(TRUTH), "accuray", {}, "no metric called 'accuray'"),
        (table(TRUTH), "roc_auc", {"mechanism": "guard"}, "Use the Ladder"),
        (table(TRUTH), "accuracy", {"mechanism": "magic"}, "guard, ladder, mark"),
        (table(TRUTH), "accuracy", {"mark": 1.5, "mechanism": "mark"}, "from 0 to 1"),
        (table(TRUTH), "accuracy", {"parameters": {"steps": "9000"}}, "Give at most"),
        (table(TRUTH), "accuracy", {"layout": Layout(targets=("y",))}, "no column “y”"),
    ],
)
def test_labels_that_can_not_be_asked_about_are_refused(
    place: Place, labels: bytes, metric: str, chosen: dict[str, Any], expected: str
) -> None:
    place.labels = labels
    with pytest.raises(Failure, match=expected), place.serve(metric, **chosen):
        pass


def test_an_older_copy_of_the_ledger_answers_nobody(place: Place) -> None:
    older = place.folder / "older.sqlite3"
    with place.serve() as (oracle, _):
        oracle.ask(guess(100))
    shutil.copy(place.ledger / ledger.FILE, older)
    with place.serve() as (oracle, _):
        oracle.ask(guess(50))
    shutil.copy(older, place.ledger / ledger.FILE)
    with pytest.raises(Failure, match="older than what it has answered"), place.serve():
        pass
    (place.ledger / ledger.FILE).unlink()
    with pytest.raises(Failure, match="older than what it has answered"), place.serve():
        pass


def test_a_ledger_without_its_secret_answers_nobody(place: Place) -> None:
    with place.serve() as (oracle, _):
        oracle.ask(guess(100))
    (place.ledger / "secret").unlink()
    with pytest.raises(Failure, match="no file secret"), place.serve():
        pass


def test_a_second_oracle_learns_who_has_the_ledger(place: Place) -> None:
    held = f"held by the process {os.getpid()}"
    with place.serve(), pytest.raises(Failure, match=held), place.serve():
        pass


# --- Nothing lost, nothing twice ------------------------------------------------------------------


def test_an_answer_that_was_committed_and_not_sent_is_given_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise WatermarkAway("The disk is away.")

    with place.serve() as (oracle, _):
        with monkeypatch.context() as patch:
            patch.setattr(ledger.Ledger, "note", away)
            with pytest.raises(Refused, match="The disk is away"):
                oracle.ask(guess(100))
        answer = oracle.ask(guess(100))
        assert (answer.number, answer.is_repeat, answer.left.questions) == (1, True, 99)


def test_an_answer_that_was_not_committed_is_not_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ledger.Ledger.append

    def fail(self: ledger.Ledger, *given: Any) -> None:
        write(self, *given)
        raise OSError(28, "No space left on device")

    with place.serve() as (oracle, _):
        with monkeypatch.context() as patch:
            patch.setattr(ledger.Ledger, "append", fail)
            with pytest.raises(Failure, match="OSError"):
                oracle.ask(guess(100))
        answer = oracle.ask(guess(100))
    assert (answer.number, answer.is_repeat, answer.left.questions) == (1, False, 99)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_kills_lose_double_and_hide_no_answer(place: Place) -> None:
    client, broken = oracle_kills.play(place.folder, kills=3, seed=7)
    gc.collect()  # httpcore leaves a socket open that could not be connected
    assert broken == []
    assert client.told


# --- Two worlds -----------------------------------------------------------------------------------


def test_labels_that_lead_to_the_same_answers_give_the_same_bytes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Private labels are permuted where no file that is asked tells one from the other."""

    still = SimpleNamespace(now=lambda zone: datetime(2026, 1, 1, tzinfo=zone))
    monkeypatch.setattr(engine, "datetime", still)
    files = [table(np.full(ROWS, value)) for value in (0, 1)] + [b"", table([2] * ROWS)]
    worlds = []
    for labels in (TRUTH, np.random.default_rng(5).permutation(TRUTH)):
        place.labels = table(labels)
        with place.serve() as (_, served), raw(served.address) as client:
            answers = [client.post("questions/", content=file).content for file in files]
            answers += [client.get(path).content for path in ("sample/", "guarantee/", "history/")]
            facts = json.loads(client.get("").content)
            del facts["name"]  # drawn
            worlds.append((answers, facts))
        shutil.rmtree(place.ledger)
    assert worlds[0] == worlds[1]


def test_an_address_without_its_kind_says_what_was_expected() -> None:
    with pytest.raises(Failure, match="unix:PATH or http://"):
        Oracle("oracle.sock")
