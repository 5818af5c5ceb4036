"""Signs of life: who works on a submission notes it every few seconds, in the row.

So what a killed worker held is found within seconds, on whichever machine it ran, while a file that
takes minutes stays with whoever reads it. Redis is not asked: what it says can be anybody's.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard.models import Status, Submission

MISSED: Final = 5  # signs that fail to come until a worker counts as gone


@contextmanager
def beating(held: QuerySet[Submission]) -> Iterator[None]:
    """Note that this process lives, as long as the block runs and `held` has a row."""
    done = Event()
    thread = Thread(target=_beat, args=(held, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def abandoned() -> QuerySet[Submission]:
    """Return what nobody works on any more, though it was taken.

    That is what gave no sign for too long, or has had all the time that a task may take.
    """
    now = timezone.now()
    silent = now - timedelta(seconds=MISSED * settings.HEARTBEAT_SECONDS)
    expired = now - timedelta(seconds=settings.LEASE_SECONDS)
    return Submission.objects.filter(
        Q(seen_at__lt=silent) | Q(claimed_at__lt=expired), status=Status.SCORING
    )


def _beat(held: QuerySet[Submission], done: Event) -> None:
    going = 1
    while going and not done.wait(settings.HEARTBEAT_SECONDS):
        with suppress(OperationalError, InterfaceError):  # the next one may get through
            going = held.update(seen_at=timezone.now())
        connection.close()
