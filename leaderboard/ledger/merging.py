"""What two teams that become one keep in the ledger: nothing that was used is freed."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from leaderboard.ledger import levels, watermark
from leaderboard.ledger.accounts import merge_memories
from leaderboard.ledger.entries import team_head
from leaderboard.ledger.notes import add_note
from leaderboard.models import (
    Competition,
    Holdout,
    Ledger,
    MergeRequest,
    NoteKind,
    Round,
    Standing,
    Team,
    TeamState,
)
from leaderboard.models.campaign import NAME_LENGTH
from scoring.mechanisms import books


def unended(competition: Competition) -> QuerySet[Ledger]:
    """Return the ledgers whose finals have not started: the others keep the teams they had."""
    ended = Round.objects.filter(finals_started_at__isnull=False, ledger=OuterRef("pk"))
    return Ledger.objects.filter(~Exists(ended), competition=competition)


def merge_teams(
    team: Team, into: Team, *, offset: int | None = None
) -> list[tuple[str, watermark.Head]]:
    """Make one team a part of another, in every ledger whose finals have not started.

    Entries are not touched; a note of each ledger that the team has submitted to reports the
    merger, so that everybody's replay goes on from the same states. offset: what its submissions'
    numbers grow by; without it they follow behind the other's. Call it under `lock.lock`, and
    append what it returns to the watermark when that is committed.
    """
    heads, offset = [], last_number(into) if offset is None else offset
    submitted = unended(team.competition).filter(rounds__submissions__team=team)
    ledgers = list(submitted.distinct().order_by("pk"))
    for ledger in ledgers:
        holdout = Holdout.objects.active().get(ledger=ledger)
        for state in TeamState.objects.filter(team=team, holdout=holdout):
            key: dict[str, Any] = {"team": into, "holdout": holdout, "board": state.board}
            other, merged = TeamState.objects.filter(**key).first(), team_head(state)
            if other is not None:
                merged = books.merge_teams(team_head(other), merged)
            memory = merge_memories(other, state)
            TeamState.objects.update_or_create(
                **key, defaults=asdict(merged) | {"law_memory": memory}
            )
            state.delete()
        note = add_note(
            ledger, holdout, NoteKind.MERGE, team=team.uid, into=into.uid, offset=offset
        )
        heads.append((ledger.uid, watermark.Head(note.number, note.hash)))
    merge_rows(team, into, ledgers, offset)
    return heads


def merge_rows(team: Team, into: Team, ledgers: Collection[Ledger], offset: int) -> None:
    """Give a team's people to another one, with its submissions and places in these ledgers.

    Submission k gets the number `offset` + k: what is scored again is the other team's, and no two
    of its submissions share a number in the ledger.
    """
    team.memberships.update(team=into)
    team.invitations.all().delete()
    MergeRequest.objects.filter(Q(team=team) | Q(into=team)).delete()
    Team.objects.filter(Q(pk=team.pk) | Q(merged_into=team)).update(merged_into=into)
    sent = team.submissions.filter(round__ledger__in=ledgers)
    numbers = [offset + number for number in sent.values_list("number", flat=True)]
    # Where a merger is replayed, what came after the restore has to give way.
    later = max(last_number(into), *numbers, 0)
    into.submissions.filter(number__in=numbers).update(number=F("number") + later)
    sent.update(team=into, number=F("number") + offset)
    _merge_campaigns(team, into)
    for standing in Standing.objects.filter(team=team, board__round__ledger__in=ledgers):
        other = Standing.objects.filter(team=into, board=standing.board_id).first()
        if other is None:
            Standing.objects.filter(pk=standing.pk).update(team=into)
            continue
        before, freed = levels.spot(other), levels.spot(standing)
        is_better = standing.loss is not None and (
            other.loss is None
            or (standing.loss, standing.reached_at) < (other.loss, other.reached_at)
        )
        if is_better:
            other.loss, other.best = standing.loss, standing.best
            other.reached_at, other.curve = standing.reached_at, standing.curve
        other.entries += standing.entries
        other.variants += standing.variants
        levels.begin_day(other.board_id, timezone.now())
        levels.save(other, before)
        standing.delete()
        levels.move(other.board_id, freed, None)


def _merge_campaigns(team: Team, into: Team) -> None:
    """Give campaigns with their limits to the other team, under another name where it has one."""
    taken = set(into.campaigns.values_list("name", flat=True))
    for campaign in team.campaigns.all():
        if campaign.name in taken:
            campaign.name = f"{campaign.name[: NAME_LENGTH - 9]}-{campaign.uid[:8]}"
        campaign.team = into
        campaign.save(update_fields=["team", "name"])


def last_number(team: Team) -> int:
    """Return the number of the team's last submission, 0 without one."""
    last: int | None = team.submissions.aggregate(last=Max("number"))["last"]
    return last or 0
