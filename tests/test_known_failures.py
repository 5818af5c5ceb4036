"""What has gone wrong on other platforms does not go wrong here.

One block for each of the twelve, named after what is promised. What takes real processes is in
`tests/servers` and named beside; who may ask for what is tabled in `tests/test_permissions.py`.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from typer.testing import CliRunner

from leaderboard import queries, tasks
from leaderboard.errors import Refused
from leaderboard.models import (
    BoardState,
    Competition,
    Ledger,
    Release,
    Round,
    Standing,
    Status,
    Submission,
    Team,
    Visibility,
)
from leaderboard.pipeline.parse import parse
from leaderboard.platform.logs import LineFormatter
from leaderboard.queries import quota
from leaderboard.tasks import score_submission
from scoring.errors import PredictionError
from tests.cast import ROWS, World, predictions, said, set_board, set_round
from tests.routes import Route, all_routes
from tests.walking import Stage, kept_stage, make_stage
from tests.web.pages import browser, text

ROOT = Path(__file__).parent.parent
NUMBERS = {"id_column": "id", "columns": [{"name": "label", "kind": "number"}]}


def ranks(world: World) -> list[str]:
    """The teams of the board from above."""
    return [row.team for row in queries.whole_board(world.board, world.organizer)]


def elsewhere(path: str, name: str) -> None:
    """The promise is kept by a test that takes real processes."""
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


# --- 1. A message that is delivered twice ---------------------------------------------------------


def test_1_delivering_a_message_again_moves_nobody_on_the_board(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(bob, predictions([10]))
    sent = world.score(alice, predictions(range(10, 26)))
    before = list(Standing.objects.order_by("pk").values())
    for _ in range(3):
        score_submission(submission_id=sent.pk)
    assert list(Standing.objects.order_by("pk").values()) == before
    assert ranks(world) == ["team bob", "team alice"]
    assert Release.objects.filter(submission=sent).count() == 1
    elsewhere(
        "tests/servers/test_pipeline.py",
        "test_a_message_delivered_many_times_makes_one_release_and_one_entry",
    )


# --- 2. What has no score -------------------------------------------------------------------------


def test_2_a_team_without_a_released_score_stands_last(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(bob, predictions(range(8, ROWS)))
    entry = said(world.score(alice, predictions([10])))
    Standing.objects.filter(team=alice).update(loss=None, best=None)
    assert entry.kind == "improved"
    assert ranks(world) == ["team bob", "team alice"]


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "1e999", ""])
def test_2_a_value_that_is_no_number_is_rejected_and_not_ranked(value: str, world: World) -> None:
    set_round(world.digits, schema=NUMBERS)
    sent = world.submit(
        world.join(world.alice), predictions().replace(b"r17,1", f"r17,{value}".encode())
    )
    with pytest.raises(PredictionError) as rejected:
        parse(sent)
    assert (rejected.value.problems[0].line, rejected.value.problems[0].column) == (19, "label")
    assert not Standing.objects.exists()


# --- 3. More than the quota -----------------------------------------------------------------------


def test_3_a_limit_that_is_passed_stays_shut(world: World) -> None:
    team = world.join(world.alice)
    set_round(world.digits, daily_limit=2)
    for row in range(2):
        world.submit(team, predictions([row]))
    set_round(world.digits, daily_limit=1)  # now more were sent than may be
    team.refresh_from_db()
    for row in range(2, 5):
        with pytest.raises(Refused) as refused:
            world.submit(team, predictions([row]))
        assert refused.value.code == "daily_limit_reached"
    assert quota(team).daily_left == 0
    assert team.submissions.count() == 2
    elsewhere("tests/servers/test_crashes.py", "test_the_last_submission_of_the_day_is_given_once")


# --- 4. Quota that is given back ------------------------------------------------------------------


def _changing(route: Route) -> tuple[str, ...]:
    """Methods that may change something. That pages refuse others: `tests/test_permissions.py`."""
    return ("POST", "PUT", "PATCH", "DELETE") if route.area == "api" else ("POST",)


def test_4_nothing_that_a_participant_can_send_gives_quota_back(world: World) -> None:
    stage = kept_stage(world)
    set_round(world.digits, daily_limit=2, total_limit=2)
    team = Team.objects.get(competition=world.digits, captain=world.alice)
    for route in all_routes():
        if route.is_of_organizers:
            continue
        for method in _changing(route):
            stage.ask("participant", method, route, keep=True)
            if route.area == "account":
                stage.sign_in("participant")
    assert (quota(team).daily_left, quota(team).total_left) == (0, 0)
    assert team.submissions.count() == 2


@pytest.mark.parametrize("status", [Status.QUEUED, Status.SCORING, Status.FAILED])
def test_4_what_did_not_come_to_an_answer_counts_as_well(status: Status, world: World) -> None:
    team = world.join(world.alice)
    sent = world.submit(team)
    Submission.objects.filter(pk=sent.pk).update(status=status, finished_at=sent.created_at)
    assert quota(team).daily_left == world.round.daily_limit - 1


def test_4_organizers_and_operators_can_not_delete_a_submission_either(world: World) -> None:
    stage = kept_stage(world)
    kept = Submission.objects.count()
    for role in ("organizer", "operator"):
        for route in all_routes():
            if re.search(r"admin/leaderboard/(submission|team|release)/", route.pattern):
                for body in ({"post": "yes"}, {"action": "delete_selected", "post": "yes"}):
                    chosen = {
                        "_selected_action": list(Submission.objects.values_list("pk", flat=True))
                    }
                    stage.ask(role, "POST", route, keep=True, body=body | chosen)
    assert Submission.objects.count() == kept


# --- 5. Fields that are not one's own -------------------------------------------------------------

NOT_THEIRS = {
    "status": "released",
    "is_verified": "on",
    "is_baseline": "on",
    "team": "1",
    "team_id": "1",
    "captain": "1",
    "user": "1",
    "number": "99",
    "release": "1",
    "loss": "0",
    "created_at": "2001-01-01T00:00",
    "is_organizer": "on",
    "is_superuser": "on",
    "is_staff": "on",
}


def test_5_forms_take_no_field_that_is_not_the_person_s(world: World) -> None:
    """The API refuses such fields by name: `tests/api/test_mass_assignment.py`."""
    stage = kept_stage(world)
    teams = list(Team.objects.order_by("pk").values("is_verified", "is_baseline", "captain_id"))
    for route in all_routes():
        if route.area in ("pages", "account") and "logout" not in route.pattern:
            body = NOT_THEIRS | stage.body("POST", route)
            stage.ask("participant", "POST", route, keep=True, body=body)
            stage.sign_in("participant")
    world.alice.refresh_from_db()
    roles = (world.alice.is_organizer, world.alice.is_superuser, world.alice.is_staff)
    assert not any(roles)
    after = Team.objects.order_by("pk").values("is_verified", "is_baseline", "captain_id")
    assert list(after)[: len(teams)] == teams
    assert not Submission.objects.filter(number=99).exists()
    assert not Submission.objects.filter(created_at__year=2001).exists()


def test_5_the_organizers_forms_take_no_field_that_they_don_t_show(world: World) -> None:
    stage = kept_stage(world)
    more = NOT_THEIRS | {"opened_by_organizer_at": "2001-01-01", "revealed_at": "2001-01-01"}
    before = _books()
    for route in all_routes():
        is_of_admin = route.pattern.startswith("admin/leaderboard/")
        if route.area == "organize" or (is_of_admin and "user" not in route.pattern):
            body = more | {"budget_left": "99", "firings": "0"} | stage.body("POST", route)
            stage.ask("organizer", "POST", route, body=body)
    for pattern in ("organize/<slug>/settings/", "organize/<slug>/teams/<uid>/"):
        route = _route(pattern)
        stage.ask("organizer", "POST", route, keep=True, body=more | stage.body("POST", route))
    world.organizer.refresh_from_db()
    assert not any((world.organizer.is_superuser, world.organizer.is_staff))
    assert Round.objects.get(competition__slug="digits").revealed_at is None
    assert _books() == before


def _books() -> list[object]:
    return [list(model.objects.order_by("pk").values()) for model in (Ledger, BoardState)]


def _route(pattern: str) -> Any:
    return next(each for each in all_routes() if each.pattern == pattern)


# --- 6. A stranger who changes what is another's --------------------------------------------------


def test_6_strangers_and_rivals_change_nothing_of_a_competition_or_of_a_score(world: World) -> None:
    stage = kept_stage(world)
    kept = _what_counts()
    for role in ("anonymous", "rival", "invited", "other"):
        for route in all_routes():
            if role != "other" and route.is_of_organizers:
                continue
            if "slug" in route.parameters and not route.pattern.endswith(_OWN_ENDS):
                for method in _changing(route):
                    stage.ask(role, method, route, keep=True)
    assert _what_counts() == kept


# Where a person acts for itself: joining, submitting, and the own team's name.
_OWN_ENDS = ("/submit/", "/submissions/", "/join/", "/join/<token>/", "/team/name/", "/team/")


def _what_counts() -> list[object]:
    return [
        list(model.objects.order_by("pk").values())
        for model in (Competition, Round, Release, Standing, Submission, Ledger, BoardState)
    ]


# --- 7. Full precision, and hidden boards ---------------------------------------------------------


def test_7_no_address_gives_more_digits_than_the_board(world: World) -> None:
    """Three errors on 32 rows are 0.90625; the board moves in steps of 0.05."""
    stage = kept_stage(world)
    for role in ("anonymous", "participant", "organizer"):
        for route in all_routes():
            if role != "organizer" and route.is_of_organizers:
                continue
            seen = stage.ask(role, "GET", route)
            if not seen.response.streaming:
                # Not the seconds of a moment, like 20.9062.
                exact = re.search(r"(?<!\d)(0?\.9062|0?\.09375|90\.6)", seen.body)
                assert not exact, route.pattern


def test_7_a_hidden_competition_gives_nothing_to_anonymous_callers(world: World) -> None:
    stage = kept_stage(world)
    Competition.objects.filter(slug="digits").update(visibility=Visibility.HIDDEN)
    for route in all_routes():
        if "slug" in route.parameters:
            seen = stage.ask("anonymous", "GET", route)
            assert seen.is_refusal
            assert "Digits" not in seen.body
            assert "team alice" not in seen.body


def test_7_one_answer_tells_one_step_of_the_grid(world: World) -> None:
    """However a loss is made up, what can be read from it is a level of the grid."""
    entry = said(world.score(world.join(world.alice), predictions(range(10, 17))))
    assert entry.level is not None
    assert 0 <= entry.level <= entry.steps
    shown = browser().get("/api/v1/competitions/digits/leaderboard/").json()["results"][0]
    assert float(shown["score"]) == 1 - entry.level / entry.steps


# --- 8. What is lost between two steps ------------------------------------------------------------


def test_8_a_release_that_breaks_leaves_the_old_board(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(range(10, 20)))
    before = list(Standing.objects.values())

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError

    sent = world.submit(team, predictions([10]))
    monkeypatch.setattr("leaderboard.pipeline.release.update_row", broken)
    score_submission(submission_id=sent.pk)
    sent.refresh_from_db()
    assert list(Standing.objects.values()) == before
    assert sent.status == Status.FAILED
    elsewhere("tests/servers/test_crashes.py", "test_a_worker_may_die_anywhere")


def test_8_whatever_fails_the_submission_ends_and_the_organizer_sees_why(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(submission: Submission) -> None:
        raise KeyError("column")

    monkeypatch.setattr(tasks, "_score", broken)
    sent = world.score(world.join(world.alice))
    assert (sent.status, sent.finished_at is not None) == (Status.FAILED, True)
    assert sent.failure.startswith("KeyError at ")


def test_8_released_is_said_when_the_score_is_there(world: World) -> None:
    sent = world.score(world.join(world.alice))
    assert (sent.status == Status.RELEASED) == (sent.release is not None)
    assert Standing.objects.get().last == sent.release


# --- 9. Files that are wrong ----------------------------------------------------------------------

WRONG = {
    "a doubled id in place of a missing one": (predictions().replace(b"r1,1", b"r0,1"), "r0"),
    "an unknown id": (predictions().replace(b"r7,", b"r99,"), "r99"),
    "a column too many": (predictions().replace(b"\n", b",0\n"), "header"),
    "a wrong header": (predictions().replace(b"label", b"lable"), "lable"),
    "a missing row": (predictions(rows=ROWS - 1), "r39"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_9_a_wrong_file_is_rejected_in_words(wrong: str, world: World) -> None:
    content, named = WRONG[wrong]
    sent = world.score(world.join(world.alice), content)
    assert sent.status == Status.REJECTED
    told = json.dumps(sent.problems)
    assert named in told or wrong == "a column too many"
    assert "KeyError" not in told
    assert not re.search(r"\b(32|8)\b", told), "the number of hidden rows"


def test_9_a_number_beyond_all_measure_makes_no_infinite_score(world: World) -> None:
    set_round(world.digits, schema=NUMBERS)
    set_board(world.digits, metric="mae", metric_parameters={"clip": "10"})
    sent = world.submit(world.join(world.alice), predictions().replace(b"r17,1", b"r17,1e200"))
    assert math.isfinite(parse(sent).columns["label"].max())
    for loss in Standing.objects.values_list("loss", flat=True):
        assert loss is None or math.isfinite(loss)


# --- 10. The scorer's output ----------------------------------------------------------------------


def test_10_a_team_is_told_nothing_of_what_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a custom metric prints and raises: `tests/leaderboard/test_custom_metrics.py`."""

    def broken(submission: Submission, predicted: object) -> None:
        raise ValueError("labels [1, 0, 2]")

    sent = world.submit(world.join(world.alice))
    monkeypatch.setattr(tasks, "measure", broken)
    score_submission(submission_id=sent.pk)
    page = text(browser(world.alice).get("/c/digits/submissions/1/"))
    told = browser(world.alice).get("/api/v1/competitions/digits/submissions/1/").content.decode()
    for shown in (page, told):
        assert "ValueError" not in shown
        assert "labels [" not in shown
        assert "test_known_failures" not in shown


def test_10_what_is_wrong_with_a_file_does_not_depend_on_the_hidden_rows(world: World) -> None:
    """The rows that can be Public or Private are told in the same words."""
    team = world.join(world.alice)
    public, private = (
        world.score(
            team, predictions().replace(f"r{row},{row % 4}\n".encode(), f"r{row},x\n".encode())
        )
        for row in (4, 20)
    )
    told = [json.dumps(each.problems) for each in (public, private)]
    places = re.compile(r"\b(r4|r20|6|22)\b")
    assert places.sub("there", told[0]) == places.sub("there", told[1])


# --- 11. Keys, addresses and code -----------------------------------------------------------------


def test_11_nothing_secret_has_a_default() -> None:
    source = (ROOT / "leaderboard" / "settings.py").read_text()
    assert 'env.str("SECRET_KEY", "")' in source
    for name in ("VAULT_PRIVATE_KEY", "LOG_KEY", "RECEIPT_KEY"):
        assert f'_secret("{name}")' in source
    elsewhere("tests/servers/test_separate_servers.py", "test_nothing_secret_has_a_default")


def test_11_looking_never_changes_anything() -> None:
    elsewhere("tests/test_permissions.py", "test_looking_at_every_address_changes_nothing")
    elsewhere(
        "tests/test_permissions.py", "test_nothing_is_changed_by_looking_or_without_signing_in"
    )


def test_11_the_log_holds_no_password_token_or_key_of_an_address(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    stage = make_stage(world)
    for route in all_routes():
        for method in ("GET", "POST") if not route.is_of_organizers else ():
            stage.ask("participant", method, route)
    lines = "\n".join(map(LineFormatter().format, caplog.records))
    values = [stage.path(_route(pattern)) for pattern in _WITH_KEYS]
    for secret in ("alice-password", *(value.rstrip("/").rsplit("/", 1)[-1] for value in values)):
        assert secret not in lines


_WITH_KEYS = (
    "c/<slug>/join/<token>/",
    "account/confirm-email/<key>/",
    "account/password/reset/key/<uidb36>-<key>/",
)


def test_11_neither_unsafe_yaml_nor_pickle_nor_eval_is_used() -> None:
    unsafe = re.compile(
        r"^\s*(import|from) (yaml|pickle|marshal|shelve)\b|\b(eval|exec)\(", re.MULTILINE
    )
    for package in ("leaderboard", "scoring", "holdfast"):
        for path in (ROOT / package).rglob("*.py"):
            assert not unsafe.search(path.read_text()), path


def test_11_an_organizer_brings_no_code() -> None:
    """Custom metrics are installed by an operator, and run in a process of their own."""
    elsewhere(
        "tests/leaderboard/test_custom_metrics.py",
        "test_a_file_is_scored_by_a_custom_metric_and_gets_no_certificate",
    )
    takes_files = [route.pattern for route in all_routes() if "upload" in route.pattern]
    assert takes_files == []


# --- 12. What people are told ---------------------------------------------------------------------


def test_12_a_limit_that_is_reached_is_no_success(world: World) -> None:
    world.join(world.alice)
    set_round(world.digits, daily_limit=1)
    client = browser(world.alice)
    answers = [_send(client, wrong=[row]) for row in range(2)]
    assert [answer.status_code for answer in answers] == [201, 429]
    problem = answers[1].json()
    assert problem["code"] == "daily_limit_reached"
    assert "The count starts again on" in problem["detail"]
    assert answers[0].json()["limits"]["daily_left"] == 0


def _send(client: Client, wrong: Iterable[int] = ()) -> Any:
    from tests.cast import upload

    address = "/api/v1/competitions/digits/submissions/"
    return client.post(address, {"file": upload(predictions(wrong))})


def test_12_every_refusal_has_a_reason(stage: Stage) -> None:
    """Of the API a problem document, of the pages words: never a bare code."""
    for route in all_routes():
        for method in ("GET", "POST"):
            for role in ("anonymous", "participant"):
                seen = stage.ask(role, method, route)
                if seen.status < 400:
                    continue
                if route.area == "api" and "json" in seen.response.headers["Content-Type"]:
                    problem = json.loads(seen.body)
                    assert {"type", "title", "status", "detail", "code"} <= set(problem)
                else:
                    assert len(text(seen.response)) > 60, f"{method} {route.pattern} as {role}"


@pytest.fixture
def stage(world: World) -> Stage:
    return kept_stage(world)


def test_12_a_mistyped_name_is_not_found_and_says_so(world: World) -> None:
    answer = browser(world.alice).get("/api/v1/competitions/digitz/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_12_a_submit_that_fails_says_so_by_its_exit_code() -> None:
    from holdfast.cli import app

    done = CliRunner().invoke(app, ["submit", "digits", "-f", "no-such-file.csv"])
    assert done.exit_code != 0
    elsewhere(
        "tests/holdfast/test_submissions.py",
        "test_a_refused_file_is_a_failure_with_the_server_s_reason",
    )
    elsewhere("tests/holdfast/test_submissions.py", "test_waiting_ends_with_the_result_in_words")


def test_12_everybody_finds_the_own_rank(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(bob, predictions([10]))
    world.score(alice, predictions(range(10, 20)))
    mine = browser(world.alice).get("/api/v1/competitions/digits/leaderboard/").json()["me"]
    assert (mine["rank"], mine["team"]) == (2, "team alice")
