"""Signs of life: who works on a row notes it there every few seconds.

So what a killed worker held is found within seconds, on whichever machine it ran, while a file that
takes minutes stays with whoever reads it, and so do final places. Redis is not asked:
what it says can be anybody's.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any, Final

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard.models import Status, Submission

MISSED: Final = 5  # signs that fail to come until a worker counts as gone


@contextmanager
def beating(held: QuerySet[Any], field: str = "seen_at") -> Iterator[None]:
    """Note in `field` that this process lives, as long as the block runs and `held` has a row."""
    done = Event()
    thread = Thread(target=_beat, args=(held, field, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def last_sign() -> datetime:
    """Return since when whoever lives has given a sign."""
    return timezone.now() - timedelta(seconds=MISSED * settings.HEARTBEAT_SECONDS)


def abandoned() -> QuerySet[Submission]:
    """Return what nobody works on any more, though it was taken.

    That is what gave no sign for too long, or has had all the time that a task may take.
    """
    expired = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    return Submission.objects.filter(
        Q(seen_at__lt=last_sign()) | Q(claimed_at__lt=expired), status=Status.SCORING
    )


def _beat(held: QuerySet[Any], field: str, done: Event) -> None:
    going = 1
    while going and not done.wait(settings.HEARTBEAT_SECONDS):
        with suppress(OperationalError, InterfaceError):  # the next one may get through
            going = held.update(**{field: timezone.now()})
        connection.close()
