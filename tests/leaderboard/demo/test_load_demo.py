"""The demo: loaded once, through the pipeline, with its labels in the vault alone."""

import io
import time
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db.models import Model
from django.utils import timezone
from pytest_django import Settings

from leaderboard.models import (
    Competition,
    CompetitionFile,
    Holdout,
    Release,
    Status,
    Submission,
    Team,
    User,
)
from leaderboard.operate.demo.competitions import DEMO_COMPETITIONS, DemoCompetition
from leaderboard.operate.demo.load import finish
from leaderboard.operate.log_verification import verify_log
from leaderboard.tasks import score_submission
from tests import ending
from tests.snapshots import kept
from tests.web.pages import browser

EVERY = pytest.mark.parametrize("demo", DEMO_COMPETITIONS, ids=lambda demo: demo.slug)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def loaded(db: None, settings: Settings, home: Path) -> Path:
    """The demo is loaded and scored. Returns the directory with the accounts."""
    settings.VAR_DIR = home
    load_and_score()
    return home


@kept
def load_and_score() -> None:
    load()
    for submission in Submission.objects.order_by("created_at"):
        score_submission(submission_id=submission.pk)


def load() -> None:
    call_command("load_demo", stdout=io.StringIO())


def score(team: str) -> Release:
    """Scores what a baseline submitted."""
    submission = Submission.objects.get(team__name=team)
    score_submission(submission_id=submission.pk)
    return Release.objects.get(submission=submission)


def stored_texts() -> list[str]:
    """Every stored file that isn't sealed."""
    names = [str(file.file.name) for file in CompetitionFile.objects.all()]
    names += Submission.objects.values_list("file", flat=True)
    return [default_storage.open(name).read().decode() for name in names]


def test_loading_again_changes_nothing(loaded: Path) -> None:
    models: tuple[type[Model], ...] = (User, Competition, Holdout, Team, Submission, Release)
    before = [model._default_manager.count() for model in models]
    accounts = (loaded / "demo-accounts.txt").read_text()
    load()
    assert [model._default_manager.count() for model in models] == before
    assert (loaded / "demo-accounts.txt").read_text() == accounts


@EVERY
def test_its_models_are_scored_by_the_pipeline(loaded: Path, demo: DemoCompetition) -> None:
    teams = Team.objects.filter(competition__slug=demo.slug)
    assert {team.is_baseline for team in teams} == {not demo.is_finished}
    statuses = Submission.objects.filter(team__in=teams).values_list("status", flat=True)
    assert list(statuses) == [Status.RELEASED] * len(demo.baselines)
    assert verify_log(Competition.objects.get(slug=demo.slug)) > 0


def test_the_finished_one_shows_its_final_board(loaded: Path) -> None:
    finished = next(each for each in DEMO_COMPETITIONS if each.is_finished)
    competition = Competition.objects.get(slug=finished.slug)
    assert not finish(finished, 0)  # closes it
    assert not finish(finished, 0)  # starts the finals
    ending.measure(competition)
    assert finish(finished, 0)
    board = browser(User.objects.get(username="alice")).get(f"/c/{finished.slug}/leaderboard/")
    assert "could be first" in board.content.decode()


def test_the_end_waits_until_no_upload_can_come_late(
    loaded: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UPLOAD_SECONDS = 300
    began, slept = timezone.now(), [0.0]
    monkeypatch.setattr(timezone, "now", lambda: began + timedelta(seconds=slept[0]))
    monkeypatch.setattr(time, "monotonic", lambda: slept[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: slept.append(slept.pop() + seconds))
    finished = next(each for each in DEMO_COMPETITIONS if each.is_finished)
    assert not finish(finished, 10)  # no worker measures
    assert Competition.objects.get(slug=finished.slug).current_round.finals_started_at is not None


def test_a_lucky_public_score_is_corrected(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the noise, which is left out here: with it, now and then it is believed."""
    monkeypatch.setattr("scoring.noise.sample_laplace", lambda *_: 0)
    settings.VAR_DIR = tmp_path
    load()
    release = score("One threshold")
    assert release.kind == "corrected"
    assert score("Logistic regression").kind == "confirmed"


@EVERY
def test_held_out_labels_are_in_no_file_that_participants_get(demo: DemoCompetition) -> None:
    tables = demo.tables()
    assert demo.label not in tables.test
    assert not set(tables.train["id"]) & set(tables.solution["id"])
    assert tables.sample[demo.label].nunique() == 1


@EVERY
def test_no_stored_file_besides_the_sealed_one_has_the_solution(
    loaded: Path, demo: DemoCompetition
) -> None:
    solution = demo.tables().solution[demo.label].tolist()
    for text in stored_texts():
        table = pd.read_csv(io.StringIO(text), dtype=str)
        assert demo.label not in table or table[demo.label].tolist() != solution


@EVERY
def test_train_and_test_share_no_row(demo: DemoCompetition) -> None:
    tables = demo.tables()
    assert not set(tables.train["id"]) & set(tables.test["id"])
    assert list(tables.sample["id"]) == list(tables.test["id"]) == list(tables.solution["id"])


@EVERY
def test_ids_tell_nothing_of_the_labels(demo: DemoCompetition) -> None:
    """The rows are numbered after shuffling: neighbours agree no more often than by chance."""
    labels = demo.tables().solution[demo.label].reset_index(drop=True)
    chance = labels.value_counts(normalize=True).pow(2).sum()
    agree = (labels == labels.shift()).mean()
    assert abs(agree - chance) < 4 * (chance * (1 - chance) / len(labels)) ** 0.5


@EVERY
def test_its_texts_are_complete_and_cite_source_and_licence(demo: DemoCompetition) -> None:
    assert demo.text("description")
    assert demo.text("rules")
    cited = {"https://doi.org/10.24432/", "CC BY 4.0"}
    made_up = {"It is made up", "CC0"}
    assert any(all(each in demo.text("data") for each in facts) for facts in (cited, made_up))


def test_every_person_has_a_password_of_its_own(loaded: Path) -> None:
    accounts = loaded / "demo-accounts.txt"
    lines = [line.split() for line in accounts.read_text().splitlines()]
    assert accounts.stat().st_mode & 0o777 == 0o600
    assert len({line[1] for line in lines}) == len(lines) == 4
    assert all(User.objects.get(username=line[0]).check_password(line[1]) for line in lines)


def test_nobody_can_sign_in_as_a_baseline(loaded: Path) -> None:
    robots = User.objects.filter(username__startswith="baseline-")
    assert robots
    assert not any(robot.has_usable_password() for robot in robots)


def test_organizer_and_participants_see_it(loaded: Path) -> None:
    for name in ("organizer", "alice"):
        page = browser(User.objects.get(username=name)).get("/c/digits/")
        assert page.status_code == 200
