"""A team's own submissions: search, notes, files, comparisons, what a browser checks by."""

import hashlib
from typing import Any

import pytest
from django.core.files.storage import default_storage

from leaderboard.models import Submission
from leaderboard.participate.quotas import FREE_PER_DAY
from leaderboard.platform.throttles import CompareThrottle
from leaderboard.queries import comparisons, paging
from scoring.wording import REJECTIONS
from tests.cast import World, predictions, set_round
from tests.web.pages import browser, text

URL = "/c/digits/submissions/"


def send(world: World, *wrong: int) -> list[Submission]:
    """Score a file of alice's team for each number of wrong rows, called by it."""
    team = world.join(world.alice)
    return [
        world.score(team, predictions(range(8, 8 + each)), message=f"model {each}")
        for each in wrong
    ]


def numbers(world: World, query: str) -> list[int]:
    """Return the submissions that a page of the list shows."""
    response = browser(world.alice).get(f"{URL}?{query}")
    assert response.status_code == 200
    return [row.number for _, rows in response.context["lists"] for row, *_ in rows]


def test_the_list_is_searched_filtered_and_ordered_by_its_address(world: World) -> None:
    sent = send(world, 9, 2, 16)
    team = sent[0].team
    world.score(team, b"junk\n", message="a try")
    assert numbers(world, "") == [4, 3, 2, 1]
    assert numbers(world, "q=MODEL") == [3, 2, 1]
    assert numbers(world, "q=4") == [4]
    assert numbers(world, f"q={sent[1].sha256[:12]}") == [2]
    assert numbers(world, "status=rejected") == [4]
    assert numbers(world, "sort=oldest&status=released") == [1, 2, 3]
    assert numbers(world, "sort=score")[0] == 2
    assert numbers(world, "q=nothing") == []
    assert numbers(world, "status=&sort=x&page=zzz") == [4, 3, 2, 1]


def test_entries_chosen_on_another_page_stay_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_ROWS", 2)
    send(world, 9, 6, 2)
    alice = browser(world.alice)
    alice.post("/c/digits/finals/", {"numbers": ["1"]})
    page = alice.get(URL).content.decode()
    assert '<input type="hidden" name="numbers" value="1">' in page
    assert "?page=2" in page


def test_a_member_edits_the_message_of_a_submission_and_nobody_else_does(world: World) -> None:
    send(world, 2)
    alice = browser(world.alice)
    assert alice.post(f"{URL}1/note/", {"message": " better\n trees "}).status_code == 302
    assert Submission.objects.get().message == "better trees"
    refused = alice.post(f"{URL}1/note/", {"message": "x" * 301})
    assert refused.status_code == 422
    assert "at most 300 characters" in text(refused)
    world.join(world.bob)
    assert browser(world.bob).post(f"{URL}1/note/", {"message": "mine"}).status_code == 404
    assert Submission.objects.get().message == "better trees"


def test_a_file_comes_back_as_it_was_sent_to_its_team_alone(world: World) -> None:
    (sent,) = send(world, 2)
    response: Any = browser(world.alice).get(f"{URL}1/file")
    content = b"".join(response)
    assert content == predictions(range(8, 10))
    assert response["ETag"] == f'"{hashlib.sha256(content).hexdigest()}"'
    assert response["Content-Disposition"] == 'attachment; filename="predictions.csv"'
    world.join(world.bob)
    assert browser(world.bob).get(f"{URL}1/file").status_code == 404
    default_storage.delete(sent.file)
    assert browser(world.alice).get(f"{URL}1/file").status_code == 404


def test_two_submissions_are_compared_row_by_row(world: World) -> None:
    send(world, 2, 5)
    page = text(browser(world.alice).get(f"{URL}compare/?a=1&b=2"))
    assert "They differ in 3 of 40 rows (7.50 %)." in page
    assert "r10 2 3 r11 3 0 r12 0 1" in page
    assert "r9 " not in page


def test_what_cannot_be_compared_says_why(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (sent,) = send(world, 2)
    world.score(sent.team, b"junk\n")
    world.score(sent.team, predictions([9]))
    alice = browser(world.alice)

    def why(query: str) -> str:
        response = alice.get(f"{URL}compare/?{query}")
        assert response.status_code == 422
        return text(response)

    assert "Choose two different submissions." in why("a=1&b=1")
    assert "Submission 2 has no predictions that can be read." in why("a=1&b=2")
    assert "named by their numbers" in why("a=1&b=-3")
    assert alice.get(f"{URL}compare/?a=1&b=99").status_code == 404
    monkeypatch.setattr(comparisons, "MOST_BYTES", 100)
    assert "more than 100 bytes are not compared here" in why("a=1&b=3")
    default_storage.delete(sent.file)
    monkeypatch.undo()
    assert "The file of submission 1 was lost." in why("a=1&b=3")


def test_comparisons_are_throttled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompareThrottle, "THROTTLE_RATES", {"compare": "1/min"})
    send(world, 2, 5)
    alice = browser(world.alice)
    answers = [alice.get(f"{URL}compare/?a=1&b=2").status_code for _ in range(2)]
    assert answers == [200, 429]


def test_the_list_draws_the_best_scores_over_time(world: World) -> None:
    send(world, 9, 16, 2)
    chart = browser(world.alice).get(URL).context["history"]
    (line,) = chart.lines
    assert [point.score for point in line.points] == sorted(point.score for point in line.points)
    assert len(line.points) == 2


def test_a_browser_checks_by_the_servers_words_columns_and_the_teams_own_digests(
    world: World,
) -> None:
    (sent,) = send(world, 2)
    world.score(world.join(world.bob), predictions([9]))
    facts = browser(world.alice).get("/c/digits/submit/check/").json()
    assert facts["header"] == ["id", "label"]
    assert facts["columns"][0]["expected"] == "one of 0-3"
    assert set(facts["words"]) == set(REJECTIONS)
    assert facts["digests"] == {sent.sha256: {"number": 1, "status": "released"}}
    sample: Any = browser(world.alice).get(facts["sample"]["url"])
    assert b"".join(sample).startswith(b"id,label\nr0,0\n")


def test_a_team_that_used_up_its_rejected_files_reads_that_none_is_left(world: World) -> None:
    (sent,) = send(world, 2)
    Submission.objects.bulk_create(
        Submission(
            team=sent.team,
            round=world.round,
            user=world.alice,
            number=2 + each,
            status="rejected",
            created_at=sent.created_at,
            finished_at=sent.created_at,
            size=1,
        )
        for each in range(FREE_PER_DAY)
    )
    set_round(world.digits, daily_limit=20)
    for url in (URL, "/c/digits/submit/"):
        page = text(browser(world.alice).get(url))
        assert "No uploads left today" in page
        assert "19 of 20" not in page
