"""Refusals: a request is understood but can't be granted.

The web shows a `Refused` as a form error, the API as an RFC 9457 problem, the command line as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass
class Refused(Exception):
    """A request that changes nothing.

    `code` is stable and documented, `title` the short form of it, `detail` says what happened, what
    it means and what can be done. `status` is the HTTP status; `fields` names the form field, if
    one is to blame, with its message.
    """

    code: str
    title: str
    detail: str
    status: int = 409
    fields: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.detail

    def problem(self) -> dict[str, Any]:
        """Return the RFC 9457 problem document."""
        body: dict[str, Any] = {
            "type": f"/api/v1/problems/#{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        if self.fields:
            body["fields"] = self.fields
        return body

    @classmethod
    def file_too_large(cls, limit: int) -> Refused:
        return cls(
            "file_too_large",
            "The file is too large",
            f"The file is larger than the {_size(limit)} that are accepted. Nothing was counted.",
            413,
            {"file": f"Larger than {_size(limit)}."},
        )

    @classmethod
    def file_empty(cls) -> Refused:
        return cls(
            "file_empty",
            "The file is empty",
            "The file has no bytes in it. Choose the file with your predictions. "
            "Nothing was counted.",
            422,
            {"file": "Empty."},
        )

    @classmethod
    def storage_full(cls) -> Refused:
        return cls(
            "storage_full",
            "The server has no space left",
            "There is no space left on the server for this, so nothing was changed or counted. "
            "Please tell whoever runs this site, and try again later.",
            507,
        )

    @classmethod
    def unavailable(cls) -> Refused:
        return cls(
            "unavailable",
            "The site can't work at the moment",
            "The site can't reach its database or its files. Nothing that was accepted is lost. "
            "Try again in a minute; if you were uploading, look first whether the file is listed.",
            503,
        )

    @classmethod
    def not_open_yet(cls, opens_at: datetime | None) -> Refused:
        when = f" It opens {_moment(opens_at)}." if opens_at else ""
        return cls(
            "competition_not_open",
            "The competition is not open yet",
            f"This competition does not take submissions yet.{when} Nothing was counted.",
            403,
        )

    @classmethod
    def deadline_passed(cls, closes_at: datetime | None) -> Refused:
        closed = f"This competition closed {_moment(closes_at)}." if closes_at else "It has ended."
        return cls(
            "deadline_passed",
            "The deadline has passed",
            f"{closed} The file was not accepted.",
            403,
        )

    @classmethod
    def paused(cls) -> Refused:
        return cls(
            "paused",
            "The competition is paused",
            "The operator is restoring the ledger of this competition, or the organizer is "
            "revising the solution. Files are taken again once that is done; what was accepted "
            "before is kept and will be scored. Nothing was counted.",
            503,
        )

    @classmethod
    def not_a_member(cls) -> Refused:
        return cls(
            "not_a_member",
            "You have not joined this competition",
            "Join the competition first: read its rules and accept them on its rules page.",
            403,
        )

    @classmethod
    def rules_not_accepted(cls) -> Refused:
        return cls(
            "rules_not_accepted",
            "The rules are not accepted",
            "The files are for participants. Accept the rules on the competition's rules page.",
            403,
        )

    @classmethod
    def daily_limit_reached(cls, limit: int, renews_at: datetime) -> Refused:
        return cls(
            "daily_limit_reached",
            "Today's submissions are used up",
            f"Your team has used {_all_of(limit)} of today. "
            f"New ones are free {_moment(renews_at)}. The file was not accepted.",
            429,
        )

    @classmethod
    def total_limit_reached(cls, limit: int) -> Refused:
        return cls(
            "total_limit_reached",
            "All submissions are used up",
            f"Your team has used {_all_of(limit)}. The file was not accepted.",
            429,
        )

    @classmethod
    def too_many_rejected(cls, limit: int, renews_at: datetime) -> Refused:
        return cls(
            "too_many_rejected",
            "Too many rejected files today",
            f"{limit} files of your team were rejected today. Compare your file with the sample "
            f"submission. New uploads are free {_moment(renews_at)}.",
            429,
        )

    @classmethod
    def finals_started(cls) -> Refused:
        return cls(
            "finals_started",
            "The finals have started",
            "The organizer has started the final scoring: what is entered, and what was submitted, "
            "stays as it is.",
        )

    @classmethod
    def finals_not_revealed(cls) -> Refused:
        return cls(
            "finals_not_revealed",
            "There are no final scores yet",
            "The final scores of this competition are not revealed yet. The board of released "
            "scores is there.",
            404,
        )

    @classmethod
    def invalid(cls, name: str, message: str) -> Refused:
        """Refuse one form field; `message` is shown beside it."""
        return cls("invalid", "Something needs to be fixed", message, 422, {name: message})


def _all_of(limit: int) -> str:
    return "its one submission" if limit == 1 else f"all of its {limit} submissions"


def _moment(when: datetime | None) -> str:
    return f"on {when:%d %B %Y at %H:%M} UTC" if when else ""


def _size(count: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"
