"""What sanctions of teams and submissions mean for the rows of boards; entries are not touched."""

from typing import Any

from django.db.models import QuerySet

from leaderboard.ledger import levels
from leaderboard.models import Release, Sanction, Standing, Team
from leaderboard.platform.statements import prepared
from scoring import mechanisms


def is_ranked(team: Team) -> bool:
    """Return whether boards rank the team: no baseline, and no sanction of it as a whole holds."""
    return not team.is_baseline and not team.sanctions.at().of_teams().exists()


def restand(team: Team) -> None:
    """Write the team's rows anew on the boards whose final places are not revealed.

    Call it in the transaction that changes what it may rank, under `lock.lock`.
    """
    ranked = is_ranked(team)
    standings = Standing.objects.filter(team=team, board__round__revealed_at=None)
    for standing in standings.select_related("board__round", "best", "last"):
        before = levels.spot(standing)
        standing.is_ranked = ranked
        leave_out_sanctioned(standing)
        levels.save(standing, before)


def leave_out_sanctioned(standing: Standing, is_sanctioned: bool | None = None) -> bool:
    """Let the row rest on other answers than those of submissions under a sanction.

    Nothing is saved. Return whether one of the team's submissions to these rows is, or ever was,
    under one: then the row follows from the answers of the others alone. is_sanctioned: that,
    where it is known.
    """
    if is_sanctioned is None:
        is_sanctioned = bool(_sanctions(standing.team_id, standing.board.round.ledger_id))
    if not is_sanctioned:
        return False
    answers = _answers(standing)
    standing.loss, standing.best = None, None
    standing.reached_at, standing.curve = standing.last.submission.created_at, []
    for entry in answers:
        loss = (entry.level or 0) / entry.steps
        if standing.loss is None or loss < standing.loss:
            standing.loss, standing.best = loss, entry
            standing.reached_at = entry.submission.created_at
            levels.draw_curve(standing)
    return True


def of_files(team: Any, ledger: Any) -> QuerySet[Sanction, int]:
    """Return the sanctions of a team's submissions to these rows, lifted ones, too."""
    rows = Sanction.objects.filter(submission__team=team, submission__round__ledger=ledger)
    return rows.order_by().values_list("pk", flat=True)


@prepared
def _sanctions(team: int, ledger: int | None) -> QuerySet[Sanction, int]:
    return of_files(team, ledger)[:1]


def _answers(standing: Standing) -> list[Release]:
    """Return the answers that show scores of the team's own files, on its latest solution.

    A revision counts from the first answer on it that says something.
    """
    board = standing.board
    held = Sanction.objects.at(board.round.revealed_at).of_submissions()
    entries = Release.objects.filter(
        board=board, submission__team=standing.team_id, submission__is_practice=False
    ).exclude(submission__in=held.values("submission"))
    found = list(entries.select_related("submission", "holdout").order_by("number"))
    kinds = mechanisms.answer_kinds()
    said = [each for each in found if kinds[each.kind].bounds != "nothing"]
    latest = max((each.holdout.version for each in said), default=None)
    return [
        each
        for each in said
        if each.holdout.version == latest
        and kinds[each.kind].shows == "own"
        and each.level is not None
    ]
