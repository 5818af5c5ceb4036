"""Trials of a draft go the whole way on a scratch ledger, which is thrown away at the opening."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from leaderboard import organize, tasks, vault
from leaderboard.errors import Refused
from leaderboard.models import (
    Competition,
    Release,
    Role,
    Standing,
    Status,
    Submission,
    Team,
    Trial,
    TrialLedger,
)
from leaderboard.organize import entry, trials
from leaderboard.organize.people import add_organizer
from leaderboard.organize.preview import as_participant
from leaderboard.organize.quick import create_from_files
from tests.cast import World, make_user, upload
from tests.leaderboard import dropped


@pytest.fixture
def draft(world: World) -> Competition:
    """A draft of two classes, from files."""
    return create_from_files(
        by=world.organizer, files=dropped.files(dropped.binary()), title="Churn"
    )


def _file(draft: Competition, says: str = "0") -> bytes:
    rows = range(5000, 5000 + dropped.ROWS)
    return ("id,churned\n" + "".join(f"{row},{says}\n" for row in rows)).encode()


def _tried(draft: Competition, world: World, content: bytes | None = None) -> Trial:
    file = upload(_file(draft) if content is None else content, "mine.csv")
    trial = trials.try_file(draft.current_round, file, by=world.organizer)
    tasks.score_trial(trial_id=trial.pk)
    trial.refresh_from_db()
    return trial


def test_a_trial_is_answered_by_the_boards_mechanism(world: World, draft: Competition) -> None:
    trial = _tried(draft, world)
    assert trial.status == Status.RELEASED
    answer = trial.answers[draft.current_round.board.uid]
    assert answer["kind"] == "confirmed"
    assert 0 < answer["level"] < answer["steps"]


def test_nothing_of_it_is_in_the_real_ledger(world: World, draft: Competition) -> None:
    _tried(draft, world)
    assert not Release.objects.exists()
    assert not Submission.objects.exists()
    ledger = draft.current_round.ledger
    assert ledger is not None
    assert ledger.entries == 0


def test_a_bad_file_is_told_what_participants_are_told(world: World, draft: Competition) -> None:
    trial = _tried(draft, world, b"id,churned\n1,7\n")
    assert trial.status == Status.REJECTED
    assert trial.problem_count


def test_constant_and_sample_are_tried_by_themselves(world: World, draft: Competition) -> None:
    tasks.run_baselines(round_id=draft.current_round.pk)
    kinds = Trial.objects.values_list("kind", flat=True)
    assert set(kinds) == {"constant"}  # the sample was made from it


def test_trials_begin_anew_where_the_draft_asks_something_else(
    world: World, draft: Competition
) -> None:
    _tried(draft, world)
    before = TrialLedger.objects.get().secret_commitment
    board = draft.current_round.board
    other = organize.Scoring(
        board.metric, {}, board.mechanism, board.mechanism_parameters | {"steps": "20"}
    )
    organize.change_scoring(board, other)
    _tried(Competition.objects.get(pk=draft.pk), world)
    assert TrialLedger.objects.get().secret_commitment != before


def test_the_opening_throws_trials_away(world: World, draft: Competition) -> None:
    file = _tried(draft, world).file.name
    organize.open_competition(draft, by=world.organizer)
    assert not Trial.objects.exists()
    assert not TrialLedger.objects.exists()
    assert default_storage.exists(str(file))  # until the transaction is committed


def test_baselines_become_entries_of_the_real_ledger(world: World, draft: Competition) -> None:
    tasks.run_baselines(round_id=draft.current_round.pk)
    for pk in Trial.objects.values_list("pk", flat=True):
        tasks.score_trial(trial_id=pk)
    organize.open_competition(draft, by=world.organizer, baselines=True)
    assert Trial.objects.get().answers == {}
    tasks.run_baselines(round_id=draft.current_round.pk)
    team = Team.objects.get(competition=draft)
    assert (team.name, team.is_baseline, team.captain.is_active) == (
        *("Constant prediction", True),
        False,
    )
    assert not Trial.objects.exists()
    tasks.score_submission(submission_id=Submission.objects.get(team=team).pk)
    assert Standing.objects.get(team=team).loss is not None


@pytest.mark.parametrize("role", [Role.JUDGE, Role.VIEWER])
def test_judge_and_viewer_try_nothing(world: World, draft: Competition, role: str) -> None:
    rita = make_user("rita", is_organizer=True)
    add_organizer(draft, rita, role, world.organizer)
    with pytest.raises(Refused, match="owner or editor"):
        trials.try_file(draft.current_round, upload(_file(draft), "mine.csv"), by=rita)


def test_an_open_competition_takes_no_trials(world: World) -> None:
    with pytest.raises(Refused, match="in a draft"):
        trials.try_file(world.round, upload(b"id,label\n", "mine.csv"), by=world.organizer)


def test_the_opening_leaves_nothing_of_a_trial_that_is_being_measured(
    world: World, draft: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.run_baselines(round_id=draft.current_round.pk)
    trial = Trial.objects.get()
    measure = vault.measure_trial

    def open_meanwhile(*given: Any) -> Any:
        measured = measure(*given)
        organize.open_competition(draft, by=world.organizer, baselines=True)
        return measured

    monkeypatch.setattr(vault, "measure_trial", open_meanwhile)
    tasks.score_trial(trial_id=trial.pk)
    trial.refresh_from_db()
    assert (trial.status, trial.answers, trial.failure) == (Status.QUEUED, {}, "")
    assert not TrialLedger.objects.exists()
    tasks.run_baselines(round_id=draft.current_round.pk)
    assert Team.objects.get(competition=draft).is_baseline


def test_baselines_need_no_join_code(world: World, draft: Competition) -> None:
    tasks.run_baselines(round_id=draft.current_round.pk)
    entry.renew_join_code(draft, by=world.organizer)
    entry.change_mail_domains(draft, ["uni.example"], by=world.organizer)
    organize.open_competition(draft, by=world.organizer, baselines=True)
    tasks.run_baselines(round_id=draft.current_round.pk)
    assert Team.objects.get(competition=draft).is_baseline
    assert not draft.invited.exists()


def test_the_preview_needs_no_join_code(world: World, draft: Competition) -> None:
    entry.renew_join_code(draft, by=world.organizer)
    with as_participant(draft, by=world.organizer) as visitor:
        assert visitor.memberships.get().competition == draft


def test_a_coming_round_takes_no_trials(world: World) -> None:
    coming = organize.add_round(
        world.digits, opens_at=timezone.now() + timedelta(days=60), by=world.organizer
    )
    with pytest.raises(Refused, match="in a draft"):
        trials.try_file(coming, upload(b"id,label\n", "mine.csv"), by=world.organizer)
