"""Bring a restored database back to its log, whose copy lies outside the database.

Every entry that the journal has and the database lacks is taken, in order, with what it says:
submissions at the moment of their acceptance and with their files, as far as these are stored,
teams and their names, deadlines, limits, selections. Answers come from the ledger's own copy
(`rewinds.replay`). What neither has is written down for the organizers (`Loss`). Entries that were
written since the restore, and were never signed, follow behind.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from leaderboard.ledger import lock
from leaderboard.ledger.merging import last_number
from leaderboard.ledger.settling import settle
from leaderboard.log import journal
from leaderboard.log.entries import hash_of
from leaderboard.log.journal import Line
from leaderboard.log.leaves import LIMITS
from leaderboard.models import (
    Competition,
    EventCount,
    Gate,
    LogEntry,
    Loss,
    LossKind,
    Membership,
    Round,
    Selection,
    Status,
    Submission,
    Team,
    User,
)
from scoring.transparency.merkle import Frontier

LOST_NAME: Final = "(lost with the database)"
_BATCH: Final = 1000
_LIMITS: Final = {field.name for field in Round._meta.concrete_fields} & set(LIMITS)
# What organizers did, of which the log doesn't have all that it would take to do it again.
_ACTIONS: Final = {
    *("rules", "scoring", "sealed", "revised", "published", "baseline", "disqualified"),
    *("hidden", "excluded", "revealed", "gate"),
}
# Entries that name a submission by a number, which another may have taken by now.
_NUMBERED: Final = {"accepted", "rejected", "failed", "requeued", "released", "gated"}


def recover(competition: Competition) -> int:
    """Take the entries of the log that the database lacks; return how many there were.

    Done again, it changes nothing. Raises JournalAway and WatermarkAway.
    """
    with transaction.atomic(durable=True):
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        is_whole = lock.lock_whole(locked)
        lock.lock_teams(locked)
        EventCount.objects.get_or_create(competition=locked)
        count = EventCount.objects.select_for_update(no_key=True).get(competition=locked)
        shared, lost = _part(locked)
        if lost:
            taking = _Taking(locked)
            for line in lost:
                taking.take(line)
            taking.finish()
            _write_log(count, shared, lost, taking.made)
            if is_whole:  # else when the last of its ledgers is repaired
                settle(locked)
        note_losses(locked)
    return len(lost)


def recover_all(fail: Callable[[str, Exception], object]) -> dict[str, int]:
    """Recover every competition; return how many entries each got that lacked some.

    fail: what is told of each that can't be recovered, as where its log was forged: that one stays
    as it is.
    """
    found = dict[str, int]()
    for each in Competition.objects.order_by("pk"):
        try:
            found[each.slug] = recover(each)
        except Exception as error:
            fail(each.slug, error)
    return {slug: entries for slug, entries in found.items() if entries}


def note_losses(competition: Competition) -> None:
    """Write down which files and people are missing, and which selections name what is not there.

    What was accepted once isn't asked for again.
    """
    files = Submission.objects.filter(team__competition=competition, file="", is_practice=False)
    for submission in files.select_related("team"):
        _lose(LossKind.FILE, submission.team, submission.number)
    without = Team.objects.filter(
        competition=competition, captain__is_active=False, memberships=None, merged_into=None
    )
    for team in without.filter(captain__username__startswith="lost-team-"):
        _lose(LossKind.PEOPLE, team)


def stand_in_team(competition: Competition, uid: str, name: str = "") -> Team:
    """Stand in for a team that the backup doesn't know, so that shares and answers stay its own."""
    nobody = User.objects.create_user(
        f"lost-team-{uid[:8]}-{secrets.token_hex(4)}", is_active=False
    )
    taken = Team.objects.filter(competition=competition, name__iexact=name)
    if not name or taken.exists():
        name = f"Team {uid[:8]} (restored)"
    return Team.objects.create(uid=uid, competition=competition, name=name, captain=nobody)


def finals_started_at(round: Round) -> datetime | None:
    """Return when the finals started by the log, whether the database knows of it or not."""
    entry = LogEntry.objects.filter(
        competition=round.competition, kind="finals_started", document__round=round.number
    ).first()
    return None if entry is None else datetime.fromisoformat(entry.document["at"])


def _part(competition: Competition) -> tuple[int, list[Line]]:
    """Return how many entries journal and database share, and those that only the journal has."""
    rows = LogEntry.objects.filter(competition=competition).order_by("index")
    known = rows.values_list("hash", flat=True).iterator(chunk_size=_BATCH)
    shared, lost = 0, list[Line]()
    for line in journal.read(competition.uid):
        if not lost and line.index == shared and next(known, None) == line.hash:
            shared += 1
        elif line.index == shared + len(lost):
            lost.append(line)
    return shared, lost


def _write_log(
    count: EventCount, shared: int, lost: list[Line], made: Mapping[tuple[str, int], Submission]
) -> None:
    """Write the lost entries as they were, and behind them those that were written since."""
    rows = LogEntry.objects.filter(competition=count.competition_id)
    own = list(rows.filter(index__gte=shared).order_by("index").select_related("submission"))
    rows.filter(index__gte=shared).delete()
    frontier = Frontier()
    for digest in rows.order_by("index").values_list("hash", flat=True).iterator():
        frontier = frontier.append(bytes.fromhex(digest))
    told, entries = {_told(line.document) for line in lost}, list[LogEntry]()

    def add(document: dict[str, Any], opening: Any, submission: Submission | None) -> None:
        nonlocal frontier
        digest = hash_of(document)
        entries.append(
            LogEntry(
                competition_id=count.competition_id,
                index=frontier.size,
                kind=document["kind"],
                document=document,
                opening=opening,
                hash=digest.hex(),
                submission=submission,
            )
        )
        frontier = frontier.append(digest)

    for line in lost:
        named = (line.document.get("team", ""), line.document.get("submission", 0))
        about = made.get(named) if line.document["kind"] in _NUMBERED else None
        add(line.document, line.opening, about)
    for entry in own:
        if _told(entry.document) not in told:
            about, document = entry.submission, entry.document
            if about is not None and entry.kind in _NUMBERED:
                about.refresh_from_db(fields=["number"])
                document = document | {"submission": about.number}
            add(document, entry.opening, about)
    LogEntry.objects.bulk_create(entries, batch_size=_BATCH)
    count.log_size = frontier.size
    count.log_hashes = [each.hex() for each in frontier.hashes]
    count.save(update_fields=["log_size", "log_hashes"])


def _told(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what makes an entry the same as another one, whatever salts they have."""
    return tuple(document.get(name) for name in ("kind", "at", "team", "submission", "round"))


def _lose(kind: LossKind, team: Team | None, submission: int | None = None, **more: Any) -> None:
    competition = team.competition if team else more.pop("competition")
    Loss.objects.get_or_create(
        competition=competition, kind=kind, team=team, submission=submission, **more
    )


@dataclass
class _Taking:
    """The entries of a log that are taken one after another."""

    competition: Competition
    made: dict[tuple[str, int], Submission] = field(default_factory=dict)
    selected: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    merged: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rounds = {each.number: each for each in self.competition.rounds.all()}
        self.teams = {each.uid: each for each in self.competition.teams.select_related("captain")}
        self.takers: Mapping[str, Callable[[Line], None]] = {
            "team": self._team,
            "accepted": self._accepted,
            "failed": self._failed,
            "requeued": self._requeued,
            "selected": self._selected,
            "merged": lambda line: self.merged.append(line.document),
            "deadline": self._deadline,
            "limits": self._limits,
            "quota": self._quota,
            "verified": self._verified,
        }

    def take(self, line: Line) -> None:
        """Do what an entry says, or write down that organizers have to."""
        document = line.document
        if "round" in document and document["round"] not in self.rounds:
            self._of_lost_round(document)
        elif take := self.takers.get(document["kind"]):
            take(line)
        elif document["kind"] in _ACTIONS:
            team = self.teams.get(document.get("team", ""))
            more = {} if team else {"competition": self.competition}
            number = document.get("submission")
            _lose(LossKind.ACTION, team, number, action=document["kind"], **more)

    def _of_lost_round(self, document: Mapping[str, Any]) -> None:
        """Write down what is of a round that was added after the backup; nothing can rest on it."""
        _lose(LossKind.ACTION, None, action="round", competition=self.competition)
        if document["kind"] == "accepted":
            team = self.teams.get(document["team"]) or stand_in_team(
                self.competition, document["team"]
            )
            self.teams[team.uid] = team
            _lose(LossKind.ACTION, team, document["submission"], action="sent")

    def finish(self) -> None:
        """Enter for the finals what teams had selected last."""
        for (uid, number), numbers in self.selected.items():
            team, round = self.teams[uid], self.rounds[number]
            there = {
                number: each
                for number, each in self._sent(uid)
                if number in numbers and each.round.ledger_id == round.ledger_id and each.file
            }
            Selection.objects.filter(team=team, submission__round__ledger=round.ledger).delete()
            Selection.objects.bulk_create(
                Selection(team=team, submission=each) for each in there.values()
            )
            for missing in sorted(set(numbers) - there.keys()):
                _lose(LossKind.SELECTION, team, missing)

    def _sent(self, uid: str, offset: int = 0) -> Iterator[tuple[int, Submission]]:
        """Yield a team's submissions with their numbers once mergers are made again."""
        for each in self.teams[uid].submissions.select_related("round"):
            yield offset + each.number, each
        for merger in self.merged:
            if merger["into"] == uid:
                yield from self._sent(merger["team"], offset + merger["offset"])

    def _named(self, line: Line) -> Team:
        """Return the team that an entry is about; a stand-in for one that is lost."""
        uid = line.document["team"]
        if uid not in self.teams:
            name = (line.opening or {}).get("name", "") if line.document["kind"] == "team" else ""
            self.teams[uid] = stand_in_team(self.competition, uid, name)
        return self.teams[uid]

    def _team(self, line: Line) -> None:
        team, name = self._named(line), (line.opening or {}).get("name", "")
        others = Team.objects.filter(competition=self.competition, name__iexact=name)
        if name and not others.exclude(pk=team.pk).exists():
            team.name = name
            team.save(update_fields=["name"])

    def _accepted(self, line: Line) -> None:
        team, document, kept = self._named(line), line.document, line.opening or {}
        number, at = document["submission"], datetime.fromisoformat(document["at"])
        known = team.submissions.filter(number=number).first()
        if known is not None and known.created_at != at:
            # It came after the restore: its number belongs to the one that was accepted first.
            Submission.objects.filter(pk=known.pk).update(number=last_number(team) + 1)
            known = None
        if known is None:
            known = self._submission(team, number, at, document, kept)
        self.made[team.uid, number] = known

    def _submission(
        self, team: Team, number: int, at: datetime, document: Mapping[str, Any], kept: Any
    ) -> Submission:
        user = User.objects.filter(uid=kept.get("user", ""), is_active=True).first()
        if user is not None:
            self._bring_back(team, user)
        sha256, size = kept.get("file", ""), kept.get("size", 0)
        stored = _find(kept.get("stored", ""), sha256, size)
        gate = Gate.objects.filter(uid=kept.get("gate", "")).first()
        # Without its gate it would be taken for a file that the boards are to answer.
        is_lost = not stored or bool(kept.get("gate") and gate is None)
        what = "gate" if stored else "file"
        lost = {
            "status": Status.FAILED,
            "failure": f"Its {what} was lost with the database.",
            "finished_at": timezone.now(),
        }
        return Submission.objects.create(
            team=team,
            round=self.rounds[document["round"]],
            user=user or team.captain,
            number=number,
            file=stored,
            file_name=kept.get("name", "") if stored else LOST_NAME,
            sha256=sha256,
            size=size,
            claimed_score=kept.get("claimed"),
            gate=gate,
            takes_quota=kept.get("takes_quota", True),
            is_practice=document["practice"],
            created_at=at,
            **(lost if is_lost else {}),
        )

    def _bring_back(self, team: Team, user: User) -> None:
        """Let somebody whose file it is be in a team that was lost with its people."""
        if team.captain.is_active:
            return
        known = Membership.objects.filter(competition=self.competition, user=user).first()
        if known is None:
            version, now = self.competition.rules_version, timezone.now()
            Membership.objects.create(
                competition=self.competition,
                team=team,
                user=user,
                rules_version=version,
                accepted_at=now,
            )
            team.captain = user
            team.save(update_fields=["captain"])

    def _failed(self, line: Line) -> None:
        self._update(line, status=Status.FAILED, finished_at=timezone.now())

    def _requeued(self, line: Line) -> None:
        self._update(line, status=Status.QUEUED, finished_at=None, failure="")

    def _update(self, line: Line, **values: Any) -> None:
        """Change a submission that has no answer."""
        team, number = self._named(line), line.document["submission"]
        rows = Submission.objects.filter(team=team, number=number, release=None)
        rows.exclude(file="").update(enqueued_at=None, **values)

    def _selected(self, line: Line) -> None:
        uid = self._named(line).uid
        numbers = (line.opening or {}).get("choice", "").split()
        self.selected[uid, line.document["round"]] = tuple(map(int, numbers))

    def _deadline(self, line: Line) -> None:
        closes_at = line.document["closes_at"]
        self._change(
            line,
            opens_at=datetime.fromisoformat(line.document["opens_at"]),
            closes_at=closes_at and datetime.fromisoformat(closes_at),
        )

    def _limits(self, line: Line) -> None:
        limits = line.document["limits"]
        self._change(line, **{name: limits[name] for name in _LIMITS & limits.keys()})

    def _change(self, line: Line, **values: Any) -> None:
        Round.objects.filter(pk=self.rounds[line.document["round"]].pk).update(**values)

    def _quota(self, line: Line) -> None:
        extra = {"extra_daily": line.document["daily"], "extra_total": line.document["total"]}
        Team.objects.filter(pk=self._named(line).pk).update(**extra)

    def _verified(self, line: Line) -> None:
        Team.objects.filter(pk=self._named(line).pk).update(is_verified=line.document["on"])


def _find(name: str, sha256: str, size: int) -> str:
    """Return the stored file of this name or, by its digest, another one; "" where there is none.

    A file is stored under its digest and something random: `pipeline.intake`.
    """
    if name and default_storage.exists(name) and default_storage.size(name) == size:
        return name
    folder = f"submissions/{sha256[:2]}"
    try:
        names = default_storage.listdir(folder)[1] if sha256 else []
    except FileNotFoundError:
        return ""
    found = (f"{folder}/{each}" for each in sorted(names) if each.startswith(f"{sha256}-"))
    return next((each for each in found if default_storage.size(each) == size), "")
