"""Make database and log agree again when the repair of a restored database ends.

Mergers are made again from the log, which has all that they take: later entries name what was
merged by its new name. What else the log tells and the database lacks, the log tells as lost.
"""

import logging
from collections.abc import Iterator

from leaderboard.ledger.merging import merge_teams
from leaderboard.log import leaves
from leaderboard.log.comparison import compare
from leaderboard.log.entries import Leaf
from leaderboard.models import Competition, LedgerNote, LogEntry, Loss, LossKind
from leaderboard.notify import events
from scoring.verification.differences import Differs

logger = logging.getLogger(__name__)


def settle(competition: Competition) -> None:
    """Merge again what the log has as merged, and tell the log what does not hold any more.

    Call it last in the transaction of a repair, where all ledgers are whole, under `lock_whole` and
    the locks of all teams. What it adds to ledgers reaches the watermark with the next look at
    them.
    """
    _merge_again(competition)
    entries, gone = _entries(competition), set[int]()
    try:
        told = [leaf for each in compare(competition, entries) for leaf in each.leaves]
    except Differs as differs:  # a log that contradicts itself stays that: `verify` names it
        logger.error("The log of competition %s: %s", competition.pk, differs)
        return
    for leaf in [*told, *_lost_budgets(competition, entries)]:
        if leaf.kind != "lost" or leaf.fields["entry"] not in gone:
            events.log(competition, leaf)
        if leaf.kind == "lost":
            gone.add(leaf.fields["entry"])


def _entries(competition: Competition) -> list[LogEntry]:
    return list(LogEntry.objects.filter(competition=competition).order_by("index"))


def _merge_again(competition: Competition) -> None:
    teams = competition.teams
    for entry in LogEntry.objects.filter(competition=competition, kind="merged").order_by("index"):
        team, into = (teams.get(uid=entry.document[name]) for name in ("team", "into"))
        if team.merged_into_id is None:
            merge_teams(team, into, offset=entry.document["offset"])
            for note in leaves.mergers(team):
                events.log(competition, leaves.noted(note))


def _lost_budgets(competition: Competition, entries: list[LogEntry]) -> Iterator[Leaf]:
    """Yield that raised budgets are lost whose entries of the ledger were written off."""
    gone = {each.document["entry"] for each in entries if each.kind == "lost"}
    notes = LedgerNote.objects.filter(holdout__ledger__competition=competition)
    known = set(notes.values_list("hash", flat=True))
    for entry in entries:
        is_raised = entry.kind == "top_up" and entry.index not in gone
        # Its entry of the ledger is told right behind it, unless the log's copy ends between both.
        behind = entries[entry.index + 1 : entry.index + 2]
        told = (each.document["hash"] for each in behind if each.kind == "noted")
        if is_raised and not known.issuperset(told):
            team = competition.teams.filter(uid=entry.document["team"] or "").first()
            Loss.objects.get_or_create(
                competition=competition, kind=LossKind.ACTION, team=team, action="top_up"
            )
            yield leaves.lost(entry.index)
