"""The outbox: one row for each event, person and channel, sent once, whatever dies in between."""

from __future__ import annotations

import smtplib
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail.backends import locmem
from django.test import Client
from django.utils import timezone

from leaderboard import tasks
from leaderboard.models import (
    Channel,
    Delivery,
    DeliveryState,
    Event,
    EventKind,
    Notice,
    NoticeKind,
    OutboxCursor,
    Team,
    User,
    Visibility,
)
from leaderboard.notify import events, outbox
from leaderboard.notify.preferences import unsubscribe_url
from leaderboard.notify.webhooks import Outcome
from leaderboard.organize import announcements
from leaderboard.participate.notices import set_preference
from tests.cast import World, make_user

Sent = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def members(world: World) -> tuple[Team, Team]:
    """Alice has a confirmed address, bob has none."""
    confirm(world.alice)
    return world.join(world.alice), world.join(world.bob)


def confirm(user: User) -> None:
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


def announce(world: World, text: str = "New *data*.") -> Any:
    return announcements.announce(world.digits, by=world.organizer, title="New data", text=text)


def fan_out(world: World) -> None:
    while outbox.fan_out(world.digits.pk):
        pass


def send(world: World) -> None:
    fan_out(world)
    outbox.deliver(Channel.MAIL, 60)


def want(user: User, world: World, is_wanted: bool) -> None:
    kind = NoticeKind.ANNOUNCEMENT
    set_preference(user, world.digits, kind, Channel.MAIL, is_wanted=is_wanted)


def test_members_get_an_announcement_as_plain_text(world: World, members: Any) -> None:
    announce(world)
    send(world)
    (message,) = mail.outbox
    assert message.to == ["alice@example.org"]
    assert message.subject == "[Digits] New data"
    assert "New *data*." in message.body
    assert "http://testserver/c/digits/announcements/#1" in message.body
    assert Delivery.objects.get().state == DeliveryState.SENT


def test_each_gets_it_once(world: World, members: Any) -> None:
    announce(world)
    send(world)
    OutboxCursor.objects.update(number=0, person=0)
    send(world)
    assert len(mail.outbox) == 1


def test_nobody_gets_it_at_an_address_that_is_not_confirmed(world: World, members: Any) -> None:
    EmailAddress.objects.update(verified=False)
    announce(world)
    send(world)
    assert mail.outbox == []


def test_only_members_of_then_get_it(world: World, members: Any) -> None:
    announce(world)
    late = make_user("late")
    confirm(late)
    world.join(late)
    send(world)
    assert [message.to for message in mail.outbox] == [["alice@example.org"]]


def test_who_left_or_is_blocked_gets_nothing(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    User.objects.filter(pk=world.alice.pk).update(is_active=False)
    outbox.deliver(Channel.MAIL, 60)
    assert mail.outbox == []
    assert Delivery.objects.get().state == DeliveryState.DROPPED


def test_who_may_not_see_the_competition_any_more_gets_nothing(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    world.digits.visibility = Visibility.HIDDEN
    world.digits.save()
    outbox.deliver(Channel.MAIL, 60)
    assert mail.outbox == []


def test_what_was_withdrawn_is_not_sent(world: World, members: Any) -> None:
    announcement = announce(world)
    fan_out(world)
    announcements.withdraw(announcement, by=world.organizer)
    send(world)
    assert mail.outbox == []


def test_an_edit_sends_no_second_mail(world: World, members: Any) -> None:
    announcement = announce(world)
    announcements.edit(announcement, by=world.organizer, title="Newer data", text="")
    send(world)
    assert [message.subject for message in mail.outbox] == ["[Digits] Newer data"]


def test_who_does_not_want_it_gets_nothing(world: World, members: Any) -> None:
    want(world.alice, world, False)
    announce(world)
    send(world)
    assert mail.outbox == []
    want(world.alice, world, True)
    announce(world)
    send(world)
    assert len(mail.outbox) == 1


def test_unsubscribing_counts_for_what_waits_already(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    want(world.alice, world, False)
    outbox.deliver(Channel.MAIL, 60)
    assert mail.outbox == []


# --- Unsubscribing --------------------------------------------------------------------------------


def test_one_click_ends_it_without_signing_in(world: World, members: Any) -> None:
    announce(world)
    send(world)
    headers = mail.outbox[0].message()
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = headers["List-Unsubscribe"].strip("<>")
    assert link in mail.outbox[0].body
    path = link.removeprefix("http://testserver")
    browser = Client(enforce_csrf_checks=True)
    answer = browser.post(path, {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    announce(world)
    send(world)
    assert len(mail.outbox) == 1


def test_looking_at_the_link_changes_nothing(world: World, members: Any) -> None:
    """Scanners of mails open links."""
    link = unsubscribe_url(world.alice, world.digits, NoticeKind.ANNOUNCEMENT, Channel.MAIL)
    assert Client().get(link.removeprefix("http://testserver")).status_code == 200
    announce(world)
    send(world)
    assert len(mail.outbox) == 1


def test_a_link_that_was_changed_is_none(world: World, members: Any) -> None:
    link = unsubscribe_url(world.alice, world.digits, NoticeKind.ANNOUNCEMENT, Channel.MAIL)
    path = link.removeprefix("http://testserver").rstrip("/")
    assert Client().post(f"{path}x/").status_code == 404
    assert Client().post("/unsubscribe/nonsense/").status_code == 404


def test_the_account_page_has_the_choice(world: World, members: Any) -> None:
    browser = Client()
    browser.force_login(world.alice)
    chosen = 'id="mail-announcement" checked'
    assert chosen in browser.get("/account/").content.decode()
    browser.post("/account/mails/", {})
    assert chosen not in browser.get("/account/").content.decode()
    browser.post("/account/mails/", {"wanted": "announcement"})
    assert chosen in browser.get("/account/").content.decode()


# --- Deaths and outages ---------------------------------------------------------------------------


def test_recipients_are_written_in_parts(
    world: World, members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies between two goes on where it was, and writes nobody twice."""
    monkeypatch.setattr(outbox, "PEOPLE", 2)
    for number in range(4):
        user = make_user(f"member{number}")
        confirm(user)
        world.join(user)
    announce(world)
    while not Delivery.objects.exists():
        outbox.fan_out(world.digits.pk)
    assert Notice.objects.count() == 2
    fan_out(world)
    for rows, people in ((Delivery.objects, 5), (Notice.objects, 6)):
        assert rows.count() == rows.values("recipient").distinct().count() == people


def test_what_another_worker_has_is_left_alone(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    Delivery.objects.update(state=DeliveryState.SENDING, claimed_at=timezone.now())
    send(world)
    outbox.take_back()
    assert Delivery.objects.get().state == DeliveryState.SENDING
    assert mail.outbox == []


def test_what_a_dead_worker_had_is_sent_by_another(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    gone = timezone.now() - outbox.LEASE - timedelta(seconds=1)
    Delivery.objects.update(state=DeliveryState.SENDING, claimed_at=gone)
    outbox.take_back()
    send(world)
    assert len(mail.outbox) == 1
    (delivery,) = Delivery.objects.all()
    assert mail.outbox[0].extra_headers["Message-ID"] == f"<{delivery.uid}@testserver>"


def test_what_kills_its_workers_ends(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    gone = timezone.now() - timedelta(days=4)
    Delivery.objects.update(state=DeliveryState.SENDING, claimed_at=gone, expires_at=gone)
    outbox.take_back()
    assert Delivery.objects.get().state == DeliveryState.FAILED


def test_a_mail_that_can_not_be_made_waits_and_is_no_ones_end(
    world: World, members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(world)
    monkeypatch.setattr("leaderboard.notify.mails.write", lambda delivery: 1 / 0)
    send(world)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.answer) == ("waiting", "It failed on our side.")


def test_a_worker_past_its_lease_writes_nothing(world: World, members: Any) -> None:
    announce(world)
    fan_out(world)
    old = outbox._claim(Channel.MAIL)
    assert old is not None
    Delivery.objects.update(claimed_at=timezone.now() + timedelta(seconds=1))
    outbox._note(old, Outcome(False, "too late", is_final=True))
    assert Delivery.objects.get().state == DeliveryState.SENDING


class _Away(locmem.EmailBackend):
    def open(self) -> bool:
        raise ConnectionRefusedError


class _Refuses(locmem.EmailBackend):
    code = 550

    def send_messages(self, messages: Any) -> int:
        raise smtplib.SMTPRecipientsRefused({"alice@example.org": (self.code, b"no")})


def _use(monkeypatch: pytest.MonkeyPatch, backend: type[locmem.EmailBackend]) -> None:
    monkeypatch.setattr(mail, "get_connection", backend)


def test_while_the_mail_server_is_away_mails_wait(
    world: World, members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(world)
    with monkeypatch.context() as patch:
        _use(patch, _Away)
        send(world)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.answer) == ("waiting", "The mail server is away.")
    Delivery.objects.update(due_at=timezone.now())
    send(world)
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(("code", "state"), [(550, "failed"), (451, "waiting")])
def test_what_the_mail_server_refuses(
    world: World, members: Any, monkeypatch: pytest.MonkeyPatch, code: int, state: str
) -> None:
    announce(world)
    monkeypatch.setattr(_Refuses, "code", code)
    _use(monkeypatch, _Refuses)
    send(world)
    assert Delivery.objects.get().state == state


def test_the_sweeper_finds_what_redis_lost(
    world: World, members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Sent = []
    monkeypatch.setattr(
        "leaderboard.pipeline.queue._send", lambda task, **ids: asked.append((task, ids))
    )
    fan_out(world)
    announce(world)
    tasks.sweep()
    assert ("fan_out", {"competition_id": world.digits.pk}) in asked
    tasks.fan_out(competition_id=world.digits.pk)
    asked.clear()
    tasks.sweep()
    assert asked == [("deliver_mail", {})]
    tasks.deliver_mail()
    asked.clear()
    tasks.sweep()
    assert asked == []
    assert len(mail.outbox) == 1


def test_announcing_asks_a_worker_at_once(
    world: World,
    members: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    asked: Sent = []
    monkeypatch.setattr(
        "leaderboard.pipeline.queue._send", lambda task, **ids: asked.append((task, ids))
    )
    with django_capture_on_commit_callbacks(execute=True):
        announce(world)
    assert asked == [("fan_out", {"competition_id": world.digits.pk})]


def test_other_events_are_nobodys_mail(world: World, members: Any) -> None:
    world.score(members[0])
    events.record(world.digits, EventKind.TEXTS_CHANGED, actor=world.organizer)
    send(world)
    assert not Delivery.objects.exists()
    newest = Event.objects.filter(competition=world.digits).latest("number").number
    assert OutboxCursor.objects.get().number == newest
    assert outbox.behind() == []


def test_what_was_finished_long_ago_is_forgotten(world: World, members: Any) -> None:
    announce(world)
    send(world)
    Delivery.objects.update(finished_at=timezone.now() - timedelta(days=31))
    outbox.forget_old()
    assert not Delivery.objects.exists()
