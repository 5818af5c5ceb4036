"""What can go wrong in a command, in the words of the person at the terminal.

Failure               printed on stderr; ends the command with exit code 1
├ Refused             the server answered with a problem document (RFC 9457)
├ TooLong             the server sends more than the client accepts
└ Unreachable         no answer, or one that makes no sense; trying again may help
"""

from collections.abc import Iterable


class Failure(Exception):
    """One sentence that says what happened, lines of detail, and what can be done about it."""

    def __init__(self, message: str, *, details: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.hint = hint


class Refused(Failure):
    """The server refused; `status` is its HTTP status, `retry_after` the seconds it asks for."""

    status = 0
    retry_after = 0.0


class TooLong(Failure):
    """The server sends more than the limit; nothing beyond it was read."""


class Unreachable(Failure):
    """The server could not be reached, or its answer was not understood."""
