"""The only code that touches private labels: it seals them, and it measures against them.

A solution is sealed to an X25519 public key (libsodium's sealed box). The web process holds the
public key and can put labels in; only workers hold the private key. Measuring gives back a
`Measurement`, which can't be printed or pickled, and the noise of this holdout.
"""

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from leaderboard import claims
from leaderboard.files import open_stored
from leaderboard.models import Competition, Holdout
from scoring import measuring, metrics
from scoring.measurement import Mean, Measurement
from scoring.noise import KeyedNoise
from scoring.predictions import Predictions, Solution, Usage

SALT_BYTES = 32
SECRET_BYTES = 32
CACHED_HOLDOUTS = 4


class VaultClosed(Exception):
    """This process can't open the vault: it has no private key, or the key doesn't fit."""


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
    return _seal(solution.to_bytes())


def seal_new_secret() -> Sealed:
    """Draws and seals the secret that keys all noise of one holdout version."""
    return _seal(secrets.token_bytes(SECRET_BYTES))


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
    """How many rows that were Public in one version are Private in another of the same sample."""
    before, after = _open(earlier)[0].usage, _open(later)[0].usage
    return int(((before == Usage.PUBLIC) & (after == Usage.PRIVATE)).sum())


def generate_keys(public: Path, private: Path) -> None:
    """Writes a new key pair, readable by the owner only. Refuses to overwrite one."""
    key = PrivateKey.generate()
    for path, material in ((private, key.encode()), (public, key.public_key.encode())):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(material.hex() + "\n")


def public_fingerprint() -> str:
    """Sixteen hex digits that name the key pair: a hash of the public key.

    Raises ImproperlyConfigured, OSError, ValueError or TypeError where it can't be read.
    """
    return _fingerprint(_public_key())


def private_fingerprint() -> str:
    """The fingerprint of the public key that belongs to the private one of this process.

    Raises VaultClosed, OSError, ValueError or TypeError where it can't be read.
    """
    return _fingerprint(_private_key().public_key)


def check_opens(holdout: Holdout) -> None:
    """Opens a holdout and forgets what is inside. Raises VaultClosed where it can't be opened."""
    with open_stored(holdout.sealed_solution.name) as file:
        _unseal(file.read(), holdout.solution_commitment)
    _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment)


def _fingerprint(key: PublicKey) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _seal(content: bytes) -> Sealed:
    salted = secrets.token_bytes(SALT_BYTES) + content
    return Sealed(SealedBox(_public_key()).encrypt(salted), hashlib.sha256(salted).hexdigest())


def _unseal(box: bytes, commitment: str) -> bytes:
    try:
        salted = SealedBox(_private_key()).decrypt(box)
    except CryptoError:
        raise VaultClosed("The vault's private key doesn't open this holdout.") from None
    if hashlib.sha256(salted).hexdigest() != commitment:
        raise VaultClosed("What is sealed is not what was committed to.")
    return salted[SALT_BYTES:]


_opened: OrderedDict[str, tuple[Solution, bytes]] = OrderedDict()
_opened_lock = Lock()


def _open(holdout: Holdout) -> tuple[Solution, bytes]:
    """The solution and the noise secret, from a small cache in this process's memory."""
    key = holdout.solution_commitment
    with _opened_lock:
        if key not in _opened:
            with open_stored(holdout.sealed_solution.name) as file:
                content = _unseal(file.read(), key)
            secret = _unseal(bytes(holdout.sealed_secret), holdout.secret_commitment)
            _opened[key] = (Solution.from_bytes(content), secret)
            while len(_opened) > CACHED_HOLDOUTS:
                _opened.popitem(last=False)
        _opened.move_to_end(key)
        return _opened[key]


def _public_key() -> PublicKey:
    path = settings.VAULT_PUBLIC_KEY_FILE
    if not path.is_file():
        raise ImproperlyConfigured(
            f"There is no vault public key at {path}: run `python manage.py vault_keys`."
        )
    return PublicKey(bytes.fromhex(path.read_text()))


def _private_key() -> PrivateKey:
    if not settings.VAULT_PRIVATE_KEY_FILE:
        raise VaultClosed("This process has no vault private key: VAULT_PRIVATE_KEY_FILE is empty.")
    return PrivateKey(bytes.fromhex(Path(settings.VAULT_PRIVATE_KEY_FILE).read_text()))
