"""Until the end of a hidden board nobody but its organizers can see anything of other teams.

Two worlds are built that differ in what other teams are, send, get and choose, and in nothing else.
Every page, file and API answer that a team, another account and a stranger reach must be the same,
byte by byte, while the competition runs and with final scores that are not revealed yet. Organizers
see the difference all along, and everybody does after the reveal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import unified_diff
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.core.files.storage import InMemoryStorage, default_storage
from django.db import transaction
from django.test import Client

from leaderboard.models import Competition, Notice, Team, User
from leaderboard.notify import outbox
from leaderboard.organize import announcements
from leaderboard.organize.teams import change_team
from leaderboard.participate import campaigns, membership, selection
from leaderboard.pipeline import finalize
from leaderboard.tasks import score_submission
from tests import ending, twins
from tests.cast import LADDER, World, make_competition, make_user, predictions, set_round, upload
from tests.routes import all_routes

HIDDEN = {"is_hidden": True, "team_limit": 9, "question_limit": 900}
ROWS, PUBLIC_ROWS = 100, 20
WRONG = (range(50), range(60, 95), range(20, 50), range(20, 50))
PARAMETERS = {
    "ladder": LADDER,
    "guard": {
        "errors": "2",
        "budget": "45",
        "team_share": "5",
        "steps": "20",
        "confidence": "0.95",
    },
}
_BOARDS = re.compile(
    "leaderboard|final|ledger|submissions|teams|merge|people|inbox|notices|digits/$|^/$|^/[tu]/"
)
BOBS = "b" * 32  # the id of bob's team, in the world where there is one
API_TEAM = "/api/v1/competitions/digits/team/"
FORMATS = {"leaderboard/": "csv", "final/": "csv", "ledger/": "jsonl"}
API_LISTS = ("/api/v1/me/export/", "/api/v1/competitions/", "/api/v1/me/", "/api/v1/me/notices/")
SEARCHES = ("leaderboard/?team=b", "leaderboard/?page=2", "ledger/?page=2", "teams/?search=b")
ABOUT_BOB = (f"/t/{BOBS}/", "/u/bob/", f"/api/v1/teams/{BOBS}/", "/api/v1/people/bob/")
ORGANIZED = (
    *("/", "/c/digits/leaderboard/", "/c/digits/ledger/", "/api/v1/competitions/"),
    *ABOUT_BOB,
)


@dataclass
class Watch:
    """What a world shows, by stage, person and address."""

    seen: dict[str, str] = field(default_factory=dict)

    def look(self, stage: str, person: User | None, addresses: Iterable[str]) -> None:
        """Ask addresses as a person; each page draws its random bytes anew."""
        client = Client()
        if person is not None:
            with twins.fixed_randomness(f"{person} signs in"):
                client.force_login(person)
        for path in addresses:
            cache.clear()
            with twins.fixed_randomness(path):
                self.note(f"{stage}: {person} at {path}", client.get(path))

    def note(self, where: str, response: Any) -> None:
        body = response.getvalue() if response.streaming else response.content
        headers = sorted(response.items())
        self.seen[where] = f"{response.status_code}\n{headers}\n{body.decode('latin-1')}"


def _addresses(values: dict[str, Any]) -> Iterator[str]:
    """Yield what anybody could ask of the competition, and what lists it."""
    yield from ("/", "/account/", "/inbox/", *API_LISTS, *ABOUT_BOB)
    yield from (f"/t/{values['uid']}/", "/u/alice/", "/api/v1/people/alice/")
    yield from (f"/c/digits/team/merge/{BOBS}/", f"{API_TEAM}mergers/{BOBS}/")
    for route in all_routes():
        if "slug" in route.parameters and not route.is_of_organizers:
            path = route.path(values)
            yield path
            end = path.removeprefix(f"/api/v1/competitions/{values['slug']}/")
            if end in FORMATS:
                yield f"{path}?format={FORMATS[end]}"
            yield from (f"{path}{each.partition('/')[2]}" for each in SEARCHES if _fits(path, each))


def _fits(path: str, search: str) -> bool:
    return path.endswith("/" + search.partition("?")[0])


class _Others:
    """The other teams, which do at other times all that a team can do."""

    def __init__(self, world: World, competition: Competition, busy: bool) -> None:
        self.world, self.competition, self.busy = world, competition, busy
        self.turn, self.teams = count(1), list[Team]()

    def act(self, *actions: Callable[[], Any]) -> None:
        """Do these in the busy world, each at a moment of its own."""
        for action in actions if self.busy else ():
            at = twins.NOW - next(self.turn) * timedelta(minutes=1)
            now = mock.patch("django.utils.timezone.now", return_value=at)
            with twins.fixed_randomness(f"{at}"), now:
                action()

    def join(self) -> None:
        for name in ("bob", "dave", "base"):
            user = User.objects.get(username=name)
            self.teams.append(self.world.join(user, f"team {name}", self.competition))
        self.teams[0].uid = BOBS
        self.teams[0].save(update_fields=["uid"])
        change_team(self.teams[-1], self.world.organizer, is_baseline=True, is_verified=True)

    def send(self, *wrong: int) -> Callable[[], None]:
        """Return what sends a file of each team, off by so many rows and a few more."""

        def act() -> None:
            for place, team in enumerate(self.teams):
                for many in wrong:
                    self.world.score(team, predictions(range(many + 5 * place), ROWS))

        return act

    def spoil(self) -> None:
        bad = self.world.submit(self.teams[0], b"id,label\nr0,9\n")
        score_submission(submission_id=bad.pk)

    def rename(self) -> None:
        team = self.teams[0]
        membership.rename_team(team=team, user=team.captain, name="bobcats")
        membership.invite(team=team, user=team.captain)

    def select(self) -> None:
        team = self.teams[0]
        selection.select(team=team, user=team.captain, numbers=(1, 2))


def _build(mechanism: str, *, busy: bool) -> Watch:
    """Build a world, look at it at all stages, and take it back."""
    block, watch = transaction.atomic(), Watch()
    block._from_testcase = True  # type: ignore[attr-defined]  # as Django's TestCase marks its own
    with block, twins.stopped_clock(), twins.fixed_randomness("both worlds"):
        twins.number_from_one()
        names = ("alice", "bob", "carol", "dave", "base")
        users = {name: make_user(name, date_joined=twins.NOW) for name in names}
        organizer = make_user("organizer", is_organizer=True)
        digits = make_competition(
            "digits",
            organizer,
            rows=ROWS,
            public=PUBLIC_ROWS,
            opens_at=twins.NOW - timedelta(days=1),
            closes_at=twins.NOW + timedelta(days=30),
            mechanism=mechanism,
            mechanism_parameters=PARAMETERS[mechanism],
            **HIDDEN,
        )
        world = World(organizer, users["alice"], users["bob"], digits)
        _play(world, watch, _Others(world, digits, busy))
        transaction.set_rollback(True)
    return watch


def _tell(world: World) -> None:
    """Let a worker write everybody's notices; their ids are random."""
    while outbox.fan_out(world.digits.pk):
        pass
    for place, row in enumerate(Notice.objects.filter(recipient=world.alice).order_by("pk")):
        Notice.objects.filter(pk=row.pk).update(uid=f"notice {place} of alice")


def _play(world: World, watch: Watch, others: _Others) -> None:
    """Have alice's team send four files, while the others do this and that, or nothing."""
    competition, carol = world.digits, User.objects.get(username="carol")
    others.act(others.join, others.send(40, 30), others.spoil)
    with twins.fixed_randomness("alice joins"):
        team = world.join(world.alice)
        token = membership.invite(team=team, user=world.alice).token
        campaigns.begin(team=team, user=world.alice, name="night", limit=9)
    client = Client()
    client.force_login(world.alice)
    for wrong in WRONG:
        with twins.fixed_randomness(f"alice sends {wrong}"):
            path = f"/api/v1/competitions/{competition.slug}/submissions/"
            sent = client.post(
                path, {"file": upload(predictions(wrong, ROWS)), "campaign": "night"}
            )
            watch.note(f"open: alice sends {wrong}", sent)
            score_submission(submission_id=team.submissions.latest("number").pk)
        others.act(others.send(len(wrong) - 20))
    others.act(others.rename)
    keys = ("trial_id", "submission_id", "webhook_id", "delivery_id", "file_id", "position")
    values = {"slug": "digits", "number": 2, "version": 1, "name": "train.csv", "token": token}
    values |= {"path": "0/000.p/1", "campaign": "night", "gate": "ci"}
    values |= {"uid": team.uid, "tab": "rules", "username": "organizer", **dict.fromkeys(keys, 1)}
    everywhere = list(_addresses(values))
    boards = [path for path in everywhere if _BOARDS.search(path)]
    announcements.announce(competition, by=world.organizer, title="News", text="")
    _tell(world)
    watch.look("open", world.alice, everywhere)
    if competition.current_round.board.mechanism == "ladder":
        watch.look("open", carol, everywhere)
        watch.look("open", None, boards)
    watch.look("organized", world.organizer, ORGANIZED)
    set_round(competition, closes_at=twins.NOW - timedelta(minutes=1))
    others.act(others.select)
    finalize.start_finals(competition.current_round)
    ending.measure(competition)
    _tell(world)
    watch.look("scored", world.alice, boards)
    finalize.reveal(competition.current_round)
    competition.refresh_from_db()
    watch.look("revealed", world.alice, ORGANIZED)


@pytest.fixture(params=PARAMETERS)
def worlds(
    request: pytest.FixtureRequest, db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[Watch, Watch]:
    """What is seen of the quiet world and of the busy one."""
    found = list[Watch]()
    monkeypatch.setattr(settings, "LONG_RUN_MINUTES", 0)  # everybody is told of each result
    for name in ("quiet", "busy"):
        monkeypatch.setattr(default_storage, "_wrapped", InMemoryStorage())
        monkeypatch.setattr(settings, "WATERMARK_DIR", tmp_path / name)
        ContentType.objects.clear_cache()
        cache.clear()
        found.append(_build(request.param, busy=name == "busy"))
    return found[0], found[1]


def test_nobody_sees_anything_of_other_teams_before_the_reveal(
    worlds: tuple[Watch, Watch],
) -> None:
    """And after it everybody sees all of it, as organizers do from the beginning on."""
    quiet, busy = (each.seen for each in worlds)
    assert list(quiet) == list(busy)
    different = {where for where, what in quiet.items() if what != busy[where]}
    hidden = {where for where in quiet if where.startswith(("open", "scored"))}
    assert len(hidden) > 60
    assert not different & hidden, _shown(sorted(different & hidden), quiet, busy)
    assert different == quiet.keys() - hidden


def _shown(places: list[str], quiet: dict[str, str], busy: dict[str, str]) -> str:
    """Return the first few places with the first lines that differ."""
    lines = [f"{len(places)} places differ"]
    for place in places[:9]:
        ours, theirs = quiet[place].splitlines(), busy[place].splitlines()
        lines += [place, *unified_diff(ours, theirs, n=0, lineterm="")][:9]
    return "\n".join(lines)
