"""How much of the hidden rows was told: to a campaign, a team and in a whole competition.

All of it follows from answers that were given. On a board that is hidden until the end a team sees
its own figures alone. Duels and revisions are the ledger's: they count for the competition.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum

from leaderboard.access import Person, may_see_others
from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import terms_of
from leaderboard.models import (
    Board,
    Campaign,
    Competition,
    Ledger,
    Release,
    Submission,
    Team,
)
from leaderboard.models.release import UNANSWERED
from leaderboard.participate.quotas import COUNTS
from leaderboard.queries.guarantees import figure, leading_half
from scoring import mechanisms
from scoring.laws.books import COIN, Account
from scoring.laws.exact import MILLION
from scoring.mechanisms import answer_kinds

_SHOWN: Final = 200  # campaigns on a page, the newest
_Told = Mapping[str, Any]


@dataclass(frozen=True)
class Exposure:
    """What answers have told of the hidden rows.

    questions: those that were answered, by all boards and gates; a repeat is none. informative:
    those whose answer said more than "no", and each bit of a gate. nats: what the answers cost by
    the ledger's laws; None on a ledger without laws, and where an answer is from before costs were
    kept. before, after: half the width of the leading score's guarantee as the first and the last
    question of a board have it; None where nothing is guaranteed, or nothing was asked.
    """

    questions: int
    informative: int
    nats: float | None
    before: float | None
    after: float | None

    @property
    def texts(self) -> dict[str, str]:
        """Return the figures as they are shown."""
        return {
            "nats": "–" if self.nats is None else f"{self.nats:,.2f}",
            "before": figure(self.before) or "none",
            "after": figure(self.after) or "none",
        }


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as its team sees it; `left` of its `limit`, None for no limit.

    submissions: all that were sent, also rejected ones. used: the units that they took.
    """

    name: str
    limit: int | None
    left: int | None
    used: int
    submissions: int
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    exposure: Exposure


def campaign_rows(team: Team, part: slice = slice(_SHOWN)) -> list[CampaignRow]:
    """Return a team's campaigns, the newest first, or a part of them."""
    return _rows(team, team.campaigns.select_related("created_by")[part])


def campaign_row(campaign: Campaign) -> CampaignRow:
    """Return one campaign."""
    return _rows(campaign.team, [campaign])[0]


def campaign_names(team: Team, *, going_on: bool = False) -> list[str]:
    """Return the names of a team's campaigns, the newest first; or of those that go on."""
    found = team.campaigns.filter(ended_at=None) if going_on else team.campaigns.all()
    return list(found.values_list("name", flat=True)[:_SHOWN])


def team_exposure(team: Team) -> Exposure:
    """Return what all answers to a team told."""
    told = _count(Release.objects.filter(submission__team=team))
    return _exposure(_Halves(team.competition, team), [*_bits(team.submissions.all()), *told])


def competition_exposure(competition: Competition, user: Person) -> Exposure | None:
    """Return what all rows have answered to all teams; `after` is of the question that comes next.

    None to those who may not know of other teams.
    """
    if not may_see_others(user, competition):
        return None
    halves, asked = _Halves(competition), competition.ledgers.filter(entries__gt=0)
    told = [_of_ledger(each, halves.board(each.pk)) for each in asked.order_by("pk")]
    return _exposure(halves, told)


class _Halves:
    """Half the width of a guarantee by its L, for the ledgers of a competition."""

    def __init__(self, competition: Competition, team: Team | None = None) -> None:
        self._boards = {each.ledger_id: each.board for each in competition.rounds.all()}
        self._of = cache(lambda ledger: leading_half(self._boards[ledger], team))

    def board(self, ledger: int) -> Board:
        """Return the board that ranks in the last round on a ledger's rows."""
        return self._boards[ledger]

    def half(self, ledger: int, length: int | None) -> float | None:
        return None if length is None else self._of(ledger)(length)


def _of_ledger(ledger: Ledger, board: Board) -> _Told:
    """Return the ledger's own figures, which nobody has to count."""
    accounts = [read_account(ledger, None)]
    if ledger.by_team:
        accounts = [Account.from_json(each.account) for each in ledger.team_accounts.all()]
    terms, mechanism = terms_of(ledger), mechanisms.get(board.mechanism)
    beta = mechanism.ledger_beta(mechanism.parse(board.mechanism_parameters))
    costs = [terms.cost(Account(), each) for each in accounts]
    lengths = [terms.next_length(each, beta) for each in (Account(), *accounts)]
    gates = sum(each.gates for each in accounts)
    return {
        "holdout__ledger": ledger.pk,
        "questions": ledger.asked + gates,
        "informative": ledger.answered + gates,
        "unknown": costs.count(None),
        "cost": sum(each or 0 for each in costs),
        "first": lengths[0] if ledger.law else None,
        "last": max(lengths) if ledger.law else None,
    }


def _count(answers: QuerySet[Release], *by: str) -> Iterable[_Told]:
    """Return what boards have told, by ledger and other fields; the newest ledger comes last."""
    asked = Q(repeat_of__isnull=True) & ~Q(kind__in=UNANSWERED)
    more = [code for code, kind in answer_kinds().items() if kind.says_more]
    groups = answers.order_by("holdout__ledger").values("holdout__ledger", *by)
    told: Iterable[_Told] = groups.annotate(
        questions=Count("pk", filter=asked),
        informative=Count("pk", filter=asked & Q(kind__in=more)),
        unknown=Count("pk", filter=asked & Q(cost__isnull=True)),
        cost=Sum("cost"),
        first=Min("length", filter=asked),
        last=Max("length", filter=asked),
    )
    return told


def _bits(submissions: QuerySet[Submission], *by: str) -> Iterator[_Told]:
    """Yield what gates have told, as `_count` does; their bits have no number, and widen nothing
    by themselves."""
    asked = submissions.filter(gate_answer__isnull=False, takes_quota=True).order_by()
    groups = asked.values(*by, holdout__ledger=F("gate_answer__holdout__ledger"))
    for each in groups.annotate(questions=Count("pk")):
        bits = each["questions"]
        yield each | {"informative": bits, "unknown": 0, "cost": bits * COIN}


def _exposure(halves: _Halves, told: Iterable[_Told]) -> Exposure:
    """Return what groups of answers told together; the guarantee is that of the last ledger."""
    groups = [each for each in told if each["questions"]]
    last = groups[-1] if groups else {}
    before, after = (
        halves.half(last["holdout__ledger"], last[end]) if end in last else None
        for end in ("first", "last")
    )
    is_known = not any(each["unknown"] for each in groups)
    return Exposure(
        questions=sum(each["questions"] for each in groups),
        informative=sum(each["informative"] for each in groups),
        nats=sum(each["cost"] or 0 for each in groups) / MILLION if is_known else None,
        before=before,
        after=after,
    )


def _rows(team: Team, campaigns: Iterable[Campaign]) -> list[CampaignRow]:
    """Return campaigns with their counts, by as many queries for all of them as for one."""
    campaigns, halves = list(campaigns), _Halves(team.competition, team)
    sent = Submission.objects.filter(campaign__in=campaigns).order_by().values("campaign")
    counts = {
        each["campaign"]: each
        for each in sent.annotate(sent=Count("pk"), used=Count("pk", filter=COUNTS))
    }
    told: dict[int, list[_Told]] = {}
    answers = Release.objects.filter(submission__campaign__in=campaigns)
    for bit in _bits(Submission.objects.filter(campaign__in=campaigns), "campaign"):
        told.setdefault(bit["campaign"], []).append(bit)
    for each in _count(answers, "submission__campaign"):
        told.setdefault(each["submission__campaign"], []).append(each)
    rows = []
    for campaign in campaigns:
        count = counts.get(campaign.pk, {"sent": 0, "used": 0})
        left = None if campaign.limit is None else max(0, campaign.limit - count["used"])
        rows.append(
            CampaignRow(
                name=campaign.name,
                limit=campaign.limit,
                left=left,
                used=count["used"],
                submissions=count["sent"],
                created_by=campaign.created_by.username if campaign.created_by else "",
                created_at=campaign.created_at,
                ended_at=campaign.ended_at,
                exposure=_exposure(halves, told.get(campaign.pk, ())),
            )
        )
    return rows
