"""Seal private labels, measure against them, publish them after the end: no other code may.

A solution is sealed to an X25519 public key (libsodium's sealed box). The web process holds the
public key and can put labels in; only workers hold the private key. Measuring gives back a
`Measurement`, which can't be printed or pickled, and the noise of this holdout.
"""

import base64
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.exceptions import CryptoError
from nacl.public import PublicKey, SealedBox
from numpy.typing import NDArray

from leaderboard.models import Board, Gate, Holdout
from leaderboard.platform.files import open_stored
from leaderboard.platform.scratch import scratch_array
from leaderboard.vault import keys
from leaderboard.vault.keys import VaultClosed as VaultClosed
from scoring import duels, gates, measuring, metrics
from scoring.contest import Contest
from scoring.measurement import Mean, Measurement
from scoring.noise import KeyedNoise
from scoring.predictions import Predictions, Solution, Usage
from scoring.verification.publications import SALT_BYTES, Salted

SECRET_BYTES = 32
CACHED_HOLDOUTS = 4
# By a ledger's permanent id: number and hash of its newest entry.
Heads = dict[str, list[int | str]]


class StillSealed(Exception):
    """The contents may not be published: the competition has not ended, or nobody ordered it."""


@dataclass(frozen=True, repr=False)
class Sealed:
    """A sealed box and the salted commitment to what is inside (SHA-256, hex)."""

    box: bytes
    commitment: str


@dataclass(frozen=True, repr=False)
class Measured:
    """The measurement and the noise stream of its holdout: for one step, then forgotten."""

    measurement: Measurement
    noise: KeyedNoise


def seal_solution(solution: Solution) -> Sealed:
    """Seal the labels and the usage of each row."""
    return _sealed(solution.to_bytes())


def seal_new_secret() -> Sealed:
    """Draw and seal the secret that keys all noise of one holdout version."""
    return _sealed(secrets.token_bytes(SECRET_BYTES))


def measure(
    holdout: Holdout, board: Board, predictions: Predictions, claimed: float | None
) -> Measured:
    """Return the empirical mean of the loss on the holdout rows, and what it is compared with.

    That is the mean on the reference rows, or the team's claimed score where the board asks for it.
    Raises VaultClosed where the private key is missing or doesn't fit.
    """
    solution, secret = _open(holdout)
    return _measure(holdout, board, predictions, claimed, solution, secret)


def measure_trial(
    holdout: Holdout, board: Board, predictions: Predictions, claimed: float | None, own: Sealed
) -> Measured:
    """Measure for a draft's trial, with the noise of a secret of its own; else as `measure`.

    Raises StillSealed once the competition was opened.
    """
    if holdout.ledger.competition.opened_by_organizer_at is not None:
        raise StillSealed("Files are tried in a draft only.")
    solution, _ = _open(holdout)
    secret = _unseal_box(own.box, own.commitment).content
    return _measure(holdout, board, predictions, claimed, solution, secret)


def _measure(
    holdout: Holdout,
    board: Board,
    predictions: Predictions,
    claimed: float | None,
    solution: Solution,
    secret: bytes,
) -> Measured:
    metric = metrics.get(board.metric)
    parameters = metric.parse(board.metric_parameters)
    takes_claims = board.takes_claims
    measurement = measuring.measure(
        metric,
        parameters,
        predictions,
        solution,
        claims=takes_claims,
        claimed=None if claimed is None or not takes_claims else board.claimed_loss(claimed),
    )
    noise = KeyedNoise(secret, holdout.solution_commitment)
    return Measured(measurement, noise)


def measure_final(holdout: Holdout, board: Board, predictions: Predictions) -> Mean:
    """Return the exact mean loss on the Final rows where there are any, else on the holdout rows.

    Only for after the end, when no submission may follow. Raises VaultClosed as `measure` does.
    """
    solution, _ = _open(holdout)
    metric = metrics.get(board.metric)
    parameters = metric.parse(board.metric_parameters)
    return measuring.measure_final(metric, parameters, predictions, solution)


def contest(holdout: Holdout, board: Board, entries: int) -> Contest:
    """Return what so many final entries are compared in, row by row: that stays in there.

    Only for after the end, as `measure_final`.
    """
    solution, _ = _open(holdout)
    metric = metrics.get(board.metric)
    parameters = metric.parse(board.metric_parameters)
    return Contest(metric, parameters, solution, entries, scratch_array)


def compare(
    holdout: Holdout, board: Board, better: Predictions, worse: Predictions
) -> duels.Comparison:
    """Return how two files compare on the Private rows, for one duel: never shown or stored.

    Raises VaultClosed as `measure` does.
    """
    solution, _ = _open(holdout)
    metric = metrics.get(board.metric)
    parameters = metric.parse(board.metric_parameters)
    return duels.compare(metric, parameters, solution, better, worse)


def ask_gate(
    holdout: Holdout, gate: Gate, predictions: Predictions, in_use: Predictions | None
) -> gates.Evidence:
    """Return what the Private rows say for a gate's answer: never shown or stored.

    Raises VaultClosed as `measure` does, StateError where the files are of other rows.
    """
    solution, _ = _open(holdout)
    metric = metrics.get(gate.board.metric)
    parameters = metric.parse(gate.board.metric_parameters)
    return gates.measure(gate.question, metric, parameters, solution, predictions, in_use)


def count_moved(earlier: Holdout, later: Holdout) -> int:
    """Return how many rows that gave answers in one version are held back in a later one.

    These are Public rows that are Private or Final now, Private ones that are Final, and all of a
    group that such a row belongs to, in either version.
    """
    before, after = _open(earlier)[0], _open(later)[0]
    shown, asked = (
        _with_groups(before.usage == usage, before, after)
        for usage in (Usage.PUBLIC, Usage.PRIVATE)
    )
    final = after.usage == Usage.FINAL
    return int((shown & (final | (after.usage == Usage.PRIVATE)) | asked & final).sum())


def _with_groups(rows: NDArray[np.bool_], *solutions: Solution) -> NDArray[np.bool_]:
    """Return rows together with all others of their groups, as each of the solutions has them."""
    found = rows.copy()
    for groups in (each.groups for each in solutions if each.groups is not None):
        found |= np.isin(groups, groups[rows & (groups >= 0)])
    return found


def public_fingerprint() -> str:
    """Return sixteen hex digits that identify the key pair: a hash of the public key.

    Raises ImproperlyConfigured, OSError, ValueError or TypeError where it can't be read.
    """
    return _fingerprint(keys.public_key())


def private_fingerprint() -> str:
    """Return the fingerprint of the public key that belongs to this process's private key.

    Of several, during a rotation, that of the current public key. Raises VaultClosed, OSError,
    ValueError or TypeError where it can't be read.
    """
    known = [_fingerprint(key.public_key) for key in keys.private_keys()]
    with suppress(ImproperlyConfigured, OSError, ValueError, TypeError):
        if (public := public_fingerprint()) in known:
            return public
    return known[-1]


def _fingerprint(key: PublicKey) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def check_opens(holdout: Holdout) -> None:
    """Open a holdout and forget what is inside. Raises VaultClosed where it can't be opened."""
    _unseal(holdout)


def noise(holdout: Holdout) -> KeyedNoise:
    """Return the noise of a holdout. Raises VaultClosed."""
    _, secret = _open(holdout)
    return KeyedNoise(secret, holdout.solution_commitment)


def contents(holdout: Holdout) -> tuple[Salted, Salted]:
    """Return solution and secret with their salts, as they were committed to, to be published.

    Raises StillSealed before the organizer's order, which needs the final scores, and VaultClosed.
    """
    if not holdout.ledger.rounds.filter(publication_at__isnull=False, revealed_at__isnull=False):
        raise StillSealed("Nobody has ordered that this solution be published.")
    return _unseal(holdout)


def reopen_draft(holdout: Holdout) -> Solution:
    """Return the solution of a draft, for a worker that seals it in another split.

    Raises StillSealed once the competition was opened or an answer has left the rows, and
    VaultClosed.
    """
    ledger = holdout.ledger
    if ledger.competition.opened_by_organizer_at is not None or ledger.entries:
        raise StillSealed("Only the solution of a draft is written anew.")
    return Solution.from_bytes(_unseal(holdout)[0].content)


def reseal(holdout: Holdout) -> tuple[bytes, bytes] | None:
    """Return solution and secret in boxes for the current key; None where they are that already.

    Raises VaultClosed.
    """
    solution, secret = _unseal(holdout)
    current = keys.public_key().encode().hex()
    if solution.key == secret.key == current:
        return None
    return _seal(solution), _seal(secret)


def hand_over(holdouts: Iterable[Holdout], heads: Heads, destination: str) -> bytes:
    """Return solutions and secrets in one box that another installation's vault alone opens.

    heads: how far their ledgers have come, so that no older copy of them goes on with these
    secrets. Raises VaultClosed.
    """
    boxes = {
        holdout.solution_commitment: [
            base64.b64encode(each.salt + each.content).decode() for each in _unseal(holdout)
        ]
        for holdout in holdouts
    }
    content = json.dumps({"heads": heads, "boxes": boxes}).encode()
    return bytes(SealedBox(PublicKey(bytes.fromhex(destination))).encrypt(content))


def take_over(
    box: bytes, holdouts: Iterable[Holdout], heads: Heads
) -> dict[str, tuple[bytes, bytes]]:
    """Open what another installation handed over; return own boxes of solution and secret.

    They are named by the commitments of `holdouts`, which they are compared with, as the ledgers'
    heads are. Raises VaultClosed where it can't be opened, or something else is in it.
    """
    try:
        document = json.loads(_decrypt(box)[0])
        came, boxes = document["heads"], document["boxes"]
        contents_of = {name: [base64.b64decode(each) for each in boxes[name]] for name in boxes}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise VaultClosed("What is in the box is not what another vault hands over.") from None
    if came != heads:
        raise VaultClosed("The secrets are of ledgers that have come further, or of others.")
    sealed = dict[str, tuple[bytes, bytes]]()
    for holdout in holdouts:
        commitments = (holdout.solution_commitment, holdout.secret_commitment)
        contents = contents_of.get(commitments[0], ())
        salted = [Salted(each[:SALT_BYTES], each[SALT_BYTES:]) for each in contents]
        if tuple(each.commitment for each in salted) != commitments:
            raise VaultClosed("The secrets are not what was committed to.")
        sealed[commitments[0]] = (_seal(salted[0]), _seal(salted[1]))
    return sealed


def _sealed(content: bytes) -> Sealed:
    salted = Salted(secrets.token_bytes(SALT_BYTES), content)
    return Sealed(_seal(salted), salted.commitment)


def _seal(salted: Salted) -> bytes:
    return bytes(SealedBox(keys.public_key()).encrypt(salted.salt + salted.content))


@dataclass(frozen=True, repr=False)
class _Unsealed(Salted):
    """What was in a box, and the public key that it was sealed to (hex)."""

    key: str = ""


def _unseal(holdout: Holdout) -> tuple[_Unsealed, _Unsealed]:
    """Open the boxes of solution and secret. Raises VaultClosed."""
    with open_stored(holdout.sealed_solution.name) as file:
        box = file.read()
    solution = _unseal_box(box, holdout.solution_commitment)
    return solution, _unseal_box(bytes(holdout.sealed_secret), holdout.secret_commitment)


def _unseal_box(box: bytes, commitment: str) -> _Unsealed:
    """Open a box. Raises VaultClosed, also where something else was committed to."""
    salted, key = _decrypt(box)
    found = _Unsealed(salted[:SALT_BYTES], salted[SALT_BYTES:], key)
    if found.commitment != commitment:
        raise VaultClosed("What is sealed is not what was committed to.")
    return found


def _decrypt(box: bytes) -> tuple[bytes, str]:
    """Return what is in a box, trying the newest key first, and that key. Raises VaultClosed."""
    for key in reversed(keys.private_keys()):
        with suppress(CryptoError):
            return bytes(SealedBox(key).decrypt(box)), key.public_key.encode().hex()
    raise VaultClosed("The vault's private key doesn't open this box.")


@dataclass(frozen=True, repr=False)
class _Kept:
    """An open holdout in this process's memory."""

    solution: Solution
    secret: bytes
    ledger_id: int
    size: int


_opened: OrderedDict[str, _Kept] = OrderedDict()
_opened_lock = Lock()
_opened_by: tuple[str, int, int] | None = None


def _open(holdout: Holdout) -> tuple[Solution, bytes]:
    """Return the solution and the noise secret, from a small cache in this process's memory.

    It is emptied when the private key changes, keeps nothing of a version that another has
    replaced, and is limited in number and size: what was used longest ago goes first.
    """
    global _opened_by  # noqa: PLW0603  (guarded by the lock, like the cache itself)
    with _opened_lock:
        try:
            stamp = keys.stamp()
        except VaultClosed:
            _opened.clear()
            raise
        if stamp != _opened_by:
            _opened.clear()
            _opened_by = stamp
        commitment = holdout.solution_commitment
        kept = _opened.get(commitment) or _read(holdout)
        for other, each in list(_opened.items()):
            is_replaced = holdout.retired_at is None and each.ledger_id == holdout.ledger_id
            if is_replaced and other != commitment:
                del _opened[other]
        _opened[commitment] = kept
        _opened.move_to_end(commitment)
        while (
            len(_opened) > CACHED_HOLDOUTS
            or sum(each.size for each in _opened.values()) > settings.VAULT_CACHE_BYTES
        ):
            _opened.popitem(last=False)
        return kept.solution, kept.secret


def _read(holdout: Holdout) -> _Kept:
    try:
        solution, secret = _unseal(holdout)
    except (FileNotFoundError, VaultClosed):
        # A rotation may have sealed it again since the row was read.
        name = holdout.sealed_solution.name
        holdout.refresh_from_db(fields=["sealed_solution", "sealed_secret"])
        if holdout.sealed_solution.name == name:
            raise
        solution, secret = _unseal(holdout)
    content = solution.content
    return _Kept(Solution.from_bytes(content), secret.content, holdout.ledger_id, len(content))
