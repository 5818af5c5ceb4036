"""Mending a ledger whose database was restored: replay what was published, or write it off.

docs/decisions/0013-rewind-watermark.md says why both are honest.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.ledger.watermark import Head, Rewound
from leaderboard.models import (
    Competition,
    Halt,
    Holdout,
    HoldoutState,
    LedgerNote,
    NoteKind,
    Release,
    Status,
    Submission,
    Team,
    TeamState,
    User,
)
from leaderboard.pipeline.release import (
    entry_hash,
    ledger_head,
    parameters_hash,
    stand,
    team_head,
)
from scoring import mechanisms
from scoring.chain import document_hash
from scoring.mechanisms import books
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.mechanisms.base import State
from scoring.mechanisms.base import TeamState as TeamHead
from scoring.verification import Header, Replay, check_chain
from scoring.verification.notes import CORRECTION, is_note

Entry = dict[str, Any]
_TOO_LATE = "The competition had ended before this was scored."
_END_AGAIN = (
    "No answer is lost, but the end is: exact scores were measured that this database doesn't "
    "know of. End the competition again, with --end."
)
_ROUNDED = timedelta(seconds=1)  # moments are published to the second


@dataclass(frozen=True)
class Situation:
    """What database and guard know. `written` is None where the guard's file can't be read;
    `problem` says what is wrong, and is empty where nothing is. `end_undone`: all entries are
    there, and the end that followed them is not."""

    ledger: str
    known: Head
    written: Head | None
    halted_at: datetime | None
    problem: str
    end_undone: bool = False

    @property
    def lost(self) -> int | None:
        """How many entries the database lacks; None where nobody can tell."""
        return None if self.written is None else max(0, self.written.number - self.known.number)


def look(competition: Competition) -> Situation:
    """Compares database and guard; a halt that has no reason any more ends."""
    with _locked(competition) as (row, holdout):
        situation = _situation(row, holdout)
        if not situation.problem:
            _resume(row)
        return situation


def replay(competition: Competition, lines: Iterable[bytes]) -> int:
    """Takes the lost entries from a saved copy of the published ledger; how many there were.

    The copy is computed again from its beginning and has to hold the database's head and the
    guard's: nothing in it can be made up. Raises Differs where it isn't what it says, Refused where
    it doesn't lead from one to the other.
    """
    with _locked(competition) as (row, holdout):
        situation = _situation(row, holdout)
        if not situation.problem:
            _resume(row)
            return 0
        if situation.end_undone:
            raise _refused(_END_AGAIN)
        if situation.written is None or situation.written.number <= situation.known.number:
            raise _refused("There is nothing to replay up to: " + situation.problem)
        lost = _lost_entries(lines, situation.known, situation.written)
        _make_teams(competition, lost)
        for entry, state in lost.entries:
            _take(entry, state, holdout)
        _write(row, lost.head, lost.teams, situation.written)
        _resume_if_whole(row, holdout)
    return len(lost.entries)


def give_up(competition: Competition, *, lost: int | None = None) -> LedgerNote | None:
    """Writes the lost entries off; the published note, or None where nothing is wrong.

    `lost` is how many are lost at most: needed where the guard can't tell, and never lowers what it
    can. Raises Refused.
    """
    with _locked(competition) as (row, holdout):
        situation = _situation(row, holdout)
        if not situation.problem:
            _resume(row)
            return None
        if situation.end_undone:
            raise _refused(_END_AGAIN)
        counted = _count_lost(situation, competition)
        if counted is None and lost is None:
            raise _refused(
                "The guard can't tell how many answers are lost. Say how many there were at most, "
                "with --lost; 0 if this database was never restored."
            )
        at_least = (situation.written or _damaged_head(situation.ledger)).number - row.releases
        note = _written_off(situation, holdout) or _write_off(
            row, holdout, competition, situation, max(counted or 0, lost or 0, at_least)
        )
    watermark.append(situation.ledger, Head(note.number, note.hash))
    with _locked(competition) as (row, holdout):
        _resume_if_whole(row, holdout)
    return note


def end_again(competition: Competition) -> None:
    """Starts the finals that the database has forgotten, with the choices that it knows.

    What waited fails: no answer may follow exact scores. Raises Refused unless every entry of the
    ledger is there, or the end is known.
    """
    with _locked(competition) as (row, holdout):
        situation = _situation(row, holdout)
        if not situation.end_undone:
            raise _refused(situation.problem or "The end of this competition is not lost.")
        locked = Competition.objects.select_for_update().get(pk=competition.pk)
        list(Team.objects.select_for_update().filter(competition=locked).order_by("pk"))
        now = timezone.now()
        locked.finals_started_at, locked.closes_at = now, min(now, locked.closes_at)
        locked.save(update_fields=["finals_started_at", "closes_at"])
        waiting = Submission.objects.filter(
            team__competition=locked, status__in=(Status.QUEUED, Status.SCORING)
        )
        waiting.update(status=Status.FAILED, finished_at=now, failure=_TOO_LATE)
        _resume(row)


@contextmanager
def _locked(competition: Competition) -> Iterator[tuple[HoldoutState, Holdout]]:
    with transaction.atomic(durable=True):
        holdout = competition.holdouts.filter(retired_at__isnull=True, state__isnull=False).first()
        if holdout is None:
            raise _refused("This competition has no ledger yet.")
        # In the order in which organizers' changes lock them.
        Competition.objects.select_for_update().get(pk=competition.pk)
        yield lock.lock_row(holdout), holdout


def _situation(row: HoldoutState, holdout: Holdout) -> Situation:
    ledger = row.name_for(holdout)
    problem, written, end_undone = "", None, False
    try:
        lock.check(row, holdout)
    except Rewound as rewound:
        problem, end_undone = str(rewound), isinstance(rewound, watermark.EndUndone)
    try:
        written = watermark.read(ledger)
    except Rewound as rewound:
        problem = str(rewound)
    known = Head(row.releases, row.head_hash)
    return Situation(ledger, known, written, row.halted_at, problem, end_undone)


def _resume(row: HoldoutState) -> None:
    """Ends a halt, and has what waited asked for at the next sweep."""
    halted = HoldoutState.objects.filter(pk=row.pk, halted_for=Halt.REWOUND)
    if halted.update(halted_at=None, halted_for="", halted_because=""):
        waiting = Submission.objects.filter(team__competition__holdouts=row.pk)
        waiting.filter(status=Status.QUEUED).update(enqueued_at=None)


def _resume_if_whole(row: HoldoutState, holdout: Holdout) -> None:
    row.refresh_from_db()
    if not _situation(row, holdout).problem:
        _resume(row)


def _refused(detail: str) -> Refused:
    return Refused("not_restored", "The ledger can't be restored like this", detail)


# --- Replaying ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lost:
    """Lost entries, each with the states after it (None for a note), and the states at the end."""

    entries: list[tuple[Entry, State | None]]
    head: LedgerHead
    teams: dict[int, TeamHead]


def _lost_entries(lines: Iterable[bytes], known: Head, written: Head) -> _Lost:
    """The entries behind `known` up to `written`."""
    entries = list[tuple[Entry, State | None]]()
    at: Replay | None = None
    hashes = {0: ""}
    for item in check_chain(lines):
        if isinstance(item, Header):
            at = Replay(item, before=at)
            continue
        assert at is not None  # noqa: S101  (a ledger begins with a header)
        at.take(item)
        hashes[item["number"]] = item["hash"]
        if item["number"] > known.number:
            team = None if is_note(item) else State(at.head, at.teams[item["team"]])
            entries.append((item, team))
        if item["number"] >= written.number:
            break
    if hashes.get(known.number) != known.hash:
        raise _refused("The file is no copy of this ledger: it lacks the database's last entry.")
    if at is None or hashes.get(written.number) != written.hash:
        raise _refused(f"The file doesn't lead to the last entry that was released, {written}.")
    if any(entry["kind"] == CORRECTION for entry, _ in entries):
        raise _refused(
            "What is lost holds a correction of the solution, and the corrected solution is lost "
            "with it. Give the entries up (--give-up), then correct the solution again."
        )
    teams = {int(team): state for team, state in at.teams.items()}
    return _Lost(entries, at.head, teams)


def _moment(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry["created_at"])


def _take(entry: Entry, after: State | None, holdout: Holdout) -> None:
    if after is None:
        _keep_note(entry, holdout)
        return
    submission = _submission(entry, Team.objects.get(pk=entry["team"]))
    release = _release(entry, submission, holdout)
    stand(release, submission, after)
    submission.status, submission.release = Status.RELEASED, release
    submission.finished_at = release.created_at
    submission.problems, submission.problem_count, submission.failure = [], 0, ""
    submission.save()


def _submission(entry: Entry, team: Team) -> Submission:
    """The submission that was answered: as the backup has it, or a stub for one that is lost."""
    known = team.submissions.filter(number=entry["submission"]).first()
    if known is not None and known.created_at < _moment(entry) + _ROUNDED:
        return known
    if known is not None:
        # It came in after the restore: the number belongs to the one that was answered.
        last: int = team.submissions.aggregate(last=Max("number"))["last"]
        Submission.objects.filter(pk=known.pk).update(number=last + 1)
    return Submission.objects.create(
        team=team,
        user=team.captain,
        number=entry["submission"],
        file="",
        file_name="(lost with the database)",
        sha256="",
        size=0,
        created_at=_moment(entry),
    )


def _release(entry: Entry, submission: Submission, holdout: Holdout) -> Release:
    names = (
        "number", "kind", "level", "reference_level", "steps", "width", "tolerance", "certificate",
        "asked", "share_left", "answered", "log_alphabets", "firings", "budget_left",
        "predictions_tag", "question", "parameters_hash", "previous_hash", "hash",
    )  # fmt: skip
    release = Release(
        submission=submission,
        holdout=holdout,
        team=submission.team,
        predictions_digest="",
        repeat_of=_original(entry, submission.team, holdout) if entry["repeat"] else None,
        created_at=_moment(entry),
        **{name: entry[name] for name in names},
    )
    if entry_hash(release) != entry["hash"]:
        raise _refused(f"Entry {entry['number']} can't be written as it was published.")
    release.save(force_insert=True)
    return release


def _original(entry: Entry, team: Team, holdout: Holdout) -> Release:
    return Release.objects.get(
        holdout=holdout,
        team=team,
        predictions_tag=entry["predictions_tag"],
        question=entry["question"],
        repeat_of__isnull=True,
    )


def _keep_note(entry: Entry, holdout: Holdout) -> None:
    LedgerNote.objects.create(
        holdout=holdout,
        number=entry["number"],
        kind=entry["kind"],
        document={name: value for name, value in entry.items() if name != "hash"},
        previous_hash=entry["previous_hash"],
        hash=entry["hash"],
        created_at=_moment(entry),
    )


def _make_teams(competition: Competition, lost: _Lost) -> None:
    """Stands in for teams that the backup doesn't know, so that shares and numbers stay theirs.

    Raises Refused where a team that came in after the restore has the number of a lost one.
    """
    first = dict[int, datetime]()
    for entry, after in lost.entries:
        if after is not None:
            first.setdefault(int(entry["team"]), _moment(entry))
    for team in Team.objects.filter(pk__in=first):
        if team.competition_id != competition.pk or team.created_at > first[team.pk] + _ROUNDED:
            raise _refused(
                f"Since the restore, the team “{team}” has got the number of a lost team. Give the "
                "entries up (--give-up)."
            )
        del first[team.pk]
    for key in sorted(first):
        name = f"lost-team-{key}-{secrets.token_hex(4)}"
        nobody = User.objects.create_user(name, is_active=False)
        Team.objects.create(
            pk=key, competition=competition, name=f"Team {key} (restored)", captain=nobody
        )
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Team]):
            cursor.execute(statement)


# --- Writing off ----------------------------------------------------------------------------------


def _count_lost(situation: Situation, competition: Competition) -> int | None:
    """How many of the guard's entries the database lacks; None where the guard can't tell."""
    if situation.written is None:
        return None
    shared = (head for head in watermark.history(situation.ledger) if _has(competition, head))
    last = next(shared, Head(0, ""))
    return situation.written.number - last.number


def _has(competition: Competition, head: Head) -> bool:
    found = {"holdout__competition": competition, "number": head.number, "hash": head.hash}
    return any(model.objects.filter(**found).exists() for model in (Release, LedgerNote))


def _written_off(situation: Situation, holdout: Holdout) -> LedgerNote | None:
    """The note of a write-off that the guard could not be told of any more."""
    if situation.written is not None:
        return None
    return LedgerNote.objects.filter(
        holdout=holdout,
        kind=NoteKind.WRITE_OFF,
        number=situation.known.number,
        document__guard_hash="",
    ).first()


def _write_off(
    row: HoldoutState,
    holdout: Holdout,
    competition: Competition,
    situation: Situation,
    lost: int,
) -> LedgerNote:
    mechanism = mechanisms.get(competition.mechanism)
    parameters = mechanism.parse(competition.mechanism_parameters)
    head = books.write_off(ledger_head(row), lost, parameters.alphabet)
    teams = {
        each.team_id: books.write_off_team(team_head(each), lost)
        for each in TeamState.objects.filter(holdout=holdout)
    }
    note = _note(situation, holdout, competition, head, lost)
    _write(row, head, teams, Head(note.number, note.hash))
    return note


def _note(
    situation: Situation,
    holdout: Holdout,
    competition: Competition,
    head: LedgerHead,
    lost: int,
) -> LedgerNote:
    now = timezone.now()
    known = situation.known
    written = situation.written or _damaged_head(situation.ledger)
    ahead = written.number > known.number
    document: dict[str, Any] = {
        "number": max(known.number, written.number) + 1,
        "kind": NoteKind.WRITE_OFF.value,
        "lost": lost,
        "known_number": known.number,
        "known_hash": known.hash,
        "guard_number": written.number,
        "guard_hash": written.hash,
        **asdict(head),
        "parameters_hash": parameters_hash(competition, holdout),
        "previous_hash": written.hash if ahead else known.hash,
        "created_at": now.isoformat(timespec="seconds"),
    }
    return LedgerNote.objects.create(
        holdout=holdout,
        number=document["number"],
        kind=NoteKind.WRITE_OFF,
        document=document,
        previous_hash=document["previous_hash"],
        hash=document_hash(document),
        created_at=now,
    )


def _damaged_head(ledger: str) -> Head:
    """The highest number that was written, by a hash that nobody can tell."""
    return next((Head(head.number, "") for head in watermark.history(ledger)), Head(0, ""))


def _write(row: HoldoutState, head: LedgerHead, teams: dict[int, TeamHead], newest: Head) -> None:
    """The mended state."""
    HoldoutState.objects.filter(pk=row.pk).update(
        version=F("version") + 1,
        releases=newest.number,
        head_hash=newest.hash,
        guarded=True,
        **asdict(head),
    )
    for key, team in teams.items():
        TeamState.objects.update_or_create(holdout_id=row.pk, team_id=key, defaults=asdict(team))
