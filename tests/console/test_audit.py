"""The tab "Audit", and what participants read of it."""

import csv
import io
from datetime import UTC, datetime

from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard import organize
from leaderboard.models import Event, EventKind, Submission
from leaderboard.notify.events import record
from leaderboard.organize.entry import renew_join_code
from leaderboard.organize.settings import change_settings
from leaderboard.organize.teams import change_team
from leaderboard.participate import admission
from leaderboard.pipeline.queue import requeue_failed
from leaderboard.queries.audit import audit_csv
from leaderboard.templatetags.text import moment
from tests.cast import World, set_round
from tests.console.pages import LADDER_FORM, at, sample, send_file, settings_of
from tests.web.pages import text


def _last(kind: EventKind) -> Event:
    found = Event.objects.filter(kind=kind).order_by("-pk").first()
    assert found is not None
    return found


def test_it_tells_who_changed_what_and_what_was_there_before(
    world: World, organizer: Client
) -> None:
    organizer.post(at("settings", world.digits), settings_of(world.digits, daily_limit="9"))
    shown = text(organizer.get(at("audit", world.digits)))
    assert "organizer A limit was changed" in shown
    assert "submissions a day 20 → 9" in shown


def test_moments_are_written_as_on_all_other_pages(world: World, organizer: Client) -> None:
    closes_at = datetime(2099, 3, 2, 9, 5, tzinfo=UTC)
    change_settings(world.digits, world.organizer, closes_at=closes_at)
    for page in (at("audit", world.digits), "/c/digits/rules/"):
        assert f"<ins>{moment(closes_at)}</ins>" in organizer.get(page).content.decode()
    written = b"".join(audit_csv(world.digits, world.organizer)).decode()
    assert "2099-03-02 09:05 UTC" in written


def test_a_long_text_is_kept_as_its_digest(world: World) -> None:
    change_settings(world.digits, world.organizer, description="Long. " * 100)
    told = _last(EventKind.TEXTS_CHANGED).data
    assert told["description"].keys() == {"characters", "sha256"}
    assert told["before"]["description"].startswith("# Overview")


def test_what_is_done_to_a_draft_is_its_organizers_to_know(world: World, organizer: Client) -> None:
    draft = world.digits
    organize.return_to_draft(draft, by=world.organizer)
    since = Event.objects.filter(competition=draft).count()
    organizer.post(at("scoring", draft), LADDER_FORM | {"mechanism-ladder-steps": "10"})
    organizer.post(at("settings", draft), settings_of(draft, daily_limit="9"))
    send_file(organizer, draft, sample(), role="other")
    events = Event.objects.filter(competition=draft, number__gt=since)
    assert set(events.values_list("audience", flat=True)) == {"organizers"}
    assert {EventKind.SCORING_CHANGED, EventKind.LIMIT_CHANGED, EventKind.FILES_CHANGED} <= set(
        events.values_list("kind", flat=True)
    )


def test_a_withdrawn_solution_is_told_apart_from_a_sealed_one(
    world: World, organizer: Client
) -> None:
    organize.return_to_draft(world.digits, by=world.organizer)
    organize.withdraw_solution(world.round, by=world.organizer)
    shown = text(organizer.get(at("audit", world.digits)))
    assert "The solution was withdrawn" in shown


def test_who_is_let_in_by_a_code_is_told_apart_from_who_was_invited(
    world: World, organizer: Client
) -> None:
    code = renew_join_code(world.digits, by=world.organizer)
    admission.enter_code(competition=world.digits, user=world.alice, code=code)
    shown = text(organizer.get(at("audit", world.digits)))
    assert "Somebody was let in" in shown
    assert "People were invited" not in shown.split("Somebody was let in")[1]


def test_what_participants_do_is_shown_on_request(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice))
    page = at("audit", world.digits)
    assert "A submission was accepted" not in _events(organizer, page)
    assert "A submission was accepted" in _events(organizer, f"{page}?kind=all")
    only = _events(organizer, f"{page}?kind=submission_released")
    assert set(only) == {"A submission was scored"}


def _events(client: Client, page: str) -> list[str]:
    return [each.title for each in client.get(page).context["found"].rows]


def test_a_submission_that_is_queued_again_is_audited(world: World, organizer: Client) -> None:
    sent = world.submit(world.join(world.alice))
    Submission.objects.filter(pk=sent.pk).update(status="failed", finished_at=timezone.now())
    requeue_failed(Submission.objects.all(), by=world.organizer)
    event = _last(EventKind.SUBMISSION_REQUEUED)
    assert (event.actor, event.subjects["submission"]) == (world.organizer, 1)
    assert "(team alice, submission 1)" in text(organizer.get(at("audit", world.digits)))


def test_the_csv_has_all_events_the_oldest_first(world: World, organizer: Client) -> None:
    change_team(world.join(world.alice, "=1+1"), world.organizer, is_verified=True)
    body = organizer.get(at("audit-csv", world.digits) + "?kind=all").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(body)))
    assert [int(row["number"]) for row in rows] == sorted(int(row["number"]) for row in rows)
    last = rows[-1]
    assert (last["kind"], last["who"], last["about"]) == ("team_verified", "organizer", "'=1+1")
    assert last["changes"] == "verified: no -> yes"


def test_the_number_of_queries_does_not_grow_with_the_events(
    world: World, organizer: Client
) -> None:
    counts = []
    for name in ("one", "two", "three"):
        team = world.digits.teams.first() or world.join(world.alice)
        change_team(team, world.organizer, name=name)
        with CaptureQueriesContext(connection) as queries:
            organizer.get(at("audit", world.digits))
        counts.append(len(queries))
    assert counts[0] == counts[-1]


# --- What participants see ------------------------------------------------------------------------


def _rules(client: Client) -> str:
    return text(client.get("/c/digits/rules/"))


def test_participants_read_what_concerns_them_without_who_did_it(
    world: World, organizer: Client, client: Client
) -> None:
    organizer.post(at("settings", world.digits), settings_of(world.digits, daily_limit="9"))
    changes = _rules(client).split("Changes", 1)[1]
    assert "A limit was changed submissions a day 20 → 9" in changes
    assert "SHA-256" not in changes
    assert "organizer" not in changes.split("Holdfast: competitions")[0]


def test_participants_don_t_read_what_is_the_organizers(world: World, client: Client) -> None:
    change_settings(world.digits, world.organizer, visibility="invited")
    change_settings(world.digits, world.organizer, visibility="public")
    assert "visibility" not in _rules(client)


def test_on_a_hidden_board_nobody_reads_of_other_teams(world: World, client: Client) -> None:
    world.join(world.alice)
    team = world.join(world.bob)
    with transaction.atomic():
        record(world.digits, EventKind.DISQUALIFIED, subjects={"team": team.uid}, reason="Copied.")
    assert "Copied." in _rules(client)
    set_round(world.digits, is_hidden=True, team_limit=9, question_limit=99)
    assert "Copied." not in _rules(client)
    client.force_login(world.alice)
    assert "Copied." not in _rules(client)
    client.force_login(world.bob)
    assert "Copied." in _rules(client)
