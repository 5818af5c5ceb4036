"""After the finals: publish solution, noise secret and measurements when the organizer orders it.

The order is a moment in the round's row, and can't be taken back. Workers then write one file for
each version of the holdout that answered. Measuring all files again may take longer than a worker
lives, so it is done in parts, each stored when it is finished; the row names the file itself once
that is whole. A worker may die at any point: the sweeper sends another.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import IO, Final

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard import vault
from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.log import leaves
from leaderboard.models import (
    Board,
    Competition,
    EventKind,
    Holdout,
    LedgerNote,
    NoteKind,
    Release,
    Round,
    Status,
    Submission,
    User,
)
from leaderboard.notify import events
from leaderboard.pipeline.queue import enqueue_publication
from leaderboard.platform.files import FileDamaged, open_stored
from leaderboard.vault import Measured
from scoring.duels import Comparison
from scoring.errors import PredictionError, StateError
from scoring.verification.publications import Compared, Gated, Lost, Origin, write_publication

# (submission, revision, board) -> the digest of its predictions, and what they measure there
Remeasure = Callable[[Submission, Holdout, Board], tuple[str, Measured]]
# (revision, the better file's answer, the worse one's) -> how they compare
Compare = Callable[[Holdout, Release, Release], Comparison | Lost]
# (revision, a gate's note) -> what its answer follows from
AskAgain = Callable[[Holdout, LedgerNote], Gated | Lost]

FOLDER: Final = "publications"
PART_RELEASES: Final = 500
# Shares of the lease: a part is stored, and the next worker asked for, long before it expires.
PART_OF_LEASE: Final = 0.1
WORK_OF_LEASE: Final = 0.3


def publish(round: Round, *, by: User | None = None) -> None:
    """Order that solution, secret and measurements become public. Done again, it changes nothing.

    Raises Refused unless the final scores are revealed: nobody can submit or choose any more, and
    what the measurements tell is public already.
    """
    with transaction.atomic():
        competition = Competition.objects.select_for_update(no_key=True).get(
            pk=round.competition_id
        )
        check_right(by, competition, Right.EDIT)
        lock.lock_teams(competition)  # practice ends here
        locked = Round.objects.get(pk=round.pk)
        check_may_publish(locked)
        if locked.publication_at is None:
            locked.publication_at = timezone.now()
            locked.save(update_fields=["publication_at"])
            events.record(
                locked.competition,
                EventKind.PUBLICATION,
                actor=by,
                subjects={"round": locked.number},
            )
        wanted = to_publish().filter(ledger=locked.ledger).values_list("pk", flat=True)
        for holdout_id in list(wanted):
            transaction.on_commit(partial(enqueue_publication, holdout_id), robust=True)
    round.refresh_from_db(fields=["publication_at"])


def check_may_publish(round: Round) -> None:
    """Raise Refused, saying what has to happen first."""
    if round.revealed_at is None:
        raise Refused("not_ended")
    unfinished = Submission.objects.filter(
        round__ledger=round.ledger, status__in=(Status.QUEUED, Status.SCORING)
    )
    if unfinished.exists():
        raise Refused("submissions_waiting", variant="publication")


def to_publish() -> QuerySet[Holdout]:
    """Return the holdouts whose publication was ordered and isn't there yet.

    These are all revisions that answered, and the active one.
    """
    answered = Q(retired_at__isnull=True) | Q(releases__isnull=False)
    wanted = Holdout.objects.filter(
        answered, ledger__rounds__publication_at__isnull=False, published_at__isnull=True
    )
    return wanted.order_by("pk").distinct()


def unclaimed(holdouts: QuerySet[Holdout]) -> QuerySet[Holdout]:
    """Return those that no living worker writes."""
    expired = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    return holdouts.filter(
        Q(publication_claimed_at__isnull=True) | Q(publication_claimed_at__lt=expired)
    )


def publish_holdout(
    holdout_id: int, remeasure: Remeasure, compare: Compare, ask_again: AskAgain
) -> bool:
    """Go on writing a publication, for a part of a lease; return False if more is to be done.

    True also where it is done already, or in the hands of another worker.
    """
    mine = unclaimed(Holdout.objects.filter(pk__in=to_publish().filter(pk=holdout_id)))
    if mine.update(publication_claimed_at=timezone.now()) != 1:
        return True
    holdout = Holdout.objects.select_related("ledger__competition").get(pk=holdout_id)
    done = _measure_parts(holdout, remeasure, compare, ask_again)
    if done:
        _write(holdout)
    Holdout.objects.filter(pk=holdout_id).update(publication_claimed_at=None)
    return done


def _measure_parts(
    holdout: Holdout, remeasure: Remeasure, compare: Compare, ask_again: AskAgain
) -> bool:
    """Measure what no stored part has, until the time is over; return whether all is measured."""
    start, lease = time.monotonic(), settings.LEASE_SECONDS
    done = _measured(holdout)
    rows = Release.objects.filter(holdout=holdout).order_by("number")
    rows = rows.select_related("submission__round", "submission__team", "team", "board__round")
    kinds = NoteKind.DUEL, NoteKind.GATE
    notes = LedgerNote.objects.filter(holdout=holdout, kind__in=kinds).order_by("number")
    while True:
        lines, first, part_end = [], done + 1, time.monotonic() + PART_OF_LEASE * lease
        later: tuple[Iterable[Release | LedgerNote], ...] = (
            rows.filter(number__gt=done)[:PART_RELEASES],
            notes.filter(number__gt=done)[:PART_RELEASES],
        )
        for entry in islice(merge(*later, key=attrgetter("number")), PART_RELEASES):
            if isinstance(entry, Release):
                lines.append(origin_of(entry, holdout, remeasure).line())
            elif entry.kind == NoteKind.GATE:
                lines.append(ask_again(holdout, entry).line())
            else:
                lines.append(duel_origin(entry, holdout, compare).line())
            done = entry.number
            if time.monotonic() > part_end:
                break
        if not lines:
            return True
        content = b"".join(lines)
        sha256 = hashlib.sha256(content).hexdigest()[:16]
        name = f"{_folder(holdout)}/{first:012}-{done:012}-{sha256}"
        default_storage.save(name, ContentFile(content))
        _claim_longer(holdout)
        if time.monotonic() > start + WORK_OF_LEASE * lease:
            return False


def origin_of(entry: Release, holdout: Holdout, remeasure: Remeasure) -> Origin | Lost:
    """Return what an answer was drawn from, by measuring its file again; labels stay in the vault.

    Whatever is done with it before the end must not store or show it.
    """
    if not entry.submission.file:
        return Lost(entry.number, "The server had lost this submission.")
    try:
        digest, measured = remeasure(entry.submission, holdout, entry.board)
    except (FileNotFoundError, FileDamaged, PredictionError, StateError) as error:
        known = {FileNotFoundError: "is gone", FileDamaged: "is damaged"}
        how = known.get(type(error), "can't be read any more")
        return Lost(entry.number, f"The stored file {how}.")
    tag = measured.noise.tag(digest, team=entry.team.uid, board=entry.board.known_as)
    if tag != entry.predictions_tag:
        return Lost(entry.number, "The stored file is read as other predictions today.")
    return Origin(entry.number, digest, measured.measurement)


def duel_origin(note: LedgerNote, holdout: Holdout, compare: Compare) -> Compared | Lost:
    """Return what a duel's answer follows from, by comparing its files again.

    Whatever is done with it before the end must not store or show it.
    """
    rows = Release.objects.select_related("board__round", "board__same_as", "team", "submission")
    better, worse = (
        rows.get(holdout=holdout, number=note.document[name]) for name in ("entry", "against")
    )
    found = compare(holdout, better, worse)
    if isinstance(found, Lost):
        return Lost(note.number, found.reason)
    return Compared(note.number, found)


def _write(holdout: Holdout) -> None:
    """Write the archive, name it in the row, and delete the parts."""
    _claim_longer(holdout)
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=settings.VAR_DIR) as file:
        solution, secret = vault.contents(holdout)
        write_publication(
            file,
            competition=holdout.ledger.competition.slug,
            version=holdout.version,
            solution=solution,
            secret=secret,
            releases=_lines(holdout),
        )
        name = _store(file)
    opened = Holdout.objects.filter(pk=holdout.pk, published_at__isnull=True)
    with transaction.atomic():
        if opened.update(publication=name, published_at=timezone.now()):
            holdout.publication.name = name
            events.log(holdout.ledger.competition, leaves.published(holdout))
    for part in _parts(holdout):
        default_storage.delete(part)


def _store(file: IO[bytes]) -> str:
    """Store the file under its hash; replace one of another size, which a crash cut short."""
    size = file.seek(0, 2)
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a real file
    file.seek(0)
    name = f"{FOLDER}/{sha256}.zip"
    if default_storage.exists(name):
        if default_storage.size(name) == size:
            return name
        default_storage.delete(name)
    return default_storage.save(name, File(file))


def _claim_longer(holdout: Holdout) -> None:
    Holdout.objects.filter(pk=holdout.pk).update(publication_claimed_at=timezone.now())


def _measured(holdout: Holdout) -> int:
    """Return the last number that stored parts reach without a gap; delete parts behind a gap."""
    reached = 0
    for name in _parts(holdout):
        first, last, sha256 = name.rpartition("/")[2].split("-")
        with open_stored(name) as file:
            is_whole = hashlib.sha256(file.read()).hexdigest()[: len(sha256)] == sha256
        if is_whole and int(first) == reached + 1:
            reached = int(last)
        else:
            default_storage.delete(name)
    return reached


def _lines(holdout: Holdout) -> Iterator[bytes]:
    for name in _parts(holdout):
        with open_stored(name) as file:
            yield from file


def _parts(holdout: Holdout) -> list[str]:
    """Return the names of the stored parts, in order."""
    try:
        names = default_storage.listdir(_folder(holdout))[1]
    except FileNotFoundError:
        return []
    return [f"{_folder(holdout)}/{name}" for name in sorted(names)]


def _folder(holdout: Holdout) -> str:
    return f"{FOLDER}/{holdout.solution_commitment}"
