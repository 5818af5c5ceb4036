"""Every page for everybody: what it answers, what it offers, that nothing is inline."""

import hashlib
import io
import itertools
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from django.utils import timezone
from pyarrow import parquet

from leaderboard import organize
from leaderboard.ledger import notes, rewinds, watermark
from leaderboard.models import Competition, FileRole, Holdout, NoteKind, Visibility
from tests.cast import SCHEMA, World, active_holdout, ledger_of, set_board, set_round, upload
from tests.web.pages import PUBLIC_PAGES, TEAM_PAGES, address, browser, people, text


def _csv(ids: list[str]) -> bytes:
    return ("id,label\n" + "".join(f"{each},0\n" for each in ids)).encode()


def _zip(ids: list[str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sample.csv", _csv(ids))
    return buffer.getvalue()


def _parquet(ids: list[str]) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"id": ids, "label": ["0"] * len(ids)}), buffer)
    return buffer.getvalue()


PACKED: dict[str, Callable[[list[str]], bytes]] = {
    "zip": _zip,
    "zstd": lambda ids: pa.compress(_csv(ids), codec="zstd", asbytes=True),
    "parquet": _parquet,
}
MEMBERS_ONLY = {"anonymous": 302, "bob": 403, "alice": 200, "organizer": 403}


def replace_sample(competition: Competition, content: bytes) -> None:
    """Another sample submission under the old one's name, whatever else is set up."""
    entry = competition.current_round.files.get(role=FileRole.SAMPLE)
    entry.sha256 = hashlib.sha256(content).hexdigest()
    entry.file.save(entry.name, upload(content))


def set_up(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    world.join(world.bob)
    world.digits.memberships.filter(user=world.bob).delete()


@pytest.mark.parametrize("page", PUBLIC_PAGES)
@pytest.mark.parametrize("who", ["anonymous", "bob", "alice", "organizer"])
def test_public_pages_open_for_everybody(world: World, page: str, who: str) -> None:
    set_up(world)
    assert browser(people(world)[who]).get(address(world.digits, page)).status_code == 200


@pytest.mark.parametrize("page", TEAM_PAGES)
@pytest.mark.parametrize("who", ["anonymous", "bob", "alice", "organizer"])
def test_team_pages_open_for_members(world: World, page: str, who: str) -> None:
    set_up(world)
    response = browser(people(world)[who]).get(address(world.digits, page))
    assert response.status_code == MEMBERS_ONLY[who]


@pytest.mark.parametrize("page", ["", "status/"])
@pytest.mark.parametrize(
    ("who", "status"), [("anonymous", 302), ("bob", 404), ("alice", 200), ("organizer", 404)]
)
def test_a_submission_is_its_teams(world: World, page: str, who: str, status: int) -> None:
    set_up(world)
    url = f"{address(world.digits, 'submissions')}1/{page}"
    assert browser(people(world)[who]).get(url).status_code == status


@pytest.mark.parametrize("page", [*PUBLIC_PAGES, *TEAM_PAGES])
def test_what_a_person_may_not_know_of_does_not_exist(world: World, page: str) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(visibility=Visibility.HIDDEN)
    response = browser(world.bob).get(address(world.digits, page))
    assert response.status_code == 404
    assert "There is no such page" in text(response)


@pytest.mark.parametrize("page", [*PUBLIC_PAGES, *TEAM_PAGES])
def test_a_draft_opens_for_its_organizer_however_little_is_filled_in(
    world: World, page: str
) -> None:
    now = timezone.now()
    draft = organize.create_competition(
        slug="draft",
        organizer=world.organizer,
        title="Draft",
        opens_at=now,
        closes_at=now + timedelta(days=1),
    )
    expected = 403 if page in TEAM_PAGES else 200
    assert browser(world.organizer).get(address(draft, page)).status_code == expected
    assert browser(world.bob).get(address(draft, page)).status_code == 404


def test_a_draft_has_no_board_to_download(world: World) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(opened_by_organizer_at=None)
    response = browser(world.organizer).get("/c/digits/leaderboard.csv")
    assert response.status_code == 404


@pytest.mark.parametrize("path", ["/", "/how-it-works/"])
def test_the_sites_own_pages_open(world: World, path: str) -> None:
    assert browser().get(path).status_code == 200


def test_the_list_shows_public_competitions(world: World) -> None:
    assert "Digits" in text(browser().get("/"))


def test_an_empty_list_says_what_to_expect(db: None) -> None:
    assert "There is no open competition" in text(browser().get("/"))


@pytest.mark.parametrize(
    ("who", "label"),
    [("anonymous", "Join the competition"), ("bob", "Join the competition")],
)
def test_the_next_step_of_a_stranger_is_to_join(world: World, who: str, label: str) -> None:
    assert label in text(browser(people(world)[who]).get("/c/digits/"))


def test_the_next_step_of_a_member_is_to_upload(world: World) -> None:
    set_up(world)
    page = text(browser(world.alice).get("/c/digits/"))
    assert "Upload a file" in page
    assert "Join the competition" not in page


def test_a_closed_competition_offers_no_next_step(world: World) -> None:
    set_up(world)
    set_round(world.digits, closes_at=timezone.now() - timedelta(hours=1))
    for user in (world.alice, world.bob):
        page = text(browser(user).get("/c/digits/rules/"))
        assert "Upload a file" not in page
        assert "Join the competition" not in page


def test_organizers_find_the_way_to_the_console(world: World) -> None:
    console = 'href="/organize/digits/"'
    assert console in browser(world.organizer).get("/c/digits/").content.decode()
    assert console not in browser(world.alice).get("/c/digits/").content.decode()


def all_pages(world: World) -> list[Any]:
    set_up(world)
    alice = browser(world.alice)
    competition = [address(world.digits, page) for page in (*PUBLIC_PAGES, *TEAM_PAGES)]
    paths = ["/", "/how-it-works/", "/account/", "/account/password/change/", *competition]
    anonymous = ["/account/login/", "/account/signup/", "/account/password/reset/", "/nowhere/"]
    return [
        *(alice.get(path) for path in (*paths, "/c/digits/submissions/1/")),
        *(browser().get(path) for path in anonymous),
    ]


def test_no_page_needs_an_exception_from_the_content_security_policy(world: World) -> None:
    for response in all_pages(world):
        html = response.content.decode()
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"\sstyle=|<style|\son\w+=", html), response.request["PATH_INFO"]
        inline = re.search(r"<script(?![^>]*(\bsrc=|/json\"))", html)
        assert not inline, response.request["PATH_INFO"]


def test_every_page_has_a_title_one_first_heading_and_levels_without_gaps(world: World) -> None:
    for response in all_pages(world):
        html = response.content.decode()
        where = response.request["PATH_INFO"]
        assert re.search(r"<title>\s*\S.* · Holdfast</title>", html), where
        levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
        assert levels.count(1) == 1, where
        assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_form_that_changes_something_posts_with_a_token(world: World) -> None:
    for response in all_pages(world):
        for form in re.findall(r"<form.*?</form>", response.content.decode(), flags=re.DOTALL):
            if 'method="post"' in form:
                assert "csrfmiddlewaretoken" in form
            else:
                assert 'role="search"' in form


def test_organizers_texts_cannot_bring_code(world: World) -> None:
    attack = "<script>alert(1)</script> [x](javascript:alert(1))"
    Competition.objects.filter(pk=world.digits.pk).update(
        description=attack, rules=attack, data_description=attack, title="<b>bold</b>"
    )
    for page in ("competition", "rules", "data"):
        html = browser(world.alice).get(address(world.digits, page)).content.decode()
        assert "<script>alert" not in html
        assert "javascript:" not in html.split("alert(1)")[0] or 'href="javascript' not in html
        assert "<b>bold" not in html


def test_the_data_page_offers_files_to_members_only(world: World) -> None:
    set_up(world)
    link = "/c/digits/data/train.csv"
    assert link in browser(world.alice).get("/c/digits/data/").content.decode()
    assert link not in browser(world.bob).get("/c/digits/data/").content.decode()


@pytest.mark.parametrize(
    ("who", "status"), [("anonymous", 403), ("bob", 403), ("alice", 200), ("organizer", 200)]
)
def test_files_are_for_those_who_accepted_the_rules(world: World, who: str, status: int) -> None:
    set_up(world)
    response = browser(people(world)[who]).get("/c/digits/data/train.csv")
    assert response.status_code == status
    if status == 200:
        assert b"".join(response) == b"x,label\n1,0\n"
        assert response["Content-Disposition"] == 'attachment; filename="train.csv"'
    else:
        assert "Accept the rules" in text(response)


def test_a_file_that_is_not_there_is_404(world: World) -> None:
    set_up(world)
    assert browser(world.alice).get("/c/digits/data/solution.csv").status_code == 404


def test_the_expected_file_is_shown_with_its_first_rows(world: World) -> None:
    page = text(browser().get("/c/digits/submit/"))
    assert "id label r0 0 r1 0" in page


@pytest.mark.parametrize("packed", ["zip", "zstd", "parquet"])
def test_the_first_rows_of_a_long_packed_sample_are_shown(world: World, packed: str) -> None:
    noise = Random(7)
    ids = [noise.randbytes(40).hex() for _ in range(9000)]
    replace_sample(world.digits, PACKED[packed](ids))
    assert f"id label {ids[0]} 0 {ids[1]} 0" in text(browser().get("/c/digits/submit/"))


def test_a_schema_that_does_not_fit_the_sample_hides_the_expected_file(world: World) -> None:
    set_round(world.digits, schema=SCHEMA | {"id_column": "key"})
    assert browser().get("/c/digits/data/").status_code == 200


@pytest.mark.parametrize("method", ["post", "put", "delete"])
@pytest.mark.parametrize("page", ["competition", "data", "rules", "leaderboard", "ledger"])
def test_pages_that_only_show_take_nothing(world: World, page: str, method: str) -> None:
    response = getattr(browser(world.alice), method)(address(world.digits, page))
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD"
    assert "Nothing was changed" in text(response)


def test_range_step_and_direction_of_scores_stand_where_one_reads_and_uploads(
    world: World,
) -> None:
    Holdout.objects.update(final_rows=1234)
    overview = text(browser().get(address(world.digits, "competition")))
    assert "1,234 more are kept for the final scores" in overview
    for page in (overview, text(browser().get(address(world.digits, "submit")))):
        assert re.search(r"0\.00 to 1\.00 in steps of 0\.\d+, higher is better", page)


def test_the_rules_page_states_what_the_metric_cuts(world: World) -> None:
    set_board(world.digits, metric="rmse", metric_parameters={"clip": "12.5"})
    page = text(browser().get(address(world.digits, "rules")))
    assert "How a file is scored: Root mean squared error" in page
    assert "From 0 to 12.5; lower is better." in page
    assert "Differences count up to 12.5." in page


@pytest.mark.parametrize(
    ("metric", "parameters", "said"),
    [
        ("map_at_k", {"k": "7"}, "Places that count: 7."),
        ("pinball", {"quantile": "0.9"}, "Quantile: 0.9."),
    ],
)
def test_the_rules_page_states_parameters_that_no_sentence_names(
    world: World, metric: str, parameters: dict[str, str], said: str
) -> None:
    set_board(world.digits, metric=metric, metric_parameters=parameters)
    assert said in text(browser().get("/c/digits/rules/"))


def test_the_rules_page_states_that_rows_have_weights(world: World) -> None:
    assert "weights" not in text(browser().get("/c/digits/rules/"))
    Holdout.objects.update(effective_private_rows=11)
    assert "Rows count by weights" in text(browser().get("/c/digits/rules/"))


def test_the_rules_page_states_that_rows_come_in_groups(world: World) -> None:
    design = {"bound": "kl", "bound_rows": 11.5, "sampling_rows": 12.0, "largest_share": 0.1}
    Holdout.objects.update(effective_private_rows=11, designs={"private": design})
    page = text(browser().get("/c/digits/rules/"))
    assert "Rows that depend on each other form groups" in page
    assert "weights" not in page


def test_the_rules_page_states_what_a_file_may_be_and_how_many(world: World) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(team_size=2)
    set_round(world.digits, daily_limit=3, total_limit=40, finals_limit=1, max_file_bytes=5_000_000)
    page = text(browser().get("/c/digits/rules/"))
    assert "id each id of the sample submission, once label one of 0-3" in page
    assert "also in gzip, zstd or zip, or Parquet; at most 5 MB." in page
    assert "At most 3 files a day (UTC) for each team, 40 in all." in page
    assert "Up to 2 members in a team, which may enter 1 file for the final scores." in page


def test_columns_say_what_may_stand_in_them_where_one_uploads(world: World) -> None:
    assert "label one of 0-3" in text(browser(world.alice).get("/c/digits/submit/"))


def test_of_many_columns_some_are_folded_away(world: World) -> None:
    columns = [{"name": f"p{n}", "kind": "probability"} for n in range(11)]
    schema = {"id_column": "id", "columns": columns}
    set_round(world.digits, schema=schema)
    assert "3 more columns p8 a number from 0 to 1" in text(browser().get("/c/digits/rules/"))


@pytest.mark.parametrize(
    ("metric", "parameters", "title"),
    [
        ("map_at_k", {"k": "7"}, "MAP@7"),
        ("map_at_k", {}, "MAP@10"),
        ("top_k_accuracy", {"k": "3"}, "Top-3 accuracy"),
        ("kappa", {}, "Cohen&#x27;s kappa"),
    ],
)
def test_a_metrics_title_says_how_many_places_count(
    world: World, metric: str, parameters: dict[str, str], title: str
) -> None:
    set_board(world.digits, metric=metric, metric_parameters=parameters)
    assert title in text(browser().get("/c/digits/"))
    assert title in text(browser().get("/"))


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("duel", {"yes": True}, "the file of entry 2 is surely better than that of entry 1."),
        ("duel", {"yes": False}, "the file of entry 2 is not surely better than that of entry 1."),
        ("duel", {"yes": None}, "the files of entries 2 and 1 can’t be compared any more"),
        ("gate", {"yes": False}, "A gate answered no."),
    ],
)
def test_the_ledger_says_what_duels_and_gates_answered(
    world: World, kind: str, facts: dict[str, Any], said: str
) -> None:
    holdout = active_holdout(world.digits)
    facts |= {"entry": 2, "against": 1}
    notes.add_note(ledger_of(world.digits), holdout, NoteKind(kind), **facts)
    shown = text(browser().get("/c/digits/ledger/"))
    assert said in shown
    assert "watermark" not in shown


def test_the_ledger_shows_the_newest_entries_that_are_no_answers(world: World) -> None:
    for _ in range(23):
        holdout = active_holdout(world.digits)
        notes.add_note(ledger_of(world.digits), holdout, NoteKind.GATE, yes=True)
    shown = text(browser().get("/c/digits/ledger/"))
    assert shown.count("A gate answered yes.") == 20
    assert "3 more entries that are no answers" in shown


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (0, "The watermark that notices restored backups was restarted"),
        (2, "2 answers that the database had lost were written off"),
    ],
)
def test_the_ledger_says_what_was_written_off(world: World, lost: int, said: str) -> None:
    set_up(world)
    watermark.file_of(ledger_of(world.digits).uid).unlink()
    rewinds.give_up(world.round, lost=lost)
    assert said in text(browser().get("/c/digits/ledger/"))
