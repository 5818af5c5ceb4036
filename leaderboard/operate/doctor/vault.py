"""The vault's keys, and whether they open what is sealed."""

from collections.abc import Iterator

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import default_storage

from leaderboard import vault
from leaderboard.models import Holdout, Pause
from leaderboard.operate.doctor.report import Finding, is_embedded, note, ok, wrong
from leaderboard.operate.embedded import users
from leaderboard.platform import logs
from leaderboard.platform.secrets import VAULT_KEY

RESTORE_KEY = (
    "Put the right private key back from your backup. There is no other way to open what was "
    "sealed to it."
)


def keys() -> Iterator[Finding]:
    """Check that the public key is there and that the private one, if it is here, fits it."""
    try:
        public = vault.public_fingerprint()
    except (ImproperlyConfigured, OSError, ValueError, TypeError):
        yield wrong(
            f"There is no readable public key at {settings.VAULT_PUBLIC_KEY_FILE}.",
            "Set VAULT_PUBLIC_KEY_FILE; if there never was one, run `python manage.py vault_keys`.",
        )
        return
    yield ok(f"The public key {public} is readable.")
    yield from _users()
    if not VAULT_KEY.source:
        yield note(
            "This process has no private key, as it should be for all but workers.",
            "To have the holdouts opened, run the doctor where a worker runs.",
        )
        return
    path = VAULT_KEY.file
    try:
        private = vault.private_fingerprint()
    except vault.VaultClosed as closed:
        yield wrong(f"The private key can't be read. {closed}", RESTORE_KEY)
        return
    if path and path.stat().st_mode & 0o077:
        yield wrong(f"Others on this machine can read {path}.", f"Run `chmod 600 {path}`.")
    if private != public:
        yield wrong(f"The private key belongs to {private}, not to the public key.", RESTORE_KEY)
    else:
        yield ok("The private key fits it.")


def _users() -> Iterator[Finding]:
    """Tell whether an embedded start keeps the private key from its web server."""
    if not is_embedded():
        return
    if users.is_separate(settings.VAR_DIR):
        yield ok("Web server and worker are different users of the system.")
    else:
        yield note(f"{users.TOGETHER}.", "`make run` as root gives each its own, where it can.")


def holdouts() -> Iterator[Finding]:
    """Check that every active solution is there and, given the key, opens."""
    active = list(
        Holdout.objects.active()
        .exclude(ledger__paused_for=Pause.ARCHIVED)
        .select_related("ledger__competition")
    )
    problems = [problem for holdout in active for problem in _problems(holdout)]
    done = "there and opens" if VAULT_KEY.source else "there"
    yield from problems or [ok(f"{len(active)} active: each is {done}.")]


def _problems(holdout: Holdout) -> Iterator[Finding]:
    if not default_storage.exists(holdout.sealed_solution.name or ""):
        yield wrong(
            f"The sealed solution of {holdout} is missing from the storage.",
            f"Restore {holdout.sealed_solution.name} from your backup of the storage.",
        )
    elif VAULT_KEY.source:
        try:
            vault.check_opens(holdout)
        except Exception as error:  # whatever it is: its message stays in the vault
            yield wrong(f"{holdout} can't be opened: {logs.place(error)}.", RESTORE_KEY)
