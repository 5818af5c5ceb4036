"""Everything that a server can check of a competition's ledger, against itself.

What anybody can check of the published documents (`scoring.verification`), and what only the server
sees: that its own heads, team states and board are those that follow from the ledger, that the
guard outside the database agrees, and, where this process may open the vault or the solution has
been published, that every stored file still gives the answer that was published.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from leaderboard import queries, vault
from leaderboard.ledger import watermark
from leaderboard.models import Competition, Holdout, LedgerNote, Release, Submission
from leaderboard.pipeline import claims
from leaderboard.pipeline.parse import parse
from leaderboard.pipeline.publish import opened_of
from leaderboard.pipeline.remeasure import remeasure
from leaderboard.platform.files import FileDamaged, open_stored
from leaderboard.queries.snapshots import Head, Snapshot, Stand
from scoring.errors import PredictionError
from scoring.noise import KeyedNoise
from scoring.verification import (
    Differs,
    Header,
    Known,
    Lost,
    Opened,
    OpenedHoldout,
    Replay,
    Report,
    Witness,
    verify_with,
)


class CannotVerify(Exception):
    """Nothing is known to be wrong; the text says what is in the way."""


_NO_STAND = Stand(None, None, 0, 0)


@dataclass(frozen=True)
class Verified:
    """The report, and how the answers were computed again: from what was opened, from the vault, or
    not at all (`means` is "opening", "vault" or "")."""

    report: Report
    means: str
    guarded: bool


def verify_competition(competition: Competition, *, files: bool = True) -> Verified:
    """Checks everything that this process can; changes nothing.

    files: whether stored files are read and measured again. Raises CannotVerify.
    """
    if competition.opened_by_organizer_at is None:
        raise CannotVerify("A draft has no ledger.")
    try:
        return _verified(competition, files)
    except (watermark.GuardAway, vault.VaultClosed) as error:
        raise CannotVerify(str(error)) from None


def _verified(competition: Competition, files: bool) -> Verified:
    found = queries.snapshot(competition)
    lines = queries.lines_of(competition, list(found.heads))
    with ExitStack() as stack:
        witnesses = _Witnesses(competition, stack, files=files)
        report = verify_with(
            lines, witnesses.call, witnesses.recall if files else None, _Itself(found)
        )
    guarded = False
    if report.difference is None:
        try:
            guarded = _check_guard(competition, found)
        except Differs as differs:
            report = replace(report, difference=differs.difference)
    return Verified(report, witnesses.means, guarded)


class _Witnesses:
    """Finds who knows what each version's answers were drawn from."""

    def __init__(self, competition: Competition, stack: ExitStack, *, files: bool) -> None:
        self._competition = competition
        self._stack = stack
        self._files = files
        self.means = ""

    def call(self, header: Header) -> Witness | None:
        """What was opened, else the vault, if it may be opened here."""
        holdout = self._competition.holdouts.get(version=header.version)
        if holdout.opened_at is not None:
            self.means = "opening"
            file = self._stack.enter_context(open_stored(holdout.opening.name))
            return OpenedHoldout(file, header)
        if not (self._files and settings.VAULT_PRIVATE_KEY_FILE):
            return None
        self.means = "vault"
        return _Vault(holdout)

    def recall(self, entry: Mapping[str, Any], digest: str) -> Known | None:
        """The stored file of an entry, to be measured against what was opened."""
        submission = self._submission(entry)
        if submission is None or not submission.file:
            return None
        try:
            predictions = parse(submission)
        except FileDamaged:
            raise Differs(
                entry["number"], "predictions", "The stored file is not what was uploaded."
            ) from None
        except (FileNotFoundError, PredictionError):
            raise Differs(
                entry["number"], "predictions", "The stored file can't be read any more."
            ) from None
        claimed = submission.claimed_score
        return Known(
            predictions,
            None if claimed is None else claims.claimed_loss(self._competition, claimed),
        )

    def _submission(self, entry: Mapping[str, Any]) -> Submission | None:
        found = Submission.objects.select_related("team__competition").filter(
            team=entry["team"], number=entry["submission"], team__competition=self._competition
        )
        return found.first()


class _Vault:
    """The vault as a witness: labels stay in it, measurements are compared and forgotten."""

    solution = None

    def __init__(self, holdout: Holdout) -> None:
        self._holdout = holdout
        self.noise: KeyedNoise = vault.noise(holdout)

    def opened(self, entry: Mapping[str, Any]) -> Opened | Lost:
        """Measures the stored file again."""
        rows = Release.objects.select_related("submission__team__competition")
        release = rows.get(holdout=self._holdout, number=entry["number"])
        return opened_of(release, self._holdout, remeasure)

    def check_end(self) -> None:
        """The vault has no more than it is asked for."""


class _Itself:
    """Compares heads, team states and board of the database with what the ledger says."""

    def __init__(self, found: Snapshot) -> None:
        self._heads = {state.holdout.version: state for state in found.heads}
        self._found = found
        self._board: dict[int, Stand] = {}
        self._version: dict[int, int] = {}
        self._entered: set[tuple[int, int]] = set()

    def took(self, header: Header, entry: Mapping[str, Any], replay: Replay) -> None:
        """The board, entry by entry, as `pipeline.release` writes it."""
        if "team" not in entry:
            return
        team = int(entry["team"])
        stand = self._board.get(team, _NO_STAND)
        earlier = self._version.get(team)
        if earlier not in (None, header.version) and entry["kind"] != "exhausted":
            stand = replace(stand, loss=None, best=None)
        stand = replace(stand, last=entry["number"])
        if (team, entry["submission"]) not in self._entered:
            self._entered.add((team, entry["submission"]))
            stand = replace(stand, entries=stand.entries + 1)
        best = replay.teams[entry["team"]].best
        loss = None if best is None else best / entry["steps"]
        if loss is not None and (stand.loss is None or loss < stand.loss):
            stand = replace(stand, loss=loss, best=entry["number"])
        if stand.best in (None, entry["number"]):
            self._version[team] = header.version
        self._board[team] = stand

    def ended(self, header: Header, replay: Replay) -> None:
        """The version's head and teams; behind the last version the board."""
        state = self._heads[header.version]
        for name in ("asked", "answered", "log_alphabets", "firings", "budget_left"):
            _same(f"head, {name}", getattr(state, name), getattr(replay.head, name))
        teams = {int(team): computed for team, computed in replay.teams.items()}
        _same_rows("team", self._found.teams[state.pk], teams)
        if header.version == max(self._heads):
            _same_rows("board row of team", self._found.board, self._board)


def _same_rows(what: str, stored: Mapping[int, object], computed: Mapping[int, object]) -> None:
    for team in sorted(stored.keys() | computed.keys()):
        _same(f"{what} {team}", stored.get(team), computed.get(team))


def _same(what: str, stored: object, computed: object) -> None:
    if stored != computed:
        raise Differs(None, what, f"The database has {stored}; from the ledger follows {computed}.")


def _check_guard(competition: Competition, found: Snapshot) -> bool:
    """Whether the counter outside the database agrees; False where it has seen nothing yet.

    Raises Differs, or GuardAway.
    """
    in_force = [state for state in found.heads if state.holdout.retired_at is None]
    return all(_guard_agrees(competition, state) for state in in_force) and bool(in_force)


def _guard_agrees(competition: Competition, state: Head) -> bool:
    ledger = state.holdout.ledger_name
    if watermark.has_ended(ledger, only_look=True) and competition.finals_started_at is None:
        raise Differs(None, "guard", str(watermark.EndUndone()))
    try:
        written = watermark.read(ledger, only_look=True)
    except watermark.Rewound as rewound:
        raise Differs(None, "guard", str(rewound)) from None
    if written is None and state.guarded:
        raise Differs(None, "guard", f"The file {watermark.file_of(ledger)} is missing.")
    if written is None or not written.number:
        return False
    if written.number > state.releases:
        raise Differs(
            None,
            "guard",
            f"It knows entry {written}, the database ends with {state.releases}: "
            "`python manage.py rewind` mends it.",
        )
    if written.hash != _hash_of(competition, written.number):
        raise Differs(written.number, "guard", "It knows another hash of this entry.")
    return True


def _hash_of(competition: Competition, number: int) -> str:
    for model in (Release, LedgerNote):
        rows = model.objects.filter(holdout__competition=competition, number=number)
        for digest in rows.values_list("hash", flat=True):
            return str(digest)
    return ""
