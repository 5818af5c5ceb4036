"""A competition that runs: submissions, teams, organizers, the budget, what happened."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard.models import Event, Scope, Submission
from leaderboard.organize.people import add_organizer
from tests.api.organize.conftest import ALL, DIGITS, errors, secret
from tests.api.test_scopes import token_client
from tests.cast import World, make_checked, make_user, predictions, solution


@pytest.fixture
def stage(world: World) -> World:
    """Let alice and bob have a released submission each, and alice a failed one."""
    for user, wrong in ((world.alice, [10]), (world.bob, [20, 21])):
        world.score(world.join(user), predictions(wrong))
    failed = world.submit(world.digits.teams.get(captain=world.alice), predictions([9]))
    fields = {"status": "failed", "failure": "parse: MemoryError", "finished_at": timezone.now()}
    Submission.objects.filter(pk=failed.pk).update(**fields)
    return world


def test_the_state_counts_what_waits(stage: World, organizer: APIClient) -> None:
    facts = organizer.get(DIGITS).json()
    work = {name: facts["work"][name] for name in ("teams", "submissions", "queued", "failed")}
    assert work == {"teams": 2, "submissions": 3, "queued": 0, "failed": 1}
    assert facts["guarantee"]["answered"] == 2


def test_submissions_of_all_teams_are_listed(stage: World, organizer: APIClient) -> None:
    rows = organizer.get(f"{DIGITS}submissions/").json()["results"]
    assert [(each["team"]["name"], each["number"]) for each in rows] == [
        ("team alice", 2),
        ("team bob", 1),
        ("team alice", 1),
    ]
    assert rows[0]["failure"] == "parse: MemoryError"
    assert rows[1]["release"]["score_text"]


def test_submissions_are_filtered(stage: World, organizer: APIClient) -> None:
    uid = stage.digits.teams.get(captain=stage.alice).uid
    for query, count in (({"status": "failed"}, 1), ({"team": uid}, 2), ({"status": "x"}, None)):
        response = organizer.get(f"{DIGITS}submissions/", query)
        assert response.json().get("count") == count


def test_the_list_asks_as_often_however_long_it_is(
    stage: World, organizer: APIClient, django_assert_max_num_queries: Any
) -> None:
    for wrong in range(11, 15):
        stage.score(stage.digits.teams.get(captain=stage.bob), predictions([wrong]))
    with django_assert_max_num_queries(22):
        assert organizer.get(f"{DIGITS}submissions/").json()["count"] == 7


def test_failed_submissions_are_queued_again(stage: World, organizer: APIClient) -> None:
    uid = stage.digits.teams.get(captain=stage.bob).uid
    of_bob = organizer.post(f"{DIGITS}submissions/requeue/", {"team": uid}, format="json")
    assert of_bob.json() == {"requeued": 0}
    assert organizer.post(f"{DIGITS}submissions/requeue/").json() == {"requeued": 1}
    assert Submission.objects.filter(status="queued").count() == 1


def test_a_team_is_renamed_and_marked(stage: World, organizer: APIClient) -> None:
    uid = organizer.get(f"{DIGITS}teams/", {"search": "bob"}).json()["results"][0]["uid"]
    body = {"name": "Bobs", "is_verified": True}
    facts = organizer.patch(f"{DIGITS}teams/{uid}/", body, format="json").json()
    assert (facts["name"], facts["is_verified"], facts["is_baseline"]) == ("Bobs", True, False)
    assert [each["username"] for each in facts["members"]] == ["bob"]


def test_a_taken_name_is_refused(stage: World, organizer: APIClient) -> None:
    uid = stage.digits.teams.get(captain=stage.bob).uid
    response = organizer.patch(f"{DIGITS}teams/{uid}/", {"name": "TEAM ALICE"}, format="json")
    assert "Another team" in errors(response)["name"]


def test_a_team_of_another_competition_does_not_exist(stage: World, organizer: APIClient) -> None:
    make_checked("other", stage.organizer)
    uid = stage.digits.teams.get(captain=stage.bob).uid
    assert organizer.get(f"{ALL}other/teams/{uid}/").status_code == 404


def test_roles_are_given_and_taken(world: World, organizer: APIClient) -> None:
    make_user("olga", is_organizer=True)
    where = f"{DIGITS}organizers/olga/"
    assert organizer.put(where, {"role": "judge"}, format="json").json()["role"] == "judge"
    assert organizer.put(where, {"role": "editor"}, format="json").json()["role"] == "editor"
    rows = organizer.get(f"{DIGITS}organizers/").json()["results"]
    assert [(each["username"], each["role"]) for each in rows] == [
        ("organizer", "owner"),
        ("olga", "editor"),
    ]
    assert organizer.delete(where).status_code == 204
    assert world.digits.organizers.count() == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", "no account"),
        ("alice", "no organizer's role"),
        ("organizer", "needs an owner"),
    ],
)
def test_odd_roles_are_refused(name: str, said: str, world: World, organizer: APIClient) -> None:
    response = organizer.put(f"{DIGITS}organizers/{name}/", {"role": "judge"}, format="json")
    assert response.status_code == 422
    assert said in response.json()["detail"]


def test_the_budget_is_shown_and_raised(world: World, organizer: APIClient) -> None:
    checked = make_checked("checked", world.organizer)
    where = f"{ALL}checked/budget/"
    assert organizer.get(where).json()["budget_left"] == 3
    world.score(world.join(world.alice, competition=checked), predictions([30], rows=100))
    facts = organizer.post(where, {"amount": 2}, format="json").json()
    assert facts["budget_left"] >= 4
    assert Event.objects.filter(competition=checked, kind="budget_added").exists()


@pytest.mark.parametrize("body", [{}, {"amount": 0}, {"amount": 10**12}, {"amount": "many"}])
def test_an_odd_budget_is_refused(body: Any, world: World, organizer: APIClient) -> None:
    assert organizer.post(f"{DIGITS}budget/", body, format="json").status_code == 422


def test_a_board_without_a_budget_says_so(world: World, organizer: APIClient) -> None:
    response = organizer.post(f"{DIGITS}budget/", {"amount": 1}, format="json")
    assert "no budget" in errors(response)["board"]


def test_a_draft_has_no_budget_yet(draft: str, organizer: APIClient) -> None:
    assert organizer.get(f"{draft}budget/").json()["code"] == "competition_not_open"


def test_what_happened_is_listed_with_who_did_it(stage: World, organizer: APIClient) -> None:
    organizer.patch(DIGITS, {"daily_limit": 7}, format="json")
    first = organizer.get(f"{DIGITS}events/").json()["results"][0]
    assert (first["kind"], first["actor"]) == ("limit_changed", "organizer")
    assert first["data"] == {"daily_limit": 7, "before": {"daily_limit": 20}}


# --- A revised solution ---------------------------------------------------------------------------


def test_a_revision_is_foreseen_previewed_and_made(stage: World, organizer: APIClient) -> None:
    Submission.objects.filter(status="failed").delete()
    where = f"{DIGITS}revision/"
    assert [each["rescore"] for each in organizer.get(where).json()["costs"]]
    corrected = solution(public=10)
    previewed = organizer.post(f"{where}preview/", secret(corrected)).json()
    assert previewed["changes"][0] == {"usage": "Public", "before": 8, "after": 10}
    assert organizer.get(DIGITS).json()["solution"]["version"] == 1
    form = secret(corrected, reason="A typo.", rescore="none")
    made = organizer.post(where, form).json()
    assert (made["version"], made["public_rows"], made["rescored"]) == (2, 10, 0)


def test_a_revision_needs_a_reason(stage: World, organizer: APIClient) -> None:
    response = organizer.post(f"{DIGITS}revision/", secret(solution(public=10)))
    assert "reason" in errors(response)


def test_a_viewer_looks_and_changes_nothing(stage: World) -> None:
    olga = make_user("olga", is_organizer=True)
    add_organizer(stage.digits, olga, "viewer", by=stage.organizer)
    viewer = token_client(olga, Scope.ORGANIZE)
    assert viewer.get(DIGITS).json()["role"] == "viewer"
    document = viewer.patch(DIGITS, {"title": "Mine"}, format="json").json()
    assert "owner or editor" in document["detail"]
