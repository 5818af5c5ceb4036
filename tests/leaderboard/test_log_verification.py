"""What `manage.py verify` names by the public log: all that decides a place and was changed."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F, Model

from leaderboard.log import heads, journal
from leaderboard.models import (
    EventCount,
    FinalScore,
    LogEntry,
    LogHead,
    Round,
    Sanction,
    Selection,
    Standing,
    Submission,
    Team,
)
from leaderboard.operate.log_verification import verify_log
from leaderboard.organize.sanctions import sanction_team
from leaderboard.organize.settings import change_settings
from leaderboard.organize.teams import add_quota, change_team
from leaderboard.participate import membership, selection
from leaderboard.participate.accounts import delete
from scoring.verification.differences import Differs
from tests import ending
from tests.cast import World, make_user, predictions

pytestmark = pytest.mark.django_db


def played(world: World) -> None:
    """Have three teams do all that teams and organizers do, up to the reveal."""
    teams = [
        world.join(each, name)
        for each, name in ((world.alice, "A"), (world.bob, "B"), (make_user("carol"), "C"))
    ]
    for team in teams:
        world.score(team, predictions([10, 11]))
        world.score(team, predictions(range(10, 20)))
    world.score(teams[0], b"id,label\nr0,1\n")
    membership.rename_team(team=teams[0], user=world.alice, name="Ants")
    membership.merge(team=teams[2], into=teams[1], by=world.bob)
    selection.select(team=teams[1], user=world.bob, numbers=[1])
    change_team(teams[0], world.organizer, is_verified=True)
    add_quota(teams[1], daily=2, total=0, by=world.organizer)
    change_settings(world.digits, world.organizer, daily_limit=30)
    other = world.join(make_user("dave"), "D")
    world.score(other, predictions([9]))
    sanction_team(other, "disqualified", "It copied.", by=world.organizer)
    ending.reveal(world.digits)
    heads.sign(world.digits)


def changed(model: type[Model], **change: object) -> Callable[[], object]:
    """Return what changes the first row of a table behind the platform's back."""

    def act() -> None:
        first = model._default_manager.order_by("pk").first()
        model._default_manager.filter(pk=first and first.pk).update(**change)

    return act


def exchange_names() -> None:
    first, second = Team.objects.order_by("pk")[:2]
    for team, name in ((first, "x"), (second, first.name), (first, second.name)):
        Team.objects.filter(pk=team.pk).update(name=name)


def exchange_file() -> None:
    name = Submission.objects.order_by("pk")[0].file
    default_storage.delete(name)
    default_storage.save(name, ContentFile(predictions()))


MINUTE = timedelta(minutes=1)
CHANGES = {
    "another file": (exchange_file, "stored file: It is not what was accepted"),
    "a lost file": (
        lambda: default_storage.delete(Submission.objects.order_by("pk")[0].file),
        "stored file: It is gone",
    ),
    "who was first": (changed(Standing, reached_at=F("reached_at") - MINUTE), "reached_at"),
    "who is ranked": (changed(Team, is_baseline=True), "baseline"),
    "names": (exchange_names, "team, "),
    "a time": (changed(Submission, created_at=F("created_at") - MINUTE), "entry .*, at: "),
    "an owner": (changed(Submission, team=2, number=50), "is not in the database"),
    "a hash": (changed(Submission, sha256="0" * 64), "a submission of another file"),
    "an outcome": (changed(Submission, status="failed"), "status: The database has “failed”"),
    "a closing time": (changed(Round, closes_at=F("closes_at") + MINUTE), "deadline, 1"),
    "a limit": (changed(Round, daily_limit=99), "limits, 1"),
    "a mark": (changed(Team, is_verified=False), "verified"),
    "a quota": (changed(Team, extra_daily=9), "quota"),
    "a sanction": (lambda: Sanction.objects.all().delete(), "disqualified"),
    "a choice": (lambda: Selection.objects.all().delete(), "selected"),
    "a final score": (changed(FinalScore, units=0), "final, "),
    "a final place": (changed(FinalScore, place=7), "final, "),
    "the end": (changed(Round, finals_started_at=None), "finals_started"),
    "an entry": (lambda: LogEntry.objects.filter(index=9).delete(), "Log entry 9, index"),
    "a whole log": (
        lambda: (
            LogEntry.objects.all().delete(),
            EventCount.objects.update(log_size=0, log_hashes=[]),
        ),
        "The head of .* was signed over others",
    ),
    "a head": (changed(LogHead, note="none"), "note"),
}


def test_everything_that_decides_a_place_is_named_when_it_was_changed(world: World) -> None:
    played(world)
    assert verify_log(world.digits) == world.digits.log_entries.count()
    stored = Submission.objects.order_by("pk")[0].file
    with default_storage.open(stored) as file:
        content = file.read()
    unnamed = dict[str, str]()
    for what, (act, named) in CHANGES.items():
        with transaction.atomic():
            act()
            try:
                verify_log(world.digits)
                unnamed[what] = "nothing"
            except Differs as differs:
                if not pytest.raises(Differs, match=named).matches(differs):
                    unnamed[what] = str(differs)
            transaction.set_rollback(True)
        if not default_storage.exists(stored) or what == "another file":
            default_storage.delete(stored)
            default_storage.save(stored, ContentFile(content))
    assert unnamed == {}


def test_a_copy_that_knows_more_is_named(world: World) -> None:
    heads.sign(world.digits)
    extra = world.digits.log_entries.latest("index")
    extra.index += 1
    journal.append(world.digits.uid, [extra])
    with pytest.raises(Differs, match="journal: The copy outside the database has it"):
        verify_log(world.digits)


def test_the_log_agrees_after_an_account_was_deleted(world: World) -> None:
    world.score(world.join(world.alice))
    delete(world.alice)
    assert verify_log(world.digits) > 0
