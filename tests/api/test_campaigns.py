"""Campaigns in the API, and tokens that are bound to a competition."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Scope, Submission, Team, TokenGrant
from leaderboard.participate import campaigns, captains, membership, tokens
from leaderboard.participate.tokens import Binding
from tests.api.conftest import API, DIGITS, file, send
from tests.api.test_scopes import METHODS, VIEWS, token_client
from tests.cast import World, make_competition, predictions

NIGHT = f"{DIGITS}campaigns/night/"


@pytest.fixture
def team(world: World) -> Team:
    return world.join(world.alice)


def bound_client(world: World, scopes: Any = tokens.USUAL, **binding: Any) -> APIClient:
    """A client of alice's with a token that is for `digits`."""
    binding = {"competition": "digits", **binding}
    made = tokens.issue(world.alice, days=1, scopes=scopes, binding=Binding(**binding))
    return APIClient(raise_request_exception=False, HTTP_AUTHORIZATION=f"Token {made.text}")


def begin(team: Team, limit: int | None = None) -> None:
    campaigns.begin(team=team, user=team.captain, name="night", limit=limit)


def test_a_campaign_from_its_beginning_to_its_end(world: World, team: Team) -> None:
    owner = token_client(world.alice, Scope.READ, Scope.SUBMIT, Scope.CAMPAIGNS)
    made = owner.post(f"{DIGITS}campaigns/", {"name": "night", "limit": 1}, "json")
    assert (made.status_code, made.json()["left"]) == (201, 1)
    sent = send(owner, campaign="night").json()
    assert sent["campaign"] == "night"
    send(owner, predictions([9]))
    assert [each["number"] for each in _listed(owner, "night")] == [sent["number"]]
    assert send(owner, predictions([10]), campaign="night").status_code == 429
    raised = owner.patch(NIGHT, {"limit": 2}, "json").json()
    assert (raised["limit"], raised["used"], raised["left"]) == (2, 1, 1)
    assert owner.patch(NIGHT, {"ended": True}, "json").json()["ended_at"]
    assert send(owner, predictions([10]), campaign="night").json()["code"] == "campaign_ended"
    (row,) = owner.get(f"{DIGITS}campaigns/").json()["results"]
    assert (row["name"], row["submissions"]) == ("night", 1)
    assert Submission.objects.count() == 2


def _listed(client: APIClient, campaign: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(
        f"{DIGITS}submissions/", {"campaign": campaign}
    ).json()["results"]
    return found


def test_an_agent_that_submits_can_t_raise_its_own_limit(world: World, team: Team) -> None:
    begin(team, limit=1)
    agent = token_client(world.alice, Scope.READ, Scope.SUBMIT)
    for answer in (
        agent.patch(NIGHT, {"limit": 100}, "json"),
        agent.patch(NIGHT, {"ended": True}, "json"),
        agent.post(f"{DIGITS}campaigns/", {"name": "other"}, "json"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
    assert agent.get(NIGHT).json()["limit"] == 1


def test_exposure_stands_beside_that_of_team_and_competition(world: World, team: Team) -> None:
    begin(team)
    world.score(team, predictions([9]), campaign="night")
    world.score(team, predictions([10]))
    world.score(world.join(world.bob), predictions([11]))
    seen = token_client(world.alice, Scope.READ).get(NIGHT).json()
    names = ("exposure", "team_exposure", "competition_exposure")
    assert [seen[name]["questions"] for name in names] == [1, 2, 3]
    assert seen["exposure"]["nats"] > 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Night Run"}, "name"),
        ({"name": "x" * 300}, "name"),
        ({}, "name"),
        ({"name": "x", "limit": "many"}, "limit"),
        ({"name": "x", "limit": 0}, "limit"),
        ({"name": "x", "owner": "me"}, "owner"),
    ],
)
def test_a_wrong_campaign_names_its_field(
    body: dict[str, Any], field: str, world: World, team: Team
) -> None:
    owner = token_client(world.alice, Scope.CAMPAIGNS)
    answer = owner.post(f"{DIGITS}campaigns/", body, "json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert not team.campaigns.exists()


# --- Bound tokens ---------------------------------------------------------------------------------

# Where a bound token gets further, beside what it reads below its competition's address.
ALLOWED = {
    *(("competitions/", "get"), ("me/", "get"), ("auth/logout/", "post"), ("auth/login/", "post")),
    ("competitions/<slug:slug>/submissions/", "post"),
}
OURS = "competitions/<slug:slug>/"
# Links by which another account could join.
INVITATIONS = f"{OURS}team/invitations/"


def _asks(world: World, path: str, method: str, slug: str) -> str:
    """The code of the refusal that a bound token gets, empty where there is none."""
    address = re.sub(
        r"<(\w+):(\w+)>",
        lambda found: slug if found[2] == "slug" else "1" if found[1] == "int" else "x",
        f"{API}{path}",
    )
    answer = getattr(bound_client(world), method)(address, {}, format="json")
    is_problem = "problem" in answer.headers.get("Content-Type", "")
    return str(answer.json()["code"]) if is_problem else ""


REFUSED = {"token_bound", "scope_missing"}


@pytest.mark.parametrize("path", [path for path, _ in VIEWS])
def test_a_bound_token_reads_its_competition_submits_to_it_and_does_nothing_else(
    path: str, world: World
) -> None:
    view = dict(VIEWS)[path]
    for method in METHODS:
        if hasattr(view, method):
            reads = path.startswith(OURS) and method == "get" and path != INVITATIONS
            may = (path, method) in ALLOWED or reads
            code = _asks(world, path, method, "digits")
            assert (code not in REFUSED) == may, f"{method} {path}: {code}"
            if path.startswith(OURS):
                assert _asks(world, path, method, "other") in REFUSED


def test_the_refusal_names_the_own_competition_and_nothing_of_others(world: World) -> None:
    make_competition("other", world.organizer)
    agent = bound_client(world)
    there, nowhere = (agent.get(f"{API}competitions/{slug}/") for slug in ("other", "nowhere"))
    assert (there.status_code, there.json()["code"]) == (403, "token_bound")
    assert there.json() == nowhere.json()
    assert "for the competition digits" in there.json()["detail"]


def test_a_bound_token_lists_its_competition_and_sees_its_team_there_alone(
    world: World, team: Team
) -> None:
    other = make_competition("other", world.organizer)
    world.join(world.alice, competition=other)
    begin(team)
    agent = bound_client(world, campaign="night", quota=3)
    listed = agent.get(f"{API}competitions/").json()
    assert [each["slug"] for each in listed["results"]] == ["digits"]
    send(agent)
    me = agent.get(f"{API}me/").json()
    assert [each["competition"] for each in me["teams"]] == ["digits"]
    facts = ("competition", "campaign", "quota", "quota_left")
    assert [me[f"token_{name}"] for name in facts] == ["digits", "night", 3, 2]
    assert me["token_expires_at"]


def test_every_submission_of_a_token_is_of_its_campaign(world: World, team: Team) -> None:
    begin(team)
    campaigns.begin(team=team, user=world.alice, name="other")
    agent = bound_client(world, campaign="night")
    assert send(agent).json()["campaign"] == "night"
    assert send(agent, predictions([9]), campaign="night").status_code == 201
    refused = send(agent, predictions([10]), campaign="other")
    assert (refused.status_code, refused.json()["code"]) == (403, "token_bound")
    assert Submission.objects.count() == 2


def test_a_quota_counts_as_long_as_there_is_the_token(world: World, team: Team) -> None:
    """A repeat and a rejected file take none of it; another token has its own."""
    agent = bound_client(world, quota=2)
    world.score(team, predictions([8]))
    send(agent, predictions([8]))
    assert send(agent, predictions([9])).status_code == 201
    assert send(agent, predictions([10])).status_code == 201
    assert send(agent, predictions([11])).json()["code"] == "token_quota_reached"
    assert send(bound_client(world, quota=1), predictions([11])).status_code == 201


def test_a_token_bound_to_the_campaign_of_a_team_that_one_left_submits_nothing(
    world: World, team: Team
) -> None:
    begin(team)
    agent = bound_client(world, campaign="night")
    world.add(world.bob, team)
    captains.hand_over(team=team, user=world.alice, name="bob")
    membership.leave(team=team, user=world.alice)
    world.join(world.alice, "Another")
    refused = send(agent)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "campaign")


@pytest.mark.parametrize(
    ("binding", "scopes", "field"),
    [
        (Binding("nowhere"), tokens.USUAL, "competition"),
        (Binding(campaign="night"), tokens.USUAL, "competition"),
        (Binding(quota=3), tokens.USUAL, "competition"),
        (Binding("digits", "other"), tokens.USUAL, "campaign"),
        (Binding("digits", quota=0), tokens.USUAL, "quota"),
        (Binding("digits"), [Scope.READ, Scope.CAMPAIGNS], "scopes"),
        (Binding("digits"), [Scope.ORGANIZE], "scopes"),
    ],
)
def test_a_binding_to_what_one_doesn_t_have_makes_no_token(
    binding: Binding, scopes: Any, field: str, world: World, team: Team
) -> None:
    with pytest.raises(Refused) as refused:
        tokens.issue(world.alice, days=1, scopes=scopes, binding=binding)
    assert refused.value.errors[0]["field"] == field
    assert not TokenGrant.objects.exists()


def test_bound_tokens_are_made_on_the_page_by_password_and_by_operators(
    world: World, team: Team
) -> None:
    begin(team)
    browser = Client()
    browser.force_login(world.alice)
    form = {"lifetime": "7", "scopes": ["read", "submit"]}
    bound = {"competition": "digits", "campaign": "night", "quota": "5"}
    assert browser.post("/account/tokens/", form | bound).status_code == 201
    assert "5 of 5 submissions left" in browser.get("/account/").content.decode()
    wrong = browser.post("/account/tokens/", form | bound | {"campaign": "nope"})
    assert wrong.status_code == 422
    assert "no campaign called nope" in wrong.content.decode()
    login = {"username": "alice", "password": "alice-password", "quota": 5, "days": 7}
    more = {"competition": "digits", "campaign": "night"}
    assert APIClient().post(f"{API}auth/login/", login | more, "json").status_code == 200
    options = ("--competition", "digits", "--campaign", "night", "--quota", "5")
    call_command("create_token", "alice", *options, stdout=StringIO(), stderr=StringIO())
    with pytest.raises(CommandError, match="no competition called nowhere"):
        call_command("create_token", "alice", "--competition", "nowhere")
    made = TokenGrant.objects.values_list("competition__slug", "campaign__name", "quota")
    assert list(made) == [("digits", "night", 5)] * 3


def test_a_token_ends_with_the_competition_that_it_was_for(world: World) -> None:
    agent = bound_client(world)
    organize.return_to_draft(world.digits)
    organize.delete_competition(world.digits, by=world.organizer)
    assert agent.get(f"{API}me/").status_code == 401


def test_a_page_of_a_campaign_shows_its_figures_and_takes_changes(world: World, team: Team) -> None:
    browser = Client()
    browser.force_login(world.alice)
    assert browser.post("/c/digits/campaigns/", {"name": "Bad name"}).status_code == 422
    made = browser.post("/c/digits/campaigns/", {"name": "night", "limit": "1"}, follow=True)
    assert "towards its limit of 1" in made.content.decode()
    body = {"file": file(), "campaign": "night"}
    assert browser.post("/c/digits/submit/", body).status_code == 302
    refused = browser.post(
        "/c/digits/submit/", {"file": file(predictions([9])), "campaign": "night"}
    )
    assert refused.status_code == 429
    assert "has made its one submission" in refused.content.decode()
    assert (
        'campaigns/night/"' in browser.get("/c/digits/submissions/?campaign=night").content.decode()
    )
    browser.post("/c/digits/campaigns/night/limit/", {"limit": "2"})
    assert "limit of 2" in browser.get("/c/digits/campaigns/night/").content.decode()
    browser.post("/c/digits/campaigns/night/end/")
    assert "takes no more submissions" in browser.get("/c/digits/campaigns/night/").content.decode()
