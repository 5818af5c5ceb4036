"""Webhooks: what they are sent, how it is signed, and where nothing is ever sent."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import (
    Channel,
    Delivery,
    DeliveryState,
    Event,
    EventKind,
    Role,
    Webhook,
)
from leaderboard.notify import networks, outbox, webhooks
from leaderboard.notify.webhooks import secret_of
from leaderboard.organize import announcements, people, teams
from leaderboard.organize import webhooks as actions
from leaderboard.queries.audit import ALL, audit_csv, events
from tests.cast import World, make_user
from tests.leaderboard.receiver import Receiver, receiving, reply

LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_NETWORKS = LOOPBACK
    with receiving() as server:
        yield server


@pytest.fixture
def hook(world: World, receiver: Receiver) -> Webhook:
    return add(world, receiver.url)


def add(world: World, url: str, *kinds: str) -> Webhook:
    return actions.add_webhook(world.digits, by=world.organizer, url=url, kinds=kinds)


def announce(world: World, title: str = "Hello") -> None:
    announcements.announce(world.digits, by=world.organizer, title=title, text="")


def send(world: World) -> None:
    """Do what the sweeper would."""
    while outbox.fan_out(world.digits.pk):
        pass
    outbox.deliver(Channel.WEBHOOK, 60)


def last(hook: Webhook) -> Delivery:
    """The delivery that was tried last."""
    return hook.deliveries.exclude(claimed_at=None).order_by("-claimed_at")[0]


def later(hook: Webhook, *, days: float = 0) -> None:
    """Let time pass for what waits."""
    ago = timezone.now() - timedelta(seconds=1)
    Webhook.objects.filter(pk=hook.pk).update(retry_at=ago)
    waiting = Delivery.objects.filter(webhook=hook, state=DeliveryState.WAITING)
    waiting.update(due_at=ago)
    if days:
        waiting.update(expires_at=ago)


def slow(request: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, without end."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"x")
        request.wfile.flush()
        time.sleep(0.02)


def test_an_event_is_posted_as_json(world: World, hook: Webhook, receiver: Receiver) -> None:
    announce(world)
    send(world)
    (headers, body) = receiver.got[-1]
    sent = json.loads(body)
    assert headers["content-type"] == "application/json"
    assert sent["type"] == "announced"
    assert sent["competition"] == "digits"
    assert sent["url"] == "http://testserver/c/digits/"
    assert sent["actor"] == "organizer"
    assert sent["subjects"] == {"announcement": 1}
    assert sent["data"] == {"change": "announced", "title": "Hello"}
    assert last(hook).state == DeliveryState.SENT
    assert (last(hook).status, last(hook).answer) == (200, "thanks")


def test_the_signature_is_that_of_standard_webhooks(
    world: World, hook: Webhook, receiver: Receiver
) -> None:
    announce(world)
    send(world)
    headers, body = receiver.got[-1]
    key = base64.b64decode(secret_of(hook).removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    made = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{made}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 600


def test_signing_gives_what_the_standard_gives() -> None:
    """The example of the Standard Webhooks' own libraries."""
    assert (
        webhooks.sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_only_the_chosen_kinds_are_sent(world: World, receiver: Receiver) -> None:
    hook = add(world, receiver.url, EventKind.TEAM_CREATED)
    announce(world)
    world.join(world.alice)
    send(world)
    assert [each.kind for each in hook.deliveries.all()] == ["team_created"]


def test_what_happened_before_is_not_sent(world: World, receiver: Receiver) -> None:
    world.join(world.alice)
    hook = add(world, receiver.url)
    send(world)
    assert [each.kind for each in hook.deliveries.all()] == ["webhook_changed"]


def test_another_secret_signs_otherwise(world: World, hook: Webhook) -> None:
    before = secret_of(hook)
    actions.renew_secret(hook, by=world.organizer)
    assert secret_of(hook) != before


def test_the_database_holds_no_secret(world: World, hook: Webhook) -> None:
    secret = secret_of(hook)
    rows = [*Webhook.objects.values(), *Event.objects.values(), *Delivery.objects.values()]
    assert all(secret not in str(row) for row in rows)


def test_a_redirect_is_not_followed(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 302, Location="http://127.0.0.1:1/")
    announce(world)
    send(world)
    assert len(receiver.got) == 1
    assert last(hook).status == 302
    assert last(hook).answer.startswith("Redirects are not followed")
    assert last(hook).state == DeliveryState.WAITING


def test_a_body_without_end_is_cut(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 200, b"y" * 5_000_000)
    announce(world)
    send(world)
    assert last(hook).answer == "y" * 200


def test_a_slow_answer_is_given_up(
    world: World, hook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 0.2)
    receiver.answer = slow
    announce(world)
    send(world)
    assert last(hook).answer.startswith("No answer within")


@pytest.mark.parametrize(
    "answer",
    [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", b"\0" * 999],
)
def test_an_answer_that_is_none_is_a_failure(
    world: World, hook: Webhook, receiver: Receiver, answer: bytes
) -> None:
    def write(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(answer)
        request.close_connection = True

    receiver.answer = write
    announce(world)
    send(world)
    assert last(hook).state == DeliveryState.WAITING
    assert last(hook).answer.startswith("No answer")


def test_an_answer_with_nul_is_kept(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 500, b"a\0b\xff")
    announce(world)
    send(world)
    assert last(hook).answer == "a\ufffdb\ufffd"


# --- Addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",
        "fec0::1",
        "192.0.0.192",
        "2002:7f00:1::",
        "2001:0:a00:1::",
    ],
)
def test_nothing_is_sent_into_a_private_network(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "resolve", lambda host, port: [address])
    with pytest.raises(networks.AddressRefused, match="private network"):
        networks.choose_address("hook.example.org", 443, is_encrypted=True)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_public_addresses_are_fine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "resolve", lambda host, port: ["10.0.0.1", address])
    assert networks.choose_address("hook.example.org", 443, is_encrypted=True) == address


def test_without_encryption_only_allowed_networks_are_fine(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(networks, "resolve", lambda host, port: ["93.184.216.34"])
    with pytest.raises(networks.AddressRefused, match="Only https"):
        networks.choose_address("hook.example.org", 80, is_encrypted=False)
    settings.WEBHOOK_NETWORKS = [ip_network("93.184.216.0/24")]
    assert networks.choose_address("hook.example.org", 80, is_encrypted=False)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://example.org/",
        "javascript:alert(1)",
        "https://",
        "https:///hook",
        "https://user:password@example.org/",
        "https://example.org/#fragment",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://[::1/",
        "https://exämple.org/",
        "https://example.org\\@evil.org/",
        "https://example.org/\r\nX: y",
        "https://" + "a" * 500,
    ],
)
def test_an_address_that_is_none_is_refused(world: World, url: str) -> None:
    with pytest.raises(Refused) as refused:
        add(world, url)
    assert set(refused.value.fields) == {"url"}
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "http://localhost:8000/",
    ],
)
def test_a_private_address_is_refused_when_it_is_entered(world: World, url: str) -> None:
    with pytest.raises(Refused) as refused:
        add(world, url)
    assert "private network" in refused.value.fields["url"]


def test_an_unknown_name_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(host: str, port: int) -> list[str]:
        raise OSError

    monkeypatch.setattr(networks, "resolve", fail)
    with pytest.raises(Refused, match=r"no server called nowhere\.example"):
        add(world, "https://nowhere.example/")


def test_a_name_that_moves_to_a_private_address_is_refused(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """As it was entered it led elsewhere; every connection asks again."""
    monkeypatch.setattr(networks, "resolve", lambda host, port: ["93.184.216.34"])
    hook = add(world, f"https://moves.example.org:{receiver.port}/")
    settings.WEBHOOK_NETWORKS = []
    monkeypatch.setattr(networks, "resolve", lambda host, port: ["127.0.0.1"])
    send(world)
    assert receiver.got == []
    assert "private network" in last(hook).answer


def test_the_connection_goes_to_the_address_that_was_checked(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that means something else at each question is asked once for each connection."""
    answers = iter(["127.0.0.1", "127.0.0.1"])
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return [next(answers)]

    monkeypatch.setattr(networks, "resolve", resolve)
    add(world, f"http://rebinds.example.org:{receiver.port}/")
    send(world)
    assert asked == ["rebinds.example.org"] * 2
    ((headers, _),) = receiver.got
    assert headers["host"] == f"rebinds.example.org:{receiver.port}"


# --- Retries --------------------------------------------------------------------------------------


def test_a_failure_is_tried_again_with_the_same_id(
    world: World, hook: Webhook, receiver: Receiver
) -> None:
    receiver.answer = lambda request: reply(request, 503, b"busy")
    send(world)
    first = last(hook)
    assert (first.state, first.status, first.answer) == ("waiting", 503, "busy")
    assert first.due_at > timezone.now()
    send(world)
    assert len(receiver.got) == 1  # not before its time
    receiver.answer = lambda request: reply(request, 204)
    later(hook)
    send(world)
    assert last(hook).state == DeliveryState.SENT
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert ids[0] == ids[1]
    hook.refresh_from_db()
    assert (hook.failures, hook.failing_since, hook.retry_at) == (0, None, None)


def test_waits_grow(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 500)
    waits = []
    for _ in range(3):
        send(world)
        waits.append(round((last(hook).due_at - timezone.now()).total_seconds(), -1))
        later(hook)
    assert waits == [10, 60, 300]


def test_a_server_that_is_away_is_asked_once_for_all_events(
    world: World, hook: Webhook, receiver: Receiver
) -> None:
    receiver.answer = lambda request: reply(request, 500)
    for number in range(5):
        announce(world, f"Number {number}")
    send(world)
    assert len(receiver.got) == 1


def test_after_a_day_it_is_given_up(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 500)
    send(world)
    assert last(hook).expires_at - last(hook).created_at == timedelta(days=1)
    later(hook, days=1)
    send(world)
    assert last(hook).state == DeliveryState.FAILED


def test_gone_turns_it_off_at_once(world: World, hook: Webhook, receiver: Receiver) -> None:
    receiver.answer = lambda request: reply(request, 410)
    send(world)
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    assert "410" in hook.disabled_because


def test_failing_for_days_turns_it_off_and_tells_owners(
    world: World, hook: Webhook, receiver: Receiver
) -> None:
    EmailAddress.objects.create(user=world.organizer, email="o@example.org", verified=True)
    receiver.answer = lambda request: reply(request, 500, b"broken")
    long_ago = timezone.now() - timedelta(days=4)
    Webhook.objects.filter(pk=hook.pk).update(failures=20, failing_since=long_ago)
    send(world)
    hook.refresh_from_db()
    assert "broken" in hook.disabled_because
    assert not hook.deliveries.filter(state=DeliveryState.WAITING).exists()
    event = Event.objects.get(kind="webhook_changed", data__change="disabled")
    assert (event.actor, event.audience) == (None, "organizers")
    send(world)
    outbox.deliver(Channel.MAIL, 60)
    (message,) = mail.outbox
    assert message.to == ["o@example.org"]
    assert receiver.url in message.body


def test_one_that_is_off_is_sent_nothing(world: World, hook: Webhook, receiver: Receiver) -> None:
    actions.switch_webhook(hook, by=world.organizer, on=False)
    announce(world)
    send(world)
    actions.switch_webhook(hook, by=world.organizer, on=True)
    send(world)
    assert [json.loads(body)["data"]["change"] for _, body in receiver.got] == ["turned on"]


def test_a_test_is_sent_at_once(world: World, hook: Webhook, receiver: Receiver) -> None:
    Webhook.objects.filter(pk=hook.pk).update(retry_at=timezone.now() + timedelta(hours=9))
    actions.try_webhook(hook, by=world.organizer)
    outbox.deliver(Channel.WEBHOOK, 60)
    assert json.loads(receiver.got[0][1])["type"] == "test"


def test_it_can_be_sent_again(world: World, hook: Webhook, receiver: Receiver) -> None:
    send(world)
    actions.send_again(last(hook), by=world.organizer)
    send(world)
    assert len(receiver.got) == 2
    assert last(hook).attempts == 2


def test_what_is_still_on_its_way_is_not_sent_again(
    world: World, hook: Webhook, receiver: Receiver
) -> None:
    receiver.answer = lambda request: reply(request, 500)
    send(world)
    with pytest.raises(Refused, match="on its way"):
        actions.send_again(last(hook), by=world.organizer)


def test_unknown_kinds_are_refused(world: World, receiver: Receiver) -> None:
    with pytest.raises(Refused, match="no events called nothing"):
        add(world, receiver.url, "nothing")


def test_every_change_is_an_event_for_organizers(world: World, hook: Webhook) -> None:
    by = world.organizer
    actions.change_webhook(hook, by=by, url=hook.url, kinds=["announced"])
    actions.renew_secret(hook, by=by)
    actions.switch_webhook(hook, by=by, on=False)
    actions.delete_webhook(hook, by=by)
    events = Event.objects.filter(kind=EventKind.WEBHOOK_CHANGED)
    assert [each.data["change"] for each in events] == [
        "added",
        "changed",
        "secret renewed",
        "turned off",
        "deleted",
    ]
    assert {each.audience for each in events} == {"organizers"}


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def browser(world: World) -> Client:
    client = Client()
    client.force_login(world.organizer)
    return client


def test_the_secret_is_shown_once(world: World, receiver: Receiver, browser: Client) -> None:
    made = browser.post("/organize/digits/webhooks/", {"url": receiver.url})
    hook = Webhook.objects.get()
    assert made.status_code == 201
    assert secret_of(hook) in made.content.decode()
    page = browser.get(f"/organize/digits/webhooks/{hook.pk}/").content.decode()
    assert secret_of(hook) not in page


def test_a_wrong_address_is_named_beside_its_field(world: World, browser: Client) -> None:
    page = browser.post("/organize/digits/webhooks/", {"url": "https://localhost/"})
    assert "private network" in page.content.decode()
    assert not Webhook.objects.exists()


def test_the_page_shows_the_last_answers(
    world: World, hook: Webhook, receiver: Receiver, browser: Client
) -> None:
    receiver.answer = lambda request: reply(request, 500, b"<b>broken</b>")
    send(world)
    page = browser.get(f"/organize/digits/webhooks/{hook.pk}/").content.decode()
    assert "500 &lt;b&gt;broken&lt;/b&gt;" in page


def test_buttons_do_what_they_are_called(world: World, hook: Webhook, browser: Client) -> None:
    address = f"/organize/digits/webhooks/{hook.pk}"
    browser.post(f"{address}/test/")
    assert hook.deliveries.filter(kind="test").exists()
    browser.post(f"{address}/switch/", {"on": "0"})
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    browser.post(f"{address}/delete/")
    assert not Webhook.objects.exists()


def test_a_webhook_of_another_competition_is_none(
    world: World, hook: Webhook, browser: Client
) -> None:
    Webhook.objects.update(competition=world.digits)
    assert browser.get(f"/organize/digits/webhooks/{hook.pk + 1}/").status_code == 404


def test_an_event_of_a_team_holds_no_score(world: World, hook: Webhook, receiver: Receiver) -> None:
    team = world.join(world.alice)
    world.score(team)
    teams.change_team(team, world.organizer, is_verified=True)
    send(world)
    kinds = {json.loads(body)["type"] for _, body in receiver.got}
    assert {"submission_released", "team_verified"} <= kinds
    released = next(b for _, b in receiver.got if json.loads(b)["type"] == "submission_released")
    assert set(json.loads(released)["data"]) == {"entries"}


def test_judges_read_no_address_in_the_audit(world: World, hook: Webhook) -> None:
    judge = make_user("judge", is_organizer=True)
    people.add_organizer(world.digits, judge, Role.JUDGE, by=world.organizer)
    assert hook.url in str(list(events(world.digits, world.organizer).values_list("data")))
    assert hook.url not in str(list(events(world.digits, judge).values_list("data")))
    assert hook.url.encode() not in b"".join(audit_csv(world.digits, judge, ALL))
