"""Posting events to webhooks: the body, its signature, and what became of it.

The headers are those of Standard Webhooks (docs/webhooks.md). A body holds an event, and events
hold nothing of hidden rows but what was released.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Final

import httpcore
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from leaderboard.models import Delivery, Event, Webhook
from leaderboard.notify.networks import AddressRefused, CheckedBackend

Headers = dict[bytes | str, bytes | str]
SECONDS: Final = 10.0
_LONGEST_ANSWER: Final = 200  # characters that are kept
_MOST_BYTES: Final = 4 * _LONGEST_ANSWER  # that are read


@dataclass(frozen=True)
class Outcome:
    """What became of an attempt. `is_final`: another one would end the same.

    `is_away`: there was none, because what everything is handed to doesn't answer.
    """

    is_sent: bool
    answer: str = ""
    status: int | None = None
    is_final: bool = False
    is_away: bool = False


def secret_of(webhook: Webhook) -> str:
    """Return the secret that the webhook's deliveries are signed with; it is stored nowhere."""
    value = f"{webhook.uid}:{webhook.generation}"
    key = salted_hmac("leaderboard.notify.webhooks", value, algorithm="sha256").digest()
    return f"whsec_{base64.b64encode(key).decode()}"


def payload(event: Event) -> dict[str, Any]:
    """Return what is sent of an event."""
    competition = event.competition
    return {
        "type": event.kind,
        "timestamp": event.created_at.isoformat(),
        "competition": competition.slug,
        "url": settings.SITE_URL + reverse("competition", args=[competition.slug]),
        "number": event.number,
        "audience": event.audience,
        "actor": event.actor.username if event.actor else None,
        "subjects": event.subjects,
        "data": event.data,
    }


def payload_of_test(delivery: Delivery, webhook: Webhook) -> dict[str, Any]:
    """Return what is sent where an organizer asks for a test."""
    return {
        "type": "test",
        "timestamp": delivery.created_at.isoformat(),
        "competition": webhook.competition.slug,
        "data": {},
    }


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message: HMAC-SHA-256 over id, time and body."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def post(delivery: Delivery, webhook: Webhook) -> Outcome:
    """Send a delivery to its webhook, and return what became of it."""
    content = payload(delivery.event) if delivery.event else payload_of_test(delivery, webhook)
    body = json.dumps(content).encode()
    now = int(timezone.now().timestamp())
    headers: Headers = {
        "content-type": "application/json",
        "user-agent": "Holdfast",
        "webhook-id": delivery.uid,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(secret_of(webhook), delivery.uid, now, body),
    }
    try:
        status, answer = _request(webhook.url, headers, body)
    except AddressRefused as refused:
        return Outcome(False, str(refused))
    except httpcore.TimeoutException:
        return Outcome(False, f"No answer within {SECONDS:.0f} seconds.")
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        return Outcome(False, f"No answer: {error}"[:_LONGEST_ANSWER])
    if 300 <= status < 400:
        answer = "Redirects are not followed: give the address that it leads to."
    return Outcome(200 <= status < 300, answer, status, is_final=status == 410)


def _request(url: str, headers: Headers, body: bytes) -> tuple[int, str]:
    """Post, and return the status and the beginning of the answer."""
    backend = CheckedBackend(is_encrypted=url.startswith("https:"), seconds=SECONDS)
    with (
        httpcore.ConnectionPool(network_backend=backend) as pool,
        pool.stream("POST", url, headers=headers, content=body) as response,
    ):
        read = b""
        for chunk in response.iter_stream():
            read += chunk
            if len(read) >= _MOST_BYTES:
                break
    # PostgreSQL stores no NUL.
    text = read[:_MOST_BYTES].decode(errors="replace").replace("\0", "\ufffd")
    return response.status, text[:_LONGEST_ANSWER]
