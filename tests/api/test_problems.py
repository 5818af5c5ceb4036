"""Every error is a problem document (RFC 9457): each known code is provoked here once."""

import errno
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard import queries
from leaderboard.api.throttles import LoginThrottle
from leaderboard.errors import PROBLEM_TYPE
from leaderboard.ledger.pauses import pause
from leaderboard.models import (
    Campaign,
    Competition,
    FinalTests,
    Invitation,
    Organizer,
    Pause,
    Scope,
    Submission,
    Team,
    User,
)
from leaderboard.organize import entry, sanctions
from leaderboard.participate import campaigns, membership, quotas, tokens
from leaderboard.refusals import PROBLEMS
from tests import ending
from tests.api.conftest import API, DIGITS, As, send
from tests.api.organize import cases
from tests.cast import World, ledger_of, make_user, predictions, set_round
from tests.factors import add_app
from tests.leaderboard.test_refusals import raised

LOGIN = f"{API}auth/login/"
JSON = "application/json"


class Stage:
    """What a case may use to get its problem."""

    def __init__(self, world: World, as_: As, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.anonymous = APIClient(raise_request_exception=False)
        self.alice = as_(world.alice)
        self.bob = as_(world.bob)
        self.patch = monkeypatch
        self.team: Team = world.join(world.alice)

    def change(self, **fields: Any) -> None:
        set_round(self.world.digits, **fields)

    def login(self, **body: str) -> Any:
        return self.anonymous.post(LOGIN, body, format="json")


def _email_not_verified(stage: Stage) -> Any:
    with override_settings(ACCOUNT_EMAIL_VERIFICATION="mandatory"):
        return stage.login(username="alice", password="alice-password")


def _not_admitted(stage: Stage) -> Any:
    entry.renew_join_code(stage.world.digits, by=stage.world.organizer)
    return _join(stage.bob)


def _disqualified(stage: Stage) -> Any:
    sanctions.sanction_team(stage.team, "disqualified", "Why.", by=stage.world.organizer)
    return send(stage.alice)


def _scope_missing(stage: Stage) -> Any:
    token = tokens.issue(stage.world.alice, days=1, scopes=[Scope.READ]).text
    client = APIClient(raise_request_exception=False)
    return client.post(f"{API}competitions/digits/join/", HTTP_AUTHORIZATION=f"Token {token}")


def _second_factor(stage: Stage, **code: str) -> Any:
    add_app(stage.world.alice)
    return stage.login(username="alice", password="alice-password", **code)


def _second_factor_missing(stage: Stage) -> Any:
    with override_settings(SECOND_FACTOR="organizers"):
        return stage.login(username="organizer", password="organizer-password")


def _csrf_failed(stage: Stage) -> Any:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(stage.world.alice)
    return client.post(f"{API}auth/logout/")


def _no_token(stage: Stage) -> Any:
    client = APIClient()
    client.force_login(stage.world.alice)
    return client.post(f"{API}auth/logout/")


def _captain_only(stage: Stage) -> Any:
    _join(stage.bob, invitation=_invite(stage))
    return stage.bob.patch(f"{DIGITS}team/", {"name": "Bobs"}, format="json")


def _competition_not_open(stage: Stage) -> Any:
    now = timezone.now()
    stage.change(opens_at=now + timedelta(days=1), closes_at=now + timedelta(days=2))
    return send(stage.alice)


def _deadline_passed(stage: Stage) -> Any:
    stage.change(closes_at=timezone.now() - timedelta(seconds=1))
    return send(stage.alice)


def _file_too_large(stage: Stage) -> Any:
    stage.change(max_file_bytes=10)
    return send(stage.alice)


def _send_again(stage: Stage, **limit: int) -> Any:
    stage.change(**limit)
    send(stage.alice)
    return send(stage.alice, predictions([9]))


def _token_bound(stage: Stage) -> Any:
    bound = tokens.Binding("digits")
    token = tokens.issue(stage.world.alice, days=1, binding=bound).text
    client = APIClient(raise_request_exception=False)
    return client.get(f"{API}me/notices/", HTTP_AUTHORIZATION=f"Token {token}")


def _token_quota_reached(stage: Stage) -> Any:
    bound = tokens.Binding("digits", quota=1)
    token = tokens.issue(stage.world.alice, days=1, binding=bound).text
    client = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
    send(client)
    return send(client, predictions([9]))


def _begin(stage: Stage, limit: int | None = None) -> Campaign:
    return campaigns.begin(team=stage.team, user=stage.world.alice, name="night", limit=limit)


def _campaign_ended(stage: Stage) -> Any:
    campaigns.end(campaign=_begin(stage), user=stage.world.alice)
    return send(stage.alice, campaign="night")


def _campaign_limit_reached(stage: Stage) -> Any:
    _begin(stage, limit=1)
    send(stage.alice, campaign="night")
    return send(stage.alice, predictions([9]), campaign="night")


def _too_many_rejected(stage: Stage) -> Any:
    stage.patch.setattr(quotas, "FREE_PER_DAY", 0)
    return send(stage.alice)


def _paused(stage: Stage) -> Any:
    pause(ledger_of(stage.world.digits), Pause.REWOUND, "The watermark knows more.")
    return send(stage.alice)


def _choose(stage: Stage, *numbers: int) -> Any:
    return stage.alice.put(f"{DIGITS}finals/", {"numbers": numbers}, format="json")


def _finals_not_tested(stage: Stage) -> Any:
    stage.world.score(stage.team)
    ending.reveal(stage.world.digits)
    FinalTests.objects.all().delete()
    return stage.anonymous.get(f"{DIGITS}final/tests/")


def _finals_started(stage: Stage) -> Any:
    stage.world.score(stage.team)
    ending.start(stage.world.digits)
    return _choose(stage, 1)


def _throttled(stage: Stage) -> Any:
    stage.patch.setattr(LoginThrottle, "THROTTLE_RATES", {"login": "1/min"})
    stage.login(username="alice", password="wrong")
    return stage.login(username="alice", password="wrong")


def _raises(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def _storage_full(stage: Stage) -> Any:
    stage.patch.setattr(default_storage, "save", _raises(OSError(errno.ENOSPC, "full")))
    return send(stage.alice)


def _board_raises(error: Exception) -> Callable[[Stage], Any]:
    def case(stage: Stage) -> Any:
        stage.patch.setattr(queries, "board", _raises(error))
        return stage.anonymous.get(f"{DIGITS}leaderboard/")

    return case


_internal_error = _board_raises(RuntimeError("the secret is 42"))
_unavailable = _board_raises(OperationalError("no route to 10.0.0.7"))


def _invite(stage: Stage) -> str:
    return membership.invite(team=stage.team, user=stage.world.alice).token


def _join(client: APIClient, **body: str) -> Any:
    return client.post(f"{DIGITS}join/", {"accept_rules": True, **body}, format="json")


def _team_full(stage: Stage) -> Any:
    token = _invite(stage)
    Competition.objects.update(team_size=1)
    return _join(stage.bob, invitation=token)


def _competition_full(stage: Stage) -> Any:
    stage.change(team_limit=1)
    return _join(stage.bob)


def _hidden_until_end(stage: Stage) -> Any:
    stage.change(is_hidden=True)
    return stage.alice.get(f"{DIGITS}ledger/")


def _organizes_here(stage: Stage) -> Any:
    Organizer.objects.create(competition=stage.world.digits, user=stage.world.bob, role="viewer")
    return _join(stage.bob)


def _left_a_team(stage: Stage) -> Any:
    token = _invite(stage)
    _join(stage.bob, invitation=token)
    stage.world.submit(stage.team)
    membership.leave(team=stage.team, user=stage.world.bob)
    return _join(stage.bob, team_name="Others")


def _team_merged(stage: Stage) -> Any:
    token = _invite(stage)
    into = stage.world.join(make_user("carol"))
    # A merge deletes the invitations: only whoever follows one at the same moment meets this.
    Team.objects.filter(pk=stage.team.pk).update(merged_into=into)
    return _join(stage.bob, invitation=token)


def _invitation_expired(stage: Stage) -> Any:
    token = _invite(stage)
    Invitation.objects.update(expires_at=timezone.now())
    return _join(stage.bob, invitation=token)


def _invitation_used(stage: Stage) -> Any:
    link = membership.invite(team=stage.team, user=stage.world.alice, email="c@uni.example")
    membership.join_team(invitation=link, user=make_user("carol"), accept_rules=True)
    return _join(stage.bob, invitation=link.token)


def _captain_stays(stage: Stage) -> Any:
    _join(stage.bob, invitation=_invite(stage))
    return stage.alice.post(f"{DIGITS}team/leave/")


def _last_member_stays(stage: Stage) -> Any:
    stage.world.submit(stage.team)
    return stage.alice.post(f"{DIGITS}team/leave/")


def _merge_asked(stage: Stage) -> Any:
    address = f"{DIGITS}team/mergers/{stage.world.join(stage.world.bob).uid}/"
    stage.alice.post(address)
    return stage.alice.post(address)


def _merge_over_quota(stage: Stage) -> Any:
    into = stage.world.join(stage.world.bob)
    for team in (stage.team, into):
        stage.world.score(team)
    stage.change(daily_limit=1)
    return stage.alice.post(f"{DIGITS}team/mergers/{into.uid}/")


def _no_merge_request(stage: Stage) -> Any:
    into = stage.world.join(stage.world.bob)
    return stage.alice.put(f"{DIGITS}team/mergers/{into.uid}/")


CASES: dict[str, Callable[[Stage], Any]] = {
    "invalid": lambda stage: stage.login(username="alice"),
    "malformed": lambda stage: stage.anonymous.post(LOGIN, "{", content_type=JSON),
    "wrong_credentials": lambda stage: stage.login(username="alice", password="wrong"),
    "email_not_verified": _email_not_verified,
    "not_authenticated": lambda stage: stage.anonymous.get(f"{API}me/"),
    "not_allowed": _board_raises(PermissionDenied()),
    "scope_missing": _scope_missing,
    "second_factor_required": _second_factor,
    "wrong_code": lambda stage: _second_factor(stage, code="000000"),
    "second_factor_missing": _second_factor_missing,
    "csrf_failed": _csrf_failed,
    "rules_not_accepted": lambda stage: stage.bob.get(f"{DIGITS}files/train.csv/"),
    "not_a_member": lambda stage: send(stage.bob),
    "captain_only": _captain_only,
    "competition_not_open": _competition_not_open,
    "deadline_passed": _deadline_passed,
    "not_found": lambda stage: stage.anonymous.get(f"{API}competitions/digts/"),
    "method_not_allowed": lambda stage: stage.anonymous.delete(DIGITS),
    "not_acceptable": lambda stage: stage.anonymous.get(DIGITS, HTTP_ACCEPT="image/png"),
    "already_joined": lambda stage: _join(stage.alice),
    "not_admitted": _not_admitted,
    "disqualified": _disqualified,
    "team_name_taken": lambda stage: _join(stage.bob, team_name=stage.team.name.upper()),
    "team_full": _team_full,
    "competition_full": _competition_full,
    "hidden_until_end": _hidden_until_end,
    "invitation_expired": _invitation_expired,
    "organizes_here": _organizes_here,
    "invitation_used": _invitation_used,
    "captain_stays": _captain_stays,
    "last_member_stays": _last_member_stays,
    "merge_asked": _merge_asked,
    "merge_over_quota": _merge_over_quota,
    "no_merge_request": _no_merge_request,
    "left_a_team": _left_a_team,
    "team_merged": _team_merged,
    "no_token": _no_token,
    "file_too_large": _file_too_large,
    "body_too_large": lambda stage: stage.login(username="alice", password="x" * 70_000),
    "unsupported_media_type": lambda stage: stage.alice.post(
        f"{DIGITS}submissions/", {"message": "no form"}, format="json"
    ),
    "range_not_satisfiable": lambda stage: stage.alice.get(
        f"{DIGITS}files/train.csv/", HTTP_RANGE="bytes=1000-"
    ),
    "file_empty": lambda stage: send(stage.alice, b""),
    "daily_limit_reached": lambda stage: _send_again(stage, daily_limit=1),
    "total_limit_reached": lambda stage: _send_again(stage, total_limit=1),
    "too_many_rejected": _too_many_rejected,
    "token_bound": _token_bound,
    "token_quota_reached": _token_quota_reached,
    "campaign_ended": _campaign_ended,
    "campaign_limit_reached": _campaign_limit_reached,
    "throttled": _throttled,
    "internal_error": _internal_error,
    "paused": _paused,
    "unavailable": _unavailable,
    "storage_full": _storage_full,
    "finals_not_revealed": lambda stage: stage.anonymous.get(f"{DIGITS}final/"),
    "finals_not_tested": _finals_not_tested,
    "finals_started": _finals_started,
    "too_many_finals": lambda stage: _choose(stage, 1, 2, 3),
    "not_comparable": lambda stage: stage.alice.get(
        f"{DIGITS}submissions/compare/?a=1&b={stage.world.score(stage.team).number}"
    ),
    "not_released": lambda stage: _choose(stage, 1),
    **cases.CASES,
}


@pytest.fixture
def stage(world: World, as_: As, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(world, as_, monkeypatch)


@pytest.mark.parametrize("code", CASES)
def test_each_problem_is_a_document_with_its_code(code: str, stage: Stage) -> None:
    response = CASES[code](stage)
    known = PROBLEMS[code]
    document = response.json()
    assert response.headers["Content-Type"] == PROBLEM_TYPE
    assert response.status_code == document["status"] == known.status
    assert document["code"] == code
    assert document["type"] == f"/api/v1/problems/#{code}"
    assert document["title"] == known.title
    assert len(document["detail"]) > 10


def test_every_known_code_is_provoked() -> None:
    assert set(CASES) == set(PROBLEMS)


def test_every_refusal_that_the_api_can_meet_is_known() -> None:
    rooms = ("pipeline", "participate", "organize", "api", "platform")
    codes = {call.code for call in raised() if call.path.parent.name in rooms}
    assert {"deadline_passed", "team_merged", "frozen"} <= codes
    on_the_web = {"account_stays", "not_from_files"}
    assert codes - on_the_web <= set(PROBLEMS)


def test_an_unexpected_error_shows_nothing_of_itself(stage: Stage) -> None:
    response = _internal_error(stage)
    assert "secret" not in response.content.decode()
    assert "RuntimeError" not in response.content.decode()


def test_an_unexpected_error_is_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    _internal_error(stage)
    assert "the secret is 42" in caplog.text


def test_a_401_says_how_to_sign_in(stage: Stage) -> None:
    assert stage.anonymous.get(f"{API}me/").headers["WWW-Authenticate"] == "Token"


def test_a_throttled_request_says_when_to_come_back(stage: Stage) -> None:
    response = _throttled(stage)
    assert 1 <= int(response.headers["Retry-After"]) <= 60


def test_an_outage_says_when_to_come_back_and_nothing_of_the_server(stage: Stage) -> None:
    response = _unavailable(stage)
    assert int(response.headers["Retry-After"]) > 0
    assert "10.0.0.7" not in response.content.decode()


def test_a_full_disk_counts_and_keeps_nothing(stage: Stage) -> None:
    _storage_full(stage)
    assert not Submission.objects.exists()


def test_a_wrong_method_says_which_are_right(stage: Stage) -> None:
    assert "GET" in stage.anonymous.delete(DIGITS).headers["Allow"]


@pytest.mark.parametrize(
    "path", ["", "nonsense/", "competitions/digits", "competitions/digits/nonsense/", "../v2/"]
)
@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_an_unknown_route_is_a_problem_document(
    path: str, method: str, anonymous: APIClient, db: None
) -> None:
    if not path:
        path = "x"
    response = getattr(anonymous, method)(f"{API}{path}")
    assert response.status_code == 404
    assert response.headers["Content-Type"] == PROBLEM_TYPE
    assert response.json()["code"] == "not_found"


def test_a_forgotten_slash_is_pointed_out(anonymous: APIClient, db: None) -> None:
    detail = anonymous.get(f"{API}competitions").json()["detail"]
    assert "end with a slash" in detail


def test_field_errors_name_their_fields(stage: Stage) -> None:
    document = stage.login().json()
    assert [error["field"] for error in document["errors"]] == ["username", "password"]
    assert document["total"] == 2
    assert document["errors"][0] == {
        "code": "required",
        "field": "username",
        "message": "`username`: This field is required.",
    }


def test_one_field_error_is_the_detail(stage: Stage) -> None:
    document = stage.login(username="alice").json()
    assert document["detail"] == "`password`: This field is required."


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 422) for body in ("[1]", '"text"', "1", "null", '{"username": "\\u0000"}')),
        *((body, 400) for body in ("[" * 5000, "\xff")),
    ],
)
def test_odd_json_is_refused(body: str, status: int, anonymous: APIClient, db: None) -> None:
    response = anonymous.post(LOGIN, body.encode("latin-1"), content_type=JSON)
    assert response.status_code == status
    assert response.headers["Content-Type"] == PROBLEM_TYPE


@pytest.mark.parametrize(
    "header", ["Token", "Token a b", "Token \xff", "Token nonsense", "Token holdfast_x\x00", "Tok"]
)
def test_a_malformed_token_is_a_401(header: str, anonymous: APIClient, db: None) -> None:
    response = anonymous.get(f"{API}me/", HTTP_AUTHORIZATION=header)
    assert response.status_code == 401
    assert response.json()["code"] == "not_authenticated"


def test_an_upload_beyond_the_site_s_limit_is_stopped(stage: Stage) -> None:
    with override_settings(MAX_UPLOAD_BYTES=20):
        response = send(stage.alice)
    assert response.status_code == 413
    assert response.json()["code"] == "file_too_large"


def test_a_disabled_account_is_signed_out(stage: Stage) -> None:
    User.objects.filter(pk=stage.world.alice.pk).update(is_active=False)
    assert stage.alice.get(f"{API}me/").status_code == 401
