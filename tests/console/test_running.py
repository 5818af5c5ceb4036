"""While a competition runs: what is frozen, teams, submissions, the ledger."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard import words
from leaderboard.models import Board, Competition, Holdout, Release, Status, Submission, Team, User
from leaderboard.queries import guarantee
from tests.cast import World, active_holdout, make_competition, make_user, predictions, said
from tests.console.conftest import SignIn
from tests.console.pages import (
    COLUMNS_FORM,
    LADDER_FORM,
    at,
    labels,
    send_solution,
    settings_of,
    text,
)
from tests.leaderboard.test_limits import begin_with

DEFINITION = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")


def _definition(competition: Competition) -> dict[str, Any]:
    board = Board.objects.get(round__competition=competition)
    asked = {name: getattr(board, name) for name in DEFINITION}
    return asked | {"schema": board.round.schema, "slug": board.round.competition.slug}


# --- What is fixed --------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["columns", "scoring", "solution"])
def test_after_the_first_release_pages_say_why_nothing_can_change(
    page: str, world: World, organizer: Client
) -> None:
    world.score(world.join(world.alice))
    shown = text(organizer.get(at(page, world.digits)))
    assert "Frozen: files have been submitted" in shown
    assert '<form method="post"' not in shown.split("</nav>", 3)[-1].split("site-footer")[0]


@pytest.mark.parametrize("released", [True, False])
def test_what_is_open_does_not_change_by_any_form(
    released: bool, world: World, organizer: Client
) -> None:
    if released:
        world.score(world.join(world.alice))
    before, holdout = _definition(world.digits), active_holdout(world.digits)
    organizer.post(at("columns", world.digits), COLUMNS_FORM | {"columns": "other: number"})
    organizer.post(at("scoring", world.digits), LADDER_FORM | {"mechanism-ladder-steps": "10"})
    send_solution(organizer, world.digits, labels())
    organizer.post(at("solution-withdraw", world.digits))
    organizer.post(at("settings", world.digits), settings_of(world.digits, slug="other"))
    assert _definition(world.digits) == before
    assert Holdout.objects.get() == holdout
    assert active_holdout(world.digits) == holdout


def test_limits_and_texts_can_change_while_it_is_open(organizer: Client, world: World) -> None:
    organizer.post(
        at("settings", world.digits), settings_of(world.digits, title="Figures", daily_limit="9")
    )
    world.digits.refresh_from_db()
    assert (world.digits.title, world.round.daily_limit) == ("Figures", 9)


def test_what_has_submissions_can_not_be_deleted(organizer: Client, world: World) -> None:
    world.score(world.join(world.alice))
    page = organizer.post(at("delete", world.digits), follow=True)
    assert "somebody has submitted" in text(page)
    assert Competition.objects.filter(pk=world.digits.pk).exists()


# --- Teams ----------------------------------------------------------------------------------------


def _team(team: Team) -> str:
    return f"/admin/leaderboard/team/{team.pk}/change/"


def _form(name: str, **marks: str) -> dict[str, str]:
    """Write what a browser sends of a team, with the empty frame of its members."""
    members = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    return {"name": name} | members | marks


def test_a_team_is_renamed_and_marked(world: World, organizer: Client) -> None:
    team = world.join(world.alice, "Rude words")
    organizer.post(_team(team), _form(" Team   7 ", is_verified="on", is_baseline="on"))
    team.refresh_from_db()
    assert (team.name, team.is_verified, team.is_baseline) == ("Team 7", True, True)


def test_a_name_that_another_team_has_is_refused_beside_the_field(
    world: World, organizer: Client
) -> None:
    team = world.join(world.alice, "One")
    world.join(world.bob, "Two")
    page = text(organizer.post(_team(team), _form("TWO")))
    assert "Another team has this name." in page.split('id="id_name_error"', 1)[1]


def test_a_team_stays_in_its_competition_and_with_its_captain(
    world: World, organizer: Client
) -> None:
    team = world.join(world.alice)
    other = make_competition("other", world.organizer)
    forged = {"competition": str(other.pk), "captain": str(world.bob.pk)}
    organizer.post(_team(team), _form("One") | forged)
    team.refresh_from_db()
    assert (team.name, team.competition, team.captain) == ("One", world.digits, world.alice)


def test_teams_and_memberships_are_neither_added_nor_deleted(
    world: World, organizer: Client
) -> None:
    team = world.join(world.alice)
    assert organizer.get("/admin/leaderboard/team/add/").status_code == 403
    delete = f"/admin/leaderboard/team/{team.pk}/delete/"
    assert organizer.post(delete, {"post": "yes"}).status_code == 403
    forged = _form("One") | {
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "1",
        "memberships-0-id": str(team.memberships.get().pk),
        "memberships-0-DELETE": "on",
    }
    organizer.post(_team(team), forged)
    assert team.memberships.count() == 1


def test_several_teams_are_marked_at_once_and_only_one_s_own(
    world: World, organizer: Client, rival: User, sign_in: SignIn
) -> None:
    team = world.join(world.alice)
    action = {"action": "mark_verified", "_selected_action": [team.pk]}
    sign_in(rival).post("/admin/leaderboard/team/", action)
    team.refresh_from_db()
    assert not team.is_verified
    organizer.post("/admin/leaderboard/team/", action)
    team.refresh_from_db()
    assert team.is_verified


# --- Submissions ----------------------------------------------------------------------------------


LIST = "/admin/leaderboard/submission/"


def _failed(world: World) -> Submission:
    submission = world.score(world.join(world.alice))
    queued = world.submit(submission.team)
    Submission.objects.filter(pk=queued.pk).update(
        status=Status.FAILED,
        failure="MemoryError at parse.py:31",
        finished_at=queued.created_at,
        attempts=5,
    )
    return queued


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the ids that are put on the queue."""
    ids: list[int] = []
    monkeypatch.setattr(
        "leaderboard.pipeline.queue.current_app.send_task",
        lambda name, kwargs, retry: ids.append(kwargs["submission_id"]),
    )
    return ids


def test_what_failed_is_shown_with_its_reason_and_queued_again(
    world: World,
    organizer: Client,
    sent: list[int],
    django_capture_on_commit_callbacks: Any,
) -> None:
    failed = _failed(world)
    sent.clear()
    assert "MemoryError at parse.py:31" in text(organizer.get(LIST))
    action = {"action": "requeue", "_selected_action": [failed.pk]}
    with django_capture_on_commit_callbacks(execute=True):
        organizer.post(LIST, action)
    failed.refresh_from_db()
    assert (failed.status, failed.failure, failed.attempts) == (Status.QUEUED, "", 0)
    assert failed.finished_at is None
    assert failed.enqueued_at is not None
    assert sent == [failed.pk]


def test_what_is_released_is_not_scored_again(
    world: World, organizer: Client, sent: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    done = world.score(world.join(world.alice))
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        page = organizer.post(
            LIST, {"action": "requeue", "_selected_action": [done.pk]}, follow=True
        )
    done.refresh_from_db()
    assert "None of these had failed" in text(page)
    assert (done.status, sent) == (Status.RELEASED, [])
    assert Release.objects.count() == 1


def test_an_address_alone_queues_nothing(world: World, organizer: Client) -> None:
    failed = _failed(world)
    organizer.get(LIST, {"action": "requeue", "_selected_action": str(failed.pk)})
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


def test_another_organizer_can_not_queue_it_again(
    world: World, rival: User, sign_in: SignIn
) -> None:
    failed = _failed(world)
    sign_in(rival).post(LIST, {"action": "requeue", "_selected_action": [failed.pk]})
    failed.refresh_from_db()
    assert failed.status == Status.FAILED


@pytest.mark.parametrize("role", ["organizer", "operator"])
def test_submissions_and_releases_are_read_only_for_everybody(
    role: str, world: World, sign_in: SignIn
) -> None:
    user = world.organizer if role == "organizer" else make_user("operator", is_superuser=True)
    client, done = sign_in(user), world.score(world.join(world.alice))
    for model, key in (("submission", done.pk), ("release", said(done).pk)):
        address = f"/admin/leaderboard/{model}/"
        assert client.get(f"{address}add/").status_code == 403
        for page in ("change", "delete"):
            form = {"status": "queued", "level": "0", "post": "yes"}
            assert client.post(f"{address}{key}/{page}/", form).status_code == 403
    assert Release.objects.get().kind == "improved"


def test_a_rejected_file_shows_what_its_team_was_told(world: World, organizer: Client) -> None:
    rejected = world.score(world.join(world.alice), b"id,label\nr0,9\n")
    page = text(organizer.get(f"{LIST}{rejected.pk}/change/"))
    assert "not one of 0-3" in page


# --- Ledger ---------------------------------------------------------------------------------------


def test_the_budget_page_counts_questions(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    page = organizer.get(at("budget", world.digits))
    ledger = page.context["ledger"]
    assert (ledger.asked, ledger.answered, ledger.budget_left) == (1, 1, None)
    assert ledger.shares == ()


def test_the_budget_page_shows_the_guarantee_and_what_answers_told(
    world: World, organizer: Client
) -> None:
    world.score(world.join(world.alice))
    page = organizer.get(at("budget", world.digits))
    found = guarantee(world.board)
    assert found is not None
    assert words.board_guarantee(found) in text(page)
    ((name, nats),) = page.context["ledger"].costs
    assert (name, nats > 0) == ("accuracy", True)


def test_on_a_hidden_board_the_budget_page_shows_the_team_that_asked_most(
    world: World, organizer: Client
) -> None:
    begin_with(world.digits, question_limit=60, team_limit=3, is_hidden=True)
    alice, bob = world.join(world.alice), world.join(world.bob)
    for team, count in ((alice, 20), (bob, 18), (bob, 10)):
        world.score(team, predictions(wrong=range(8, 8 + count)))
    assert organizer.get(at("budget", world.digits)).context["ledger"].team == bob


def test_shares_of_a_mechanism_with_a_budget_are_shown(world: World, organizer: Client) -> None:
    mark = {"mark": "0.5", "questions": "100", "budget": "7", "team_share": "2"}
    own = make_competition(
        "marks", world.organizer, mechanism="sparse_validate", mechanism_parameters=mark
    )
    world.score(world.join(world.alice, competition=own))
    ledger = organizer.get(at("budget", own)).context["ledger"]
    assert ledger.budget_left == 5
    assert [share.left for share in ledger.shares] == [1]


def test_a_draft_has_no_ledger_yet(world: World, organizer: Client) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(opened_by_organizer_at=None)
    Holdout.objects.update(retired_at="2026-01-01T00:00Z")
    assert "There is no ledger yet" in text(organizer.get(at("budget", world.digits)))


# --- Size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        "/organize/",
        "/organize/digits/",
        "/organize/digits/budget/",
        "/admin/leaderboard/team/",
        "/admin/leaderboard/submission/",
        "/admin/leaderboard/release/",
    ],
)
def test_the_number_of_queries_does_not_grow_with_the_rows(
    page: str, world: World, organizer: Client
) -> None:
    counts = []
    for number in range(1, 4):
        make_competition(f"other{number}", world.organizer)
        world.score(world.join(make_user(f"person{number}")))
        with CaptureQueriesContext(connection) as queries:
            assert organizer.get(page).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[-1]
