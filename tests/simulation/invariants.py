"""What must be true after every commit, and when everything has ended."""

from __future__ import annotations

import base64
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from leaderboard.ledger import rewinds, watermark
from leaderboard.log import journal
from leaderboard.models import (
    Competition,
    Event,
    EventKind,
    Ledger,
    LogEntry,
    Release,
    Round,
    Status,
    Submission,
    Team,
)
from leaderboard.operate import verification
from leaderboard.operate.log_verification import verify_log
from leaderboard.participate import quotas
from scoring.transparency import merkle
from scoring.verification.differences import Differs
from tests.simulation.database import Database
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stage import CLOSES

DUE = """
SELECT EXISTS (SELECT 1 FROM leaderboard_submission WHERE status IN ('queued', 'scoring'))
    OR EXISTS (
        SELECT 1 FROM leaderboard_round
        WHERE finals_started_at IS NOT NULL AND finals_scored_at IS NULL
    )
    OR EXISTS (
        SELECT 1 FROM leaderboard_round r JOIN leaderboard_holdout h ON h.ledger_id = r.ledger_id
        WHERE r.publication_at IS NOT NULL AND h.published_at IS NULL AND h.retired_at IS NULL
    )
    OR EXISTS (
        SELECT 1 FROM leaderboard_eventcount
        WHERE log_size > coalesce((SELECT max(size) FROM leaderboard_loghead), 0)
    )
"""
LOGS = "SELECT log_size FROM leaderboard_eventcount"
SUBMISSIONS = "SELECT id, status, claimed_at, attempts, file, failure FROM leaderboard_submission"
HEADS = "SELECT size, note FROM leaderboard_loghead ORDER BY size"
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


AGAIN = ("released", "queued")


@dataclass
class Holder:
    """Who claimed a submission, at which attempt, and what became of it."""

    process: Process
    task: str
    claimed_at: str


@dataclass(frozen=True)
class Promise:
    """What a 201 and its receipt say of a file."""

    sha256: str
    accepted_at: datetime


@dataclass
class Watch:
    """Look at the database after every commit, with a connection of its own."""

    scheduler: Scheduler
    database: Database
    files: dict[str, bytes]
    # Counts what workers may have to do something about.
    version: int = 0
    logs: list[tuple[Any, ...]] = field(default_factory=list)
    # The root of every head that anybody may have seen, by size: a restore takes none back.
    roots: dict[int, str] = field(default_factory=dict)
    # Whether a released file may be queued again.
    may_score_again: bool = False
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

    def look(self, query: str) -> list[tuple[Any, ...]]:
        return self.database.look(query)

    def is_due(self) -> bool:
        """Return whether somebody waits for workers."""
        return bool(self.look(DUE)[0][0])

    def restored(self) -> None:
        """Begin anew: the database is another."""
        self.version += 1
        self.known = self.database.version
        self.logs = self.look(LOGS)
        self.holders.clear()
        self.to_come_again.clear()
        self.rows = {row[0]: row[1:] for row in self.look(SUBMISSIONS)}
        # Whoever held them is dead.
        self.losses.update(key for key, row in self.rows.items() if row[0] == "scoring")
        self.entries = {uid: entries for uid, entries, _ in self.look(LEDGERS)}

    def committed(self) -> None:
        """Look after a commit of the current process."""
        known = self.database.version
        if self.scheduler.violations or known == self.known:
            return
        self.known, before = known, (self.rows, self.logs)
        rows, self.logs = {row[0]: row[1:] for row in self.look(SUBMISSIONS)}, self.look(LOGS)
        self.version += before != (rows, self.logs)
        for key, row in rows.items():
            if row != self.rows.get(key):
                self._changed(key, self.rows.get(key), row)
        self.rows = rows
        self.look_at_ledgers()
        self._look_at_heads()

    def _look_at_heads(self) -> None:
        """Compare every signed head with all that were signed before, in whatever database."""
        for size, note in self.look(HEADS):
            root = note.split("\n")[2]
            if self.roots.setdefault(size, root) != root:
                self.scheduler.find(f"Two heads of size {size} were signed.")

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
        is_step = status in STEPS[was] or (self.may_score_again and (was, status) == AGAIN)
        if not is_step and not self.is_repairing:
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
        # Who was taken for dead may still answer: the answer is the same, whoever writes it.
        is_early &= status != Status.RELEASED
        if is_early and not self.is_repairing:
            self.scheduler.find(f"{me.name} took submission {key} from {holder.process.name}.")
        self.losses[key] += not is_early
        if status == "queued" and key in self.to_come_again and not self.comes_again():
            self.scheduler.find(f"Submission {key} waited for the sweeper.")
        self.to_come_again.discard(key)


@dataclass(frozen=True)
class Seen:
    """What the world outside remembers."""

    promised: set[Promise]
    messages: list[str]
    logged: list[str]
    raw: list[str]
    watch: Watch
    # Submissions were answered twice, changed their team, or came back from copies.
    rewritten: bool


def journaled(competition: Competition) -> Iterator[Promise]:
    """Yield what the log's copy says was accepted."""
    for line in journal.read(competition.uid):
        if line.document["kind"] == "accepted" and line.opening:
            at = datetime.fromisoformat(line.document["at"])
            yield Promise(line.opening["file"], at)


def at_the_end(seen: Seen) -> Iterator[str]:
    """Return a sentence for each broken promise, once everything has ended."""
    yield from _of_names(seen)
    yield from _of_submissions(seen)
    yield from _of_quotas(seen)
    yield from _of_events(seen)
    yield from _of_raw_scores(seen)
    for ledger in Ledger.objects.all():
        report = verification.verify_ledger(ledger).report
        if report.difference is not None:
            yield f"The ledger does not verify: {report.difference}"
    for competition in Competition.objects.all():
        yield from _of_log(seen, competition)


def _of_log(seen: Seen, competition: Competition) -> Iterator[str]:
    """Every head that was ever signed is of this log, and the log says what the database has."""
    hashes = LogEntry.objects.filter(competition=competition).order_by("index")
    frontier = merkle.Frontier()
    for digest in hashes.values_list("hash", flat=True):
        frontier = frontier.append(bytes.fromhex(digest))
        root = base64.b64encode(frontier.root()).decode()
        if seen.watch.roots.get(frontier.size, root) != root:
            yield f"The head of size {frontier.size} is not of this log."
    if max(seen.watch.roots, default=0) != frontier.size:
        yield f"The log has {frontier.size} entries, its heads {max(seen.watch.roots)}."
    try:
        verify_log(competition, files=False)
    except Differs as differs:
        yield f"The log does not verify: {differs}"


def _of_names(seen: Seen) -> Iterator[str]:
    stored = {Promise(*row) for row in Submission.objects.values_list("sha256", "created_at")}
    for lost in seen.promised - stored:
        yield f"What was accepted at {lost.accepted_at} is lost."
    names = Counter(Team.objects.values_list("name", flat=True))
    for name in (each for each, count in names.items() if count > 1):
        yield f"Two teams have the name {name}."


def _of_submissions(seen: Seen) -> Iterator[str]:
    for row in Submission.objects.all():
        if row.status not in ENDS:
            yield f"Submission {row.pk} never ends: it is {row.status}."
        # What was written off is scored again, unless exact scores are known already.
        is_too_late = seen.watch.was_restored and row.failure == rewinds.TOO_LATE
        is_worn_out = seen.watch.losses[row.pk] >= settings.MAX_ATTEMPTS
        if row.status == Status.FAILED and not (is_worn_out or is_too_late):
            yield f"Submission {row.pk} failed without need: {row.failure}"
    answers = Counter(Release.objects.values_list("submission_id", flat=True))
    for row in Submission.objects.all():
        # What was replayed has no file, and the moment of its answer.
        if row.created_at >= CLOSES and row.file:
            yield f"Submission {row.pk} was accepted after the deadline."
        gated = row.gate_answer_id is not None
        if seen.rewritten:
            continue
        if answers[row.pk] + gated != (row.status == Status.RELEASED):
            yield f"Submission {row.pk} is {row.status} and has {answers[row.pk]} answers."


def _of_quotas(seen: Seen) -> Iterator[str]:
    if seen.rewritten:
        return
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
    if seen.rewritten:
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
    """No exact score is in a message, a log line, or, before the finals, anywhere in a table."""
    yield from _with_any("message", [*seen.messages, *seen.logged], {each[:6] for each in seen.raw})
    if not Round.objects.filter(finals_started_at__isnull=False).exists():
        rows = (str(seen.watch.look(f"SELECT * FROM leaderboard_{name}")) for name in _TABLES)  # noqa: S608
        yield from _with_any("table", rows, {each[:9] for each in seen.raw})


def _with_any(what: str, texts: Iterable[str], numbers: Iterable[str]) -> Iterator[str]:
    found = re.compile(rf"(?<![\d.])({'|'.join(map(re.escape, sorted(numbers)))})")
    for match in filter(None, map(found.search, texts)):
        start, end = max(0, match.start() - 60), match.end() + 20
        yield f"A raw score is in a {what}: {match.string[start:end]!r}."


_TABLES = (
    *("submission", "release", "standing", "boardstate", "teamstate", "ledger", "ledgernote"),
    *("event", "logentry", "sketch", "finalscore"),
)
