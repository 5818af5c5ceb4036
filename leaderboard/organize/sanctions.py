"""Taking teams and submissions off the boards and out of the finals, with a public reason.

Entries of the ledger stay, and so does what they cost. Until the final places are revealed all this
can be done and taken back, and places found already are found anew; afterwards nothing changes.
"""

from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.ledger.sanctions import restand
from leaderboard.models import (
    Audience,
    Competition,
    EventKind,
    Round,
    Sanction,
    SanctionKind,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events
from leaderboard.pipeline.finalize import count_anew

REASON_LENGTH: Final = 500
_EVENTS: Final = {
    SanctionKind.DISQUALIFIED: EventKind.DISQUALIFIED,
    SanctionKind.HIDDEN: EventKind.TEAM_HIDDEN,
}


def sanction_team(team: Team, kind: str, reason: str, *, by: User | None) -> None:
    """Disqualify a team, or hide it from others; boards and finals leave it out.

    A disqualified team can't submit. Raises Refused without a reason, where a sanction of the team
    holds already, and once the final places are revealed.
    """
    if kind not in SanctionKind.values:
        choices = ", ".join(SanctionKind.values)
        raise Refused("invalid", field="kind", variant="sanction_unknown", choices=choices)
    _write(team, None, SanctionKind(kind), reason, by)


def sanction_submission(submission: Submission, reason: str, *, by: User | None) -> None:
    """Let boards and finals leave a submission out. Raises Refused as `sanction_team` does."""
    _write(submission.team, submission, SanctionKind.DISQUALIFIED, reason, by)


def lift_from_team(team: Team, *, by: User | None) -> None:
    """Let a team count again. Raises Refused where it does, or the final places are revealed."""
    _lift(team, None, by)


def lift_from_submission(submission: Submission, *, by: User | None) -> None:
    """Let a submission count again. Raises Refused as `lift_from_team` does."""
    _lift(submission.team, submission, by)


def place_anew(competition: Competition, team: Team, *rounds: Round) -> None:
    """Bring boards and finals in line with what a team may rank. Call it under `lock.lock`.

    Raises Refused where the final places of one of the rounds are revealed.
    """
    restand(team)
    # An earlier round may still wait for its reveal.
    waiting = competition.rounds.filter(finals_started_at__isnull=False, revealed_at=None)
    for each in {*rounds, *waiting}:
        count_anew(each)


def _write(
    team: Team, submission: Submission | None, kind: SanctionKind, reason: str, by: User | None
) -> None:
    reason = " ".join(reason.split())
    if not reason:
        raise Refused("invalid", field="reason", variant="reason_public")
    if len(reason) > REASON_LENGTH:
        raise Refused("invalid", field="reason", variant="reason_long", limit=REASON_LENGTH)
    with transaction.atomic():
        competition = _lock(team, by)
        if team.sanctions.at().filter(submission=submission).exists():
            raise Refused("sanctioned_already")
        Sanction.objects.create(
            team=team,
            submission=submission,
            kind=kind,
            reason=reason,
            created_by=by,
            created_at=timezone.now(),
        )
        _follow(competition, team, submission, kind, by, reason=reason)


def _lift(team: Team, submission: Submission | None, by: User | None) -> None:
    with transaction.atomic():
        competition = _lock(team, by)
        held = team.sanctions.at().filter(submission=submission).first()
        if held is None:
            raise Refused("not_sanctioned")
        held.lifted_at = timezone.now()
        held.save(update_fields=["lifted_at"])
        _follow(competition, team, submission, SanctionKind(held.kind), by, lifted=True)


def _lock(team: Team, by: User | None) -> Competition:
    """Return the competition, locked with its ledgers: no answer may move the team meanwhile."""
    competition = lock.lock(team.competition)
    check_right(by, competition, Right.JUDGE)
    # Uploads of the team wait, and then see what is decided.
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    return competition


def _follow(
    competition: Competition,
    team: Team,
    submission: Submission | None,
    kind: SanctionKind,
    by: User | None,
    **facts: Any,
) -> None:
    """Carry out a sanction that was written or lifted, and record it."""
    round = competition.current_round
    place_anew(competition, team, round)
    subjects = {"team": team.uid, "round": round.number}
    if submission is not None:
        subjects["submission"] = submission.number
    is_public = submission is None and kind is SanctionKind.DISQUALIFIED
    events.record(
        competition,
        EventKind.SUBMISSION_EXCLUDED if submission else _EVENTS[kind],
        actor=by,
        audience=Audience.PUBLIC if is_public and not competition.hides_others else Audience.TEAM,
        subjects=subjects,
        **facts,
    )
