"""Nothing that anyone but the organizer can reach depends on the hidden data but through releases.

Two worlds are built whose solutions differ and whose releases don't (`tests/twins.py`), and every
route is asked for everything as everybody who is no organizer. Status, headers, body, statements
sent to the database, tasks sent to workers, mails and log lines must be the same, byte by byte.

Not compared: how long anything takes. What the worker does is compared by the statements it sends,
not by its arithmetic. The note of a custom metric that failed is the organizer's, and is left out.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from html.parser import HTMLParser
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from celery.signals import before_task_publish
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core import mail
from django.core.cache import cache
from django.core.files.storage import InMemoryStorage, default_storage
from django.db import connection, transaction
from django.test import TestCase

from leaderboard.ledger.entries import ledger_document
from leaderboard.log import heads
from leaderboard.models import Channel, Event, Release, Round, Submission, User
from leaderboard.notify import outbox, webhooks
from leaderboard.organize import announcements
from leaderboard.platform.logs import JsonFormatter
from leaderboard.tasks import score_submission
from leaderboard.vault import custom_metrics
from scoring.chain import document_hash
from scoring.metrics import METRICS
from tests import twins
from tests.cast import World, make_competition, make_user, upload
from tests.routes import Route, all_routes
from tests.twins import TWINS, Twin
from tests.walking import Stage, make_stage

PACKAGE = Path(__file__).parent / "leaderboard" / "custom_metric"
# Roles that see no more than the public, or their own team.
PEOPLE = ("anonymous", "participant", "rival")
# Roles that look at all of the console, and at nothing of hidden rows: one of them at each twin.
LOOKING_ON = ("judge", "viewer")
METHODS = ("GET", "POST")
SHORT = 10  # digits of a hash that pages show
SUBMISSIONS = "api/v1/competitions/<slug>/submissions/"
ORGANIZERS_LOG = "leaderboard.vault.custom_metrics"
BAD_FILES = {
    "empty": b"",
    "header": b"idx,label\nr0,1\n",
    "missing row": b"id,label\nr0,1\n",
    "doubled row": b"id,label\n" + b"r0,1\n" * 200,
    "unknown row": b"id,label\nr999,1\n",
    "no number": b"id,label\n" + b"".join(b"r%d,cat\n" % row for row in range(200)),
    "not finite": b"id,label\n" + b"".join(b"r%d,1e999\n" % row for row in range(200)),
    "binary": b"\x89PNG\r\n\x1a\n\x00",
    "gzip that is none": b"\x1f\x8b\x08\x00nonsense",
}


Releases = list[tuple[object, ...]]


@dataclass
class Transcript:
    """All that was seen of a world, by where it was seen."""

    seen: dict[str, str] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    hidden: dict[str, str] = field(default_factory=dict)
    released: Releases = field(default_factory=list)
    documents: list[dict[str, Any]] = field(default_factory=list)
    _times: Counter[str] = field(default_factory=Counter)

    def note(self, where: str, what: object) -> None:
        self.seen[f"{where} #{self._times[where]}"] = str(what)
        self._times[where] += 1

    def said(self, other: Transcript) -> dict[str, str]:
        """Places that the other world shows otherwise; what differs by nature goes by its name."""
        named = self.hidden | {each[:SHORT]: f"{name}…" for each, name in self.hidden.items()}
        pattern = re.compile("|".join(map(re.escape, sorted(named, key=len, reverse=True))))
        return {
            where: pattern.sub(lambda found: named[found[0]], what)
            for where, what in self.seen.items()
            if what != other.seen.get(where)
        }


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action") and value:
                self.found.add(value.partition("#")[0])


class _Lines(logging.Handler):
    """Log lines as they are written, but for those that are the organizer's."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonFormatter())
        self.transcript = transcript

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != ORGANIZERS_LOG:
            self.transcript.note("log", self.format(record))


@pytest.fixture
def _custom_metric(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(PACKAGE))
    before = dict(METRICS)
    custom_metrics.register()
    yield
    METRICS.clear()
    METRICS.update(before)


def _make() -> Stage:
    """The cast and the competitions that are the same in both worlds."""
    twins.number_from_one()
    organizer = make_user("organizer", is_organizer=True)
    cast = World(
        organizer=organizer,
        alice=make_user("alice"),
        bob=make_user("bob"),
        digits=make_competition("digits", organizer),
    )
    stage = make_stage(cast)
    User.objects.update(date_joined=twins.NOW)
    return stage


def _play(stage: Stage, transcript: Transcript, twin: Twin, world: str, coin: int) -> None:
    """A twin of this world, and all that the teams play there."""
    organizer = stage.world.organizer
    competition = twins.build(twin, world, organizer, f"{world}{coin}")
    for role in ("participant", "rival"):
        stage.world.join(stage.people[role], competition=competition)
    for role in LOOKING_ON:
        competition.roles.create(user=stage.people[role], role=role)
    for role, wrong in twin.plays:
        _submit(stage, transcript, twin.slug, role, twins.guesses(twin, wrong), "file")
    announcements.announce(competition, by=organizer, title="News", text="See $x$.")
    if twin.later:
        twins.go_on(twin, organizer)
    for role, wrong in twin.later:
        _submit(stage, transcript, twin.slug, role, twins.guesses(twin, wrong), "file")


def _submit(
    stage: Stage, transcript: Transcript, slug: str, role: str, content: bytes, name: str
) -> None:
    """Uploads by the API and lets a worker take it; what is left to see of it is seen later."""
    (route,) = (each for each in all_routes() if each.pattern == SUBMISSIONS)
    sent: list[Any] = []

    def note(body: Any = None, headers: Any = None, **more: Any) -> None:
        sent.append((headers["task"], body[:2]))

    before_task_publish.connect(note)
    try:
        with TestCase.captureOnCommitCallbacks(execute=True):
            seen = stage.ask(
                role,
                "POST",
                route,
                slug=slug,
                keep=True,
                body={"file": upload(content, f"{name}.csv")},
            )
            waiting = Submission.objects.filter(status="queued").order_by("-pk").first()
    finally:
        before_task_publish.disconnect(note)
    transcript.note(f"upload of {name} to {slug}", (seen.status, seen.response.items(), seen.body))
    transcript.note("tasks", sent)
    if waiting is None:
        return
    statements: list[str] = []
    with connection.execute_wrapper(_noting(statements)):
        score_submission(submission_id=waiting.pk)
    waiting.refresh_from_db()
    transcript.note(f"worker on {slug}", "\n".join([waiting.status, *map(_unnamed, statements)]))


def _noting(statements: list[str]) -> Any:
    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    return note


def _spoil(stage: Stage, transcript: Transcript) -> None:
    """Files of every wrong kind, then more than the quota, then too late."""
    of_each_metric = {twin.metric: twin for twin in TWINS}
    for twin in of_each_metric.values():
        for name, content in BAD_FILES.items():
            _submit(stage, transcript, twin.slug, "rival", content, name)
    slug = TWINS[0].slug
    for _ in range(9):
        _submit(stage, transcript, slug, "rival", twins.guesses(TWINS[0], range(1)), "over quota")
    late = TWINS[1].slug
    Round.objects.filter(competition__slug=late).update(closes_at=twins.NOW)
    _submit(stage, transcript, late, "rival", twins.guesses(TWINS[1], range(1)), "late")


def _notify(stage: Stage, transcript: Transcript) -> None:
    """All events as webhooks are sent them, and the mails to members."""
    for event in Event.objects.order_by("pk"):
        transcript.note("webhook", json.dumps(webhooks.payload(event)))
    EmailAddress.objects.update(verified=True)
    for competition_id in outbox.behind():
        while outbox.fan_out(competition_id):
            pass
    outbox.deliver(Channel.MAIL, 600)


def _crawl(stage: Stage, transcript: Transcript) -> None:
    for route in all_routes():
        if "slug" in route.parameters:
            crawl = _crawl_console if route.is_of_organizers else _crawl_twins
            crawl(stage, transcript, route)
            continue
        people = ("participant",) if route.is_of_organizers else PEOPLE
        for method, role in product(METHODS, people):
            _look(stage, transcript, role, method, route)


def _crawl_console(stage: Stage, transcript: Transcript, route: Route) -> None:
    """Ask as whoever is stopped at the door, and as those who look on."""
    for twin, looking_on in zip((TWINS[0], TWINS[-1]), LOOKING_ON, strict=True):
        for method in METHODS:
            _look(stage, transcript, "participant", method, route, slug=twin.slug, number=1)
        if route.area == "organize":
            _look(stage, transcript, looking_on, "GET", route, slug=twin.slug, number=1)


def _crawl_twins(stage: Stage, transcript: Transcript, route: Route) -> None:
    for twin in TWINS:
        for role in PEOPLE if twin in (TWINS[0], TWINS[-1]) else PEOPLE[1:]:
            _look(stage, transcript, role, "GET", route, slug=twin.slug, number=1)
        others: list[dict[str, Any]] = [{"number": number} for number in (2, 3, 4, 5)]
        others += [{"path": "entries/000.p/9"}, {"path": "0/000.p/9"}]
        for other in [*others, {"name": "sample.csv"}]:
            if set(other) <= set(route.parameters):
                values = {"slug": twin.slug} | other
                _look(stage, transcript, "participant", "GET", route, **values)
    for twin, role in product((TWINS[0], TWINS[-1]), ("participant", "rival")):
        _look(stage, transcript, role, "POST", route, slug=twin.slug, number=1)


def _look(
    stage: Stage, transcript: Transcript, role: str, method: str, route: Route, **values: Any
) -> None:
    path = stage.path(route, **values)
    with TestCase.captureOnCommitCallbacks():
        seen = stage.ask(role, method, route, **values)
    where = f"{method} {path} as {role}"
    body = _body(seen.response)
    transcript.note(where, f"{seen.status}\n{sorted(seen.response.items())}\n{body}")
    transcript.note(f"{where}: cookies", seen.response.cookies)
    transcript.note(f"{where}: statements", "\n".join(map(_unnamed, seen.queries)))
    if seen.response.headers.get("Content-Type", "").startswith("text/html"):
        parser = _Links()
        parser.feed(body)
        transcript.links |= {link for link in parser.found if link.startswith("/")}


def _unnamed(statement: str) -> str:
    """Names of savepoints count up, whoever asks."""
    return re.sub(r"SAVEPOINT .*", "SAVEPOINT", statement)


def _body(response: Any) -> str:
    content: bytes = response.getvalue() if response.streaming else response.content
    return content.decode("latin-1")


@dataclass(frozen=True)
class Ground:
    """Where worlds are built: each has files of its own."""

    monkeypatch: pytest.MonkeyPatch
    directories: Iterator[Path]

    def clear(self) -> None:
        self.monkeypatch.setattr(default_storage, "_wrapped", InMemoryStorage())
        self.monkeypatch.setattr(settings, "WATERMARK_DIR", next(self.directories))
        ContentType.objects.clear_cache()


class _AnswersOtherwise(Exception):
    """What is released in this world is not what was wanted."""


def _read(world: str, coin: int, ground: Ground, wanted: Releases | None = None) -> Transcript:
    """Builds a world, plays it, looks at all of it and takes it back.

    Where other releases are wanted, raises _AnswersOtherwise as soon as that is seen.
    """
    transcript = Transcript()
    ground.clear()
    cache.clear()
    mail.outbox = []
    lines, root = _Lines(transcript), logging.getLogger()
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # as Django's TestCase marks its own
    with block, twins.stopped_clock(), twins.fixed_randomness("both worlds"):
        stage = _make()
        root.addHandler(lines)
        try:
            for twin in sorted(TWINS, key=lambda twin: not twin.is_noisy):
                _play(stage, transcript, twin, world, coin)
                transcript.released = twins.released()
                if wanted is not None and wanted[: len(transcript.released)] != transcript.released:
                    raise _AnswersOtherwise(transcript.released)
            transcript.documents = [
                ledger_document(each) for each in Release.objects.order_by("pk")
            ]
            assert twins.kinds() >= KINDS
            _spoil(stage, transcript)
            heads.sign_all()
            _crawl(stage, transcript)
            _notify(stage, transcript)
        finally:
            root.removeHandler(lines)
        for each in mail.outbox:
            # What parts it is random.
            transcript.note("mail", re.sub(r"={15}\d+==", "***", each.message().as_string()))
        transcript.hidden = twins.hidden_values()
        transaction.set_rollback(True)
    return transcript


KINDS = {"improved", "not_improved", "confirmed", "corrected", "exhausted"}
# Noise of world A that gives usual answers: world B is to give the same by noise of its own.
FIRST_COIN = 2
# Where the search begins: one that was found the last time anybody looked.
COIN = 2


def _like(first: Transcript, ground: Ground) -> Transcript:
    """World B with noise under which it says what world A said. The noise is drawn by secret and
    commitment, which differ, so answers near the edge of a grid step may: those worlds don't lead
    to the same releases, and are not the ones that must be alike."""
    said: object = None
    for coin in range(COIN, COIN + 30):
        try:
            return _read("b", coin, ground, first.released)
        except _AnswersOtherwise as otherwise:
            (said,) = otherwise.args
    raise AssertionError(f"World A: {first.released}\nWorld B: {said}")


@pytest.fixture(scope="module")
def _once() -> dict[str, tuple[Transcript, Transcript]]:
    return {}


@pytest.fixture
def worlds(
    db: None,
    _custom_metric: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    _once: dict[str, tuple[Transcript, Transcript]],
) -> tuple[Transcript, Transcript]:
    """What is seen of world A and of world B; looked at once for all tests."""
    if not _once:
        ground = Ground(monkeypatch, (tmp_path / str(number) for number in count()))
        # Unseen: what is done for the first time in a process loads modules, and says so.
        with suppress(_AnswersOtherwise):
            _read("a", FIRST_COIN, ground, wanted=[])
        first = _read("a", FIRST_COIN, ground)
        _once["seen"] = first, _like(first, ground)
    return _once["seen"]


def test_the_worlds_differ_in_what_is_hidden() -> None:
    for twin in TWINS:
        ours, theirs = (twins.solution(twin, each).decode().split("\n")[1:] for each in "ab")
        assert sum(a != b for a, b in zip(ours, theirs, strict=True)) >= 2 * twins.PUBLIC_PAIRS


def test_everything_that_can_be_seen_is_the_same(worlds: tuple[Transcript, Transcript]) -> None:
    """Status, headers, body, cookies, statements, tasks, mails and log lines, once the values that
    differ by nature are named: whatever else differed would be a leak."""
    first, second = worlds
    ours, theirs = first.said(second), second.said(first)
    different = [where for where in ours | theirs if ours.get(where) != theirs.get(where)]
    assert not different, _shown(different, ours, theirs)
    assert list(first.seen) == list(second.seen)


def _shown(places: list[str], first: dict[str, str], second: dict[str, str]) -> str:
    """The first few places with the first lines that differ."""
    lines = [f"{len(places)} places differ"]
    for place in places[:9]:
        ours, theirs = (each.get(place, "").splitlines() for each in (first, second))
        lines += [place, *unified_diff(ours, theirs, "world A", "world B", n=1, lineterm="")][:20]
    return "\n".join(lines)


def test_it_was_looked_at_everywhere(worlds: tuple[Transcript, Transcript]) -> None:
    seen = worlds[0].seen
    assert len(seen) > 2000
    for route in all_routes():
        pattern = re.compile(r"GET /" + re.sub(r"<\w+>", ".+", re.escape(route.pattern)) + " as ")
        assert any(pattern.match(where) for where in seen), route.pattern
    for some in ("log #", "mail #", "webhook #", "tasks #", "worker on twin-own #"):
        assert any(where.startswith(some) for where in seen), some


def test_every_link_leads_where_the_walk_has_been(worlds: tuple[Transcript, Transcript]) -> None:
    """A page that the routes don't name, or with values that they were not tried with, is found."""
    been = {where.split(" ")[1] for where in worlds[0].seen if where.startswith("GET ")}
    links = {link.partition("?")[0].removeprefix(settings.SITE_URL) for link in worlds[0].links}
    ours = {link for link in links if not link.startswith("/static/")}
    assert {link for link in ours - been if not _is_like(link, been)} == set()


def _is_like(link: str, been: set[str]) -> bool:
    """Another number, another competition of the stage, another person, or another key."""
    values = r"/(\d+|digits|closed|scored|fresh|sketch|(?<=/u/)\w+|[\w-]{8,})(?=/|\.|$)"
    shape = re.sub(values, "/*", link)
    return any(re.sub(values, "/*", each) == shape for each in been)


def test_the_chain_differs_by_its_commitments_and_tags_alone(
    worlds: tuple[Transcript, Transcript],
) -> None:
    """With the other world's parameters' hash and tags put in, its hashes come out: the chain says
    nothing of the solution but through these, which salts and the secret hide."""
    first, second = (each.documents for each in worlds)
    heads: dict[str, str] = {}
    for ours, theirs in zip(first, second, strict=True):
        given = {name: theirs[name] for name in ("parameters_hash", "predictions_tag")}
        previous = heads.get(ours["previous_hash"], "")
        made = document_hash(ours | given | {"previous_hash": previous})
        heads[document_hash(ours)] = made
        assert made == document_hash(theirs)
