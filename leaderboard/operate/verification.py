"""Check everything that a server can check of its own ledger.

That is what anybody can check of the published documents (`scoring.verification`), and what only
the server sees: that its head, states and board follow from the ledger, that the watermark outside
the database agrees, and, where this process may open the vault or the solution is published, that
every stored file still gives the published answer and its final score.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from leaderboard import queries, vault
from leaderboard.ledger import lock, watermark
from leaderboard.models import Holdout, Ledger, LedgerNote, NoteKind, Release
from leaderboard.operate.final_verification import Labels, published, sealed, verify_finals
from leaderboard.pipeline.asking import ask_again
from leaderboard.pipeline.parse import parse
from leaderboard.pipeline.publish import duel_origin, origin_of
from leaderboard.pipeline.remeasure import compare, remeasure
from leaderboard.platform.files import FileDamaged, open_stored
from leaderboard.platform.secrets import VAULT_KEY
from leaderboard.queries.snapshots import BoardAndTeam, Snapshot, Stand
from scoring.errors import PredictionError
from scoring.mechanisms import answer_kind
from scoring.noise import KeyedNoise
from scoring.verification.differences import Differs, Report
from scoring.verification.ledgers import Header
from scoring.verification.notes import MERGE, is_note
from scoring.verification.publications import (
    Compared,
    Gated,
    Known,
    Lost,
    Origin,
    Publication,
)
from scoring.verification.replay import Replay, Witness
from scoring.verification.run import verify_with


class CannotVerify(Exception):
    """Nothing is known to be wrong; the text names what is in the way."""


_NO_STAND = Stand(None, None, 0, 0)


@dataclass(frozen=True)
class Verified:
    """The report, and how answers were computed again.

    `means` is "publication", "vault", or "" where they weren't. `watermarked`: the watermark
    agrees, and has seen something of the ledger. `finals` is how many entered files were scored
    again, None where there are no finals yet.
    """

    report: Report
    means: str
    watermarked: bool
    finals: int | None = None


def verify_ledger(ledger: Ledger, *, files: bool = True) -> Verified:
    """Check everything that this process can; change nothing.

    files: whether stored files are read and measured again. Raises CannotVerify.
    """
    if ledger.competition.opened_by_organizer_at is None:
        raise CannotVerify("A draft has no ledger.")
    watermarked, finals = False, None
    try:
        found = queries.snapshot(ledger)
        with ExitStack() as stack:
            witnesses = _Witnesses(ledger, stack, files=files)
            recall = witnesses.recall if files else None
            lines = queries.lines_of(found.head)
            report = verify_with(lines, witnesses.call, recall, _Itself(found))
            ended = ledger.rounds.filter(finals_scored_at__isnull=False)
            if report.difference is None and ended.exists():
                try:
                    finals = verify_finals(ended, witnesses.labels)
                except Differs as differs:
                    report = replace(report, difference=differs.difference)
        if report.difference is None:
            try:
                # As both are now: answers may have come since the ledger was read.
                with transaction.atomic():
                    lock.check(lock.lock_row(ledger), only_look=True)
                    written = watermark.read(ledger.uid, only_look=True)
                watermarked = written is not None and written.number > 0
            except watermark.Rewound as rewound:
                advice = f"{rewound} `python manage.py rewind` repairs it."
                report = replace(report, difference=Differs(None, "watermark", advice).difference)
    except (watermark.WatermarkAway, vault.VaultClosed) as error:
        raise CannotVerify(str(error)) from None
    return Verified(report, witnesses.means, watermarked, finals)


class _Witnesses:
    """Find who knows what each version's answers were drawn from."""

    def __init__(self, ledger: Ledger, stack: ExitStack, *, files: bool) -> None:
        self._ledger = ledger
        self._stack = stack
        self._files = files
        self.means = ""
        self.labels: Labels | None = None

    def call(self, header: Header) -> Witness | None:
        """Return what was published, else the vault, if it may be opened here."""
        self._holdout = holdout = self._ledger.holdouts.get(version=header.version)
        if holdout.published_at is not None:
            self.means = "publication"
            file = self._stack.enter_context(open_stored(holdout.publication.name))
            witness = Publication(file, header)
            # The last one is of the active revision, which the finals were measured on.
            assert witness.solution is not None  # noqa: S101  (it was published)
            self.labels = published(witness.solution) if self._files else None
            return witness
        self.labels = None
        if not (self._files and VAULT_KEY.source and holdout.sealed_solution):
            return None
        self.means, self.labels = "vault", sealed(holdout)
        return _Vault(holdout)

    def recall(self, entry: Mapping[str, Any], digest: str) -> Known | None:
        """Read the stored file of an entry, to be measured against what was published."""
        release = _release(self._holdout, entry)
        submission = release.submission
        if not submission.file:
            return None
        try:
            predictions = parse(submission)
        except (FileDamaged, FileNotFoundError, PredictionError) as error:
            is_damaged = isinstance(error, FileDamaged)
            how = "is not what was uploaded" if is_damaged else "can't be read any more"
            number = entry["number"]
            raise Differs(number, "predictions", f"The stored file {how}.") from None
        claimed = submission.claimed_score
        if claimed is not None:
            claimed = release.board.claimed_loss(claimed)
        return Known(predictions, claimed)


class _Vault:
    """The vault as a witness: labels stay in it, measurements are compared and forgotten."""

    solution = None

    def __init__(self, holdout: Holdout) -> None:
        self._holdout = holdout
        self.noise: KeyedNoise = vault.noise(holdout)

    def origin(self, entry: Mapping[str, Any]) -> Origin | Compared | Gated | Lost:
        """Measure the stored file again, compare those of a duel, or ask a gate again."""
        if is_note(entry):
            note = LedgerNote.objects.get(holdout=self._holdout, number=entry["number"])
            if note.kind == NoteKind.GATE:
                return ask_again(self._holdout, note)
            return duel_origin(note, self._holdout, compare)
        release = _release(self._holdout, entry)
        found = origin_of(release, self._holdout, remeasure)
        if isinstance(found, Lost) and release.submission.file:
            raise Differs(entry["number"], "predictions", found.reason)
        return found

    def check_end(self) -> None:
        """Do nothing: the vault has no more than it is asked for."""


def _release(holdout: Holdout, entry: Mapping[str, Any]) -> Release:
    rows = Release.objects.select_related(
        "board__round", "team", "submission__team", "submission__round__competition"
    )
    return rows.get(holdout=holdout, number=entry["number"])


class _Itself:
    """Compare head, states and board of the database with what follows from the ledger."""

    def __init__(self, found: Snapshot) -> None:
        self._found = found
        self._holdouts = dict(found.head.holdouts.values_list("version", "pk"))
        self._board: dict[BoardAndTeam, Stand] = {}
        self._version: dict[BoardAndTeam, int] = {}
        self._entered: set[tuple[BoardAndTeam, int]] = set()
        practice = Release.objects.filter(holdout__ledger=found.head, submission__is_practice=True)
        self._practice = set(practice.values_list("number", flat=True))

    def took(self, header: Header, entry: Mapping[str, Any], replay: Replay) -> None:
        """Make the boards, entry by entry, as releases write them."""
        if entry["kind"] == MERGE:
            self._merge(entry["team"], entry["into"], entry["offset"])
        if is_note(entry) or entry["number"] in self._practice:
            return
        team = entry["board"], entry["team"]
        stand = self._board.get(team, _NO_STAND)
        earlier = self._version.get(team)
        says_nothing = answer_kind(entry["kind"]).bounds == "nothing"
        if earlier not in (None, header.version) and not says_nothing:
            stand = replace(stand, loss=None, best=None)
        stand = replace(stand, last=entry["number"])
        if (team, entry["submission"]) not in self._entered:
            self._entered.add((team, entry["submission"]))
            stand = replace(stand, entries=stand.entries + 1)
        best = replay.teams[team].best
        loss = None if best is None else best / entry["steps"]
        if loss is not None and (stand.loss is None or loss < stand.loss):
            stand = replace(stand, loss=loss, best=entry["number"])
        if stand.best in (None, entry["number"]):
            self._version[team] = header.version
        self._board[team] = stand

    def _merge(self, team: str, into: str, offset: int) -> None:
        """Give one team's rows to another, which keeps the better of both."""
        for gone in [key for key in self._board if key[1] == team]:
            stand, kept = self._board.pop(gone), (gone[0], into)
            other = self._board.get(kept)
            if other is None or self._place(stand) < self._place(other):
                self._version[kept] = self._version[gone]
            if other is not None:
                better = min(other, stand, key=self._place)
                entries = other.entries + stand.entries
                stand = replace(other, loss=better.loss, best=better.best, entries=entries)
            self._board[kept] = stand
        self._entered |= {
            ((board, into), offset + number) for (board, of), number in self._entered if of == team
        }

    def _place(self, stand: Stand) -> tuple[Any, ...]:
        """Order stands as the board does: by loss, then by who reached it first."""
        if stand.loss is None or stand.best is None:
            return (1,)
        entry = Release.objects.filter(holdout__ledger=self._found.head, number=stand.best)
        return (0, stand.loss, entry.values_list("submission__created_at", flat=True).get())

    def ended(self, header: Header, replay: Replay) -> None:
        """Compare the version's teams; behind the last version also head and board."""
        holdout = self._holdouts[header.version]
        _same_rows("team", self._found.teams[holdout], replay.teams)
        memories = {key: replay.memory(*key) for key in replay.teams}
        _same_rows("laws' memory of team", self._found.memories[holdout], memories)
        if header.version < max(self._holdouts):
            return
        for team in sorted(self._found.accounts.keys() | replay.accounts.keys()):
            _same(f"account {team}", self._found.accounts.get(team), replay.accounts.get(team))
        for board, stored in self._found.heads.items():
            head = replay.head(board)
            for name in ("asked", "answered", "log_alphabets", "firings", "budget_left"):
                _same(f"head, {name}", getattr(stored, name), getattr(head, name))
        for row, (loss, best) in self._found.left_out.items():
            self._board[row] = replace(self._board.get(row, _NO_STAND), loss=loss, best=best)
        _same_rows("standing of team", self._found.board, self._board)


def _same_rows(
    what: str, stored: Mapping[BoardAndTeam, object], computed: Mapping[BoardAndTeam, object]
) -> None:
    for key in sorted(stored.keys() | computed.keys()):
        board, team = key
        _same(f"{what} {team} on board {board}", stored.get(key), computed.get(key))


def _same(what: str, stored: object, computed: object) -> None:
    if stored != computed:
        raise Differs(None, what, f"The database has {stored}; from the ledger follows {computed}.")
