"""What can go wrong, in the words of the person at the terminal and with a code for programs.

Failure               printed on stderr by the command line; ends it with exit code 1
├ Refused             the server answered with a problem document (RFC 9457), whose code it has
│ ├ NotSignedIn       401: no token, or one that has ended
│ ├ NotAllowed        403: rules not accepted, deadline passed, a token without the scope
│ ├ NotFound          404, 410: not there, not revealed yet, expired
│ ├ Conflict          409: already joined, finals started, a name that is taken
│ ├ Invalid           400, 413, 415, 422: something of what was sent is wrong
│ └ NotNow            429, 503: a limit that renews, a server that is busy; see `retry_after`
├ Rejected            a prediction file is wrong; `problems` says where
├ NotInstalled        it takes the packages of an extra, such as `holdfast[science]`
├ StillWaiting        a file was not scored in the time given
├ TooLong             the server sends more than the client accepts
└ Unreachable         no answer, or one that makes no sense; trying again may help
"""

from collections.abc import Iterable, Sequence
from typing import Any

INSTALL = 'pip install ".[science]"'


class Failure(Exception):
    """One sentence that says what happened, lines of detail, and what can be done about it.

    `code` is for programs and stays the same; the texts are for people and may change.
    """

    code = "failed"

    def __init__(self, message: str, *, details: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(
            (self.message, *map("  {}".format, self.details), *filter(None, [self.hint]))
        )


class Refused(Failure):
    """The server refused; `code` is the API's, `status` the HTTP status.

    retry_after: the seconds that the server asks for. problems: its entries for each wrong field
    or line, as the API writes them.
    """

    code = "refused"
    status = 0
    retry_after = 0.0
    problems: Sequence[dict[str, Any]] = ()


class NotSignedIn(Refused):
    """There is no token, or it has expired or been revoked."""


class NotAllowed(Refused):
    """This account, team or token may not do this, or not at this time."""


class NotFound(Refused):
    """It is not there, not there yet, or no more."""


class Conflict(Refused):
    """It does not go with what is there already."""


class Invalid(Refused):
    """Something of what was sent needs to be fixed."""


class NotNow(Refused):
    """A limit is used up, or the server is busy."""


REFUSALS: dict[int, type[Refused]] = {
    401: NotSignedIn,
    403: NotAllowed,
    **dict.fromkeys((404, 410), NotFound),
    409: Conflict,
    **dict.fromkeys((400, 413, 415, 422), Invalid),
    **dict.fromkeys((429, 503), NotNow),
}


class Rejected(Failure):
    """A prediction file is wrong; `problems` has line, column, value and what was expected."""

    code = "rejected"
    problems: Sequence[dict[str, Any]] = ()


class NotInstalled(Failure):
    """A package is missing that only some functions take."""

    code = "not_installed"

    def __init__(self, what: str, package: str, extra: str = "science") -> None:
        super().__init__(f"{what} takes the package {package}, which isn't installed.")
        self.hint = f'In a clone of Holdfast: pip install ".[{extra}]"'


class StillWaiting(Failure):
    """A file was not scored in the time given; it will be."""

    code = "still_waiting"


class TooLong(Failure):
    """The server sends more than the limit; nothing beyond it was read."""

    code = "too_long"


class Unreachable(Failure):
    """The server could not be reached, or its answer was not understood."""

    code = "unreachable"
