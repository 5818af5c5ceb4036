"""What the product meets outside the database: broker, disk, watermark and clock, all simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from celery import Celery
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage, default_storage
from django.db import OperationalError
from django.db.models import QuerySet
from kombu.exceptions import OperationalError as BrokerAway

from leaderboard import tasks
from leaderboard.ledger import copies, watermark
from leaderboard.log import journal
from leaderboard.models import Ledger, LogEntry
from leaderboard.notify import invitations
from leaderboard.organize import baselines, recast, trials
from leaderboard.pipeline import handover, heartbeat
from leaderboard.platform import health
from leaderboard.platform.broker import OUTBOX, QUEUE, ROUTES
from leaderboard.platform.outages import StorageAway
from tests.simulation.scheduler import Scheduler

# Mails and webhooks are tried by tests of their own.
LEFT_OUT = {name for name, queue in ROUTES.items() if queue == OUTBOX}
# What a sweep also looks for, and no schedule has.
NOT_SWEPT = (
    (handover, "waiting"),
    (recast, "waiting"),
    (trials, "waiting"),
    (baselines, "send_baselines"),
    (invitations, "waiting"),
    (tasks, "_sweep_outbox"),
)


@dataclass
class Message:
    """A task that somebody is to run. `is_held` by a worker that has not acknowledged it."""

    task: str
    ids: dict[str, int]
    queue: str
    id: str
    ready_at: datetime
    redelivered: bool = False
    is_held: bool = False


@dataclass(frozen=True)
class Losses:
    """How likely a message is lost, doubled, late, or refused."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    refused: float = 0.0


@dataclass
class Broker:
    """A queue that may lose, double and delay whatever it was given."""

    scheduler: Scheduler
    losses: Losses
    sent: Callable[[Message], None] = lambda message: None
    messages: list[Message] = field(default_factory=list)
    # What no sweeper had to send again: nothing of it was lost, late or refused.
    is_reliable: bool = True
    serial: int = 0

    def send(self, name: str, args: Any = None, kwargs: Any = None, **options: Any) -> None:
        if name in LEFT_OUT:
            return
        ids = dict(kwargs or {})
        fails = self.scheduler.pause(f"send {name.rpartition('.')[2]} {ids or ''}")
        random = self.scheduler.random
        losses = Losses() if self.scheduler.is_calm else self.losses
        chance = random.random()
        if fails or chance < losses.refused:
            self.is_reliable = False
            raise BrokerAway("away")
        queue, self.serial = options.get("queue") or QUEUE, self.serial + 1
        message = Message(name, ids, queue, f"message {self.serial}", self.scheduler.now)
        self.sent(message)
        if random.random() < losses.lost:
            self.is_reliable = False
            self.scheduler.note("the message is lost")
            return
        if random.random() < losses.late:
            self.is_reliable = False
            message.ready_at += timedelta(seconds=random.choice((1, 30, 400)))
        self.messages.append(message)
        if random.random() < losses.doubled:
            self.messages.append(Message(name, ids, queue, f"{message.id} again", message.ready_at))

    def next(self, wanted: Callable[[Message], bool]) -> Message | None:
        """Return the first message that may be taken."""
        now = self.scheduler.now
        for each in self.messages:
            if not each.is_held and each.ready_at <= now and wanted(each):
                return each
        return None

    def is_empty(self, queue: str) -> bool:
        """Return whether every message of a queue that has come in was taken."""
        return self.next(lambda message: message.queue == queue) is None

    def take(self, message: Message) -> None:
        if settings.CELERY_TASK_ACKS_LATE:
            message.is_held = True
        else:
            self.messages.remove(message)

    def acknowledge(self, message: Message) -> None:
        self.messages = [each for each in self.messages if each is not message]

    def give_back(self, message: Message, *, at_once: bool) -> None:
        """A worker died: its child's messages come again at once, a whole worker's in an hour."""
        if any(each is message for each in self.messages):
            message.is_held, message.redelivered = False, True
            message.ready_at += timedelta(seconds=0 if at_once else 3600)

    def forget_everything(self) -> None:
        self.is_reliable = False
        self.messages.clear()


class Disk(Storage):
    """Stored files. Sealed solutions are read into a worker's memory once, under a lock."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.scheduler: Scheduler | None = None

    def _pause(self, label: str, name: str) -> None:
        if self.scheduler is None or not name.startswith(("submissions/", "publications/")):
            return
        if self.scheduler.pause(f"{label} {name[:20]}"):
            raise StorageAway("away")

    def _save(self, name: str, content: File[bytes]) -> str:
        self._pause("store", name)
        content.seek(0)
        whole = content.read()
        self.files[name] = whole[: len(whole) // 2]  # what a death leaves
        self._pause("stored half of", name)
        self.files[name] = whole
        self._pause("stored", name)
        return name

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        self._pause("open", name)
        if name not in self.files:
            raise FileNotFoundError(name)
        return File(BytesIO(self.files[name]), name=name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        inside = (
            each.removeprefix(f"{path}/") for each in self.files if each.startswith(f"{path}/")
        )
        return [], sorted(each for each in inside if "/" not in each)

    def exists(self, name: str) -> bool:
        return name in self.files

    def size(self, name: str) -> int:
        return len(self.files[name])

    def delete(self, name: str) -> None:
        self._pause("delete", name)
        self.files.pop(name, None)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name


class Watermarks:
    """The real files, written with a pause on both sides, and cut short where a writer dies."""

    def __init__(self, scheduler: Scheduler, written: Callable[[], None]) -> None:
        self._scheduler, self._written = scheduler, written
        self._append, self._end = watermark.append, watermark.end

    def append(self, ledger: str, head: watermark.Head) -> None:
        scheduler = self._scheduler
        if scheduler.pause(f"watermark {head.number}"):
            raise watermark.WatermarkAway("away")
        me = scheduler.current
        if me is not None and me.may_die and scheduler.random.random() < scheduler.odds.kill:
            watermark.file_of(ledger).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with watermark.file_of(ledger).open("ab") as file:
                file.write(f"{head.number} {head.hash}"[:9].encode())
            me.condemned = True
            scheduler.pause("the line is cut short")
        self._append(ledger, head)
        self._written()
        scheduler.pause("watermark written")

    def end(self, ledger: str) -> None:
        if self._scheduler.pause("watermark ended"):
            raise watermark.WatermarkAway("away")
        self._end(ledger)
        self._scheduler.pause("watermark written")


class Journals:
    """The real files again. Whoever finds one held waits here, not in the system's lock."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._append, self._keep = scheduler, journal.append, copies._keep
        self._held = set[str]()

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        self._scheduler.wait(lambda: name not in self._held)
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)

    @contextmanager
    def hold(self, uid: str) -> Iterator[None]:
        if self._scheduler.pause("hold the journal"):
            raise journal.JournalAway("away")
        with self._alone(uid):
            yield

    def keep(self, ledger: Ledger) -> None:
        with self._alone(f"copy of {ledger.uid}"):
            self._keep(ledger)

    def append(self, uid: str, entries: Iterable[LogEntry]) -> None:
        scheduler, batch = self._scheduler, list(entries)
        if scheduler.pause(f"journal {batch[-1].index}"):
            raise journal.JournalAway("away")
        me = scheduler.current
        if me is not None and me.may_die and scheduler.random.random() < scheduler.odds.kill:
            self._append(uid, batch[:-1])
            with journal.file_of(uid).open("ab") as file:
                file.write(b'{"document":')
            me.condemned = True
            scheduler.pause("the line is cut short")
        self._append(uid, batch)
        scheduler.pause("journal written")


@contextmanager
def disk(directory: Path, moment: datetime) -> Iterator[Disk]:
    """Have files and watermarks in places of a simulation's own; until it begins, it is then."""
    mine = Disk()
    with (
        patch.object(default_storage, "_wrapped", mine),
        patch.object(settings, "WATERMARK_DIR", directory / "watermark"),
        patch("django.utils.timezone.now", lambda: moment),
    ):
        yield mine


def beating_in(scheduler: Scheduler) -> Callable[..., AbstractContextManager[None]]:
    """Return signs of life that a simulated process gives, and none while its worker stalls."""

    @contextmanager
    def beating(held: QuerySet[Any], field: str = "seen_at") -> Iterator[None]:
        worker, works = scheduler.current, [True]
        assert worker is not None

        def beats() -> bool:
            return bool(works) and not worker.dead

        def beat() -> None:
            while beats():
                scheduler.sleep(settings.HEARTBEAT_SECONDS)
                is_awake = worker.stalled_until is None or worker.stalled_until < scheduler.now
                if beats() and is_awake:
                    with suppress(OperationalError):
                        held.update(**{field: scheduler.now})

        scheduler.start(f"{worker.name} heart", beat)
        try:
            yield
        finally:
            works.clear()

    return beating


@contextmanager
def surrounded(
    scheduler: Scheduler,
    broker: Broker,
    disk: Disk,
    written: Callable[[], None],
    swept: Callable[[], None],
) -> Iterator[None]:
    """Let the product meet these, and the scheduler's clock and die.

    written: a watermark was. swept: a sweep came to its end.
    """
    disk.scheduler = scheduler
    watermarks, journals, keep_all = (
        Watermarks(scheduler, written),
        Journals(scheduler),
        copies.keep_all,
    )

    def keep_copies() -> None:
        keep_all()
        swept()

    with ExitStack() as stack:
        for patched in (
            patch("django.utils.timezone.now", lambda: scheduler.now),
            patch("time.monotonic", lambda: scheduler.seconds),
            patch("secrets.token_bytes", lambda size=32: scheduler.random.randbytes(size)),
            patch("os.urandom", scheduler.random.randbytes),
            patch.object(Celery, "send_task", broker_method(broker)),
            patch("leaderboard.tasks.is_empty", broker.is_empty),
            patch.object(heartbeat, "beating", beating_in(scheduler)),
            patch.object(watermark, "append", watermarks.append),
            patch.object(watermark, "end", watermarks.end),
            patch.object(journal, "hold", journals.hold),
            patch.object(journal, "append", journals.append),
            patch.object(copies, "keep_all", keep_copies),
            patch.object(copies, "_keep", journals.keep),
            patch.object(health, "note_sweep_run", lambda: None),
            patch.object(health, "note_sweep_sent", lambda: None),
            *(patch.object(module, name, lambda *_: ()) for module, name in NOT_SWEPT),
        ):
            stack.enter_context(cast(AbstractContextManager[Any], patched))
        try:
            yield
        finally:
            disk.scheduler = None


def broker_method(broker: Broker) -> Callable[..., None]:
    """Return what a Celery application does instead of sending."""

    def send_task(app: Celery, name: str, *args: Any, **options: Any) -> None:
        broker.send(name, *args, **options)

    return send_task
