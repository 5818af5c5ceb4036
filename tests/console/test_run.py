"""The tab "Run" of an open competition, and what the list of competitions points out."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard import organize
from leaderboard.ledger.accounts import read_account, save_account
from leaderboard.models import (
    Competition,
    Ledger,
    Pause,
    Role,
    Sketch,
    Status,
    Submission,
    TeamState,
    User,
)
from leaderboard.organize.people import add_organizer
from leaderboard.queries import running
from leaderboard.queries.organized import organized
from tests import ending
from tests.cast import World, ledger_of, make_competition, make_user, predictions, set_round
from tests.console.conftest import SignIn
from tests.console.pages import at
from tests.leaderboard.test_limits import begin_with
from tests.web.pages import text


def _run(client: Client, competition: Competition) -> str:
    return text(client.get(at("run", competition)))


def _fail(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(
        status=Status.FAILED, failure="E at f.py:1", finished_at=timezone.now()
    )


def test_a_draft_shows_its_checklist(world: World, organizer: Client) -> None:
    organize.return_to_draft(world.digits)
    assert "Checklist" in _run(organizer, world.digits)


def test_an_open_competition_shows_how_it_runs(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    shown = _run(organizer, world.digits)
    for part in ("Opened", "Closes", "Nothing waits.", "Submissions per hour", "Guarantee now"):
        assert part in shown
    assert "Unusual teams None." in shown


def test_nothing_is_planned_or_warned_of_after_the_end(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    foreseen = ("At the end, as planned", "Worth a look")
    assert all(part in _run(organizer, world.digits) for part in foreseen)
    ending.close(world.digits)
    assert not any(part in _run(organizer, world.digits) for part in foreseen)


def test_duels_count_among_the_questions_that_were_declared(
    world: World, organizer: Client
) -> None:
    begin_with(world.digits, question_limit=60)
    world.score(world.join(world.alice))
    ledger = ledger_of(world.digits)
    account = read_account(ledger, None)
    save_account(ledger, None, replace(account, count=replace(account.count, numbered=7)))
    assert "Questions 7 of 60" in _run(organizer, world.digits)


def test_until_somebody_submits_it_leads_back_to_draft(world: World, organizer: Client) -> None:
    assert "Take it back to draft" in _run(organizer, world.digits)
    world.score(world.join(world.alice))
    assert "Take it back to draft" not in _run(organizer, world.digits)


def test_what_waits_is_counted_with_its_age(world: World, organizer: Client) -> None:
    sent = world.submit(world.join(world.alice))
    assert "1 file waits for a worker" in _run(organizer, world.digits)
    assert "longer than 10 minutes" not in _run(organizer, world.digits)
    early = timezone.now() - timedelta(minutes=11)
    Submission.objects.filter(pk=sent.pk).update(created_at=early)
    assert "Files wait longer than 10 minutes" in _run(organizer, world.digits)


def test_what_failed_is_queued_again_from_here(world: World, organizer: Client) -> None:
    sent = world.submit(world.join(world.alice))
    _fail(sent)
    shown = organizer.get(at("run", world.digits)).content.decode()
    assert f'action="{at("requeue", world.digits, sent.pk)}"' in shown
    assert "E at f.py:1" in shown


def test_uploads_are_counted_by_the_hour(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    world.score(team, b"id,label\n")
    old = world.submit(team)
    earlier = timezone.now() - timedelta(hours=3)
    Submission.objects.filter(pk=old.pk).update(created_at=earlier)
    hours = running.hours(world.digits)
    assert len(hours) == running.HOURS
    assert [(hour.taken, hour.rejected) for hour in hours if hour.taken or hour.rejected] == [
        (1, 0),
        (1, 1),
    ]


def test_uploads_are_drawn_as_text_as_well(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    page = organizer.get(at("run", world.digits)).content.decode()
    chart = page.split('class="bars"', 1)[1].split("</figure>")[0]
    assert '<rect class="taken"' in chart
    assert "<table>" in chart


def test_teams_without_anything_left_are_named(world: World, organizer: Client) -> None:
    team = world.score(world.join(world.alice)).team
    TeamState.objects.filter(team=team).update(share_left=0)
    shown = _run(organizer, world.digits)
    assert "Nothing left: team alice" in shown
    assert "Give more corrections" in shown


# --- Unusual teams --------------------------------------------------------------------------------


def test_a_team_with_many_rejected_files_is_named(world: World) -> None:
    sent = world.submit(world.join(world.alice))
    other = world.submit(world.join(world.bob))
    for submission, rejected in ((sent, 10), (other, 9)):
        facts = {
            "team": submission.team,
            "round": submission.round,
            "user": submission.user,
            "status": Status.REJECTED,
            "size": 1,
            "created_at": timezone.now(),
            "finished_at": timezone.now(),
        }
        Submission.objects.bulk_create(
            Submission(number=10 + number, **facts) for number in range(rejected)
        )
    (found,) = running.unusual(world.digits).rejections
    assert (found.team, found.rejected, found.taken) == (sent.team, 10, 1)


def test_nearly_the_same_predictions_of_two_teams_are_found(world: World) -> None:
    """Four teams that err on other rows each, and one that changed one row of another's file."""
    wrong = {"a": range(9), "b": range(10, 20), "c": range(20, 29), "d": range(29, 39)}
    for name, rows in wrong.items():
        world.score(world.join(make_user(name)), predictions(rows))
    copied = world.score(world.join(make_user("copy")), predictions([*range(10, 20), 39]))
    assert copied.status == Status.RELEASED
    (pair,) = running.unusual(world.digits).pairs
    assert {pair.first.name, pair.second.name} == {"team b", "team copy"}


def test_a_team_is_not_compared_with_itself_nor_a_baseline_with_teams(world: World) -> None:
    for name, rows in {"a": range(9), "b": range(10, 20), "c": range(20, 29)}.items():
        team = world.join(make_user(name))
        world.score(team, predictions(rows))
        world.score(team, predictions([*rows, 39]))
    baseline = world.score(world.join(make_user("base")), predictions([*range(10, 20), 39])).team
    baseline.is_baseline = True
    baseline.save()
    assert running.unusual(world.digits).pairs == ()


def test_a_sketch_is_written_before_any_label_is_seen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*args: object) -> None:
        raise RuntimeError

    from leaderboard import tasks

    monkeypatch.setattr(tasks, "measure", closed)
    world.score(world.join(world.alice))
    assert Sketch.objects.count() == 1


def _join(world: World, name: str, email: str, made: datetime) -> None:
    user = make_user(name)
    User.objects.filter(pk=user.pk).update(email=email, date_joined=made)
    user.refresh_from_db()
    world.join(user)


def test_accounts_made_within_minutes_are_named(world: World) -> None:
    now = timezone.now()
    for number in range(6):
        made = now - timedelta(days=2) + timedelta(minutes=number)
        _join(world, f"sock{number}", f"x@host{number}.example", made)
    world.join(world.alice)
    (found,) = running.unusual(world.digits).bulk
    assert (found.accounts, found.domain) == (6, "")


def test_a_class_that_was_invited_is_not_named_for_signing_up_together(world: World) -> None:
    for number in range(6):
        user = make_user(f"student{number}")
        world.join(user, f"Team {number}")
        world.digits.invitees.create(email=f"s{number}@example.org", user=user)
    assert running.unusual(world.digits).bulk == ()


def test_accounts_of_one_mail_domain_are_named_unless_all_are(world: World) -> None:
    now = timezone.now()
    for number in range(5):
        made = now - timedelta(days=number + 1)
        _join(world, f"sock{number}", f"x{number}@socks.example", made)
    assert running.unusual(world.digits).bulk == ()
    world.join(world.alice)
    (found,) = running.unusual(world.digits).bulk
    assert (found.accounts, found.domain) == (5, "socks.example")


def test_viewers_read_no_part_of_mail_addresses(
    world: World, organizer: Client, sign_in: SignIn
) -> None:
    for number in range(5):
        made = timezone.now() - timedelta(days=number + 1)
        _join(world, f"sock{number}", f"x{number}@socks.example", made)
    world.join(world.alice)
    assert "socks.example" in _run(organizer, world.digits)
    vera = make_user("vera", is_organizer=True)
    add_organizer(world.digits, vera, Role.VIEWER, world.organizer)
    shown = _run(sign_in(vera), world.digits)
    assert "5 accounts" in shown
    assert "socks.example" not in shown


def test_each_unusual_team_has_a_link_to_what_can_be_done(world: World, organizer: Client) -> None:
    for number in range(5):
        world.join(make_user(f"sock{number}"))
    team = world.digits.teams.first()
    assert team is not None
    assert (
        at("team", world.digits, team.uid)
        in organizer.get(at("run", world.digits)).content.decode()
    )


def test_the_number_of_queries_does_not_grow_with_teams_and_files(
    world: World, organizer: Client
) -> None:
    counts = []
    for number in range(3):
        for part in "ab":
            sent = world.score(
                world.join(make_user(f"person{number}{part}")), predictions([number])
            )
            TeamState.objects.filter(team=sent.team).update(share_left=0)
            _fail(world.submit(sent.team))
        with CaptureQueriesContext(connection) as queries:
            assert organizer.get(at("run", world.digits)).status_code == 200
        counts.append(len(queries))
    assert counts[1] == counts[-1]


# --- What needs attention -------------------------------------------------------------------------


def _attention(world: World) -> list[str]:
    (row,) = [each for each in organized(world.organizer) if each.slug == "digits"]
    return [text for text, _ in row.attention]


def test_where_all_is_well_nothing_is_pointed_out(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    assert _attention(world) == []
    assert "nothing" in text(organizer.get("/organize/"))


def test_the_list_points_out_what_failed_and_waits_and_is_paused(world: World) -> None:
    team = world.join(world.alice)
    _fail(world.submit(team))
    early = timezone.now() - timedelta(minutes=11)
    Submission.objects.filter(pk=world.submit(team).pk).update(created_at=early)
    Ledger.objects.update(paused_at=early, paused_for=Pause.REWOUND)
    assert _attention(world) == [
        "The ledger is paused: nothing is scored",
        "1 failed on our side",
        "Files wait longer than 10 minutes",
    ]


def test_the_list_points_out_the_steps_of_the_end(world: World) -> None:
    world.score(world.join(world.alice))
    set_round(world.digits, closes_at=timezone.now() + timedelta(hours=23))
    assert _attention(world) == ["It closes within a day"]
    ending.close(world.digits)
    assert _attention(world) == ["The finals wait to be started"]
    ending.score(world.digits)
    assert _attention(world) == ["The final scores wait to be revealed"]


def test_nobody_else_s_competition_is_pointed_out(
    world: World, rival: User, sign_in: SignIn
) -> None:
    _fail(world.submit(world.join(world.alice)))
    make_competition("mine", rival)
    assert "failed on our side" not in text(sign_in(rival).get("/organize/"))


def test_a_page_number_of_queries_for_the_list_is_the_same_for_many(
    world: World, organizer: Client
) -> None:
    counts: list[Any] = []
    for number in range(3):
        make_competition(f"other{number}", world.organizer)
        with CaptureQueriesContext(connection) as queries:
            organizer.get("/organize/")
        counts.append(len(queries))
    assert counts[0] == counts[-1]
