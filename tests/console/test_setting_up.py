"""An organizer sets a competition up with the forms of the admin pages, from nothing to open."""

from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import Client

from leaderboard import organize
from leaderboard.models import BoardState, Competition, FileRole, User
from scoring.mechanisms import MECHANISMS
from scoring.metrics import METRICS
from tests.cast import (
    World,
    active_holdout,
    make_draft,
    make_user,
    said,
    set_board,
    upload,
)
from tests.console.conftest import SignIn
from tests.console.pages import (
    COLUMNS_FORM,
    LADDER_FORM,
    at,
    labels,
    sample,
    scoring_form,
    send_file,
    send_solution,
    settings_form,
    settings_of,
    text,
)

ADD = "/organize/new/by-hand/"


def _draft(client: Client, **change: Any) -> Competition:
    response = client.post(ADD, settings_form(**change))
    assert response.status_code == 302, text(response)
    return Competition.objects.get(slug=change.get("slug", "flowers"))


def _prepared(client: Client) -> Competition:
    """Make a draft with columns, scoring and the sample."""
    draft = _draft(client)
    assert client.post(at("columns", draft), COLUMNS_FORM).status_code == 302
    assert client.post(at("scoring", draft), LADDER_FORM).status_code == 302
    assert send_file(client, draft, sample()).status_code == 302
    draft.refresh_from_db()
    return draft


def _complete(client: Client) -> Competition:
    draft = _prepared(client)
    assert send_solution(client, draft, labels()).status_code == 302
    return draft


def _is_withdrawn(draft: Competition) -> bool:
    """Return whether no solution is sealed any more."""
    draft.refresh_from_db()
    return draft.current_round.active_holdout is None


def _field_errors(page: str, field: str) -> str:
    """Return what stands beside a field."""
    marker = f'id="id_{field}_error"'
    assert marker in page, page
    return page.split(marker, 1)[1].split("</ul>", 1)[0]


def test_from_nothing_to_open(organizer: Client, world: World) -> None:
    draft = _complete(organizer)
    page = text(organizer.get(at("run", draft)))
    assert page.count("Done:") == 7
    assert "Missing:" not in page
    assert organizer.post(at("open", draft)).status_code == 302
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is not None
    assert list(draft.organizers.all()) == [world.organizer]
    round = draft.current_round
    assert round.max_file_bytes == 10_000_000
    assert (round.board.metric, round.board.mechanism_parameters) == (
        "accuracy",
        {"steps": "20", "confidence": "0.95", "rung": "0"},
    )
    team = world.join(world.alice, competition=draft)
    assert said(world.score(team)).kind == "improved"


def test_a_warning_stands_in_the_checklist_and_not_in_the_way(
    organizer: Client, world: World
) -> None:
    draft = _complete(organizer)
    days = "".join(f"r{row},2026-01-{1 + row % 12:02}\n" for row in range(60))
    file = upload(f"id,day\n{days}".encode(), "test.csv")
    organize.add_file(draft.current_round, file, role=FileRole.TEST)
    page = text(organizer.get(at("run", draft)))
    assert "Worth a look" in page
    assert "“day” (12 days)" in page
    assert "<button>Open the competition" in page


def test_a_red_checklist_does_not_open(organizer: Client, world: World) -> None:
    draft = _prepared(organizer)
    page = text(organizer.get(at("run", draft)))
    assert page.count("Missing:") == 2
    assert "No solution is sealed" in page
    assert "<button disabled>Open the competition" in page
    response = organizer.post(at("open", draft), follow=True)
    assert "Not opened" in text(response)
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is None


def test_a_new_competition_is_a_draft_that_others_do_not_see(
    organizer: Client, world: World, sign_in: SignIn
) -> None:
    _draft(organizer)
    assert organizer.get("/c/flowers/").status_code == 200
    assert sign_in(world.alice).get("/c/flowers/").status_code == 404


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"closes_at": "2025-01-01T00:00"}, "closes_at", "close after it opens"),
        ({"slug": "not a slug"}, "slug", "digits and hyphens only"),
        ({"slug": "digits"}, "slug", "already exists"),
        ({"daily_limit": "0"}, "daily_limit", "greater than or equal to 1"),
        ({"daily_limit": "9" * 19}, "daily_limit", "at most 1,000,000"),
        ({"max_file_bytes": "99999999"}, "max_file_bytes", "less than or equal"),
        ({"title": ""}, "title", "Missing."),
    ],
)
def test_a_wrong_setting_is_said_beside_its_field(
    organizer: Client, change: dict[str, str], field: str, message: str
) -> None:
    response = organizer.post(ADD, settings_form(**change))
    assert response.status_code == 200
    assert message in _field_errors(text(response), field)
    assert not Competition.objects.filter(title="Flowers").exists()


def test_nobody_names_a_competition_like_an_address_of_the_console(organizer: Client) -> None:
    page = text(organizer.post(ADD, settings_form(slug="new")))
    assert "id_slug_error" in page
    assert not Competition.objects.filter(slug="new").exists()


def test_markdown_is_previewed_without_being_saved(organizer: Client) -> None:
    response = organizer.post(
        "/organize/new/preview/",
        {"title": "T", "rules": "**Fair** <script>x()</script>", "description": "# A"},
    )
    assert "<strong>Fair</strong>" in text(response)
    assert "<script>x()" not in text(response)
    assert Competition.objects.count() == 1


def test_changed_rules_can_ask_members_again(organizer: Client, world: World) -> None:
    organizer.post(
        at("settings", world.digits),
        settings_of(world.digits, rules="Play very fair.", ask_again="on"),
    )
    world.digits.refresh_from_db()
    assert (world.digits.rules, world.digits.rules_version) == ("Play very fair.", 2)


def test_a_fixed_typing_mistake_asks_nobody(organizer: Client, world: World) -> None:
    organizer.post(at("settings", world.digits), settings_of(world.digits, rules="Play, fair."))
    world.digits.refresh_from_db()
    assert world.digits.rules_version == 1


def test_asking_again_needs_other_rules(organizer: Client, world: World) -> None:
    page = organizer.post(at("settings", world.digits), settings_of(world.digits, ask_again="on"))
    assert "did not change" in _field_errors(text(page), "ask_again")


# --- Prediction file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"columns": "label"}, "Line 1: write"),
        ({"columns": "p: probability\nq: integer"}, "Line 2: write"),
        ({"columns": "label: label: only"}, "from 2 to"),
        ({"columns": "label: label: a, a"}, "listed twice"),
        ({"columns": "p: probability: a, b"}, "only label columns"),
        ({"columns": "p: ranking: a, b"}, "Line 1: write"),
        ({"columns": "p: number by commas"}, "only lists of classes"),
        ({"columns": 'label: label: "a, b'}, "quote"),
        ({"columns": "id: number"}, "Two columns"),
        ({"columns": "usage: number"}, "column for the splits"),
        ({"columns": ""}, "required"),
    ],
)
def test_wrong_columns_are_said_beside_the_field(
    organizer: Client, form: dict[str, str], message: str
) -> None:
    draft = _draft(organizer)
    page = text(organizer.post(at("columns", draft), COLUMNS_FORM | form))
    assert message in _field_errors(page, "columns")
    draft.refresh_from_db()
    assert draft.current_round.schema == {}


def test_columns_are_shown_as_they_were_typed(organizer: Client) -> None:
    draft = _draft(organizer)
    typed = 'x: y: number\nkind: label: cat, "a, b", "say ""hi""", dog\nshare: probability'
    typed += "\ntags: labels by vertical bars: sun, heavy rain\ntop: ranking of 3: a, b"
    typed += "\nanswer: text\nruns: text of 5"
    organizer.post(at("columns", draft), {"id_column": "row", "columns": typed})
    draft.refresh_from_db()
    columns = draft.current_round.schema["columns"]
    assert columns[0] == {"name": "x: y", "kind": "number"}
    assert columns[1]["classes"] == ["cat", "a, b", 'say "hi"', "dog"]
    form = organizer.get(at("columns", draft)).context["form"]
    assert form["columns"].value() == typed


def test_a_sample_proposes_columns_and_nothing_is_saved(organizer: Client) -> None:
    draft = _draft(organizer)
    response = organizer.post(
        at("columns", draft), {"propose": "1", "sample": upload(sample(), "sample.csv")}
    )
    assert response.context["form"]["columns"].value() == "label: label: 0, 1, 2, 3"
    assert "not saved yet" in text(response)
    draft.refresh_from_db()
    assert draft.current_round.schema == {}


def test_a_broken_sample_is_shown_as_a_table(organizer: Client) -> None:
    draft = _draft(organizer)
    page = text(
        organizer.post(
            at("columns", draft), {"propose": "1", "sample": upload(b"id,label\na\n", "s.csv")}
        )
    )
    assert 'data-label="Line">2</td>' in page


def test_other_columns_withdraw_the_solution(organizer: Client) -> None:
    draft = _complete(organizer)
    page = organizer.post(
        at("columns", draft), COLUMNS_FORM | {"columns": "label: label: 3, 2, 1, 0"}, follow=True
    )
    assert "upload it again" in text(page)
    assert _is_withdrawn(draft)


def test_the_same_columns_again_change_nothing(organizer: Client) -> None:
    draft = _complete(organizer)
    organizer.post(at("columns", draft), COLUMNS_FORM)
    assert not _is_withdrawn(draft)


# --- Scoring --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "field", "message"),
    [
        ({"mechanism-ladder-steps": "many"}, "mechanism-ladder-steps", "whole number"),
        ({"mechanism-ladder-steps": "1"}, "mechanism-ladder-steps", "at least 2"),
        ({"mechanism-ladder-steps": ""}, "mechanism-ladder-steps", "whole number"),
        ({"mechanism-ladder-confidence": "1/0"}, "mechanism-ladder-confidence", "denominator"),
        ({"metric": ""}, "metric", "Choose a metric"),
        ({"metric": "magic"}, "metric", "valid choice"),
        ({"metric": "rmse", "metric-rmse-clip": "1"}, "metric", "label"),
        ({"mechanism": ""}, "mechanism", "Choose a mechanism"),
    ],
)
def test_wrong_scoring_is_said_beside_its_field(
    organizer: Client, form: dict[str, str], field: str, message: str
) -> None:
    draft = _draft(organizer)
    organizer.post(at("columns", draft), COLUMNS_FORM)
    page = text(organizer.post(at("scoring", draft), LADDER_FORM | form))
    assert message in _field_errors(page, field)
    draft.refresh_from_db()
    assert draft.current_round.board.metric == ""


THRESHOLDOUT_FORM = scoring_form("accuracy", "thresholdout")


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"mechanism-thresholdout-noise_scale": "0.01"}, "noise_scale", "tenth of the threshold"),
        ({"mechanism-thresholdout-team_share": "500"}, "team_share", "larger than the whole"),
    ],
)
def test_parameters_that_contradict_each_other_are_said_beside_one_of_them(
    organizer: Client, change: dict[str, str], field: str, message: str
) -> None:
    draft = _draft(organizer)
    page = text(organizer.post(at("scoring", draft), THRESHOLDOUT_FORM | change))
    assert message in _field_errors(page, f"mechanism-thresholdout-{field}")


def test_parameters_of_what_is_not_chosen_are_not_judged(organizer: Client) -> None:
    draft = _draft(organizer)
    given = THRESHOLDOUT_FORM | {"mechanism-ladder-steps": "nonsense", "metric-rmse-clip": "?"}
    assert organizer.post(at("scoring", draft), given).status_code == 302
    draft.refresh_from_db()
    board = draft.current_round.board
    assert board.mechanism == "thresholdout"
    assert "clip" not in board.metric_parameters


def test_every_parameter_has_its_help_and_its_limits_on_the_page(organizer: Client) -> None:
    page = text(organizer.get(at("scoring", _draft(organizer))))
    parameters = [p for metric in METRICS.values() for p in metric.parameters]
    parameters += [p for mechanism in MECHANISMS.values() for p in mechanism.parameters]
    for parameter in parameters:
        assert parameter.title in page
        assert parameter.help in page
    assert "From 0.0001 to 0.5." in page


def test_a_mechanism_that_does_not_fit_the_sealed_rows_is_said_beside_its_parameter(
    organizer: Client,
) -> None:
    draft = _complete(organizer)
    page = text(
        organizer.post(at("scoring", draft), LADDER_FORM | {"mechanism-ladder-steps": "50"})
    )
    assert "With 30 private rows" in _field_errors(page, "mechanism-ladder-steps")


def test_another_metric_withdraws_the_solution(organizer: Client) -> None:
    draft = _complete(organizer)
    page = organizer.post(at("scoring", draft), LADDER_FORM | {"metric": "f1_macro"}, follow=True)
    assert "upload it again" in text(page)
    assert _is_withdrawn(draft)


def test_another_mechanism_keeps_the_solution(organizer: Client) -> None:
    draft = _complete(organizer)
    organizer.post(at("scoring", draft), LADDER_FORM | {"mechanism-ladder-steps": "10"})
    assert not _is_withdrawn(draft)


# --- Files ----------------------------------------------------------------------------------------


def test_a_broken_sample_submission_is_not_published(organizer: Client) -> None:
    draft = _draft(organizer)
    organizer.post(at("columns", draft), COLUMNS_FORM)
    page = text(send_file(organizer, draft, b"id,label\na,0\na,9\n"))
    assert "can&#x27;t be the sample" in page
    assert '<code class="value">9</code>' in page
    assert not draft.current_round.files.exists()


def test_two_files_of_one_name_are_refused(organizer: Client) -> None:
    draft = _prepared(organizer)
    page = text(send_file(organizer, draft, b"x\n", role="other"))
    assert "already" in _field_errors(page, "file")


def test_what_looks_like_the_solution_is_not_published_by_mistake(organizer: Client) -> None:
    draft = _prepared(organizer)
    again = {"role": "other", "file": upload(labels(), "labels.csv")}
    page = text(send_file(organizer, draft, b"", **again))
    assert "looks like the solution" in _field_errors(page, "file")
    assert draft.current_round.files.count() == 1


def test_test_data_with_labels_are_published_only_when_said_twice(organizer: Client) -> None:
    draft = _prepared(organizer)
    content = b"id,x,label\nr1,0.5,2\n"
    page = text(send_file(organizer, draft, b"", role="test", file=upload(content, "test.csv")))
    assert "published without labels" in _field_errors(page, "file")
    sure = {"role": "test", "file": upload(content, "test.csv"), "sure": "on"}
    assert send_file(organizer, draft, b"", **sure).status_code == 302


def test_a_file_is_removed_after_asking(
    organizer: Client, django_capture_on_commit_callbacks: Any
) -> None:
    draft = _prepared(organizer)
    entry = draft.current_round.files.get()
    page = at("file-remove", draft, entry.pk)
    assert organizer.get(page).status_code == 200
    assert draft.current_round.files.exists()
    with django_capture_on_commit_callbacks(execute=True):
        organizer.post(page)
    assert not draft.current_round.files.exists()
    assert not default_storage.exists(str(entry.file.name))


def test_the_sample_can_be_changed_once_the_solution_is_withdrawn(organizer: Client) -> None:
    draft = _complete(organizer)
    page = at("file-remove", draft, draft.current_round.files.get().pk)
    assert "Withdraw the solution first" in text(organizer.post(page, follow=True))
    organizer.post(at("solution-withdraw", draft))
    assert organizer.post(page).status_code == 302
    assert not draft.current_round.files.exists()


# --- Opening --------------------------------------------------------------------------------------


def test_an_opening_can_be_taken_back_until_somebody_submits(
    organizer: Client, world: World
) -> None:
    draft = _complete(organizer)
    organizer.post(at("open", draft))
    organizer.post(at("draft", draft))
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is None
    organizer.post(at("open", draft))
    draft.refresh_from_db()
    world.submit(world.join(world.alice, competition=draft))
    page = organizer.post(at("draft", draft), follow=True)
    assert "must not change any more" in text(page)
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is not None


def test_reopened_with_another_mechanism_the_ledger_begins_with_its_budget(
    organizer: Client,
) -> None:
    draft = _complete(organizer)
    organizer.post(at("open", draft))
    organizer.post(at("draft", draft))
    mark = scoring_form("accuracy", "sparse_validate", budget="7")
    assert organizer.post(at("scoring", draft), mark).status_code == 302
    organizer.post(at("open", draft))
    assert BoardState.objects.get(board__round__competition=draft).budget_left == 7


def test_a_draft_can_be_deleted_with_all_that_belongs_to_it(
    organizer: Client, django_capture_on_commit_callbacks: Any
) -> None:
    draft = _complete(organizer)
    sealed = str(active_holdout(draft).sealed_solution.name)
    address = at("delete", draft)
    assert "and the sealed solution are deleted" in text(organizer.get(address))
    with django_capture_on_commit_callbacks(execute=True):
        organizer.post(address, {"post": "yes"})
    assert not Competition.objects.filter(pk=draft.pk).exists()
    assert not default_storage.exists(sealed)


def test_the_first_page_lists_competitions_with_what_is_next(organizer: Client) -> None:
    _draft(organizer)
    page = text(organizer.get("/organize/"))
    assert "Digits" in page
    assert "Checklist" in page
    assert "New competition" in page


def test_who_has_none_is_told_how_one_is_made(rival: User, sign_in: SignIn) -> None:
    assert "no competition yet" in text(sign_in(rival).get("/organize/"))


def test_an_operator_s_competition_belongs_to_the_operator(world: World, sign_in: SignIn) -> None:
    operator = make_user("operator", is_superuser=True)
    draft = _draft(sign_in(operator), organizers="operator")
    assert list(draft.organizers.all()) == [operator]


def test_the_choice_of_a_metric_says_what_it_cannot_carry(organizer: Client) -> None:
    page = text(organizer.get(at("scoring", _draft(organizer))))
    refused = "Guard and Thresholdout can&#x27;t show this metric:"
    assert f"so scores carry no guarantee. {refused}" in page


def test_a_mechanism_that_a_metric_does_not_allow_is_refused_with_the_reason(
    organizer: Client,
) -> None:
    form = THRESHOLDOUT_FORM | {"metric": "f1_macro"}
    page = text(organizer.post(at("scoring", _draft(organizer)), form))
    assert "one row can move this metric by up to 4 / (classes" in page


def test_weights_are_said_where_a_solution_is_sealed(organizer: Client) -> None:
    draft = _prepared(organizer)
    weighted = b"id,label,Weight\n" + b"".join(
        b"r%d,%d,%d\n" % (n, n % 4, 1 + 9 * (n == 0)) for n in range(40)
    )
    response = organizer.post(
        at("solution", draft), {"solution": upload(weighted, "solution.csv")}, follow=True
    )
    assert "By their weights the Private rows count as 4." in text(response)
    page = text(organizer.get(at("solution", draft)))
    assert "40, which by their weights count as 4" in page


def test_the_first_file_is_proposed_to_be_the_sample(organizer: Client) -> None:
    draft = _draft(organizer)
    organizer.post(at("columns", draft), COLUMNS_FORM)
    assert organizer.get(at("files", draft)).context["form"]["role"].value() == "sample"
    send_file(organizer, draft, sample())
    assert organizer.get(at("files", draft)).context["form"]["role"].value() == "train"


def test_where_no_score_carries_a_guarantee_the_plan_says_so(organizer: Client) -> None:
    draft = _complete(organizer)
    organizer.post(at("scoring", draft), scoring_form("kappa", "ladder", steps="20"))
    assert send_solution(organizer, draft, labels()).status_code == 302
    page = text(organizer.get(at("run", draft)))
    assert "no score carries a guarantee" in page
    assert "known to about" not in page


def test_the_page_of_the_solution_leads_to_what_comes_first(organizer: Client) -> None:
    draft = _draft(organizer)
    organizer.post(at("columns", draft), COLUMNS_FORM)
    assert "The sample submission comes first" in text(organizer.get(at("solution", draft)))
    send_file(organizer, draft, sample())
    assert "The metric comes first" in text(organizer.get(at("solution", draft)))
    organizer.post(at("scoring", draft), LADDER_FORM)
    assert "Check and seal" in text(organizer.get(at("solution", draft)))


@pytest.mark.parametrize(
    ("metric", "parameters", "said"),
    [
        ("mae", {"clip": "250000"}, "from 250,000, the worst, to 0, the best, in steps of 12,500."),
        ("r2", {}, "in steps of 0.05."),
        ("rmse", {"clip": "100"}, "in steps of about"),
    ],
)
def test_the_steps_of_the_board_are_said_as_scores(
    organizer: Client, world: World, metric: str, parameters: dict[str, str], said: str
) -> None:
    draft = make_draft("houses", world.organizer, rows=10)
    set_board(draft, metric=metric, metric_parameters=parameters)
    for page in ("scoring", "run"):
        assert said in text(organizer.get(at(page, draft)))


def test_a_mark_to_pass_has_no_steps(organizer: Client, world: World) -> None:
    draft = make_draft("houses", world.organizer, rows=10)
    set_board(draft, mechanism="sparse_validate", mechanism_parameters={})
    assert "in steps of" not in text(organizer.get(at("run", draft)))
