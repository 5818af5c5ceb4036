"""`import holdfast`: what it takes, what it gives, and how it fails."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import holdfast
from holdfast import errors
from tests.holdfast.conftest import URL, Server, ok, page, problem
from tests.holdfast.test_check import DETAIL, ENTRY, SAMPLE
from tests.holdfast.test_competitions import MINE, ROW
from tests.holdfast.test_submissions import NEW, QUEUED, REJECTED, RELEASED

pytestmark = pytest.mark.usefixtures("signed_in")
SENT = "competitions/pets/submissions/"
IDS = ["1", "2", "3"]


@pytest.fixture
def pets(server: Server) -> holdfast.Competition:
    """Return a competition of a server that takes what is sent."""
    server.on("GET", "competitions/pets/", ok(DETAIL))
    server.on("GET", "competitions/pets/files/", page(ENTRY))
    content = httpx.Response(200, content=SAMPLE.encode())
    server.on("GET", "competitions/pets/files/sample_submission.csv/", content)
    server.on("GET", SENT, page())
    server.on("POST", SENT, ok(NEW, 201))
    return holdfast.Client().competition("pets")


def _table(labels: list[str]) -> dict[str, list[str]]:
    return {"id": IDS, "label": labels}


LABELS = ["dog", "cat", "dog"]


@pytest.mark.parametrize(
    "predictions",
    [
        pd.DataFrame(_table(LABELS)),
        pd.DataFrame(_table(LABELS)).set_index("id"),
        pd.Series(LABELS, pd.Index(IDS, name="id"), name="label"),
        pd.Series(LABELS),
        pl.DataFrame(_table(LABELS)),
        pl.Series(LABELS),
        np.array(LABELS),
        np.array(LABELS).reshape(3, 1),
        LABELS,
        b"id,label\n1,dog\n2,cat\n3,dog\n",
    ],
    ids=[
        *("pandas", "index", "series", "plain series", "polars", "polars series", "1-d", "2-d"),
        *("list", "bytes"),
    ],
)
def test_tables_and_arrays_are_sent_as_csv(
    predictions: Any, pets: holdfast.Competition, server: Server
) -> None:
    sent = pets.submit(predictions, message="trees")
    assert (sent.number, sent.status, sent.score) == (3, "queued", None)
    assert b"\r\n\r\nid,label\n1,dog\n2,cat\n3,dog\n\r\n" in server.last.content
    assert pets.check(predictions) == 3


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        ({"id": IDS}, "or a list, not dict."),
        (np.array(LABELS[:2]), "has 2 rows and 1 columns; expected are 3 rows"),
        ("nowhere.csv", "There is no file nowhere.csv."),
    ],
)
def test_what_is_no_file_of_predictions_is_not_sent(
    predictions: Any, reason: str, pets: holdfast.Competition, server: Server
) -> None:
    with pytest.raises(holdfast.Failure, match=reason):
        pets.submit(predictions)
    assert all(request.method == "GET" for request in server.requests)


def test_waiting_brings_the_answer(pets: holdfast.Competition, server: Server) -> None:
    server.on("GET", f"{SENT}3/", ok(RELEASED))
    found = pets.submit(pd.DataFrame(_table(LABELS)), wait=True, poll_interval=0)
    assert (found.status, found.score) == ("released", 0.94)
    assert found.release is not None
    assert found.release.sampling is not None
    assert found.release.sampling.high == 0.97
    assert found.created_at == datetime(2026, 11, 20, 10, tzinfo=UTC)
    server.on("GET", f"{SENT}3/", ok(REJECTED))
    assert pets.wait(3).problems[0]["line"] == 18


def test_a_file_sent_before_is_sent_with_a_warning(
    pets: holdfast.Competition, server: Server, environment: Path
) -> None:
    (environment / "p.csv").write_text(SAMPLE)
    server.on("GET", SENT, page(QUEUED | {"sha256": ENTRY["sha256"]}))
    with pytest.warns(holdfast.SentBefore, match="submission 3"):
        pets.submit("p.csv")
    server.on("GET", SENT, problem(403, "scope_missing", "The token may not read."))
    assert pets.submit("p.csv").number == 3


def test_a_file_that_would_be_rejected_raises_with_its_lines(pets: holdfast.Competition) -> None:
    with pytest.raises(holdfast.Rejected, match="Line 3, column `label`: 'Dog'") as caught:
        pets.check(pd.DataFrame(_table(["cat", "Dog", "cat"])))
    assert caught.value.code == "rejected"
    assert caught.value.problems[0]["line"] == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.NotSignedIn),
        (403, errors.NotAllowed),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (422, errors.Invalid),
        (429, errors.NotNow),
        (418, errors.Refused),
    ],
)
def test_a_refusal_is_typed_and_has_the_api_s_code(
    status: int, kind: type[errors.Refused], server: Server
) -> None:
    server.on("GET", "me/", problem(status, "the_code", "Why not.", errors=[{"field": "team"}]))
    with pytest.raises(errors.Refused, match="Why not") as caught:
        holdfast.Client().me()
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.status) == ("the_code", status)
    assert caught.value.problems == [{"field": "team"}]


def test_joining_takes_accepting_the_rules(server: Server) -> None:
    with pytest.raises(holdfast.Failure, match="accept_rules=True"):
        holdfast.Client().competition("pets").join("Blue")
    assert server.requests == []


def test_a_board_is_a_list_with_a_guarantee_and_a_table(server: Server) -> None:
    row = ROW | {"team": "<b>Alices</b>"}
    said = {"sentence": "±0.06.", "half_width": 0.06}
    first = page(row, count=2, more=True, me=MINE, guarantee=said)
    server.on("GET", "competitions/pets/leaderboard/", first, page(ROW, count=2))
    board = holdfast.Client().competition("pets").board()
    assert (len(board), board.total, board.me) == (2, 2, MINE)
    assert board.guarantee is not None
    assert board.guarantee.half_width == 0.06
    assert "&lt;b&gt;Alices&lt;/b&gt;" in board._repr_html_()
    assert "&lt;b&gt;" in board[0]._repr_html_()
    assert list(board.to_pandas()["score"]) == list(board.to_polars()["score"]) == [0.9, 0.9]


def test_labels_of_one_s_own_are_scored_by_the_server_s_metric(
    pets: holdfast.Competition, server: Server
) -> None:
    facts = DETAIL | {"metric_name": "accuracy", "metric_parameters": {}}
    server.on("GET", "competitions/pets/", ok(facts))
    labels = pd.DataFrame(_table(["dog", "dog", "dog"])).assign(
        Usage=["Public", "Private", "Final"]
    )
    assert pets.evaluate(labels, pl.DataFrame(_table(LABELS))) == pytest.approx(2 / 3)
    assert list(pets.losses(np.array(LABELS), np.array(["dog", "dog", "dog"]))) == [0, 1, 0]
    with pytest.raises(holdfast.Rejected, match="The labels can't be read"):
        pets.evaluate(labels.assign(label="bird"), pl.DataFrame(_table(LABELS)))
    server.on("GET", "competitions/pets/", ok(facts | {"metric_name": "their own"}))
    with pytest.raises(holdfast.Failure, match="isn't known here"):
        pets.evaluate(labels, pl.DataFrame(_table(LABELS)))


def test_a_password_becomes_a_client_with_a_token(server: Server) -> None:
    server.on("POST", "auth/login/", ok({"token": "fresh", "username": "alice"}))
    server.on("GET", "me/", ok({"username": "alice", "teams": [{"competition": "pets"}]}))
    with holdfast.Client.sign_in(URL, "alice", "secret", scopes=["read"], name="mine") as client:
        assert client.token == "fresh"
        assert client.me().teams[0].competition == "pets"
    assert server.last.headers["Authorization"] == "Token fresh"
