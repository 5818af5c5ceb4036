"""The only code that touches private labels: it seals them, measures against them, and opens them
for everybody after the end.

A solution is sealed to an X25519 public key (libsodium's sealed box). The web process holds the
public key and can put labels in; only workers hold the private key. Measuring gives back a
`Measurement`, which can't be printed or pickled, and the noise of this holdout.
"""

import hashlib
import secrets
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from leaderboard.models import Competition, Holdout
from leaderboard.pipeline import claims
from leaderboard.platform.files import open_stored
from leaderboard.vault import keys
from scoring import measuring, metrics
from scoring.measurement import Mean, Measurement
from scoring.noise import KeyedNoise
from scoring.predictions import Predictions, Solution, Usage
from scoring.verification import SALT_BYTES, Salted

SECRET_BYTES = 32
CACHED_HOLDOUTS = 4


class VaultClosed(Exception):
    """This process can't open the vault: it has no private key, or the key doesn't fit."""


class StillSealed(Exception):
    """The contents may not be published: the competition has not ended, or nobody said so."""


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
    """Seals the labels and the usage of each row."""
    return _sealed(solution.to_bytes())


def seal_new_secret() -> Sealed:
    """Draws and seals the secret that keys all noise of one holdout version."""
    return _sealed(secrets.token_bytes(SECRET_BYTES))


def measure(
    holdout: Holdout, competition: Competition, predictions: Predictions, claimed: float | None
) -> Measured:
    """The empirical mean of the loss on the holdout rows, and what it is compared with: the mean on
    the reference rows, or the score that the team claims where the competition asks for that.

    Raises VaultClosed where the private key is missing or doesn't fit.
    """
    solution, secret = _open(holdout)
    metric = metrics.get(competition.metric)
    parameters = metric.parse(competition.metric_parameters)
    claims_asked = claims.is_asked(competition)
    measurement = measuring.measure(
        metric,
        parameters,
        predictions,
        solution,
        claims=claims_asked,
        claimed=_claimed_loss(competition, claimed) if claims_asked else None,
    )
    noise = KeyedNoise(secret, holdout.solution_commitment)
    return Measured(measurement, noise)


def _claimed_loss(competition: Competition, claimed: float | None) -> float | None:
    return None if claimed is None else claims.claimed_loss(competition, claimed)


def measure_final(holdout: Holdout, competition: Competition, predictions: Predictions) -> Mean:
    """The exact mean loss on the Final rows where there are any, else on the holdout rows.

    Only for after the end, when no submission may follow. Raises VaultClosed as `measure` does.
    """
    solution, _ = _open(holdout)
    metric = metrics.get(competition.metric)
    parameters = metric.parse(competition.metric_parameters)
    return measuring.measure_final(metric, parameters, predictions, solution)


def count_moved(earlier: Holdout, later: Holdout) -> int:
    """How many rows gave answers in one version and are held back anew in another of the same
    sample: Public ones that are Private or Final now, and Private ones that are Final."""
    before, after = _open(earlier)[0].usage, _open(later)[0].usage
    shown = (before == Usage.PUBLIC) & ((after == Usage.PRIVATE) | (after == Usage.FINAL))
    asked = (before == Usage.PRIVATE) & (after == Usage.FINAL)
    return int((shown | asked).sum())


def public_fingerprint() -> str:
    """Sixteen hex digits that name the key pair: a hash of the public key.

    Raises ImproperlyConfigured, OSError, ValueError or TypeError where it can't be read.
    """
    return _fingerprint(keys.public_key())


def private_fingerprint() -> str:
    """The fingerprint of the public key that belongs to a private one of this process.

    Of several, while the vault is rotated, that of the public key in force. Raises VaultClosed,
    OSError, ValueError or TypeError where it can't be read.
    """
    known = [_fingerprint(key.public_key) for key in _private_keys()]
    with suppress(ImproperlyConfigured, OSError, ValueError, TypeError):
        if (public := public_fingerprint()) in known:
            return public
    return known[-1]


def check_opens(holdout: Holdout) -> None:
    """Opens a holdout and forgets what is inside. Raises VaultClosed where it can't be opened."""
    _unseal(_stored_box(holdout), holdout.solution_commitment)
    _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment)


def _fingerprint(key: PublicKey) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def noise(holdout: Holdout) -> KeyedNoise:
    """The noise of a holdout. Raises VaultClosed."""
    _, secret = _open(holdout)
    return KeyedNoise(secret, holdout.solution_commitment)


def contents(holdout: Holdout) -> tuple[Salted, Salted]:
    """Solution and secret with their salts, as they were committed to: to be published.

    Raises StillSealed before the organizer's word, which is given after the final scores only, and
    VaultClosed.
    """
    competition = holdout.competition
    if competition.unsealed_at is None or competition.revealed_at is None:
        raise StillSealed("Nobody has said that this solution may be seen.")
    solution = _unseal(_stored_box(holdout), holdout.solution_commitment)
    return solution, _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment)


@dataclass(frozen=True, repr=False)
class Resealed:
    """The same contents in boxes for the public key that is in force."""

    solution: bytes
    secret: bytes


def reseal(holdout: Holdout) -> Resealed | None:
    """Seals what is sealed to another key to the one in force; None where nothing is.

    Raises VaultClosed.
    """
    solution = _unseal(_stored_box(holdout), holdout.solution_commitment)
    secret = _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment)
    current = keys.public_key().encode().hex()
    if solution.key == secret.key == current:
        return None
    return Resealed(*(_seal(each.salt + each.content) for each in (solution, secret)))


def _sealed(content: bytes) -> Sealed:
    salted = Salted(secrets.token_bytes(SALT_BYTES), content)
    return Sealed(_seal(salted.salt + salted.content), salted.commitment)


def _seal(salted: bytes) -> bytes:
    return bytes(SealedBox(keys.public_key()).encrypt(salted))


@dataclass(frozen=True, repr=False)
class _Unsealed(Salted):
    """What was in a box, and the public key that it was sealed to (hex)."""

    key: str = ""


def _unseal(box: bytes, commitment: str) -> _Unsealed:
    """Tries the newest key first. Raises VaultClosed."""
    for key in reversed(_private_keys()):
        try:
            salted = SealedBox(key).decrypt(box)
        except CryptoError:
            continue
        found = _Unsealed(salted[:SALT_BYTES], salted[SALT_BYTES:], key.public_key.encode().hex())
        if found.commitment != commitment:
            raise VaultClosed("What is sealed is not what was committed to.")
        return found
    raise VaultClosed("The vault's private key doesn't open this holdout.")


def _private_keys() -> list[PrivateKey]:
    try:
        return keys.private_keys()
    except keys.NoPrivateKey as error:
        raise VaultClosed(str(error)) from None


def _stored_box(holdout: Holdout) -> bytes:
    with open_stored(holdout.sealed_solution.name) as file:
        return file.read()


@dataclass(frozen=True, repr=False)
class _Kept:
    """An open holdout in this process's memory."""

    solution: Solution
    secret: bytes
    competition_id: int
    size: int


_opened: OrderedDict[str, _Kept] = OrderedDict()
_opened_lock = Lock()
_opened_by: tuple[str, int, int] | None = None


def _open(holdout: Holdout) -> tuple[Solution, bytes]:
    """The solution and the noise secret, from a small cache in this process's memory.

    It is emptied when the private key changes, and keeps nothing of a version that another has
    replaced.
    """
    with _opened_lock:
        _forget_other_keys()
        kept = _opened.get(holdout.solution_commitment) or _read(holdout)
        if holdout.retired_at is None:
            _forget_versions_before(holdout)
        _keep(holdout.solution_commitment, kept)
        return kept.solution, kept.secret


def _forget_other_keys() -> None:
    global _opened_by  # noqa: PLW0603  (guarded by the lock, like the cache itself)
    try:
        stamp = keys.stamp()
    except keys.NoPrivateKey as error:
        _opened.clear()
        raise VaultClosed(str(error)) from None
    if stamp != _opened_by:
        _opened.clear()
        _opened_by = stamp


def _forget_versions_before(holdout: Holdout) -> None:
    for commitment, kept in list(_opened.items()):
        is_other = commitment != holdout.solution_commitment
        if is_other and kept.competition_id == holdout.competition_id:
            del _opened[commitment]


def _keep(commitment: str, kept: _Kept) -> None:
    """At most so many and so large: what was used longest ago goes first."""
    _opened[commitment] = kept
    _opened.move_to_end(commitment)
    while len(_opened) > CACHED_HOLDOUTS or _kept_bytes() > settings.VAULT_CACHE_BYTES:
        _opened.popitem(last=False)


def _kept_bytes() -> int:
    return sum(kept.size for kept in _opened.values())


def _read(holdout: Holdout) -> _Kept:
    try:
        return _unsealed(holdout)
    except (FileNotFoundError, VaultClosed):
        # A rotation may have sealed it again since the row was read.
        name = holdout.sealed_solution.name
        holdout.refresh_from_db(fields=["sealed_solution", "sealed_secret"])
        if holdout.sealed_solution.name == name:
            raise
    return _unsealed(holdout)


def _unsealed(holdout: Holdout) -> _Kept:
    content = _unseal(_stored_box(holdout), holdout.solution_commitment).content
    secret = _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment).content
    return _Kept(Solution.from_bytes(content), secret, holdout.competition_id, len(content))
