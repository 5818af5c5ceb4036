"""What can go wrong in a command, as the person at the terminal reads it.

Failure               printed on stderr; ends the command with `exit_code`
├ Refused             the server answered with a problem document (RFC 9457)
├ TooLong             the server sends more than is taken
└ Unreachable         no answer, or none that can be understood; trying again may help
"""

from collections.abc import Iterable


class Failure(Exception):
    """One sentence that says what happened, lines of detail, and what can be done about it."""

    exit_code = 1

    def __init__(self, message: str, *, details: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.hint = hint


class Refused(Failure):
    """The server's own reason. `status` is the HTTP status, `code` the problem's stable code."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        details: Iterable[str] = (),
        hint: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, details=details, hint=hint)
        self.status = status
        self.code = code
        self.retry_after = retry_after


class TooLong(Failure):
    """An answer of more than `limit` bytes, of which no more was read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The server sends more than {limit:,} bytes where it should not.")
        self.limit = limit


class Unreachable(Failure):
    """The server could not be reached, or its answer was not understood."""
