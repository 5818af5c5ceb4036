"""Intake: what is accepted, what is refused and why, and that refusing changes nothing."""

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.utils import timezone

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round, Status, Submission
from leaderboard.participate import quotas
from leaderboard.pipeline import intake
from leaderboard.queries import quota
from tests.cast import World, predictions, set_round, upload


def _refusal(world: World, **change: Any) -> Refused:
    team = world.join(world.alice)
    set_round(world.digits, **change)
    team.refresh_from_db()
    with pytest.raises(Refused) as refused:
        world.submit(team)
    assert not Submission.objects.exists()
    return refused.value


def test_an_upload_becomes_a_queued_row_with_its_hash(world: World) -> None:
    submission = world.submit(world.join(world.alice), message="  first try ")
    assert submission.status == Status.QUEUED
    assert submission.number == 1
    assert submission.message == "first try"
    assert submission.sha256 in submission.file


def test_the_same_bytes_are_stored_once(world: World) -> None:
    team = world.join(world.alice)
    assert world.submit(team).file == world.submit(team).file


def test_a_file_cut_short_by_a_crash_is_not_taken_for_the_upload(world: World) -> None:
    team = world.join(world.alice)
    name = world.submit(team).file
    default_storage.delete(name)
    default_storage.save(name, upload(predictions()[:10]))
    stored = world.submit(team).file
    assert default_storage.size(stored) == len(predictions())


def stored_files() -> list[str]:
    folders = default_storage.listdir("submissions")[0]
    return [name for each in folders for name in default_storage.listdir(f"submissions/{each}")[1]]


def test_a_file_refused_after_it_was_stored_is_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.submit(team)
    before, store = stored_files(), intake._store

    def meanwhile_others_submit(*args: Any) -> str:
        Round.objects.update(daily_limit=1)
        return store(*args)

    monkeypatch.setattr(intake, "_store", meanwhile_others_submit)
    with pytest.raises(Refused):
        world.submit(team, predictions([3]))
    assert stored_files() == before


def test_a_file_for_a_competition_that_is_deleted_meanwhile_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team, store, stored = world.join(world.alice), intake._store, list[str]()

    def meanwhile_it_is_deleted(*args: Any) -> str:
        organize.delete_competition(world.digits, by=world.organizer)
        stored.append(store(*args))
        return stored[0]

    monkeypatch.setattr(intake, "_store", meanwhile_it_is_deleted)
    with pytest.raises(Refused, match="deleted") as refused:
        world.submit(team)
    assert refused.value.status == 404
    assert not default_storage.exists(stored[0])


def test_a_file_whose_acceptance_is_uncertain_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost_at_commit(*_: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    team = world.join(world.alice)
    world.submit(team)
    before = len(stored_files())
    monkeypatch.setattr(intake, "_accept", lost_at_commit)
    with pytest.raises(OperationalError):
        world.submit(team, predictions([4]))
    assert len(stored_files()) == before + 1


def test_numbers_count_per_team(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.submit(alice)
    world.submit(alice)
    assert world.submit(bob).number == 1


def test_a_client_s_path_is_not_kept(world: World) -> None:
    team = world.join(world.alice)
    submission = intake.submit(
        team=team, user=world.alice, upload=upload(predictions(), "../../etc/passwd")
    )
    assert submission.file_name == "passwd"


def test_after_the_deadline_it_is_refused(world: World) -> None:
    closes_at = timezone.now() - timedelta(seconds=1)
    assert _refusal(world, closes_at=closes_at).code == "deadline_passed"


def test_what_arrives_after_the_deadline_counts_from_when_its_head_came(
    world: World, settings: Any
) -> None:
    settings.UPLOAD_SECONDS = 60
    team, now = world.join(world.alice), timezone.now()
    set_round(world.digits, closes_at=now - timedelta(seconds=20))
    team.refresh_from_db()
    head = now - timedelta(seconds=30)
    assert world.submit(team, arrived=head).created_at == head
    for moment in (now - timedelta(seconds=10), now - timedelta(seconds=70)):
        with pytest.raises(Refused, match="closed on"):
            world.submit(team, arrived=moment)


def test_before_the_opening_it_is_refused(world: World) -> None:
    opens_at = timezone.now() + timedelta(hours=1)
    assert _refusal(world, opens_at=opens_at).code == "competition_not_open"


def test_a_draft_takes_nothing(world: World) -> None:
    Competition.objects.update(opened_by_organizer_at=None)
    assert _refusal(world, opens_at=world.round.opens_at).code == "competition_not_open"


def test_what_changed_while_the_file_was_stored_counts(world: World) -> None:
    team = world.join(world.alice)
    assert team.competition.current_round.daily_limit > 1  # as it was when the upload began
    Round.objects.update(daily_limit=1)
    world.submit(team)
    with pytest.raises(Refused) as refused:
        world.submit(team, predictions([9]))
    assert refused.value.code == "daily_limit_reached"


def test_too_large_a_file_is_refused(world: World) -> None:
    assert _refusal(world, max_file_bytes=100).code == "file_too_large"


def test_an_empty_file_is_refused(world: World) -> None:
    team = world.join(world.alice)
    with pytest.raises(Refused, match="no bytes"):
        world.submit(team, b"")


def test_who_is_not_a_member_is_refused(world: World) -> None:
    team = world.join(world.alice)
    with pytest.raises(Refused) as refused:
        intake.submit(team=team, user=world.bob, upload=upload(predictions()))
    assert refused.value.code == "not_a_member"


def test_the_daily_limit_is_the_team_s(world: World) -> None:
    team = world.join(world.alice)
    set_round(world.digits, daily_limit=2)
    team.refresh_from_db()
    world.submit(team)
    world.submit(team, predictions([9]))
    with pytest.raises(Refused) as refused:
        world.submit(team, predictions([10]))
    assert refused.value.code == "daily_limit_reached"
    assert quota(team).daily_left == 0


def test_yesterday_s_submissions_do_not_count_today(world: World) -> None:
    team = world.join(world.alice)
    set_round(world.digits, daily_limit=1)
    team.refresh_from_db()
    world.submit(team)
    Submission.objects.update(created_at=timezone.now() - timedelta(days=1))
    assert world.submit(team).number == 2


def test_the_limit_in_all_stays_reached(world: World) -> None:
    team = world.join(world.alice)
    set_round(world.digits, total_limit=1)
    team.refresh_from_db()
    world.submit(team)
    Submission.objects.update(created_at=timezone.now() - timedelta(days=3))
    with pytest.raises(Refused) as refused:
        world.submit(team, predictions([9]))
    assert refused.value.code == "total_limit_reached"


def test_a_rejected_file_costs_no_quota(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, b"id,label\n")
    assert quota(team).daily_left == world.round.daily_limit


def test_rejected_files_are_limited_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "FREE_PER_DAY", 1)
    team = world.join(world.alice)
    world.score(team, b"nonsense")
    with pytest.raises(Refused) as refused:
        world.submit(team)
    assert refused.value.code == "too_many_rejected"


def test_a_broker_that_is_away_does_not_refuse_the_upload(
    world: World, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: object
) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(current_app, "send_task", away)
    team = world.join(world.alice)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]  # a fixture
        submission = world.submit(team)
    submission.refresh_from_db()
    assert (submission.status, submission.enqueued_at) == (Status.QUEUED, None)


def test_a_broker_that_hangs_is_left_alone_after_seconds() -> None:
    options = current_app.conf.broker_transport_options
    assert options["socket_connect_timeout"] <= 1
    assert options["socket_timeout"] <= 5
