"""What a member or the captain does about a team."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.connection import PAGE_SIZE
from holdfast.records import Campaign, Invitation, Merger, Mergers, Record, Rows

if TYPE_CHECKING:
    from holdfast.connection import Json

R = TypeVar("R", bound=Record)


class TeamActions(ABC):
    """The part of `holdfast.Competition` that is about one's own team."""

    @abstractmethod
    def _get(self, *path: str | int) -> Json: ...

    @abstractmethod
    def _send(self, method: str, *path: str | int, **arguments: Any) -> Json: ...

    @abstractmethod
    def _rows(self, kind: type[R], part: str, **params: Any) -> Rows[R]: ...

    def campaigns(self, *, page: int | None = None, page_size: int = PAGE_SIZE) -> Rows[Campaign]:
        """Return your team's campaigns, the newest first: all, or one page of them."""
        return self._rows(Campaign, "campaigns", page=page, page_size=page_size)

    def campaign(self, name: str) -> Campaign:
        """Return one campaign, with what it, your team and all teams were told."""
        return Campaign.read(self._get("campaigns", name))

    def begin_campaign(self, name: str, limit: int | None = None) -> Campaign:
        """Begin a campaign; it takes a token of scope `campaigns`."""
        return Campaign.read(self._send("POST", "campaigns", json={"name": name, "limit": limit}))

    def limit_campaign(self, name: str, limit: int | None) -> Campaign:
        """Let a campaign make so many submissions in all; None for no limit."""
        return Campaign.read(self._send("PATCH", "campaigns", name, json={"limit": limit}))

    def end_campaign(self, name: str) -> Campaign:
        """End a campaign: it takes no more submissions."""
        return Campaign.read(self._send("PATCH", "campaigns", name, json={"ended": True}))

    def leave(self) -> None:
        """Leave your team. Once it has submitted, you can join no other one in this round."""
        self._send("POST", "team", "leave", json={})

    def remove_member(self, username: str) -> None:
        """Remove a member from your team, as its captain; it binds them as if they had left."""
        self._send("DELETE", "team", "members", username)

    def hand_over(self, username: str) -> None:
        """Make another member the captain."""
        self._send("PUT", "team", "captain", json={"username": username})

    def invite(self, email: str = "") -> Invitation:
        """Make a link to your team for whoever gets it, or mail one, for one person."""
        body = {"email": email} if email else {}
        return Invitation.read(self._send("POST", "team", "invitations", json=body))

    def withdraw_invitations(self) -> None:
        """End all invitations to your team."""
        self._send("DELETE", "team", "invitations")

    def mergers(self) -> Mergers:
        """Return which team yours asks to take it in, and which ask yours."""
        return Mergers.read(self._get("team", "mergers"))

    def merger(self, uid: str) -> Merger:
        """Return what merging with a team would do; nothing is asked yet."""
        return Merger.read(self._get("team", "mergers", uid))

    def ask_to_merge(self, uid: str) -> Mergers:
        """Ask a team to take yours in: yours would end, for good."""
        return Mergers.read(self._send("POST", "team", "mergers", uid, json={}))

    def accept_merger(self, uid: str) -> Mergers:
        """Take in a team that asks, for good."""
        return Mergers.read(self._send("PUT", "team", "mergers", uid, json={}))

    def drop_merger(self, uid: str) -> None:
        """Take back what your team asks of another, or decline what that asks."""
        self._send("DELETE", "team", "mergers", uid)
