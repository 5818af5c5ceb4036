"""What a ledger has answered, what that cost and what is left: for its organizers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, F, Q

from leaderboard.ledger.accounts import count_questions, read_account
from leaderboard.ledger.entries import ledger_head
from leaderboard.models import Board, BoardState, Holdout, Ledger, Team, TeamAccount, TeamState
from leaderboard.queries.guarantees import Guarantee, guarantee
from scoring.laws.books import Account
from scoring.laws.exact import MILLION

_SHARES_SHOWN: Final = 100


@dataclass(frozen=True)
class Budget:
    """The head of the ledger as a board uses it, what answers cost, and the shares with the least
    left.

    questions: as the board counts them; `asked` are those about files. Where each team has an
    account of its own, `guarantee` and `costs` are of the `team` that has asked most. costs: for
    each board its name and the nats of its answers, None by the count alone.
    A share is the state of a `team`, with its `releases` and what is `left`.
    """

    holdout: Holdout
    questions: int
    asked: int
    answered: int
    budget_left: int | None
    releases: int
    head_hash: str
    guarantee: Guarantee | None
    costs: tuple[tuple[str, float | None], ...]
    team: Team | None
    teams: int
    shares: tuple[TeamState, ...]


def budget(board: Board, *, usual: float | None = None) -> Budget | None:
    """Return what is left for a board to answer; None until the competition has been opened.

    usual: the loss that the guarantee is of where nobody leads yet.
    """
    state = BoardState.objects.select_related("ledger").filter(board=board).first()
    holdout = board.round.active_holdout
    if state is None or holdout is None:
        return None
    ledger = state.ledger
    head, team = ledger_head(ledger, state), _find_busiest(ledger)
    states = board.team_states.filter(holdout=holdout, share_left__isnull=False)
    counted = states.select_related("team").annotate(
        releases=Count("team__releases", filter=Q(team__releases__holdout=holdout)),
        left=F("share_left"),
    )
    return Budget(
        holdout=holdout,
        questions=count_questions(ledger),
        asked=head.asked,
        answered=head.answered,
        budget_left=head.budget_left,
        releases=ledger.entries,
        head_hash=ledger.head_hash,
        guarantee=guarantee(board, team, usual=usual),
        costs=tuple(_costs(ledger, read_account(ledger, team))),
        team=team,
        teams=states.count(),
        shares=tuple(counted.order_by("share_left", "team__name")[:_SHARES_SHOWN]),
    )


def _find_busiest(ledger: Ledger) -> Team | None:
    """Return the team that has asked most, where each has an account of its own."""
    rows = TeamAccount.objects.filter(ledger=ledger).select_related("team")
    busiest = max(rows, key=lambda row: Account.from_json(row.account).count.asked, default=None)
    return busiest.team if busiest else None


def _costs(ledger: Ledger, account: Account) -> Iterator[tuple[str, float | None]]:
    boards = Board.objects.filter(round__ledger=ledger) if ledger.law else Board.objects.none()
    for board in boards.order_by("round__number", "position"):
        book = account.boards.get(board.uid)
        length = book.length if book else 0
        yield str(board), None if length is None else length / MILLION
