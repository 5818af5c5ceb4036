"""What must be true after every commit, and when everything has ended."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from leaderboard.ledger import watermark
from leaderboard.models import Event, EventKind, Ledger, Release, Status, Submission, Team
from leaderboard.operate import verification
from leaderboard.participate import quotas
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stage import CLOSES

SUBMISSIONS = "SELECT id, status, claimed_at, attempts, file, failure FROM leaderboard_submission"
LEDGERS = "SELECT uid, entries, head_hash FROM leaderboard_ledger"
ENDS = ("released", "rejected", "failed")
# From one commit to the next.
STEPS = {
    None: {"queued"},
    "queued": {"queued", "scoring"},
    "scoring": {"scoring", "queued", *ENDS},
    "failed": {"failed", "queued"},
    "released": {"released"},
    "rejected": {"rejected"},
}


@dataclass
class Holder:
    """Who claimed a submission, at which attempt, and what became of it."""

    process: Process
    task: str
    claimed_at: str


@dataclass
class Watch:
    """Look at the database after every commit, with a connection of its own."""

    scheduler: Scheduler
    look: Callable[..., list[tuple[Any, ...]]]
    files: dict[str, bytes]
    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    entries: dict[str, int] = field(default_factory=dict)
    holders: dict[int, Holder] = field(default_factory=dict)
    # Rows whose worker's child died, and whose message the broker still had.
    to_come_again: set[int] = field(default_factory=set)
    losses: Counter[int] = field(default_factory=Counter)
    # Whether the broker has a message to deliver again.
    comes_again: Callable[[], bool] = lambda: True
    is_repairing: bool = False
    was_restored: bool = False

    def restored(self) -> None:
        """Begin anew: the database is another."""
        self.holders.clear()
        self.to_come_again.clear()
        self.rows = {row[0]: row[1:] for row in self.look(SUBMISSIONS)}
        self.entries = {uid: entries for uid, entries, _ in self.look(LEDGERS)}

    def committed(self) -> None:
        """Look after a commit of the current process."""
        if self.scheduler.violations:
            return
        rows = {row[0]: row[1:] for row in self.look(SUBMISSIONS)}
        for key, row in rows.items():
            if row != self.rows.get(key):
                self._changed(key, self.rows.get(key), row)
        self.rows = rows
        self.look_at_ledgers()

    def look_at_ledgers(self) -> None:
        """Compare every ledger with its watermark."""
        for uid, entries, head in self.look(LEDGERS):
            written = watermark.read(uid, only_look=True)
            known = self.entries.get(uid, 0)
            self.entries[uid] = entries
            if written is None or self.is_repairing:
                continue
            if written.number > entries and entries != known:
                self.scheduler.find(f"Entry {entries} came while the watermark was ahead.")
            if written.number > entries and not self.was_restored:
                self.scheduler.find(f"The watermark has entry {written.number}, not committed.")
            if written.number == entries and written.hash != head:
                self.scheduler.find(f"The watermark has another entry {entries}.")

    def _changed(self, key: int, before: tuple[Any, ...] | None, row: tuple[Any, ...]) -> None:
        was, status = before[0] if before else None, row[0]
        find, me = self.scheduler.find, self.scheduler.current
        if status not in STEPS[was] and not self.is_repairing:
            find(f"Submission {key} was {was} and is {status}.")
        if row[3] and row[3] not in self.files:
            find(f"Submission {key} has no file.")
        assert me is not None
        holder = self.holders.get(key)
        if was == "scoring" and holder is not None and (status, row[1]) != (was, holder.claimed_at):
            self._taken_from(key, holder, me, status)
        if status == "scoring" and (before is None or before[1] != row[1]):
            self.holders[key] = Holder(me, me.task, row[1])

    def _taken_from(self, key: int, holder: Holder, me: Process, status: str) -> None:
        """Nobody else may take a claim from a worker that lives, before its lease ends."""
        del self.holders[key]
        if holder.process is me and holder.task == me.task:
            return
        claimed = datetime.fromisoformat(holder.claimed_at)
        held = (self.scheduler.now.replace(tzinfo=None) - claimed).total_seconds()
        works = not holder.process.ended and holder.process.task == holder.task
        silent, stalled = 2 * settings.HEARTBEAT_SECONDS, holder.process.stalled_until
        is_awake = stalled is None or stalled + timedelta(seconds=silent) < self.scheduler.now
        is_early = works and is_awake and held < settings.LEASE_SECONDS
        if is_early and not self.is_repairing:
            self.scheduler.find(f"{me.name} took submission {key} from {holder.process.name}.")
        self.losses[key] += not is_early
        if status == "queued" and key in self.to_come_again and not self.comes_again():
            self.scheduler.find(f"Submission {key} waited for the sweeper.")
        self.to_come_again.discard(key)


@dataclass(frozen=True)
class Seen:
    """What the world outside remembers."""

    promised: set[tuple[str, int, str]]
    messages: list[str]
    logged: list[str]
    raw: list[str]
    restored: bool
    losses: Counter[int]


def at_the_end(seen: Seen) -> Iterator[str]:
    """Return a sentence for each broken promise, once everything has ended."""
    yield from _of_names(seen)
    yield from _of_submissions(seen)
    yield from _of_quotas()
    yield from _of_events(seen)
    yield from _of_raw_scores(seen)
    for ledger in Ledger.objects.all():
        report = verification.verify_ledger(ledger).report
        if report.difference is not None:
            yield f"The ledger does not verify: {report.difference}"


def _of_names(seen: Seen) -> Iterator[str]:
    stored = set(Submission.objects.values_list("team__uid", "number", "sha256"))
    for team, number, _ in sorted(seen.promised - stored):
        yield f"Submission {number} of {team[:6]} was accepted and is lost."
    names = Counter(Team.objects.values_list("name", flat=True))
    for name in (each for each, count in names.items() if count > 1):
        yield f"Two teams have the name {name}."


def _of_submissions(seen: Seen) -> Iterator[str]:
    for row in Submission.objects.all():
        if row.status not in ENDS:
            yield f"Submission {row.pk} never ends: it is {row.status}."
        if row.status == Status.FAILED and seen.losses[row.pk] < settings.MAX_ATTEMPTS:
            yield f"Submission {row.pk} failed without need: {row.failure}"
    answers = Counter(Release.objects.values_list("submission_id", flat=True))
    for row in Submission.objects.all():
        # What was replayed has no file, and the moment of its answer.
        if row.created_at >= CLOSES and row.file:
            yield f"Submission {row.pk} was accepted after the deadline."
        if answers[row.pk] != (row.status == Status.RELEASED):
            yield f"Submission {row.pk} is {row.status} and has {answers[row.pk]} answers."


def _of_quotas() -> Iterator[str]:
    for release in Release.objects.select_related("submission"):
        if release.submission.takes_quota == (release.repeat_of_id is not None):
            yield f"Submission {release.submission_id} takes a unit, or none, against the rule."
    for team in Team.objects.all():
        taken: Counter[Any] = Counter()
        for row in team.submissions.filter(takes_quota=True).exclude(status=Status.REJECTED):
            taken[row.created_at.date()] += 1
        daily, _ = quotas.limits(team, team.competition.current_round)
        if max(taken.values(), default=0) > daily:
            yield f"Team {team} had {max(taken.values())} files in a day, of {daily}."


def _of_events(seen: Seen) -> Iterator[str]:
    """Events have no gaps, tell each end once, and nothing is accepted or answered at the end."""
    told: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    ended = False
    for number, event in enumerate(Event.objects.order_by("number"), start=1):
        if event.number != number:
            yield f"Event {event.number} should have number {number}."
            return
        ended |= event.kind == EventKind.FINALS_STARTED
        if event.kind in _LATE and ended:
            yield f"Event {number}, {event.kind}, came after the finals had started."
        if "submission" in event.subjects:
            told[event.subjects["team"], event.subjects["submission"]][event.kind] += 1
    if seen.restored:
        return
    for row in Submission.objects.select_related("team"):
        kinds = told[row.team.uid, row.number]
        expected = {kind: int(row.status == status) for kind, status in _ENDS.items()}
        expected[EventKind.SUBMISSION_ACCEPTED] = 1
        if any(kinds[kind] != count for kind, count in expected.items()):
            yield f"Submission {row.pk} is {row.status}, and its events are {dict(kinds)}."


_LATE = (EventKind.SUBMISSION_ACCEPTED, EventKind.SUBMISSION_RELEASED)
_ENDS = {
    EventKind.SUBMISSION_RELEASED: Status.RELEASED,
    EventKind.SUBMISSION_REJECTED: Status.REJECTED,
}


def _of_raw_scores(seen: Seen) -> Iterator[str]:
    """No exact score is in a message, a log line, an event or a failure."""
    texts = [*seen.messages, *seen.logged]
    texts += [json.dumps([e.data, e.subjects]) for e in Event.objects.exclude(kind__in=_FINAL)]
    texts += Submission.objects.exclude(failure="").values_list("failure", flat=True)
    needles = [re.compile(rf"(?<![\d.]){re.escape(each)}(?!\d)") for each in seen.raw]
    for text in texts:
        for needle in needles:
            if needle.search(text):
                yield f"A raw score, {needle.pattern}, is in {text[:100]!r}."


_FINAL = (EventKind.REVEALED,)
