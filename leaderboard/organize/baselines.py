"""Baselines that participants see: teams of their own, with entries of the real ledger.

They are trials of the draft that were marked, and go through the ordinary pipeline once the round
takes files. Their accounts have no password: nobody can sign in to them.
"""

import logging
import secrets
from pathlib import PurePath

from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import EventKind, Phase, Status, Team, Trial, TrialKind, User
from leaderboard.notify import events
from leaderboard.organize.files import delete_stored
from leaderboard.participate import membership
from leaderboard.pipeline import intake
from leaderboard.platform.files import open_stored

logger = logging.getLogger(__name__)


def send_baselines() -> None:
    """Submit the baselines of rounds that take files by now. Done twice, it changes nothing."""
    opened = Trial.objects.filter(
        is_baseline=True,
        status=Status.QUEUED,
        round__competition__opened_by_organizer_at__isnull=False,
    )
    for trial in opened.select_related("round__competition", "team"):
        if trial.round.phase(timezone.now()) is not Phase.OPEN:
            continue
        try:
            _send(trial)
        except Refused as refused:
            logger.warning("A baseline of %s was refused: %s.", trial.round_id, refused.code)
            refusal = {"status": Status.FAILED, "failure": str(refused)[:200]}
            Trial.objects.filter(pk=trial.pk).update(**refusal, finished_at=timezone.now())


def _send(trial: Trial) -> None:
    team = trial.team or _make_team(trial)
    if not team.submissions.exists():
        with open_stored(trial.file.name) as stored:
            intake.submit(
                team=team,
                user=team.captain,
                upload=File(stored, name=PurePath("baseline.csv").name),
                message=trial.title,
                claimed=trial.claimed_score,
            )
    delete_now = trial.file
    with transaction.atomic():
        delete_stored(delete_now)
        Trial.objects.filter(pk=trial.pk).delete()


def _make_team(trial: Trial) -> Team:
    competition = trial.round.competition
    with transaction.atomic():
        robot = User.objects.create_user(f"baseline-{secrets.token_hex(8)}", is_active=False)
        competition.invited.add(robot)  # it gives no join code, and has no address
        team = membership.join(
            competition=competition,
            user=robot,
            accept_rules=True,
            team_name=_free_name(trial),
        )
        competition.invited.remove(robot)
        Team.objects.filter(pk=team.pk).update(is_baseline=True)
        Trial.objects.filter(pk=trial.pk).update(team=team)
        subjects = {"team": team.uid}
        events.record(competition, EventKind.BASELINE_CHANGED, subjects=subjects, is_baseline=True)
    team.is_baseline = True
    return team


def _free_name(trial: Trial) -> str:
    """Return a name that no team of the competition has."""
    titles = {TrialKind.CONSTANT: "Constant prediction", TrialKind.SAMPLE: "Sample submission"}
    stem = titles.get(TrialKind(trial.kind), trial.title)[:50]
    names = trial.round.competition.teams.values_list("name", flat=True)
    taken = {name.casefold() for name in names}
    tried = (stem, *(f"{stem} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in tried if name.casefold() not in taken)
