"""The inbox and its mails: a row for each event and person it concerns, and one mail at most."""

from __future__ import annotations

import smtplib
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail.backends import locmem
from django.utils import timezone

from leaderboard.log.entries import Leaf
from leaderboard.models import (
    AccountEvent,
    AccountEventKind,
    Audience,
    Channel,
    Competition,
    Delivery,
    EventKind,
    Mailbox,
    Notice,
    NoticeKind,
    OutboxCursor,
    Rhythm,
    Submission,
    Team,
    User,
    Visibility,
)
from leaderboard.notify import account, digests, events, outbox
from leaderboard.notify.preferences import unsubscribe_url
from leaderboard.organize import announcements, invitations, settings
from leaderboard.participate import membership, notices, selection
from leaderboard.pipeline import finalize
from leaderboard.tasks import score_submission
from tests.cast import World, make_user, predictions, set_round
from tests.web.pages import browser, text


@pytest.fixture
def team(world: World) -> Team:
    """Alice's; her address is confirmed."""
    EmailAddress.objects.create(
        user=world.alice, email=world.alice.email, verified=True, primary=True
    )
    return world.join(world.alice)


def announce(world: World, title: str = "New data", body: str = "") -> Any:
    return announcements.announce(world.digits, by=world.organizer, title=title, text=body)


def work(world: World) -> None:
    """Do what workers do with events and mails that wait."""
    while outbox.fan_out(world.digits.pk):
        pass
    outbox.deliver(Channel.MAIL, 60)


def subjects(user: User) -> list[str]:
    rows = browser(user).get("/api/v1/me/notices/").json()["results"]
    return [row["title"] for row in rows]


# --- The inbox ------------------------------------------------------------------------------------


def test_opening_a_notice_marks_it_as_read_and_leads_to_the_thing(world: World, team: Team) -> None:
    announce(world)
    announce(world, "More data")
    work(world)
    alice = browser(world.alice)
    assert "unread: 2" in text(alice.get("/")).replace("  ", " ")
    newest = Notice.objects.filter(recipient=world.alice).first()
    assert newest is not None
    opened = alice.post("/inbox/read/", {"open": newest.uid})
    assert opened.headers["Location"] == "/c/digits/announcements/#2"
    assert "unread: 1" in text(alice.get("/"))
    alice.post("/inbox/read/")
    page = text(alice.get("/inbox/"))
    assert "unread" not in page
    assert "More data" in page


def test_each_event_is_one_row_for_each_person(world: World, team: Team) -> None:
    """Also for who accepts the rules again in between, and where the outbox begins anew."""
    announce(world)
    membership.accept_rules_again(membership=team.memberships.get())
    late = make_user("late")
    world.join(late)
    work(world)
    OutboxCursor.objects.update(number=0, person=0)
    work(world)
    assert Notice.objects.values_list("recipient", flat=True).get() == world.alice.pk
    assert len(mail.outbox) == 1


def test_what_is_withdrawn_or_out_of_sight_is_in_no_inbox(world: World, team: Team) -> None:
    first, second = announce(world), announce(world, "Second")
    work(world)
    announcements.edit(second, by=world.organizer, title="Third", text="")
    announcements.withdraw(first, by=world.organizer)
    assert subjects(world.alice) == ["Third"]
    Competition.objects.update(visibility=Visibility.HIDDEN)
    assert subjects(world.alice) == []
    assert "unread" not in text(browser(world.alice).get("/"))


def test_what_happened_to_the_account_stands_in_the_inbox(world: World, team: Team) -> None:
    account.record(world.alice, AccountEventKind.TOKEN_MADE, "laptop")
    account.record(world.alice, AccountEventKind.SIGNED_OUT)
    account.record(world.bob, AccountEventKind.PASSWORD_CHANGED)
    page = text(browser(world.alice).get("/inbox/"))
    assert "An API token was made for your account" in page
    assert "laptop" in page
    assert "Your password was changed" not in page
    AccountEvent.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert "Security of your account" not in text(browser(world.alice).get("/inbox/"))


def test_the_inbox_costs_the_same_however_much_is_in_it(
    world: World, team: Team, django_assert_num_queries: Any
) -> None:
    """Session, person, the rows and how many, and the account's own events; the count in the head
    of each page is one more."""
    announce(world)
    announce(world, "More data")
    work(world)
    alice = browser(world.alice)
    with django_assert_num_queries(7):
        alice.get("/inbox/")
    with django_assert_num_queries(3):
        alice.get("/how-it-works/")


def test_the_api_pages_and_marks(world: World, team: Team) -> None:
    announce(world, "One", "See *this*.")
    announce(world, "Two")
    work(world)
    alice, path = browser(world.alice), "/api/v1/me/notices/"
    document = alice.get(path, {"page_size": 1}).json()
    assert (document["count"], document["pages"], document["count_unread"]) == (2, 2, 2)
    (row,) = document["results"]
    assert (row["title"], row["kind"], row["competition"]) == ("Two", "announcement", "digits")
    assert row["url"] == "http://testserver/c/digits/announcements/#2"
    marked = alice.post(f"{path}read/", {"ids": [row["id"]]}, content_type="application/json")
    assert marked.json() == {"count_unread": 1}
    left = alice.get(path, {"unread": True}).json()["results"]
    assert [each["title"] for each in left] == ["One"]
    for wrong in (["nothing"], "nothing"):
        sent = browser(world.bob).post(
            f"{path}read/", {"ids": wrong}, content_type="application/json"
        )
        assert sent.json()["code"] == ("not_found" if isinstance(wrong, list) else "invalid")
    everything = alice.post(f"{path}read/", {}, content_type="application/json")
    assert everything.json() == {"count_unread": 0}


# --- What people are told of ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "data", "subject"),
    [
        (EventKind.RULES_CHANGED, {"rules_version": 2}, "The rules changed"),
        (EventKind.FINALS_STARTED, {}, "The finals have started"),
        (EventKind.REVEALED, {}, "The final board is out"),
        (EventKind.REVISED, {"reason": "A label."}, "The solution was revised"),
    ],
)
def test_members_are_told(
    world: World, team: Team, kind: EventKind, data: dict[str, Any], subject: str
) -> None:
    leaf = Leaf("finals_started", {"round": 1})  # what the log says is another thing
    for audience in (Audience.PUBLIC, Audience.ORGANIZERS):
        about = {"round": 1}
        events.record(world.digits, kind, audience=audience, subjects=about, leaf=leaf, **data)
    work(world)
    assert subjects(world.alice) == [subject]
    assert [message.subject for message in mail.outbox] == [f"[Digits] {subject}"]


def test_who_sent_a_file_is_told_of_a_result_that_took_long(
    world: World, team: Team, settings: Any
) -> None:
    world.score(team)
    slow = world.submit(team, predictions([3]))
    long_ago = timezone.now() - timedelta(minutes=settings.LONG_RUN_MINUTES, seconds=1)
    Submission.objects.filter(pk=slow.pk).update(created_at=long_ago)
    score_submission(submission_id=slow.pk)
    work(world)
    assert subjects(world.alice) == ["Submission 2 has its result"]
    Submission.objects.filter(pk=slow.pk).update(status="queued")
    score_submission(submission_id=slow.pk)  # as after a revision, which is told by itself
    work(world)
    assert len(subjects(world.alice)) == 1


def test_a_deadline_is_near_once_and_for_those_who_have_selected_nothing(
    world: World, team: Team
) -> None:
    world.score(team)
    chosen = world.score(world.join(world.bob))
    selection.select(team=chosen.team, user=world.bob, numbers=[1])
    digests.note_deadlines()
    now = timezone.now()
    set_round(world.digits, opens_at=now - timedelta(days=9), closes_at=now + timedelta(hours=20))
    assert digests.note_deadlines() == [world.digits.pk]
    assert digests.note_deadlines() == []
    while outbox.fan_out(world.digits.pk):
        pass
    assert subjects(world.alice) == ["Your team has not selected its finals"]
    assert subjects(world.bob) == []
    set_round(world.digits, closes_at=now + timedelta(hours=22))
    assert digests.note_deadlines() == [world.digits.pk]  # it was moved
    set_round(world.digits, closes_at=now - timedelta(hours=1))
    work(world)
    assert mail.outbox == []  # a mail that comes after it is of no use


def test_an_account_is_told_that_it_is_invited_once_it_can_follow(world: World) -> None:
    digits = Competition.objects.filter(pk=world.digits.pk)
    opened_at = world.digits.opened_by_organizer_at
    digits.update(visibility=Visibility.INVITED, opened_by_organizer_at=None)
    invitations.invite(world.digits, ["alice"], by=world.organizer)
    work(world)
    assert not Notice.objects.exists()
    digits.update(opened_by_organizer_at=opened_at)
    events.record(world.digits, EventKind.OPENED)
    invitations.invite(world.digits, ["bob"], by=world.organizer)
    work(world)
    assert subjects(world.alice) == subjects(world.bob) == ["You are invited"]


# --- Mails ----------------------------------------------------------------------------------------


def test_a_mail_is_text_and_html_with_absolute_addresses(world: World, team: Team) -> None:
    announce(world, "A <b>", "See [the data](data/) and *this*.")
    work(world)
    message: Any = mail.outbox[0]
    ((html, kind),) = message.alternatives
    assert kind == "text/html"
    assert '<a href="http://testserver/c/digits/announcements/data/"' in html
    assert "<em>this</em>" in html
    assert "A &lt;b&gt;" in html
    assert "A <b>" in message.body


def test_what_can_wait_comes_once_a_day_in_one_mail(
    world: World, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices.set_rhythm(world.alice, Rhythm.DAILY)
    for title in ("First", "Second", "Read already"):
        announce(world, title)
    last = announce(world, "Withdrawn")
    work(world)
    read = Notice.objects.get(announcement__title="Read already")
    notices.mark_read(world.alice, [read.uid])
    announcements.withdraw(last, by=world.organizer)
    digests.gather_digests()
    assert mail.outbox == []
    Notice.objects.update(created_at=timezone.now() - timedelta(days=2))
    digests.gather_digests()
    digests.gather_digests()
    outbox.deliver(Channel.MAIL, 60)
    (message,) = mail.outbox
    assert message.subject == "[Holdfast] 2 notices"
    assert message.body.index("Digits: First") < message.body.index("Digits: Second")
    delivery = Delivery.objects.get()
    assert message.extra_headers["Message-ID"] == f"<{delivery.uid}@testserver>"
    link = message.extra_headers["List-Unsubscribe"].strip("<>")
    browser().post(link.removeprefix("http://testserver"))
    announce(world, "Third")
    work(world)
    assert len(mail.outbox) == 1
    assert Mailbox.objects.get().rhythm == Rhythm.NEVER
    assert "Third" in subjects(world.alice)


def test_a_kind_is_ended_for_all_competitions_or_for_one(world: World, team: Team) -> None:
    alice = browser(world.alice)
    kinds = [each.value for each in NoticeKind if each is not NoticeKind.ANNOUNCEMENT]
    alice.post("/account/mails/", {"wanted": kinds, "rhythm": "at_once"})
    announce(world)
    work(world)
    assert mail.outbox == []
    alice.post("/account/mails/", {"wanted": [*kinds, "announcement"]})
    link = unsubscribe_url(world.alice, world.digits, NoticeKind.ANNOUNCEMENT, Channel.MAIL)
    browser().post(link.removeprefix("http://testserver"))
    announce(world)
    work(world)
    assert mail.outbox == []
    assert "Digits: Announcements of the organizers" in text(alice.get("/account/"))
    name = f"{world.digits.pk}:announcement"
    alice.post("/account/mails/", {"wanted": [*kinds, "announcement", name]})
    announce(world)
    work(world)
    assert len(mail.outbox) == 1


class _Refuses(locmem.EmailBackend):
    def send_messages(self, messages: Any) -> int:
        raise smtplib.SMTPRecipientsRefused({"alice@example.org": (550, b"no such <user>")})


class _Away(locmem.EmailBackend):
    def open(self) -> bool:
        raise ConnectionRefusedError


def test_nothing_is_sent_to_an_address_that_was_refused_until_it_works_again(
    world: World, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(world)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "get_connection", _Refuses)
        work(world)
    announce(world)
    work(world)
    assert mail.outbox == []
    assert Delivery.objects.get().state == "failed"
    alice = browser(world.alice)
    page = text(alice.get("/account/"))
    assert "Mails to alice@example.org come back." in page
    assert "550 no such &lt;user&gt;" in page
    alice.post("/account/mails/", {"again": "yes", "wanted": "announcement"})
    announce(world)
    work(world)
    assert len(mail.outbox) == 1
    assert len(subjects(world.alice)) == 3


def test_a_mail_outlives_any_absence_of_its_server(
    world: World, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(world)
    long_ago = timezone.now() - timedelta(days=9)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "get_connection", _Away)
        while outbox.fan_out(world.digits.pk):
            pass
        Delivery.objects.update(expires_at=long_ago)
        outbox.deliver(Channel.MAIL, 60)
    Delivery.objects.update(due_at=long_ago)
    work(world)
    assert len(mail.outbox) == 1


def test_members_are_told_of_a_moved_deadline_and_of_an_early_end(world: World, team: Team) -> None:
    later = timezone.now() + timedelta(days=40)
    settings.change_settings(world.digits, by=world.organizer, closes_at=later)
    finalize.close_early(world.digits.current_round, by=world.organizer)
    work(world)
    assert subjects(world.alice) == ["Submitting has ended early", "The deadline was moved"]
    assert f"{later.day} {later:%B %Y, %H:%M} UTC" in mail.outbox[0].body
    assert subjects(world.bob) == []
