"""A mechanism is one file: this test registers its own, and the server plays it as any other."""

from collections.abc import Iterator
from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.http.response import HttpResponseBase
from django.test import Client

from leaderboard import queries
from leaderboard.models import Competition, Release, Standing, Submission
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import publish
from leaderboard.tasks import publish_holdout, score_submission
from scoring.mechanisms import registered
from tests import ending
from tests.cast import (
    World,
    make_competition,
    make_draft,
    predictions,
    solution,
    upload,
)
from tests.scoring.keyhole import Peek


@pytest.fixture(autouse=True)
def peek() -> Iterator[None]:
    with registered(Peek()):
        yield


@pytest.fixture
def door(world: World) -> Competition:
    """A competition set up and opened with the mechanism, in which a team has looked thrice."""
    competition = make_competition(
        "door",
        world.organizer,
        rows=400,
        public=80,
        mechanism="peek",
        mechanism_parameters={"peeks": "2", "manner": "kneeling"},
    )
    team = world.join(world.alice, competition=competition)
    for wrong in (range(240), range(112), range(80)):
        world.score(team, predictions(wrong=wrong, rows=400))
    return competition


@pytest.fixture
def alice(world: World, client: Client) -> Client:
    client.force_login(world.alice)
    return client


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    assert isinstance(response, HttpResponseBase)
    return response.getvalue().decode()


def test_its_answers_are_released_as_it_gives_them(door: Competition) -> None:
    assert list(Release.objects.values_list("kind", "level", "share_left")) == [
        ("seen", 5, 1),
        ("seen", 1, 0),
        ("shut", 1, 0),
    ]
    seen, _, shut = Release.objects.all()
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low < 0.5 < seen.high
    assert (shut.certificate, shut.low, shut.high) == (None, None, None)
    standing = Standing.objects.get(board=door.current_round.board)
    assert (standing.loss, standing.entries, standing.last.kind) == (0.1, 3, "shut")


def test_the_pages_show_its_own_words(door: Competition, alice: Client) -> None:
    first = page(alice, "/c/door/submissions/1/")
    assert '<p class="title">Seen through the keyhole</p>' in first
    assert "Through the keyhole: 0.5." in first
    assert "1 peek left." in first
    assert "claimed" not in first
    assert "0 peeks left." in page(alice, "/c/door/submissions/2/")
    last = page(alice, "/c/door/submissions/3/")
    assert "The door is shut. Outside it looks like 0.0." in last
    assert "answer-card notice state-fail" in last
    assert "state-improved" in page(alice, "/c/door/submissions/")
    assert "Keyhole" in page(alice, "/c/door/leaderboard/")
    assert "Seen through the keyhole" in page(alice, "/c/door/ledger/")
    assert page(alice, "/c/door/leaderboard.csv").count(",shut,") == 1
    steps = queries.leading_steps(door.current_round.board, AnonymousUser())
    assert [step.score for step in steps] == ["0.5", "0.9"]
    how = page(alice, "/how-it-works/")
    assert '<h2 id="peek">Keyhole</h2>' in how
    assert "<p>Behind it are the rows.</p>" in how


def test_the_api_names_its_kinds(door: Competition, alice: Client) -> None:
    api = "/api/v1/competitions/door"
    (row,) = alice.get(f"{api}/leaderboard/").json()["results"]
    assert (row["last_answer"], row["score"]) == ("shut", 0.9)
    release = alice.get(f"{api}/submissions/1/").json()
    assert release["release"]["kind"] == "seen"
    assert release["summary"].startswith("Through the keyhole: 0.5.")
    ledger = alice.get(f"{api}/ledger/").json()["results"]
    assert [entry["kind"] for entry in ledger] == ["shut", "seen", "seen"]
    assert "`seen`, `shut`" in alice.get("/api/v1/schema/").content.decode()


def test_organizers_read_its_advice_and_its_answers(
    door: Competition, world: World, client: Client
) -> None:
    draft = make_draft("draft", world.organizer, rows=40)
    client.force_login(world.organizer)
    form = page(client, f"/organize/{draft.slug}/data/scoring/")
    for text in ("Keyhole", "A stiff neck.", '<option value="kneeling">On both knees</option>'):
        assert text in form
    assert "Thresholdout and Keyhole can&#x27;t show this metric" in form
    assert "shut out" in page(client, f"/organize/{door.slug}/submissions/")


def test_its_ledger_is_verified_before_and_after_the_publication(
    door: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "3 answers were computed again from the vault" in verify()
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(ending.reveal(door).current_round)
    for holdout in publish.to_publish():
        publish_holdout(holdout_id=holdout.pk)
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    assert "3 answers were computed again from what was published" in verify()


def test_an_answer_that_says_nothing_keeps_the_score_on_the_earlier_solution(
    door: Competition, world: World
) -> None:
    revised = solution(400, 80).replace(b"r399,3,", b"r399,0,")
    revise_solution(
        door.current_round,
        upload(revised, "solution.csv"),
        by=world.organizer,
        reason="One label was wrong.",
        rescore="all",
    )
    for submission in Submission.objects.filter(team__competition=door):
        score_submission(submission_id=submission.pk)
    assert Release.objects.filter(holdout__version=2).values_list("kind", flat=True)[0] == "shut"
    standing = Standing.objects.get(board=door.current_round.board)
    assert (standing.loss, standing.last.kind) == (0.1, "shut")
    assert "Verified." in verify()


def verify() -> str:
    out = StringIO()
    call_command("verify", "door", stdout=out)
    assert "Verified." in out.getvalue()
    return out.getvalue()
