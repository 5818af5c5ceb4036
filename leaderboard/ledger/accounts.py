"""What the answers of a ledger have come to by its laws, as it is stored.

On a ledger that counts by team, each team has an account of its own.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from leaderboard.ledger.entries import terms_of
from leaderboard.models import Ledger, Team, TeamAccount, TeamState
from scoring.laws.books import Account, TeamBook
from scoring.laws.exact import MILLION


def read_account(ledger: Ledger, team: Team | None) -> Account:
    """Return the account that the next question of a team is charged to; None for any team.

    Where each team has its own, the ledger's is that with which one begins.
    """
    if not ledger.by_team:
        return Account.from_json(ledger.account)
    row = TeamAccount.objects.filter(ledger=ledger, team=team).first() if team else None
    return Account.from_json(row.account if row else ledger.account)


def count_questions(ledger: Ledger) -> int:
    """Return how many questions a ledger has answered, as its boards count them.

    Duels and revisions are questions besides those about files. Where each team has an account of
    its own, those about all teams' files.
    """
    if not ledger.law or ledger.by_team:
        return ledger.asked
    return read_account(ledger, None).count.numbered


def may_begin(ledger: Ledger, team: Team) -> bool:
    """Return whether the team has an account, or a part of beta is left for one."""
    if not ledger.by_team:
        return True
    accounts = TeamAccount.objects.filter(ledger=ledger)
    return accounts.filter(team=team).exists() or accounts.count() < terms_of(ledger).parts


def season_code(ledger: Ledger) -> float | None:
    """Return -ln of the chance of all answers of a ledger, in nats; None if it has no laws.

    By sequential laws alone, as statements at the end need it (theory.md 10.6): the count is none.
    What came after the end, in practice, is none of it.
    """
    if not ledger.law:
        return None
    ended = ledger.rounds.filter(code_before_practice__isnull=False).first()
    if ended is not None:
        return ended.code_before_practice
    rows = [row.account for row in ledger.team_accounts.all()] if ledger.by_team else []
    accounts = map(Account.from_json, rows or [ledger.account])
    return sum(account.length(Fraction(0)) for account in accounts) / MILLION


def save_account(ledger: Ledger, team: Team | None, account: Account) -> None:
    """Write the account. Call it with the ledger locked."""
    if not ledger.law:
        return
    if ledger.by_team and team is not None:
        stored = {"account": account.to_json()}
        TeamAccount.objects.update_or_create(ledger=ledger, team=team, defaults=stored)
        return
    ledger.account = account.to_json()
    Ledger.objects.filter(pk=ledger.pk).update(account=ledger.account)


def revise_accounts(ledger: Ledger) -> None:
    """Charge a revision of the solution to everybody. Call it with the ledger locked."""
    _change_all(ledger, Account.revise)


def write_off_accounts(ledger: Ledger, lost: int, alphabet: int) -> None:
    """Charge lost answers to everybody: all may have been any team's. Lock the ledger first."""
    has_gates = ledger.gate_limit is not None
    _change_all(ledger, lambda account: account.write_off(lost, alphabet, gates=has_gates))


def read_book(row: TeamState | None) -> TeamBook | None:
    """Return what the laws of a board remember of a team; None of one that has not asked."""
    return TeamBook.from_json(row.law_memory) if row and row.law_memory else None


def merge_memories(kept: TeamState | None, merged: TeamState) -> dict[str, Any]:
    """Return what laws remember of a team after another became a part of it."""
    book, other = read_book(kept), read_book(merged)
    if book is None or other is None:
        return (kept.law_memory if kept and book else merged.law_memory) or {}
    return book.merge(other).to_json()


def _change_all(ledger: Ledger, change: Callable[[Account], Account]) -> None:
    if not ledger.law:
        return
    for row in TeamAccount.objects.filter(ledger=ledger):
        row.account = change(Account.from_json(row.account)).to_json()
        row.save(update_fields=["account"])
    ledger.account = change(Account.from_json(ledger.account)).to_json()
    Ledger.objects.filter(pk=ledger.pk).update(account=ledger.account)
