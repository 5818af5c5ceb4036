"""Bring the demo onto the platform through the same functions that organizers and teams use."""

import secrets
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pandas as pd
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone

from durable.files import write_private
from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Phase, Team, User
from leaderboard.operate.demo.competitions import DemoCompetition
from leaderboard.operate.demo.datasets import Tables
from leaderboard.organize.teams import change_team
from leaderboard.participate import membership
from leaderboard.pipeline import finalize, intake

OPEN_FOR = timedelta(days=3650)
ENDS_AFTER = timedelta(days=1)  # it is closed earlier, once its models are scored
WAIT_SECONDS = 1

# Without letters and digits that look alike.
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
PASSWORD_LENGTH = 12


OPERATOR = {"is_superuser": True, "is_staff": True}
# Names, what they do, and what they may.
PEOPLE: tuple[tuple[str, str, dict[str, bool]], ...] = (
    ("operator", "runs the site, pages under /admin/", OPERATOR),
    ("organizer", "runs the competitions, pages under /organize/", {"is_organizer": True}),
    ("alice", "a participant who has not joined anything yet", {}),
    ("bob", "another participant", {}),
)


def ensure_people(keep_in: Path) -> None:
    """Make the accounts that are missing and note their passwords in the file, mode 0600."""
    names = set(User.objects.values_list("username", flat=True))
    lines = [keep_in.read_text() if keep_in.is_file() else ""]
    with transaction.atomic():
        for name, role, rights in PEOPLE:
            if name not in names:
                password = "".join(secrets.choice(ALPHABET) for _ in range(PASSWORD_LENGTH))
                User.objects.create_user(name, f"{name}@example.org", password, **rights)
                lines.append(f"{name:<10} {password}   {role}\n")
        if len(lines) > 1:
            write_private(keep_in, "".join(lines))


def load(demo: DemoCompetition, organizer: User) -> None:
    """Create what a competition lacks; run again after a crash, it resumes."""
    competition = Competition.objects.filter(slug=demo.slug).first()
    # Their accounts have no password, so that nobody can sign in to them.
    names = [f"baseline-{number}" for number, _ in enumerate(demo.baselines, start=1)]
    known = User.objects.in_bulk(names, field_name="username")
    robots = [known.get(name) or User.objects.create_user(name) for name in names]
    if competition is not None:
        teams = competition.teams.filter(captain__in=robots, submissions__isnull=False)
        if teams.distinct().count() == len(robots):
            return
    tables = demo.tables()
    if competition is None:
        competition = _set_up(demo, tables, organizer)
    for baseline, robot in zip(demo.baselines, robots, strict=True):
        # Baselines join, are marked as what they are, and submit like anybody else.
        team = Team.objects.filter(competition=competition, captain=robot).first()
        if team is None:
            team = membership.join(
                competition=competition, user=robot, accept_rules=True, team_name=baseline.team
            )
        change_team(team, organizer, is_baseline=not demo.is_finished)
        if not team.submissions.exists():
            predictions = _csv(baseline.predict(tables, demo.label), "predictions.csv")
            intake.submit(team=team, user=robot, upload=predictions, message=baseline.message)


def finish(demo: DemoCompetition, seconds: float) -> bool:
    """Take a competition to its end, as far as workers come in so many seconds.

    Those in which a late upload might still arrive come on top: the finals wait for them.
    Returns whether its final board is shown. Run again, it goes on from where it stands.
    """
    round = Competition.objects.get(slug=demo.slug).current_round
    give_up = time.monotonic() + settings.UPLOAD_SECONDS + seconds
    while round.revealed_at is None:
        with suppress(Refused):  # workers have more to do
            if round.phase(timezone.now()) is Phase.OPEN:
                if not finalize.unfinished(round).waiting:
                    finalize.close_early(round)
            elif round.finals_started_at is None:
                finalize.start_finals(round)
            else:
                finalize.reveal(round)
        round = Competition.objects.get(slug=demo.slug).current_round
        if time.monotonic() >= give_up:
            break
        time.sleep(WAIT_SECONDS if round.revealed_at is None else 0)
    return round.revealed_at is not None


@transaction.atomic
def _set_up(demo: DemoCompetition, tables: Tables, organizer: User) -> Competition:
    now = timezone.now()
    competition = organize.create_competition(
        slug=demo.slug,
        organizer=organizer,
        title=demo.title,
        tagline=demo.tagline,
        description=demo.text("description"),
        rules=demo.text("rules"),
        data_description=demo.text("data"),
        opens_at=now,
        closes_at=now + (ENDS_AFTER if demo.is_finished else OPEN_FOR),
        schema=demo.schema.to_json(),
        metric=demo.metric,
        metric_parameters=demo.metric_parameters,
        mechanism=demo.mechanism,
        mechanism_parameters=demo.mechanism_parameters,
    )
    round = competition.current_round
    for name, role, table, description in (
        ("train.csv", FileRole.TRAIN, tables.train, "To learn from, with labels"),
        ("test.csv", FileRole.TEST, tables.test, "To predict, without labels"),
        ("sample_submission.csv", FileRole.SAMPLE, tables.sample, "What to submit looks like"),
    ):
        organize.add_file(round, _csv(table, name), role=role, description=description)
    organize.install_solution(round, _csv(tables.solution, "solution.csv"), by=organizer)
    organize.open_competition(competition)
    return competition


def _csv(table: pd.DataFrame, name: str) -> "ContentFile[bytes]":
    return ContentFile(table.to_csv(index=False).encode(), name=name)
