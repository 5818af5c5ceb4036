"""The named cast of the tests: organizer, alice and bob, and a small competition to play in.

`world.digits` has 40 rows with ids r0 to r39; row i is of class i % 4. Rows 0 to 7 are Public, the
rest Private. `predictions(wrong)` writes a file that errs on the given rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.utils import timezone

from leaderboard import organize
from leaderboard.models import Competition, FileRole, Release, Submission, Team, User
from leaderboard.participate import membership
from leaderboard.pipeline import intake
from leaderboard.tasks import score_submission
from leaderboard.vault import keys

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
    """The hidden label of a row."""
    return CLASSES[row % 4]


def predictions(wrong: Iterable[int] = (), rows: int = ROWS) -> bytes:
    """A prediction file that is right except on the rows `wrong`."""
    mistaken = set(wrong)
    lines = [
        f"r{row},{CLASSES[(row + 1) % 4] if row in mistaken else truth(row)}" for row in range(rows)
    ]
    return ("id,label\n" + "\n".join(lines) + "\n").encode()


def upload(content: bytes, name: str = "predictions.csv") -> ContentFile[bytes]:
    """An uploaded file."""
    return ContentFile(content, name=name)


def solution(rows: int = ROWS, public: int = PUBLIC_ROWS) -> bytes:
    """The private solution of the small competition."""
    lines = [
        f"r{row},{truth(row)},{'Public' if row < public else 'Private'}" for row in range(rows)
    ]
    return ("id,label,Usage\n" + "\n".join(lines) + "\n").encode()


def make_user(name: str, **fields: Any) -> User:
    """An account with the password `name-password`."""
    return User.objects.create_user(name, f"{name}@example.org", f"{name}-password", **fields)


def make_competition(
    slug: str, organizer: User, rows: int = ROWS, public: int = PUBLIC_ROWS, **fields: Any
) -> Competition:
    """A competition with sample and sealed solution, opened."""
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
    competition = Competition.objects.create(slug=slug, **given)
    competition.organizers.add(organizer)
    sample = "id,label\n" + "".join(f"r{row},0\n" for row in range(rows))
    organize.add_file(
        competition, upload(sample.encode(), "sample_submission.csv"), role=FileRole.SAMPLE
    )
    organize.add_file(competition, upload(b"x,label\n1,0\n", "train.csv"), role=FileRole.TRAIN)
    organize.install_solution(
        competition, upload(solution(rows, public), "solution.csv"), by=organizer
    )
    organize.open_competition(competition)
    return competition


def make_draft(slug: str, organizer: User, rows: int) -> Competition:
    """A draft with a sample, in which numbers from 0 to 1 are to be predicted."""
    now = timezone.now()
    competition = Competition.objects.create(
        slug=slug,
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
    competition.organizers.add(organizer)
    sample = "id,y\n" + "".join(f"r{row},0\n" for row in range(rows))
    organize.add_file(
        competition, upload(sample.encode(), "sample_submission.csv"), role=FileRole.SAMPLE
    )
    return competition


def make_checked(slug: str, organizer: User, **parameters: str) -> Competition:
    """A competition with Thresholdout: 20 Public and 80 Private rows."""
    return make_competition(
        slug,
        organizer,
        rows=CHECKED_ROWS,
        public=CHECKED_PUBLIC_ROWS,
        mechanism="thresholdout",
        mechanism_parameters=THRESHOLDOUT | parameters,
    )


def said(submission: Submission) -> Release:
    """What the mechanism said of a submission that it has answered."""
    assert submission.release is not None
    return submission.release


@dataclass
class World:
    """The cast on its stage."""

    organizer: User
    alice: User
    bob: User
    digits: Competition

    def join(self, user: User, name: str = "", competition: Competition | None = None) -> Team:
        """Makes a team of one."""
        return membership.join(
            competition=competition or self.digits,
            user=user,
            accept_rules=True,
            team_name=name or f"team {user.username}",
        )

    def submit(self, team: Team, content: bytes | None = None, **fields: Any) -> Submission:
        """Uploads a file for the captain; all right by default."""
        return intake.submit(
            team=team,
            user=team.captain,
            upload=upload(predictions() if content is None else content),
            **fields,
        )

    def score(self, team: Team, content: bytes | None = None, **fields: Any) -> Submission:
        """Uploads a file and scores it as a worker would."""
        submission = self.submit(team, content, **fields)
        score_submission(submission_id=submission.pk)
        submission.refresh_from_db()
        return submission


@pytest.fixture(scope="session", autouse=True)
def vault_keys() -> None:
    """A key pair of this test run."""
    private = settings.VAR_DIR / "vault" / "private.key"
    if not private.exists():
        keys.generate(settings.VAULT_PUBLIC_KEY_FILE, private)
    settings.VAULT_PRIVATE_KEY_FILE = str(private)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """The cast and an open competition with the Ladder.

    Its secrets are the same in every run, and so is its noise: Laplace's goes far out now and then,
    and one test in fifty would be answered otherwise. So the guard knows of this test alone.
    """
    monkeypatch.setattr("secrets.token_bytes", random.Random(0).randbytes)
    monkeypatch.setattr(settings, "GUARD_DIR", tmp_path / "guard")
    organizer = make_user("organizer", is_organizer=True)
    return World(
        organizer=organizer,
        alice=make_user("alice"),
        bob=make_user("bob"),
        digits=make_competition("digits", organizer),
    )
