"""Webhooks: addresses of organizers that a competition's events are sent to."""

import re
from collections.abc import Collection
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import (
    Audience,
    Channel,
    Competition,
    Delivery,
    EventKind,
    User,
    Webhook,
)
from leaderboard.notify import outbox
from leaderboard.notify.events import record
from leaderboard.notify.networks import AddressRefused, choose_address
from leaderboard.pipeline.queue import enqueue_deliveries

MOST: Final = 20
LONGEST_URL: Final = 500
# Printable, without a user name, a fragment or a backslash.
_ADDRESS: Final = re.compile(r"[!\"$-?A-\[\]-~]+")


def check_sees_webhooks(competition: Competition, by: User | None) -> None:
    """Raise Refused unless the person may read webhooks: whoever has an address may post to it."""
    check_right(by, competition, Right.EDIT)


def add_webhook(
    competition: Competition, *, by: User | None, url: str, kinds: Collection[str] = ()
) -> Webhook:
    """Have events sent to an address: those of the kinds, or all without any.

    Raises Refused, naming the field: for an address that is none, or on a private network.
    """
    check_right(by, competition, Right.EDIT)
    url, chosen = _check_url(url), _check_kinds(kinds)
    with transaction.atomic():
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        if locked.webhooks.count() >= MOST:
            raise Refused("invalid", field="url", variant="too_many_webhooks", limit=MOST)
        made = Webhook.objects.create(
            competition=locked, url=url, kinds=chosen, created_by=by, created_at=timezone.now()
        )
        _record(made, by, "added", url=url, kinds=chosen)
    return made


def change_webhook(
    webhook: Webhook, *, by: User | None, url: str, kinds: Collection[str] = ()
) -> None:
    """Change the address and the kinds of events of a webhook. Raises Refused as adding does."""
    check_right(by, webhook.competition, Right.EDIT)
    url, chosen = _check_url(url), _check_kinds(kinds)
    with transaction.atomic():
        before = _lock(webhook, by)
        Webhook.objects.filter(pk=webhook.pk).update(url=url, kinds=chosen, retry_at=None)
        old = {"url_before": before.url, "kinds_before": before.kinds}
        _record(webhook, by, "changed", url=url, kinds=chosen, **old)
    webhook.refresh_from_db()


def renew_secret(webhook: Webhook, *, by: User | None) -> None:
    """Give a webhook another secret; the one before signs nothing any more."""
    with transaction.atomic():
        locked = _lock(webhook, by)
        Webhook.objects.filter(pk=webhook.pk).update(generation=locked.generation + 1)
        _record(webhook, by, "secret renewed", url=locked.url)
    webhook.refresh_from_db()


def switch_webhook(webhook: Webhook, *, by: User | None, on: bool) -> None:
    """Turn a webhook off, or on again; what happened in between is not sent later."""
    with transaction.atomic():
        locked = _lock(webhook, by)
        if (locked.disabled_at is None) == on:
            return
        Webhook.objects.filter(pk=webhook.pk).update(
            disabled_at=None if on else timezone.now(),
            disabled_because="",
            failures=0,
            failing_since=None,
            retry_at=None,
        )
        if not on:
            outbox.drop_waiting(webhook)
        _record(webhook, by, "turned on" if on else "turned off", url=locked.url)
    webhook.refresh_from_db()


def delete_webhook(webhook: Webhook, *, by: User | None) -> None:
    """Delete a webhook with the list of what it was sent."""
    with transaction.atomic():
        _lock(webhook, by)
        _record(webhook, by, "deleted", url=webhook.url)
        webhook.delete()


def try_webhook(webhook: Webhook, *, by: User | None) -> None:
    """Send a webhook something that is no event."""
    with transaction.atomic():
        _check_on(_lock(webhook, by))
        outbox.add_test(webhook)
        _deliver_on_commit()


def send_again(delivery: Delivery, *, by: User | None) -> None:
    """Send a webhook once more what it was sent, or not sent, before."""
    webhook = delivery.webhook
    if webhook is None:
        raise ValueError("Mails are not sent again.")
    with transaction.atomic():
        _check_on(_lock(webhook, by))
        if delivery.finished_at is None:
            raise Refused("invalid", field="url", variant="not_ended_yet")
        outbox.send_again(delivery)
        _deliver_on_commit()


def _deliver_on_commit() -> None:
    transaction.on_commit(partial(enqueue_deliveries, Channel.WEBHOOK), robust=True)


def _lock(webhook: Webhook, by: User | None) -> Webhook:
    check_right(by, webhook.competition, Right.EDIT)
    return Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)


def _check_on(webhook: Webhook) -> None:
    if webhook.disabled_at is not None:
        raise Refused("invalid", field="url", variant="webhook_off")


def _check_url(text: str) -> str:
    """Return an address that may be sent to now; it is checked again at each connection."""
    url = text.strip()
    if len(url) > LONGEST_URL:
        raise Refused("invalid", field="url", variant="too_long", limit=LONGEST_URL)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # a port or an address that is none
        raise Refused("invalid", field="url", variant="no_address") from None
    host = parts.hostname
    if not host or parts.scheme not in {"http", "https"} or not _ADDRESS.fullmatch(url):
        raise Refused("invalid", field="url", variant="no_address")
    is_encrypted = parts.scheme == "https"
    try:
        choose_address(host, port or (443 if is_encrypted else 80), is_encrypted=is_encrypted)
    except AddressRefused as refused:
        reason = str(refused)
        raise Refused("invalid", field="url", variant="address_refused", reason=reason) from None
    except OSError:
        raise Refused("invalid", field="url", variant="server_unknown", host=host) from None
    return url


def _check_kinds(kinds: Collection[str]) -> list[str]:
    unknown = [kind for kind in kinds if kind not in EventKind.values]
    if unknown:
        raise Refused("invalid", field="kinds", variant="event_unknown", names=", ".join(unknown))
    return [kind for kind in EventKind.values if kind in kinds]


def _record(webhook: Webhook, by: User | None, change: str, **data: Any) -> None:
    record(
        webhook.competition,
        EventKind.WEBHOOK_CHANGED,
        actor=by,
        audience=Audience.ORGANIZERS,
        subjects={"webhook": webhook.uid},
        change=change,
        **data,
    )
