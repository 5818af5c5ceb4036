"""Replace the vault's key pair without downtime and without losing anything.

    1. The private file gets the new key beside the old one: workers open with both.
    2. The public file is replaced: from now on everything is sealed to the new key.
    3. Every holdout is sealed again, one row at a time; commitments and contents stay.
    4. When nothing is sealed to the old key any more, it is removed.

Files and rows show how far a rotation has come, so one that was killed resumes where it stopped. A
worker that read a row or a file a moment too early reads it again (`vault.measure`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from nacl.public import PrivateKey

from durable import files
from leaderboard import vault
from leaderboard.models import Competition, Holdout
from leaderboard.vault import keys

FOLDER: Final = "vault"
Say = Callable[[str], object]


class CannotRotate(Exception):
    """The old key stays; the text names what to fix."""


def rotate(private: Path, *, keep_old: bool = False, say: Say) -> None:
    """Replace the vault's keys, or resume what an earlier run began.

    `private` is the workers' file. `keep_old` leaves the old key in it, for where the web process
    has a copy of the public key that has yet to be exchanged. Raises CannotRotate.
    """
    if not private.is_file():
        raise CannotRotate(f"There is no private key at {private}.")
    try:
        with files.hold(private.with_name(f".{private.name}.lock")):
            _rotate(private, keep_old, say)
    except files.Held:
        raise CannotRotate("Another rotation of these keys is running.") from None
    except vault.VaultClosed as error:
        raise CannotRotate(f"{error} Run this again once that is fixed.") from None


def _rotate(private: Path, keep_old: bool, say: Say) -> None:
    known = keys.read(private)
    if keys.public_key() not in [key.public_key for key in known]:
        raise CannotRotate(
            f"The public key at {settings.VAULT_PUBLIC_KEY_FILE} belongs to none of the "
            f"private keys at {private}."
        )
    if len(known) == 1:
        known.append(PrivateKey.generate())
        keys.write(private, *known)
        say("Workers open with the old key and with the new one.")
    new = known[-1]
    if keys.public_key() != new.public_key:
        keys.write(settings.VAULT_PUBLIC_KEY_FILE, new.public_key)
        say("From now on everything is sealed to the new key.")
    done: set[str] = set()
    while not _is_complete(done):
        _reseal_all(done, say)
    if keep_old:
        say("The old key is kept. Give the web process the new public key, then run this again.")
        return
    keys.write(private, new)
    say("Nothing is sealed to the old key any more; it is removed.")
    say("Back up keys, database and files now: earlier backups open with the old key only.")


def _sealed() -> QuerySet[Holdout]:
    """Return the revisions whose boxes are here; those of an archive without secrets have none."""
    return Holdout.objects.exclude(sealed_solution="")


def _is_complete(done: set[str]) -> bool:
    """Return whether nothing was sealed meanwhile; then delete what a killed run left.

    Decided under the locks that a solution is sealed in: whoever waits for them finds the new key.
    """
    with transaction.atomic():
        list(Competition.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        named = set(_sealed().values_list("sealed_solution", flat=True))
        if not named <= done:
            return False
        try:
            stored = {f"{FOLDER}/{name}" for name in default_storage.listdir(FOLDER)[1]}
        except FileNotFoundError:
            stored = set()
    for orphan in stored - named:
        default_storage.delete(orphan)
    return True


def _reseal_all(done: set[str], say: Say) -> None:
    """Seal every holdout again that is not done; `done` are the names of boxes."""
    for key in _sealed().order_by("pk").values_list("pk", flat=True):
        holdout = Holdout.objects.select_related("ledger__competition").filter(pk=key).first()
        if holdout is None or holdout.sealed_solution.name in done:
            continue
        try:
            again = vault.reseal(holdout)
        except FileNotFoundError:
            if Holdout.objects.filter(pk=key).exists():
                raise
            continue  # a draft was deleted meanwhile
        if again is not None:
            # The new boxes take the place of the old all at once; then the old file goes.
            old, name = (
                holdout.sealed_solution.name or "",
                f"{FOLDER}/{holdout.solution_commitment}",
            )
            solution, holdout.sealed_secret = again
            holdout.sealed_solution.name = default_storage.save(name, ContentFile(solution))
            holdout.save(update_fields=["sealed_solution", "sealed_secret"])
            default_storage.delete(old)
            say(f"{holdout} is sealed again.")
        done.add(holdout.sealed_solution.name or "")
