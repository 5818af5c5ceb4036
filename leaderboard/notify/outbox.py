"""The outbox: events become notices and deliveries, and deliveries are sent.

The rows are the truth. A worker claims one by an update of its state, so that no two send it, and
what a dead worker held is taken back after a lease. So everything is sent at least once, and twice
only if a worker dies between the sending and the writing down; then it carries the same id.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from smtplib import SMTPDataError, SMTPNotSupportedError, SMTPRecipientsRefused
from typing import Any, Final, cast

from django.core import mail
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from leaderboard.models import (
    Audience,
    Channel,
    Delivery,
    DeliveryState,
    Event,
    EventCount,
    EventKind,
    Notice,
    OutboxCursor,
    User,
    Webhook,
)
from leaderboard.notify import mails, notices, webhooks
from leaderboard.notify.events import record
from leaderboard.notify.webhooks import Outcome
from leaderboard.platform import logs

logger = logging.getLogger(__name__)

PEOPLE: Final = 500  # whose rows are written in one transaction
LEASE: Final = timedelta(minutes=2)
WAITS: Final = (10, 60, 300, 1_800, 7_200, 14_400)  # seconds after each failure; then the last one
GIVE_UP: Final = {Channel.WEBHOOK: timedelta(days=1), Channel.MAIL: timedelta(days=3)}
# A webhook that has failed this long, and this often, is turned off.
PATIENCE: Final = timedelta(days=3)
LEAST_FAILURES: Final = 10
KEPT: Final = timedelta(days=30)
LONGEST_ANSWER: Final = 200  # characters of what a mail server says


# --- Events become notices and deliveries ---------------------------------------------------------


def behind() -> list[int]:
    """Return the keys of the competitions with events that are not in the outbox yet."""
    known = OutboxCursor.objects.filter(
        competition=OuterRef("competition"), number__gte=OuterRef("number")
    )
    rows = EventCount.objects.filter(~Exists(known), number__gt=0)
    return list(rows.values_list("competition", flat=True))


def fan_out(competition_id: int) -> bool:
    """Write the next notices and deliveries of a competition; return whether there are more.

    Those of at most `PEOPLE` in one transaction, which moves the cursor as well: whoever dies in
    between has written nothing.
    """
    OutboxCursor.objects.get_or_create(competition_id=competition_id)
    with transaction.atomic():
        cursor = OutboxCursor.objects.select_for_update().get(competition=competition_id)
        ahead = Event.objects.filter(competition=competition_id, number__gt=cursor.number)
        # The newest first: what is committed between two reads must not be skipped.
        newest = ahead.aggregate(newest=Max("number"))["newest"]
        if newest is None:
            return False
        hooks = list(Webhook.objects.filter(competition=competition_id, disabled_at=None))
        wanted = ahead.filter(number__lte=newest)
        if all(hook.kinds for hook in hooks):
            posted = {kind for hook in hooks for kind in hook.kinds}
            wanted = wanted.filter(notices.telling() | Q(kind__in=posted))
        rows = wanted.select_related("competition")
        event = rows.order_by("number").first()
        if event is None:
            cursor.number, cursor.person = newest, 0
        elif people := _next_people(event, cursor.person):
            _tell(event, people)
            cursor.person = people[-1]
        else:
            chosen = (
                each
                for each in hooks
                if event.kind in (each.kinds or [event.kind])
                and each.created_at <= event.created_at
            )
            _insert(
                new_delivery(Channel.WEBHOOK, event.kind, event=event, webhook=each)
                for each in chosen
            )
            cursor.number, cursor.person = event.number, 0
        cursor.save()
    return event is not None


def _next_people(event: Event, after: int) -> list[int]:
    """Return the keys of the next people who are told of this event."""
    if not notices.tells(event):
        return []
    people = notices.recipients(event).filter(pk__gt=after)
    return list(people.values_list("pk", flat=True)[:PEOPLE])


def _tell(event: Event, people: list[int]) -> None:
    """Write these people's notices of an event, and the mails of those who want one at once."""
    kind, announcement = notices.kind_of(event), notices.announcement_of(event)
    at_once, later = mails.wanting(event, people)
    rows = [
        Notice(
            event=event,
            competition_id=event.competition_id,
            recipient_id=person,
            kind=kind,
            announcement=announcement,
            created_at=event.created_at,
            waits_for_digest=person in later,
        )
        for person in people
    ]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    _insert(
        new_delivery(Channel.MAIL, event.kind, event=event, recipient_id=person)
        for person in people
        if person in at_once
    )


def _insert(rows: Iterator[Delivery]) -> None:
    Delivery.objects.bulk_create(list(rows), ignore_conflicts=True)


def new_delivery(channel: Channel, kind: str, **fields: Any) -> Delivery:
    """Return a row of the outbox that is due at once, not written yet."""
    now = timezone.now()
    return Delivery(
        channel=channel,
        kind=kind,
        created_at=now,
        due_at=now,
        expires_at=now + GIVE_UP[channel],
        **fields,
    )


def add_test(webhook: Webhook) -> None:
    """Put a test into the outbox, to be sent at once."""
    new_delivery(Channel.WEBHOOK, "test", webhook=webhook).save()
    Webhook.objects.filter(pk=webhook.pk).update(retry_at=None)


def send_again(delivery: Delivery) -> None:
    """Let a delivery that has ended be sent once more, at once."""
    now = timezone.now()
    ended = Delivery.objects.filter(pk=delivery.pk, finished_at__isnull=False)
    ended.update(
        state=DeliveryState.WAITING,
        due_at=now,
        expires_at=now + GIVE_UP[Channel(delivery.channel)],
        finished_at=None,
    )
    Webhook.objects.filter(deliveries=delivery).update(retry_at=None)


# --- Deliveries are sent --------------------------------------------------------------------------


def due(channel: Channel) -> QuerySet[Delivery]:
    """Return what is to be sent now, the oldest first."""
    now = timezone.now()
    rows = Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING, due_at__lte=now)
    resting = Webhook.objects.filter(Q(retry_at__gt=now) | Q(disabled_at__isnull=False))
    rows = rows.exclude(webhook__in=resting)
    return rows.order_by("due_at", "pk")


def take_back() -> None:
    """Let what workers held when they ended be sent by others."""
    now = timezone.now()
    held = Delivery.objects.filter(state=DeliveryState.SENDING, claimed_at__lt=now - LEASE)
    held.filter(expires_at__lt=now).update(
        state=DeliveryState.FAILED, finished_at=now, answer="No worker finished it."
    )
    held.update(state=DeliveryState.WAITING)


def forget_old() -> None:
    """Delete what was finished long ago."""
    Delivery.objects.filter(finished_at__lt=timezone.now() - KEPT).delete()


def deliver(channel: Channel, seconds: float) -> bool:
    """Send what is due, one after the other, for some seconds; return whether that was too short.

    Nothing where another worker is at it: a slow server must not hold more than one of them.
    """
    alive = timezone.now() - LEASE
    sending = Delivery.objects.filter(channel=channel, state=DeliveryState.SENDING)
    if sending.filter(claimed_at__gte=alive).exists():
        return False
    end = time.monotonic() + seconds
    with _mail_server() as server:
        while time.monotonic() < end:
            delivery = _claim(channel)
            if delivery is None:
                return False
            found = _send(delivery, server)
            _note(delivery, found)
            if found and found.is_away:
                return False  # the others wait as well
    return True


def _claim(channel: Channel) -> Delivery | None:
    """Take the next delivery that is due; None where there is none."""
    for key in due(channel).values_list("pk", flat=True)[:20]:
        claimed = Delivery.objects.filter(pk=key, state=DeliveryState.WAITING).update(
            state=DeliveryState.SENDING, claimed_at=timezone.now(), attempts=F("attempts") + 1
        )
        if claimed:
            related = ("event__competition", "event__actor", "webhook__competition", "recipient")
            found = Delivery.objects.select_related(*related, "account_event")
            return found.get(pk=key)
    return None


def _send(delivery: Delivery, server: Any) -> Outcome | None:
    """Send a delivery; what can't be sent at all must not keep its worker from the others."""
    try:
        if delivery.webhook is None:
            return _mail(delivery, server)
        return webhooks.post(delivery, delivery.webhook)
    except Exception as error:
        logger.error("Delivery %s failed: %s", delivery.pk, logs.place(error))
        return Outcome(False, "It failed on our side.")


@contextmanager
def _mail_server() -> Iterator[Any]:
    """Keep a connection for all mails of a run, opened by the first."""
    server = mail.get_connection()
    try:
        yield server
    finally:
        server.close()


def _mail(delivery: Delivery, server: Any) -> Outcome | None:
    """Send a mail; return None where nobody is to get it any more."""
    message = mails.write(delivery)
    if message is None:
        return None
    try:
        server.open()
        server.send_messages([message])
    except (SMTPRecipientsRefused, SMTPDataError, SMTPNotSupportedError) as error:
        server.close()
        is_final = not _is_temporary(error)
        if is_final and isinstance(error, SMTPRecipientsRefused):
            mails.note_refusal(message, cast(User, delivery.recipient), _answer(error))
        return Outcome(False, "The mail server refused it.", is_final=is_final)
    except OSError as error:
        server.close()
        logger.warning("Mails wait: %s.", logs.place(error))
        return Outcome(False, "The mail server is away.", is_away=True)
    return Outcome(True)


def _answer(error: SMTPRecipientsRefused) -> str:
    """Return what the mail server said of an address."""
    ((code, said),) = error.recipients.values()
    text = said.decode(errors="replace").replace("\0", "")  # PostgreSQL stores no NUL
    return f"{code} {' '.join(text.split())}"[:LONGEST_ANSWER]


def _is_temporary(error: SMTPRecipientsRefused | SMTPDataError | SMTPNotSupportedError) -> bool:
    """Return whether the mail server wants to be asked again."""
    if isinstance(error, SMTPNotSupportedError):
        return False  # an address in letters that it doesn't know
    if isinstance(error, SMTPDataError):
        return 400 <= error.smtp_code < 500
    return all(400 <= code < 500 for code, _ in error.recipients.values())


def _note(delivery: Delivery, found: Outcome | None) -> None:
    """Write down what became of an attempt, unless the delivery is another worker's by now."""
    now, wait = timezone.now(), _wait(delivery)
    fields: dict[str, Any] = {"finished_at": now}
    if found is None:
        fields["state"] = DeliveryState.DROPPED
    elif found.is_sent:
        fields["state"] = DeliveryState.SENT
    elif found.is_away:  # that is nobody's end: what waits begins to count when it is back
        expires_at = now + wait + GIVE_UP[Channel(delivery.channel)]
        fields = {"state": DeliveryState.WAITING, "due_at": now + wait, "expires_at": expires_at}
    elif found.is_final or now + wait > delivery.expires_at:
        fields["state"] = DeliveryState.FAILED
    else:
        fields = {"state": DeliveryState.WAITING, "due_at": now + wait}
    if found is not None:
        fields |= {"status": found.status, "answer": found.answer}
    with transaction.atomic():
        held = Delivery.objects.filter(
            pk=delivery.pk, state=DeliveryState.SENDING, claimed_at=delivery.claimed_at
        )
        if held.update(**fields) and delivery.webhook and found:
            _note_of_webhook(delivery.webhook, found, now, wait)


def _wait(delivery: Delivery) -> timedelta:
    """Return how long to wait after this attempt, if it failed."""
    failed = delivery.webhook.failures if delivery.webhook else delivery.attempts - 1
    return timedelta(seconds=WAITS[min(failed, len(WAITS) - 1)])


def _note_of_webhook(webhook: Webhook, found: Outcome, now: datetime, wait: timedelta) -> None:
    """Count the failures of a webhook, and turn it off where there were too many."""
    row = Webhook.objects.filter(pk=webhook.pk)
    if found.is_sent:
        row.update(failures=0, failing_since=None, retry_at=None)
        return
    since = webhook.failing_since or now
    row.update(failures=F("failures") + 1, failing_since=since, retry_at=now + wait)
    if found.is_final:
        disable(webhook, f"Its server answered {found.status}: it wants no more.")
    elif now - since >= PATIENCE and webhook.failures + 1 >= LEAST_FAILURES:
        disable(webhook, f"It has failed since {since.day} {since:%B %Y}. {found.answer}"[:200])


def disable(webhook: Webhook, reason: str) -> None:
    """Turn a webhook off, with what waits for it; owners are told by an event and a mail."""
    with transaction.atomic():
        enabled = Webhook.objects.filter(pk=webhook.pk, disabled_at__isnull=True)
        if not enabled.update(disabled_at=timezone.now(), disabled_because=reason):
            return
        drop_waiting(webhook)
        record(
            webhook.competition,
            EventKind.WEBHOOK_CHANGED,
            audience=Audience.ORGANIZERS,
            subjects={"webhook": webhook.uid},
            change="disabled",
            url=webhook.url,
            reason=reason,
        )


def drop_waiting(webhook: Webhook) -> None:
    """Drop what waits for a webhook that is turned off."""
    waiting = webhook.deliveries.filter(state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.DROPPED, finished_at=timezone.now())
