"""Secrets that are given to a process: in a file, in the environment, or by a command."""

import shlex
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.conf import settings

COMMAND_SECONDS: Final = 30


class SecretMissing(Exception):
    """There is no secret here. The text names setting and place, never what was read."""


@dataclass(frozen=True)
class Secret:
    """A secret by its name: the settings NAME_FILE, NAME and NAME_COMMAND say where it is.

    A file is read again whenever that is asked, what a command prints is kept by the process.
    """

    name: str

    @property
    def source(self) -> str:
        """Return which of the settings is set; empty where this process has no such secret."""
        names = (f"{self.name}_FILE", self.name, f"{self.name}_COMMAND")
        return next((name for name in names if getattr(settings, name)), "")

    @property
    def file(self) -> Path | None:
        """Return the file, if it is given in one."""
        is_file = self.source == f"{self.name}_FILE"
        return Path(getattr(settings, self.source)) if is_file else None

    def read(self) -> str:
        """Return it, without the white space around it. Raises SecretMissing."""
        source = self.source
        if not source:
            raise SecretMissing(
                f"This process was given none of {self.name}_FILE, {self.name} and "
                f"{self.name}_COMMAND."
            )
        if self.file:
            try:
                text = self.file.read_text()
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "it is no text"
                raise SecretMissing(f"{source}: {self.file} can't be read: {why}.") from None
        elif source == self.name:
            text = getattr(settings, source)
        else:
            text = _printed(source, getattr(settings, source))
        if not text.strip():
            raise SecretMissing(f"{source} gives nothing.")
        return text.strip()

    def stamp(self) -> tuple[str, int, int]:
        """Return a value that changes whenever the file is replaced. Raises SecretMissing."""
        if not self.file:
            return self.source, 0, 0
        try:
            found = self.file.stat()
        except OSError as error:
            raise SecretMissing(f"{self.source}: {self.file}: {error.strerror}.") from None
        return str(self.file), found.st_ino, found.st_mtime_ns


VAULT_KEY: Final = Secret("VAULT_PRIVATE_KEY")
LOG_KEY: Final = Secret("LOG_KEY")
RECEIPT_KEY: Final = Secret("RECEIPT_KEY")


@lru_cache
def _printed(source: str, command: str) -> str:
    """Return what a command prints. No shell reads it, and what it says of errors is not kept."""
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=True,
        )
        return done.stdout.decode()
    except subprocess.CalledProcessError as error:
        why = f"it ended with {error.returncode}"
    except subprocess.TimeoutExpired:
        why = f"it has not ended after {COMMAND_SECONDS} s"
    except OSError as error:
        why = error.strerror or "it can't be run"
    except ValueError:  # quotes that don't match, or bytes that are no text
        why = "it can't be read, or what it prints is no text"
    raise SecretMissing(f"{source}: the command gave no secret: {why}.")
