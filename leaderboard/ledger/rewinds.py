"""Repair a ledger whose database was restored: replay what was published, or write it off.

docs/decisions/0013-watermark.md explains why both are honest.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import copies, lock, watermark
from leaderboard.ledger.accounts import save_account, write_off_accounts
from leaderboard.ledger.answers import add_entry, find_answer, has_sent, stand
from leaderboard.ledger.entries import team_head
from leaderboard.ledger.heads import heads, save_heads
from leaderboard.ledger.lines import described
from leaderboard.ledger.merging import last_number, merge_rows
from leaderboard.ledger.notes import add_note, save_note
from leaderboard.ledger.pauses import resume
from leaderboard.ledger.recovery import (
    LOST_NAME,
    finals_started_at,
    note_losses,
    stand_in_team,
)
from leaderboard.ledger.settling import settle
from leaderboard.ledger.watermark import Head, Rewound
from leaderboard.log import leaves
from leaderboard.models import (
    Board,
    Competition,
    EventKind,
    Gate,
    Holdout,
    Ledger,
    LedgerNote,
    LogEntry,
    NoteKind,
    Release,
    Round,
    Status,
    Submission,
    Team,
    TeamState,
)
from leaderboard.notify import events
from scoring import mechanisms
from scoring.entries import OWN_FIELDS
from scoring.mechanisms import books
from scoring.mechanisms.base import State
from scoring.verification.differences import Differs
from scoring.verification.ledgers import Header, check_chain
from scoring.verification.notes import GATE, MERGE, REVISION, is_note
from scoring.verification.replay import Replay

Entry = dict[str, Any]
TOO_LATE = "The competition had ended before this was scored."
_ROUNDED = timedelta(seconds=1)  # moments are published to the second


@dataclass(frozen=True)
class _Lost:
    """An entry that the database lacks; the state after an answer, and what that cost."""

    entry: Entry
    after: State | None = None
    cost: int | None = None


@dataclass(frozen=True)
class Situation:
    """What database and watermark know.

    `written` is None where the watermark's file can't be read; `problem` is empty where nothing is
    wrong. `end_undone`: all entries are there, and the finals that followed them are not.
    """

    known: Head
    written: Head | None
    problem: str
    end_undone: bool = False


def look(round: Round) -> Situation:
    """Compare database and watermark; a pause that has no reason any more ends."""
    with _locked(round) as (_, situation):
        return situation


def replay(round: Round, lines: Iterable[bytes] | None = None) -> int:
    """Take the lost entries from a saved copy of the published ledger; return how many there were.

    lines: the copy; the one beside the watermark if left out. It is computed again from its
    beginning and has to hold the database's head and the watermark's: nothing in it can be made up.
    Raises Differs where it contradicts itself, Refused where it doesn't lead from one to the other.
    """
    # One transaction for all entries, however many: a ledger that lacks some must not answer, and
    # a replay that was stopped halfway leaves nothing behind.
    with _locked(round) as (ledger, situation):
        if not situation.problem:
            return 0
        if situation.end_undone:
            raise Refused("not_restored", variant="end_again")
        if situation.written is None or situation.written.number <= situation.known.number:
            raise Refused("not_restored", variant="not_behind", problem=situation.problem)
        if lines is None:
            lines = _own_copy(ledger, situation.written)
        is_whole = _lock_rest(ledger)
        lost, end = _lost_entries(lines, situation.known, situation.written)
        holdout = ledger.holdouts.active().get()
        made = _make_teams(round.competition, lost)
        for each in lost:
            _take(each, holdout)
        boards = {board.uid: board for board in Board.objects.filter(uid__in=end.heads)}
        after, newest = {boards[uid].pk: head for uid, head in end.heads.items()}, situation.written
        save_heads(ledger, after, entries=newest.number, head_hash=newest.hash)
        TeamState.objects.filter(holdout=holdout).delete()
        teams = {team.uid: team for team in Team.objects.filter(competition=ledger.competition)}
        TeamState.objects.bulk_create(
            TeamState(
                holdout=holdout,
                board=boards[board],
                team=teams[team],
                law_memory=end.memory(board, team),
                **asdict(state),
            )
            for (board, team), state in end.teams.items()
        )
        for uid, account in end.accounts.items():
            save_account(ledger, teams.get(uid), account)
        _log(ledger, situation.known, made)
        if is_whole:
            settle(ledger.competition)
        note_losses(round.competition)
    look(round)
    return len(lost)


def give_up(round: Round, *, lost: int | None = None) -> LedgerNote | None:
    """Write the lost entries off; return the published note, or None where nothing is wrong.

    `lost` is how many are lost at most: needed where the watermark can't tell, and never lowers
    what it can. Raises Refused, also where revealed final scores rest on answers that can be
    replayed.
    """
    with _locked(round) as (ledger, situation):
        if not situation.problem:
            return None
        if situation.end_undone:
            raise Refused("not_restored", variant="end_again")
        if _is_revealed(ledger) and _is_kept(ledger, situation):
            raise Refused("not_restored", variant="revealed")
        counted = _count_lost(situation, ledger)
        if counted is None and lost is None:
            raise Refused("not_restored", variant="count_unknown")
        note, written = None, situation.written
        if written is None:
            # It may be written off already, but not in the watermark.
            notes = LedgerNote.objects.filter(holdout__ledger=ledger, kind=NoteKind.WRITE_OFF)
            note = notes.filter(number=ledger.entries, document__watermark_hash="").first()
            # The highest number that can be read, with no hash: it can't be known any more.
            numbers = [head.number for head in watermark.history(ledger.uid)]
            written = Head(max(numbers, default=0), "")
        most = max(counted or 0, lost or 0, written.number - ledger.entries)
        if note is None:
            is_whole = _lock_rest(ledger)
            note = _write_off(ledger, situation.known, written, most)
            events.log(round.competition, leaves.noted(note))
            if is_whole:
                settle(ledger.competition)
    watermark.append(ledger.uid, Head(note.number, note.hash))
    look(round)
    return note


def end_again(round: Round) -> None:
    """Start the finals that the database has forgotten, with the selections that it knows.

    What waited fails: no answer may follow exact scores. Raises Refused unless every entry of the
    ledger is there, or the end is known.
    """
    with _locked(round) as (ledger, situation):
        if not situation.end_undone:
            raise Refused("not_restored", problem=situation.problem or None)
        is_whole, now = _lock_rest(ledger), timezone.now()
        last = Round.objects.filter(ledger=ledger).order_by("number").last()
        assert last is not None  # noqa: S101  (the round that was given has this ledger)
        last.finals_started_at = then = finals_started_at(last) or now
        if last.closes_at is None or then < last.closes_at:
            last.closes_at = then
            events.log(round.competition, leaves.deadline(last))
        last.save(update_fields=["finals_started_at", "closes_at"])
        waiting = Submission.objects.filter(
            round__ledger=ledger, status__in=(Status.QUEUED, Status.SCORING)
        )
        failed = list(waiting.select_related("team").order_by("created_at"))
        waiting.update(status=Status.FAILED, finished_at=now, failure=TOO_LATE)
        for each in failed:
            events.log(round.competition, leaves.became("failed", each))
        resume(ledger)
        events.record(round.competition, EventKind.FINALS_STARTED, subjects={"round": last.number})
        if is_whole:
            settle(ledger.competition)


@contextmanager
def _locked(round: Round) -> Iterator[tuple[Ledger, Situation]]:
    """Lock the ledger and compare it; a pause that has no reason any more ends."""
    with transaction.atomic(durable=True):
        if round.ledger is None or not round.ledger.board_states.exists():
            raise Refused("not_restored", variant="no_ledger")
        # In the order in which organizers' changes lock them.
        Competition.objects.select_for_update(no_key=True).get(pk=round.competition_id)
        ledger = lock.lock_row(round.ledger)
        problem, written, end_undone = "", None, False
        try:
            lock.check(ledger)
        except Rewound as rewound:
            problem, end_undone = str(rewound), isinstance(rewound, watermark.EndUndone)
        try:
            written = watermark.read(ledger.uid)
        except Rewound as rewound:
            problem = str(rewound)
        if not problem:
            resume(ledger)
        known = Head(ledger.entries, ledger.head_hash)
        yield ledger, Situation(known, written, problem, end_undone)


def _lock_rest(ledger: Ledger) -> bool:
    """Lock the other ledgers and all teams; return whether this ledger alone is to be repaired."""
    is_whole = lock.lock_whole(ledger.competition, besides=ledger)
    lock.lock_teams(ledger.competition)
    return is_whole


# --- Replaying ------------------------------------------------------------------------------------


def _lost_entries(lines: Iterable[bytes], known: Head, written: Head) -> tuple[list[_Lost], Replay]:
    """Return the entries behind `known` up to `written`, and the replay at the end of them."""
    entries = list[_Lost]()
    at: Replay | None = None
    hashes = {0: ""}
    for item in check_chain(lines):
        if isinstance(item, Header):
            at = Replay(item, before=at)
            continue
        assert at is not None  # noqa: S101  (a ledger begins with a header)
        before = at.account(item.get("team", ""))
        at.take(item)
        hashes[item["number"]] = item["hash"]
        if item["number"] > known.number:
            after = None if is_note(item) else at.state_after(item)
            cost = at.terms.cost(before, at.account(item.get("team", "")))
            entries.append(_Lost(item, after, cost))
        if item["number"] >= written.number:
            break
    if hashes.get(known.number) != known.hash:
        raise Refused("not_restored", variant="no_copy")
    if at is None or hashes.get(written.number) != written.hash:
        raise Refused("not_restored", variant="too_short", written=str(written))
    if any(lost.entry["kind"] == REVISION for lost in entries):
        raise Refused("not_restored", variant="revision_lost")
    return entries, at


def _own_copy(ledger: Ledger, written: Head) -> Iterator[bytes]:
    kept = Ledger.objects.select_related("competition").get(pk=ledger.pk)
    return copies.lines(kept, written)


def _is_kept(ledger: Ledger, situation: Situation) -> bool:
    """Return whether the copy beside the watermark has all entries that are lost."""
    known, written = situation.known, situation.written
    if written is None or written.number <= known.number:
        return False
    try:
        _lost_entries(_own_copy(ledger, written), known, written)
    except (Refused, Differs):
        return False
    return True


def _is_revealed(ledger: Ledger) -> bool:
    """Return whether the log tells final scores of these rows."""
    rounds = list(ledger.rounds.values_list("number", flat=True))
    told = LogEntry.objects.filter(competition=ledger.competition_id, kind="revealed")
    return told.filter(document__round__in=rounds).exists()


def _moment(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry["created_at"])


def _take(lost: _Lost, holdout: Holdout) -> None:
    """Write a lost entry as it was published, with what followed from it."""
    entry, after = lost.entry, lost.after
    if after is None:
        document = {name: value for name, value in entry.items() if name != "hash"}
        note = save_note(holdout, document)
        if entry["kind"] == GATE:
            _take_gate(entry, note)
        if entry["kind"] == MERGE:
            old, into = (Team.objects.get(uid=entry[name]) for name in ("team", "into"))
            merge_rows(old, into, [holdout.ledger], entry["offset"])
        return
    team = Team.objects.get(uid=entry["team"])
    board = Board.objects.select_related("round").get(uid=entry["board"])
    submission = _submission(entry, team, board.round)
    if entry["repeat"] and not submission.file:
        submission.takes_quota = False
    is_variant = not has_sent(team, board, digest="")  # that of replayed answers
    release = _release(entry, submission, holdout, board, lost.cost)
    stand(release, submission, after, is_variant=is_variant)
    submission.status = Status.RELEASED
    if board.position == 0:
        submission.release = release
    submission.finished_at = release.created_at
    submission.problems, submission.problem_count, submission.failure = [], 0, ""
    submission.save()


def _take_gate(entry: Entry, note: LedgerNote) -> None:
    """Give a lost answer of a gate to its submission; a lost gate stands in, and is retired."""
    team = Team.objects.get(uid=entry["team"])
    board = Board.objects.select_related("round").get(uid=entry["board"])
    gate, _ = Gate.objects.get_or_create(
        uid=entry["gate"],
        defaults={
            **entry["asks"],
            "round": board.round,
            "board": board,
            "name": f"lost-{entry['gate'][:8]}",
            "created_at": _moment(entry),
            "retired_at": _moment(entry),
        },
    )
    submission = _submission(entry, team, board.round)
    submission.status, submission.finished_at = Status.RELEASED, note.created_at
    submission.gate, submission.gate_answer = gate, note
    submission.problems, submission.problem_count, submission.failure = [], 0, ""
    submission.save()


def _submission(entry: Entry, team: Team, round: Round) -> Submission:
    """Return the submission that was answered, from the backup, or a stub for a lost one."""
    known = team.submissions.filter(number=entry["submission"]).first()
    if known is not None and known.created_at < _moment(entry) + _ROUNDED:
        return known
    if known is not None:
        # This one came after the restore: its number belongs to the one that was answered.
        Submission.objects.filter(pk=known.pk).update(number=last_number(team) + 1)
    return Submission.objects.create(
        team=team,
        round=round,
        user=team.captain,
        number=entry["submission"],
        file="",
        file_name=LOST_NAME,
        is_practice=round.finals_started_at is not None,
        sha256="",
        size=0,
        created_at=_moment(entry),
    )


def _release(
    entry: Entry, submission: Submission, holdout: Holdout, board: Board, cost: int | None
) -> Release:
    team, tag, question = submission.team, entry["predictions_tag"], entry["question"]
    release = Release(
        submission=submission,
        holdout=holdout,
        board=board,
        team=team,
        submission_number=entry["submission"],
        predictions_digest="",
        repeat_of=find_answer(holdout, board, team, tag, question) if entry["repeat"] else None,
        created_at=_moment(entry),
        cost=cost,
        **{name: entry[name] for name in OWN_FIELDS},
    )
    if holdout.ledger.law:
        release.length, release.public_loss = entry["length"], entry["public_loss"]
        release.is_baseline = entry["baseline"]
    add_entry(release)
    if release.hash != entry["hash"]:
        raise Refused("not_restored", variant="not_as_published", number=entry["number"])
    return release


def _log(ledger: Ledger, known: Head, made: list[Team]) -> None:
    """Write what the log lacks of the entries behind `known`, as restored: nobody is deceived."""
    told = _told(ledger, known)
    log = partial(events.log, ledger.competition)
    for team in made:
        log(leaves.team(team))
    answers = described(Release.objects.filter(holdout__ledger=ledger, number__gt=known.number))
    found = dict[int, list[Release]]()
    for answer in answers.exclude(number__in=told["answer"]).order_by("number"):
        found.setdefault(answer.submission_id, []).append(answer)
    sent = Submission.objects.select_related("round", "team").in_bulk(found)
    for key, of_file in found.items():
        log(leaves.restored(sent[key], ledger.uid, of_file))
    notes = LedgerNote.objects.filter(holdout__ledger=ledger, number__gt=known.number)
    tells = {"gated": leaves.restored_gate, "noted": leaves.restored_note}
    for note in notes.select_related("holdout__ledger").order_by("number"):
        for kind in (each for each in tells if note.number not in told[each]):
            for leaf in tells[kind](note):
                log(leaf)


def _told(ledger: Ledger, known: Head) -> dict[str, set[int]]:
    """Return the entries behind `known` that the log tells, by how it does.

    Its copy may have ended between two entries about the same.
    """
    entries = LogEntry.objects.filter(
        competition=ledger.competition_id, document__ledger=ledger.uid
    )
    told: dict[str, set[int]] = {"answer": set(), "gated": set(), "noted": set()}
    for kind, document in entries.values_list("kind", "document"):
        if kind in told:
            told[kind].add(document["number"])
        told["answer"].update(each["number"] for each in document.get("entries", ()))
    return {kind: {each for each in found if each > known.number} for kind, found in told.items()}


def _make_teams(competition: Competition, entries: list[_Lost]) -> list[Team]:
    """Return the teams that stand in for those that the backup doesn't know."""
    both = ("team", "into")
    named = {lost.entry[field] for lost in entries for field in both if lost.entry.get(field)}
    known = set(Team.objects.filter(uid__in=named).values_list("uid", flat=True))
    return [stand_in_team(competition, uid) for uid in sorted(named - known)]


# --- Writing off ----------------------------------------------------------------------------------


def _count_lost(situation: Situation, ledger: Ledger) -> int | None:
    """Return how many of the watermark's entries the database lacks; None where it can't tell."""
    if situation.written is None:
        return None

    shared = (
        head.number
        for head in watermark.history(ledger.uid)
        if lock.has_entry(ledger, number=head.number, hash=head.hash)
    )
    return situation.written.number - next(shared, 0)


def _write_off(ledger: Ledger, known: Head, written: Head, lost: int) -> LedgerNote:
    boards = heads(ledger)
    most = max(
        mechanisms.get(state.board.mechanism).parse(state.board.mechanism_parameters).alphabet
        for state, _ in boards
    )
    save_heads(
        ledger,
        {
            state.board_id: books.write_off(head, lost, most, by_team=ledger.by_team)
            for state, head in boards
        },
    )
    write_off_accounts(ledger, lost, most)
    holdout = ledger.holdouts.active().get()
    for each in TeamState.objects.filter(holdout=holdout):
        after = books.write_off_team(team_head(each), lost)
        TeamState.objects.filter(pk=each.pk).update(**asdict(after))
    return add_note(
        ledger,
        holdout,
        NoteKind.WRITE_OFF,
        number=max(known.number, written.number) + 1,
        previous_hash=written.hash if written.number > known.number else known.hash,
        lost=lost,
        known_number=known.number,
        known_hash=known.hash,
        watermark_number=written.number,
        watermark_hash=written.hash,
    )
