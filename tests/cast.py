"""The named cast of the tests: organizer, alice and bob, and a small competition to play in.

`world.digits` has 40 rows with ids r0 to r39; row i is of class i % 4. Rows 0 to 7 are Public, the
rest Private. `predictions(wrong)` writes a file that errs on the given rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone

from leaderboard import organize
from leaderboard.log import keys as log_keys
from leaderboard.log import leaves
from leaderboard.models import (
    Board,
    Competition,
    FileRole,
    Holdout,
    Ledger,
    Release,
    Round,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events
from leaderboard.participate import membership
from leaderboard.pipeline import intake
from leaderboard.tasks import score_submission
from leaderboard.vault import keys
from tests.snapshots import chance, kept

ROWS = 40
PUBLIC_ROWS = 8
CLASSES = ("0", "1", "2", "3")
SCHEMA = {
    "id_column": "id",
    "columns": [{"name": "label", "kind": "label", "classes": list(CLASSES)}],
}
LADDER = {"steps": "20", "confidence": "0.95"}
THRESHOLDOUT = {
    "threshold": "0.25",
    "noise_scale": "0.0125",
    "budget": "3",
    "team_share": "2",
    "steps": "20",
    "confidence": "0.95",
}
CHECKED_ROWS, CHECKED_PUBLIC_ROWS = 100, 20


def truth(row: int) -> str:
    """Return the hidden label of a row."""
    return CLASSES[row % 4]


def predictions(wrong: Iterable[int] = (), rows: int = ROWS) -> bytes:
    """Write a prediction file that is right except on the rows `wrong`."""
    mistaken = set(wrong)
    lines = [
        f"r{row},{CLASSES[(row + 1) % 4] if row in mistaken else truth(row)}" for row in range(rows)
    ]
    return ("id,label\n" + "\n".join(lines) + "\n").encode()


def upload(content: bytes, name: str = "predictions.csv") -> ContentFile[bytes]:
    """Wrap an uploaded file."""
    return ContentFile(content, name=name)


def solution(rows: int = ROWS, public: int = PUBLIC_ROWS) -> bytes:
    """Write the private solution of the small competition."""
    lines = [
        f"r{row},{truth(row)},{'Public' if row < public else 'Private'}" for row in range(rows)
    ]
    return ("id,label,Usage\n" + "\n".join(lines) + "\n").encode()


def make_user(name: str, **fields: Any) -> User:
    """Create an account with the password `name-password`."""
    return User.objects.create_user(name, f"{name}@example.org", f"{name}-password", **fields)


def make_competition(
    slug: str, organizer: User, rows: int = ROWS, public: int = PUBLIC_ROWS, **fields: Any
) -> Competition:
    """Make a competition with sample and sealed solution, opened.

    `fields` are those of the competition, its round and its board.
    """
    now = timezone.now()
    given = {
        "title": slug.title(),
        "tagline": "Which class is it?",
        "description": "# Overview\nTell the classes apart.",
        "rules": "Play fair.",
        "opens_at": now - timedelta(days=1),
        "closes_at": now + timedelta(days=30),
        "schema": SCHEMA,
        "metric": "accuracy",
        "mechanism": "ladder",
        "mechanism_parameters": LADDER,
    } | fields
    competition = organize.create_competition(slug=slug, organizer=organizer, **given)
    round = competition.current_round
    sample = "id,label\n" + "".join(f"r{row},0\n" for row in range(rows))
    organize.add_file(round, upload(sample.encode(), "sample_submission.csv"), role=FileRole.SAMPLE)
    organize.add_file(round, upload(b"x,label\n1,0\n", "train.csv"), role=FileRole.TRAIN)
    organize.install_solution(round, upload(solution(rows, public), "solution.csv"), by=organizer)
    organize.open_competition(competition)
    competition.refresh_from_db()
    return competition


def add_column(competition: Competition, organizer: User, **parameters: str) -> Competition:
    """Add a Thresholdout as a second board, in a draft, and open again."""
    organize.return_to_draft(competition)
    round = competition.current_round
    organize.add_board(
        round,
        by=organizer,
        metric="accuracy",
        metric_parameters={},
        mechanism="thresholdout",
        mechanism_parameters=THRESHOLDOUT | parameters,
    )
    labels = solution(CHECKED_ROWS, CHECKED_PUBLIC_ROWS)
    organize.install_solution(round, upload(labels, "solution.csv"), by=organizer)
    organize.open_competition(competition)
    return Competition.objects.get(pk=competition.pk)


def make_draft(slug: str, organizer: User, rows: int) -> Competition:
    """Make a draft with a sample, in which numbers from 0 to 1 are to be predicted."""
    now = timezone.now()
    competition = organize.create_competition(
        slug=slug,
        organizer=organizer,
        title=slug.title(),
        description="# Overview",
        rules="Play fair.",
        opens_at=now - timedelta(days=1),
        closes_at=now + timedelta(days=30),
        schema={"id_column": "id", "columns": [{"name": "y", "kind": "number"}]},
        metric="mae",
        mechanism="ladder",
        mechanism_parameters=LADDER,
    )
    sample = "id,y\n" + "".join(f"r{row},0\n" for row in range(rows))
    file = upload(sample.encode(), "sample_submission.csv")
    organize.add_file(competition.current_round, file, role=FileRole.SAMPLE)
    return competition


def make_checked(slug: str, organizer: User, **parameters: str) -> Competition:
    """Make a competition with Thresholdout: 20 Public and 80 Private rows."""
    return make_competition(
        slug,
        organizer,
        rows=CHECKED_ROWS,
        public=CHECKED_PUBLIC_ROWS,
        mechanism="thresholdout",
        mechanism_parameters=THRESHOLDOUT | parameters,
    )


def set_round(competition: Competition, **fields: Any) -> Round:
    """Write fields of the current round to row and log, as no organizer may; read all again."""
    key = competition.current_round.pk
    Round.objects.filter(pk=key).update(**fields)
    competition.refresh_from_db()
    with transaction.atomic():
        for leaf in (leaves.deadline, leaves.limits):
            events.log(competition, leaf(Round.objects.get(pk=key)))
    return competition.current_round


def set_board(competition: Competition, **fields: Any) -> Board:
    """Write fields of the first board to row and log, as no organizer may; read all again."""
    Board.objects.filter(pk=competition.current_round.board.pk).update(**fields)
    competition.refresh_from_db()
    with transaction.atomic():
        events.log(competition, leaves.scoring(competition.current_round))
    return competition.current_round.board


def ledger_of(competition: Competition) -> Ledger:
    """Read the ledger of the current round as it is now."""
    return Ledger.objects.get(rounds=competition.current_round)


def active_holdout(competition: Competition) -> Holdout:
    """Return the revision of the current round's solution that answers now."""
    holdout = competition.current_round.active_holdout
    assert holdout is not None
    return holdout


def said(submission: Submission) -> Release:
    """Return what the mechanism said of a submission that it has answered."""
    assert submission.release is not None
    return submission.release


@dataclass
class World:
    """The cast on its stage."""

    organizer: User
    alice: User
    bob: User
    digits: Competition

    @property
    def round(self) -> Round:
        """The round of `digits`."""
        return self.digits.current_round

    @property
    def board(self) -> Board:
        """The board of `digits`."""
        return self.round.board

    def join(self, user: User, name: str = "", competition: Competition | None = None) -> Team:
        """Make a team of one."""
        return membership.join(
            competition=competition or self.digits,
            user=user,
            accept_rules=True,
            team_name=name or f"team {user.username}",
        )

    def add(self, user: User, team: Team) -> Team:
        """Let somebody join a team."""
        invitation = membership.invite(team=team, user=team.captain)
        return membership.join_team(invitation=invitation, user=user, accept_rules=True)

    def submit(self, team: Team, content: bytes | None = None, **fields: Any) -> Submission:
        """Upload a file for the captain; all right by default."""
        return intake.submit(
            team=team,
            user=team.captain,
            upload=upload(predictions() if content is None else content),
            **fields,
        )

    def score(self, team: Team, content: bytes | None = None, **fields: Any) -> Submission:
        """Upload a file and score it as a worker would."""
        submission = self.submit(team, content, **fields)
        score_submission(submission_id=submission.pk)
        submission.refresh_from_db()
        return submission


@pytest.fixture(scope="session", autouse=True)
def vault_keys() -> None:
    """Generate a key pair of this test run."""
    private = settings.VAR_DIR / "vault" / "private.key"
    if not private.exists():
        keys.generate(settings.VAULT_PUBLIC_KEY_FILE, private)
    settings.VAULT_PRIVATE_KEY_FILE = str(private)
    log_key = private.with_name("log.key")
    if not log_key.exists():
        log_keys.generate(log_key)
    settings.LOG_KEY_FILE = str(log_key)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """Set the stage: the cast and an open competition with the Ladder.

    Its secrets are the same in every run, and so is its noise: Laplace's goes far out now and then,
    and one test in fifty would be answered otherwise. So the watermarks know of this test alone.
    """
    chance.seed(0)
    monkeypatch.setattr("secrets.token_bytes", chance.randbytes)
    monkeypatch.setattr(settings, "WATERMARK_DIR", tmp_path / "watermark")
    cache.clear()  # of what throttles counted in other tests
    _settle()
    users = {each.username: each for each in User.objects.all()}
    return World(**users, digits=Competition.objects.get(slug="digits"))


@kept
def _settle() -> None:
    organizer = make_user("organizer", is_organizer=True)
    make_user("alice")
    make_user("bob")
    make_competition("digits", organizer)
