"""Walk through every route as every role, and report what each got and what it changed.

The stage: `digits` is open, with the teams of the participant and of the rival, and a stranger who
is invited to join the participant's team; `sketch` is a draft of the same organizer, ready to be
opened; `fresh` is open and nobody has submitted to it; `closed` and `scored` are at their end, and
`revealed` behind it, with a round to come on rows of its own.
Addresses with a key lead to what belongs to the participant, or to the organizer of all these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.db import connection, transaction
from django.http import HttpResponse, HttpResponseBase
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone
from knox.models import AuthToken

from leaderboard import organize
from leaderboard.log import heads
from leaderboard.models import (
    Channel,
    Competition,
    Delivery,
    Event,
    FileRole,
    Invitee,
    Ledger,
    NoticeKind,
    QuickSetup,
    Round,
    Status,
    Submission,
    Trial,
    User,
    Webhook,
)
from leaderboard.notify import outbox
from leaderboard.notify.preferences import unsubscribe_url
from leaderboard.organize import announcements, webhooks
from leaderboard.organize.gates import NewGate, make_gate
from leaderboard.participate import campaigns, membership
from tests import ending
from tests.api.organize import walking as organizing
from tests.bundles.files import archive, bundle
from tests.cast import LADDER, World, make_competition, make_user, predictions, upload
from tests.console.pages import (
    COLUMNS_FORM,
    LADDER_FORM,
    labels,
    round_form,
    sample,
    settings_form,
    settings_of,
)
from tests.leaderboard import dropped
from tests.routes import ANYTHING, Route
from tests.snapshots import kept, watermarks

ROLES = ("anonymous", "participant", "rival", "invited", "organizer", "other", "operator")
# Organizers of all competitions of the stage, who are asked for the pages of the console as well.
CONSOLE_ROLES = ("editor", "judge", "viewer")
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE")
PASSWORD = "a-new-and-long-passphrase"
# Pages of the console that ask for something of a draft.
_OF_A_DRAFT = {
    *("columns", "scoring", "proposal", "files", "remove", "solution", "withdraw", "open"),
    *("delete", "board", "trial", "baseline", "<tab>"),
}
# An address that nobody has to look up.
HOOK = "https://93.184.216.34/hook"
_ROUNDS = "organize/<slug>/rounds/"
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
# Who is signed in, and since when: all that a request may write without changing anything.
_SESSIONS = ("django_session", "usersessions_usersession")
_LAST_LOGIN = 'UPDATE "leaderboard_user" SET "last_login" = %s WHERE'
SIGN_IN = "in"


@dataclass(frozen=True)
class Seen:
    """What an answer was, and the statements by which something was changed meanwhile."""

    status: int
    response: HttpResponseBase
    writes: tuple[str, ...]
    queries: tuple[str, ...]

    @property
    def body(self) -> str:
        """What a page or an API answer says."""
        assert isinstance(self.response, HttpResponse)
        return self.response.content.decode(errors="replace")  # pictures as well

    @property
    def is_refusal(self) -> bool:
        """Refused, or led to where one signs in."""
        return self.status >= 400 or self.text == SIGN_IN

    @property
    def text(self) -> str:
        """The status, with a + where something was changed; "in" where one is led to sign in."""
        if self.status == 302 and "/login/?" in self.response.headers["Location"]:
            return SIGN_IN
        return f"{self.status}{'+' if self.writes else ''}"


@dataclass
class Stage:
    """The cast and what the addresses lead to."""

    world: World
    people: dict[str, User]
    sketch: Competition
    fresh: Competition
    closed: Competition
    scored: Competition
    revealed: Competition
    _sessions: dict[str, dict[str, str]] = field(default_factory=dict)
    _client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def __post_init__(self) -> None:
        for role in self.people:
            self.sign_in(role)

    def sign_in(self, role: str) -> None:
        """Gives the role a new session, unless it is nobody's."""
        if role in self.people:
            client = Client()
            client.force_login(self.people[role])
            self._sessions[role] = {name: each.value for name, each in client.cookies.items()}
            self.__dict__.pop("_keys", None)  # a link to a new password is good until one signs in

    @property
    def digits(self) -> Competition:
        return self.world.digits

    def client(self, role: str) -> Client:
        """The role's browser, as it is before each request."""
        self._client.cookies = SimpleCookie(self._sessions.get(role, {}))
        return self._client

    def path(self, route: Route, **other: object) -> str:
        """The route's address, with `other` values for some parameters."""
        return route.path(self._values(route.pattern) | other)

    def ask(
        self,
        role: str,
        method: str,
        route: Route,
        *,
        body: dict[str, Any] | None = None,
        keep: bool = False,
        **other: object,
    ) -> Seen:
        """Sends a request. Whatever it changes is taken back, unless it is to be kept."""
        client, data = self.client(role), self.body(method, route) if body is None else body
        path = self.path(route, **other)
        cache.clear()
        with _recorded() as statements, nullcontext() if keep else _taken_back():
            response = _send(client, method, path, data, as_json="/api/" in path)
            if response.streaming:
                response.close()
        writes = tuple(each for each in statements if _is_write(each))
        return Seen(response.status_code, response, writes, tuple(statements))

    def body(self, method: str, route: Route) -> dict[str, Any]:
        """What somebody sends who may do what the route is for."""
        if method not in ("POST", "PATCH", "PUT"):
            return {}
        of_organizers = organizing.body_of(method, route.pattern)
        return self._bodies.get(route.pattern, {}) if of_organizers is None else of_organizers

    def _values(self, pattern: str) -> dict[str, object]:
        keys, objects = self._keys, self._objects
        if competition := organizing.competition_of(self, pattern):
            values = organizing.values_of(self, pattern)
            return self._common | values | {"slug": competition.slug}
        of_round = {}
        if pattern.startswith(_ROUNDS):
            coming = self.revealed.rounds.get(number=2)
            of_round = {
                "number": 1 if pattern.endswith("practice/") else 2,
                "position": 1,
                "file_id": coming.files.get(role=FileRole.OTHER).pk,
            }
        return (
            self._common
            | of_round
            | {"slug": self._competition(pattern).slug}
            | self._people.get(pattern, {})
            | {
                "key": keys.get(pattern, keys["account/password/reset/key/<uidb36>-<key>/"]),
                "object_id": objects.get([*pattern.split("/"), "", ""][2], 1),
            }
        )

    def _competition(self, pattern: str) -> Competition:
        of_the_open_one = {"people", "announcements", "webhooks"}
        if not pattern.startswith("organize/") or of_the_open_one & {*pattern.split("/")}:
            return self.digits
        page = pattern.rstrip("/").rsplit("/", 1)[-1]
        if pattern.startswith(_ROUNDS):
            return self.revealed
        if page in _OF_A_DRAFT:
            return self.sketch
        of_another = {
            "draft": self.fresh,
            "start": self.closed,
            "reveal": self.scored,
            "final.csv": self.scored,
            "publication": self.revealed,
        }
        return of_another.get(page, self.digits)

    @cached_property
    def _common(self) -> dict[str, object]:
        alice = self.people["participant"]
        return {
            "number": 2,
            "version": 1,
            "name": "train.csv",
            "token": self.digits.teams.get(captain=alice).invitations.get().token,
            "uidb36": user_pk_to_url_str(alice),
            ANYTHING.strip("<>"): "nowhere",
            "url": "nowhere",
            "app_label": "leaderboard",
            "id": alice.pk,
            "uid": self._submission.team.uid,
            "submission_id": Submission.objects.get(status=Status.FAILED).pk,
            "webhook_id": Webhook.objects.get().pk,
            "delivery_id": Delivery.objects.get(webhook__isnull=False).pk,
            "signed": unsubscribe_url(
                alice, self.digits, NoticeKind.ANNOUNCEMENT, Channel.MAIL
            ).split("/")[-2],
            "tab": "rules",
            "gate": "ci",
            "trial_id": self.sketch.current_round.trials.get().pk,
            "username": "olga",
            "provider_id": "sso",
            "pk": 1,
            "path": "0/000.p/1",
            "campaign": "night",
            "file_id": self.sketch.current_round.files.get(role=FileRole.TRAIN).pk,
        }

    @cached_property
    def _people(self) -> dict[str, dict[str, object]]:
        """Who is meant by an address with somebody's permanent id, where that is no team."""
        listed = Invitee.objects.get()
        listed_as: dict[str, object] = {"uid": listed.uid, "token": listed.token}
        organizes: dict[str, object] = {"uid": User.objects.get(username="judge").uid}
        base = "organize/<slug>/people"
        return {
            "u/<name>/": {"name": "alice"},
            "api/v1/people/<username>/": {"username": "alice"},
            "c/<slug>/invited/<token>/": listed_as,
            f"{base}/listed/<uid>/send/": listed_as,
            f"{base}/listed/<uid>/withdraw/": listed_as,
            f"{base}/accounts/<uid>/withdraw/": {"uid": self.people["invited"].uid},
            f"{base}/organizers/<uid>/role/": organizes,
            f"{base}/organizers/<uid>/remove/": organizes,
        }

    @cached_property
    def _submission(self) -> Submission:
        """The participant's last one."""
        alice = self.people["participant"]
        return Submission.objects.get(user=alice, number=2)

    @cached_property
    def _keys(self) -> dict[str, str]:
        alice = self.people["participant"]
        token = AuthToken.objects.filter(user=alice).first()
        address = EmailAddress.objects.filter(user=alice).first()
        return {
            "account/tokens/<key>/revoke/": token.token_key if token else "gone",
            "account/confirm-email/<key>/": EmailConfirmationHMAC(address).key,
            "account/password/reset/key/<uidb36>-<key>/": default_token_generator.make_token(alice),
        }

    @cached_property
    def _objects(self) -> dict[str, object]:
        alice = self.people["participant"]
        submission = self._submission
        return {
            "competition": self.digits.pk,
            "event": Event.objects.filter(competition=self.digits).latest("pk").pk,
            "team": submission.team_id,
            "submission": submission.pk,
            "release": submission.release_id,
            "user": alice.pk,
            "group": Group.objects.get().pk,
            "authtoken": AuthToken.objects.get(user=alice).pk,
            "emailaddress": EmailAddress.objects.get(user=alice).pk,
        }

    @cached_property
    def _bodies(self) -> dict[str, dict[str, Any]]:
        submission = self._submission
        file = upload(predictions([9]))
        passwords = {"password1": PASSWORD, "password2": PASSWORD}
        person = {"username": "newcomer", "email": "newcomer@example.org"}
        login = {"login": "alice", "password": "alice-password"}
        return {
            "account/tokens/": {"lifetime": "30", "scopes": ["read"]},
            "account/login/": login,
            "account/signup/": person | passwords,
            "account/reauthenticate/": {"password": "alice-password"},
            "account/email/": {"email": "second@example.org", "action_add": ""},
            "account/delete/": {"username": "alice"},
            "account/password/change/": {"oldpassword": "alice-password"} | passwords,
            "account/password/reset/": {"email": "alice@example.org"},
            "account/password/reset/key/<uidb36>-<key>/": passwords,
            "c/<slug>/join/": {"team_name": "New", "accept_rules": "on"},
            "c/<slug>/join/<token>/": {"accept_rules": "on"},
            "c/<slug>/submit/": {"file": file},
            "c/<slug>/submissions/<number>/note/": {"message": "Other"},
            "api/v1/competitions/<slug>/submissions/<number>/": {"message": "Other"},
            "c/<slug>/finals/": {"numbers": ["1"]},
            "api/v1/competitions/<slug>/finals/": {"numbers": [1]},
            "c/<slug>/campaigns/": {"name": "another", "limit": "3"},
            "c/<slug>/campaigns/<campaign>/limit/": {"limit": "5"},
            "api/v1/competitions/<slug>/campaigns/": {"name": "another", "limit": 3},
            "api/v1/competitions/<slug>/campaigns/<campaign>/": {"limit": 5},
            "c/<slug>/team/name/": {"team_name": "Renamed"},
            "c/<slug>/team/captain/": {"username": "alice"},
            "api/v1/competitions/<slug>/team/captain/": {"username": "alice"},
            "api/v1/auth/login/": {"username": "alice", "password": "alice-password"},
            "api/v1/competitions/<slug>/join/": {"accept_rules": True},
            "api/v1/competitions/<slug>/team/": {"name": "Renamed"},
            "api/v1/competitions/<slug>/submissions/": {"file": file},
            "api/v1/competitions/<slug>/log/witness/": {"note": "None.\n"},
            "organize/new/preview/": {"text": "# Title"},
            "organize/<slug>/data/columns/": COLUMNS_FORM
            | {"columns": "label: label: 0, 1, 2, 3, 4"},
            "organize/<slug>/data/scoring/": LADDER_FORM | {"mechanism-ladder-steps": "10"},
            "organize/<slug>/data/files/": {
                "file": upload(b"a,b\n1,2\n", "more.csv"),
                "role": "other",
            },
            "organize/<slug>/data/solution/": {"solution": upload(labels(), "solution.csv")},
            "organize/<slug>/people/": {"people": "somebody@uni.example"},
            "organize/<slug>/people/class-list/": {"text": "name,mail\nAda,ada@uni.example\n"},
            "organize/<slug>/people/joining/": {"domains": "uni.example"},
            "organize/<slug>/people/organizers/": {"account": "olga", "role": "judge"},
            "organize/<slug>/people/organizers/<uid>/role/": {"role": "editor"},
            "organize/<slug>/teams/<uid>/quota/": {"daily": "3", "total": "0"},
            "organize/<slug>/teams/<uid>/sanction/": {"kind": "hidden", "reason": "Why."},
            "organize/<slug>/teams/<uid>/submissions/<number>/sanction/": {"reason": "Why."},
            "organize/<slug>/finals/publication/": {"slug": "revealed"},
            "unsubscribe/<signed>/": {"List-Unsubscribe": "One-Click"},
            "organize/<slug>/announcements/": {"title": "News", "text": "$x$"},
            "organize/<slug>/announcements/<number>/": {"title": "Other news"},
            "organize/<slug>/gates/": {"name": "other", "kind": "mark", "mark": "0.7"},
            "organize/<slug>/webhooks/": {"url": HOOK},
            "organize/<slug>/webhooks/<webhook_id>/": {"url": HOOK, "kinds": ["announced"]},
            "organize/<slug>/webhooks/<webhook_id>/switch/": {"on": "0"},
            "organize/<slug>/rounds/": round_form(),
            "organize/<slug>/rounds/<number>/": round_form(title="Other"),
            "organize/<slug>/rounds/<number>/files/": {
                "file": upload(b"a,b\n1,2\n", "more.csv"),
                "role": "other",
            },
            "organize/<slug>/rounds/<number>/solution/": {
                "solution": upload(labels(), "solution.csv")
            },
            "organize/<slug>/rounds/<number>/boards/": LADDER_FORM,
            "organize/<slug>/rounds/<number>/practice/": {"open": "yes"},
            "organize/new/bundle/": {"bundle": upload(archive(bundle()).getvalue(), "b.zip")},
            "organize/new/template/": {"name": "binary"},
            "organize/<slug>/settings/copies/": {"slug": "copy"},
            "organize/<slug>/settings/move/": {"destination": "9" * 64, "slug": "digits"},
            "organize/new/": {
                "title": "New",
                "teams": "5",
                "submissions": "5",
                "staged": "",
                "closes_at": "2099-01-01T00:00",
                **dropped.files(dropped.binary(40)),
            },
            "organize/new/by-hand/": settings_form(),
            "organize/new/files/": {"file": upload(b"a,b\n1,2\n", "train.csv")},
            "organize/<slug>/proposal/": {
                "metric": "accuracy",
                "steps": "10",
                "split": "row",
                "teams": "5",
                "submissions": "5",
                "closes_at": "2099-01-01T00:00",
            },
            "organize/<slug>/proposal/board/": {"board": "ladder"},
            "organize/<slug>/trial/": {"file": upload(predictions([9]))},
            "organize/<slug>/settings/": settings_of(self.digits, title="Another title"),
            "organize/<slug>/teams/<uid>/": {"name": "Other"},
            "admin/leaderboard/user/add/": person | passwords | {"usable_password": "true"},
            "admin/leaderboard/user/<object_id>/change/": {
                "username": "alice",
                "email": "alice@example.org",
                "is_active": "on",
                "is_organizer": "on",
            },
            "admin/leaderboard/user/<id>/password/": passwords | {"usable_password": "true"},
            "admin/knox/authtoken/<object_id>/delete/": {"post": "yes"},
            "admin/auth/group/add/": {"name": "group"},
            "admin/auth/group/<object_id>/change/": {"name": "group"},
            "admin/auth/group/<object_id>/delete/": {"post": "yes"},
            "admin/account/emailaddress/add/": {
                "user": submission.user_id,
                "email": "third@example.org",
            },
            "admin/account/emailaddress/<object_id>/change/": {
                "user": submission.user_id,
                "email": "third@example.org",
            },
            "admin/account/emailaddress/<object_id>/delete/": {"post": "yes"},
        }


def make_stage(world: World) -> Stage:
    """The stage as the module's text says."""
    _play(world)
    return _look_around(world)


def kept_stage(world: World) -> Stage:
    """The same on the fixture's world, played once in a process."""
    kept(_play)(world)
    return _look_around(world)


def _play(world: World) -> None:
    carol = make_user("carol")
    make_user("olga", is_organizer=True)
    make_user("operator", is_superuser=True)
    world.digits.invited.add(carol)
    world.digits.invitees.create(email="dave@uni.example", name="Dave")
    team = world.join(world.alice)
    campaigns.begin(team=team, user=world.alice, name="night", limit=9)
    world.score(team, predictions([10, 11, 12]))
    world.score(team, predictions([10]), campaign="night")
    theirs = world.score(world.join(world.bob), predictions([20, 21])).team
    failed = Submission.objects.filter(pk=world.submit(theirs).pk)
    failed.update(number=7, status=Status.FAILED, failure="E at f.py:1", finished_at=timezone.now())
    membership.invite(team=team, user=world.alice)
    _declare_gates(world)
    for title in ("Welcome", "More data"):
        announcements.announce(world.digits, by=world.organizer, title=title, text="See $x$.")
    while outbox.fan_out(world.digits.pk):
        pass
    hook = webhooks.add_webhook(world.digits, by=world.organizer, url=HOOK)
    outbox.add_test(hook)
    Delivery.objects.update(state="failed", finished_at=timezone.now())
    EmailAddress.objects.create(user=world.alice, email=world.alice.email)
    AuthToken.objects.create(world.alice)
    Group.objects.create(name="a group")
    sketch = make_competition("sketch", world.organizer)
    organize.return_to_draft(sketch)
    split = {"by": "row", "column": "", "given": True, "reason": "It was."}
    facts = {"reasons": {"metric": "A usual one."}, "split": split, "splits": [split]}
    QuickSetup.objects.create(round=sketch.current_round, facts=facts)
    Trial.objects.create(
        round=sketch.current_round, title="Tried", size=1, sha256="", file=upload(b"1")
    )
    _, closed, scored, revealed = (
        make_competition(slug, world.organizer)
        for slug in ("fresh", "closed", "scored", "revealed")
    )
    for role in CONSOLE_ROLES:
        person = make_user(role, is_organizer=True)
        for competition in Competition.objects.all():
            competition.roles.create(user=person, role=role)
    for each in (closed, scored, revealed):
        world.score(world.join(world.alice, competition=each), predictions([10]))
    ending.close(closed)
    ending.score(scored)
    ending.reveal(revealed)
    _add_round(revealed, world.organizer)
    heads.sign_all()


def _declare_gates(world: World) -> None:
    """Let `digits` have a gate, as if it had declared some when it began."""
    Round.objects.filter(pk=world.round.pk).update(gate_limit=4)
    Ledger.objects.filter(rounds=world.round).update(gate_limit=4)
    world.digits.refresh_from_db()
    make_gate(world.board, NewGate("ci", "mark", mark=0.8), by=world.organizer)


def _add_round(competition: Competition, by: User) -> None:
    """Add a round to come, with two files, two boards and no solution yet."""
    opens_at = timezone.now() + timedelta(days=40)
    coming = organize.add_round(competition, by=by, opens_at=opens_at, closes_at=None)
    organize.add_board(coming, by=by, **vars(organize.Scoring("error_rate", {}, "ladder", LADDER)))
    for content, role in ((sample(), FileRole.SAMPLE), (b"a\n1\n", FileRole.OTHER)):
        organize.add_file(coming, upload(content, f"{role}.csv"), role=role, by=by)


def _look_around(world: World) -> Stage:
    people = {
        "participant": world.alice,
        "rival": world.bob,
        "invited": User.objects.get(username="carol"),
        "organizer": world.organizer,
        "other": User.objects.get(username="olga"),
        "operator": User.objects.get(username="operator"),
        **{role: User.objects.get(username=role) for role in CONSOLE_ROLES},
    }
    slugs = ("sketch", "fresh", "closed", "scored", "revealed")
    stages: dict[str, Any] = {slug: Competition.objects.get(slug=slug) for slug in slugs}
    return Stage(world, people, **stages)


def everything() -> dict[str, list[dict[str, Any]]]:
    """All that the database holds, but for who is signed in and since when."""
    return {
        model._meta.label: [
            {name: value for name, value in row.items() if name != "last_login"}
            for row in model._default_manager.order_by("pk").values()
        ]
        for model in apps.get_models(include_auto_created=True)
        if model._meta.db_table not in _SESSIONS
    }


def _send(
    client: Client, method: str, path: str, data: dict[str, Any], *, as_json: bool
) -> HttpResponseBase:
    files = any(hasattr(each, "read") for each in data.values())
    for each in data.values():
        if hasattr(each, "seek"):
            each.seek(0)
    if method == "POST" and (files or not as_json):
        return client.post(path, data)
    if files:
        form = encode_multipart(BOUNDARY, data)
        return client.generic(method, path, form, content_type=MULTIPART_CONTENT)
    if method in ("POST", "PATCH", "PUT"):
        send = getattr(client, method.lower())
        response: HttpResponseBase = send(path, data, content_type="application/json")
        return response
    if method in ("GET", "HEAD"):
        answer: HttpResponseBase = getattr(client, method.lower())(path)
        return answer
    return client.generic(method, path)


@contextmanager
def _recorded() -> Iterator[list[str]]:
    """The statements sent to the database, without their values."""
    statements: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


@contextmanager
def _taken_back() -> Iterator[None]:
    """A transaction that is undone, in which code that wants one of its own gets it.

    What the watermark was told of it is forgotten as well.
    """
    block, told = transaction.atomic(), watermarks()
    block._from_testcase = True  # type: ignore[attr-defined]  # as Django's TestCase marks its own
    with block:
        yield
        transaction.set_rollback(True)
    now = watermarks()
    for name, content in told.items():
        if now.get(name) != content:
            (settings.WATERMARK_DIR / name).write_bytes(content)


def _is_write(statement: str) -> bool:
    of_sessions = any(map(statement.__contains__, _SESSIONS)) or statement.startswith(_LAST_LOGIN)
    return statement.startswith(_WRITES) and not of_sessions
