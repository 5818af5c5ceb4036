"""Running a competition from a terminal, with the server in the same process."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone

from leaderboard import tasks
from leaderboard.models import Announcement, Competition, Submission, Trial
from leaderboard.organize import return_to_draft
from tests import ending
from tests.cast import World, make_user, predictions
from tests.holdfast.conftest import URL, Run, Server, problem
from tests.holdfast.organizing import dropped, folder, organizer

__all__ = ["dropped", "folder", "organizer"]
IRREVERSIBLE = (("close",), ("finals", "--start"), ("reveal",), ("publish",))


def test_status_shows_where_a_competition_stands(organizer: World, run: Run) -> None:
    organizer.score(organizer.join(organizer.alice), predictions([10]))
    ran = run("organize", "status", "digits")
    assert ran.code == 0, ran.err
    for text in ("open", "owner", "8 Public, 32 Private", "1, 0 waiting, 0 failed"):
        assert text in ran.out


def test_status_of_a_draft_has_its_checklist_and_an_exit_code(organizer: World, run: Run) -> None:
    return_to_draft(organizer.digits, by=organizer.organizer)
    assert run("organize", "status", "digits").code == 0
    Competition.objects.update(rules="")
    ran = run("organize", "status", "digits")
    assert ran.code == 1
    assert "missing  Texts: The rules page is empty." in ran.out
    assert json.loads(run("organize", "status", "digits", "--format", "json").out)["checklist"]


def test_one_s_competitions_are_listed(organizer: World, run: Run) -> None:
    assert "digits" in run("organize", "list").out


def test_open_opens_a_draft(organizer: World, run: Run) -> None:
    return_to_draft(organizer.digits, by=organizer.organizer)
    assert run("organize", "open", "digits").out.startswith("Digits is open: http")


def test_extend_moves_the_end(organizer: World, run: Run) -> None:
    assert "2098" in run("organize", "extend", "digits", "--until", "2098-01-31").out
    Competition.objects.get().refresh_from_db()
    assert Competition.objects.get().current_round.closes_at.year == 2098  # type: ignore[union-attr]


def test_extend_refuses_an_earlier_end_and_odd_moments(organizer: World, run: Run) -> None:
    earlier = run("organize", "extend", "digits", "--until", f"{timezone.now():%Y-%m-%d}")
    assert earlier.code == 1
    assert "only a later one can be set" in earlier.err
    assert run("organize", "extend", "digits", "--until", "soon").code == 2


def test_people_get_roles_and_lose_them(organizer: World, run: Run) -> None:
    make_user("olga", is_organizer=True)
    added = run(
        *("organize", "people", "digits", "--add", "olga", "--role", "judge", "--format", "csv")
    )
    assert "olga,judge" in added.out
    assert "olga" not in run("organize", "people", "digits", "--remove", "olga").out
    nobody = run("organize", "people", "digits", "--add", "nobody")
    assert nobody.code == 1
    assert "There is no account" in nobody.err


def test_people_and_a_class_are_invited(organizer: World, environment: Path, run: Run) -> None:
    Path("class.csv").write_text("name,mail,alias\nAnn,ann@example.org,A\nBen,ben@example.org,B\n")
    ran = run(
        *("organize", "people", "digits", "--invite", "bob", "--invite", "c@example.org"),
        *("--class-list", "class.csv"),
    )
    assert ran.code == 0, ran.err
    assert "Invited: 1 by mail, 1 by account." in ran.err
    assert "On the list: 2 more" in ran.err
    assert organizer.digits.invitees.count() == 3
    Path("class.csv").write_text("name,mail\nAnn,nowhere\n")
    wrong = run("organize", "people", "digits", "--class-list", "class.csv")
    assert wrong.code == 1
    assert "line 2" in wrong.err


@pytest.fixture
def worker(organizer: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Let a worker answer while somebody waits for a trial; `digits` is a draft."""

    def work(_: float) -> None:
        for trial in Trial.objects.all():
            tasks.score_trial(trial_id=trial.pk)

    monkeypatch.setattr("holdfast.waiting.time.sleep", work)
    return_to_draft(organizer.digits, by=organizer.organizer)
    return organizer


def test_try_prints_what_the_board_says(worker: World, environment: Path, run: Run) -> None:
    Path("p.csv").write_bytes(predictions([10]))
    ran = run("organize", "try", "digits", "p.csv")
    assert ran.code == 0, ran.err
    assert re.fullmatch(r"Improved 0\.\d+\n", ran.out), ran.out
    found = json.loads(run("organize", "try", "digits", "p.csv", "--format", "json").out)
    assert found["status"] == "released"


def test_try_says_what_is_wrong_with_a_file(worker: World, environment: Path, run: Run) -> None:
    Path("p.csv").write_bytes(b"id,label\nr0,9\n")
    ran = run("organize", "try", "digits", "p.csv")
    assert ran.code == 1
    assert "p.csv was rejected" in ran.err
    assert "Line 2, column `label`" in ran.err


def test_try_takes_a_draft(organizer: World, environment: Path, run: Run) -> None:
    Path("p.csv").write_bytes(predictions([10]))
    ran = run("organize", "try", "digits", "p.csv")
    assert ran.code == 1
    assert "Files are tried in a draft" in ran.err


def test_announce_tells_everybody(organizer: World, environment: Path, run: Run) -> None:
    Path("news.md").write_text("The *data* are new.\n")
    assert run("organize", "announce", "digits", "New data", "-f", "news.md").code == 0
    made = Announcement.objects.get()
    assert (made.title, made.text) == ("New data", "The *data* are new.")


def test_the_end_is_led_from_the_terminal(organizer: World, run: Run) -> None:
    organizer.score(organizer.join(organizer.alice), predictions([10]))
    assert "is closed" in run("organize", "close", "digits", "--yes").out
    assert run("organize", "finals", "digits", "--start", "--yes").code == 0
    ending.measure(organizer.digits)
    assert run("organize", "finals", "digits").out.split()[-2:] == ["Measured", "1"]
    assert "revealed" in run("organize", "reveal", "digits", "--yes").out
    assert run("organize", "publish", "digits", "--yes").code == 0
    assert Competition.objects.get().current_round.publication_at


def test_what_failed_is_named(organizer: World, run: Run) -> None:
    organizer.submit(organizer.join(organizer.alice), predictions([10]))
    ended = {"finished_at": timezone.now(), "failure": "parse: MemoryError"}
    Submission.objects.update(status="failed", **ended)
    ran = run("organize", "finals", "digits")
    assert "team alice #1 failed: parse: MemoryError" in ran.out


@pytest.mark.parametrize("command", IRREVERSIBLE)
def test_what_can_t_be_undone_asks_first(
    command: tuple[str, ...], organizer: World, run: Run
) -> None:
    name, *more = command
    ran = run("organize", name, "digits", *more)
    assert ran.code == 2
    assert "add --yes" in ran.err
    assert Competition.objects.get().current_round.closes_at > timezone.now()  # type: ignore[operator]


def test_a_competition_goes_out_and_in_as_a_bundle(
    organizer: World, environment: Path, run: Run
) -> None:
    assert run("organize", "export", "digits").code == 0
    assert "holdfast.yaml" in zipfile.ZipFile("digits.zip").namelist()
    again = run("organize", "export", "digits")
    assert again.code == 1
    assert "there already" in again.err
    planned = run("organize", "import", "digits.zip", "--dry-run", "--slug", "digits-2")
    assert "upload it on the page Solution" in planned.out
    assert Competition.objects.count() == 1
    ran = run("organize", "import", "digits.zip", "--slug", "digits-2")
    assert ran.code == 0, ran.err
    assert Competition.objects.get(slug="digits-2").opened_by_organizer_at is None


def test_a_file_that_is_no_bundle_is_explained(
    organizer: World, environment: Path, run: Run
) -> None:
    Path("x.zip").write_bytes(b"no zip")
    ran = run("organize", "import", "x.zip")
    assert ran.code == 1
    assert "no zip archive" in ran.err


def test_a_competition_moves_with_its_ledger(organizer: World, environment: Path, run: Run) -> None:
    organizer.score(organizer.join(organizer.alice), predictions([10]))
    own = run("organize", "vault-key").out.strip()
    here = run("organize", "move", "digits", "--to", own, "--yes")
    assert "this very installation" in here.err
    there = run("organize", "move", "digits", "--to", "ab" * 32, "--yes")
    assert there.code == 0, there.err
    ran = run("organize", "export", "digits", "--archive", "--with-people")
    assert ran.code == 0, ran.err
    assert b"alice@" in zipfile.ZipFile("digits-archive.zip").read("tables/people.jsonl")
    again = run("organize", "import", "digits-archive.zip", "--slug", "copy")
    assert again.code == 1
    assert "has that competition already" in again.err


def test_a_board_is_chosen_from_those_that_were_compared(organizer: World, run: Run) -> None:
    return_to_draft(organizer.digits, by=organizer.organizer)
    card, *_ = json.loads(run("organize", "boards", "digits", "--format", "json").out)
    ran = run("organize", "boards", "digits", "--use", card["mechanism"])
    assert ran.code == 0, ran.err
    board = Competition.objects.get().current_round.board
    assert board.mechanism == card["mechanism"]
    assert card["parameters"].keys() <= board.mechanism_parameters.keys()


def test_clone_makes_a_draft_like_another(organizer: World, run: Run) -> None:
    assert run("organize", "clone", "digits", "--slug", "copy").code == 0
    assert Competition.objects.get(slug="copy").title == "Digits"


def test_a_token_for_something_else_is_told_what_it_lacks(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", URL)
    monkeypatch.setenv("HOLDFAST_TOKEN", "a-token")
    refusal = problem(403, "scope_missing", "This needs a token with the scope organize.")
    server.on("GET", "organize/competitions/digits/", refusal)
    ran = run("organize", "status", "digits")
    assert ran.code == 1
    assert "scope organize" in ran.err
