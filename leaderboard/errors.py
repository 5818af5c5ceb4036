"""Refusals: a request is understood but can't be granted.

The web shows a `Refused` as a form error, the API as an RFC 9457 problem, the command line as text.
"""

from collections.abc import Mapping
from typing import Any

from leaderboard.refusals import REFUSALS, word

PROBLEM_TYPE = "application/problem+json"


class Refused(Exception):
    """A request that changes nothing: a stable code and the facts, in no language.

    The facts are those that `leaderboard.refusals` has for the code. Of several wrong fields
    `errors` has the facts of each; of a wrong file `problems` has what is wrong where, and `total`
    how many there are.
    """

    def __init__(self, code: str, /, **facts: Any) -> None:
        """Leave out facts that are None."""
        super().__init__(code)
        self.code = code
        self.facts = {name: fact for name, fact in facts.items() if fact is not None}

    def __str__(self) -> str:
        return self.detail

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return REFUSALS[self.code].status

    @property
    def title(self) -> str:
        """Return the short form of what happened."""
        return REFUSALS[self.code].title

    @property
    def detail(self) -> str:
        """Return what happened, what it means and what can be done, in English."""
        several = self.facts.get("errors", (self.facts,))
        if len(several) == 1:
            return word(self.code, several[0])
        return word(self.code, {"variant": "several", "count": len(several)})

    @property
    def errors(self) -> list[dict[str, str]]:
        """Return what is wrong with single fields of a form or body: code, field and message."""
        return [
            {
                "code": facts.get("variant", self.code),
                "field": facts.get("field", REFUSALS[self.code].field),
                "message": word(self.code, facts),
            }
            for facts in self.facts.get("errors", (self.facts,))
            if "field" in facts or REFUSALS[self.code].field
        ]

    @property
    def fields(self) -> dict[str, str]:
        """Return the messages by the fields that they stand beside."""
        return {each["field"]: each["message"] for each in self.errors}

    def problem(self) -> dict[str, Any]:
        """Return the RFC 9457 problem document."""
        document = {
            "type": f"/api/v1/problems/#{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        errors = self.facts.get("problems") or self.errors
        total = self.facts.get("total", len(errors))
        return document | ({"errors": errors, "total": total} if errors else {})


def refuse_fields(wrong: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise Refused with the facts of every wrong field; do nothing where none is wrong."""
    if wrong:
        raise Refused("invalid", errors=[{"field": name, **facts} for name, facts in wrong.items()])
