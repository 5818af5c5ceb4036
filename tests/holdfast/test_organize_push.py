"""A competition kept in a folder: `holdfast organize push`, `init` and `create`."""

import json
from pathlib import Path

import pytest

from leaderboard.models import Competition, Holdout
from tests.cast import World, solution
from tests.holdfast.conftest import Run
from tests.holdfast.organizing import YAML, dropped, folder, organizer

__all__ = ["dropped", "folder", "organizer"]


@pytest.fixture
def pushed(organizer: World, folder: Path, run: Run) -> Competition:
    """Push the folder once."""
    ran = run("organize", "push", "cats")
    assert ran.code == 0, ran.err
    return Competition.objects.get(slug="cats")


def test_a_first_push_makes_a_whole_draft(pushed: Competition, run: Run) -> None:
    round = pushed.current_round
    assert (pushed.title, pushed.rules, round.daily_limit) == ("Cats and dogs", "Play fair.", 7)
    assert sorted(round.files.values_list("name", flat=True)) == [
        "sample_submission.csv",
        "train.csv",
    ]
    assert round.board.mechanism_parameters["steps"] == "20"
    assert round.active_holdout is not None
    assert run("organize", "status", "cats").code == 0


def test_a_second_push_changes_nothing(pushed: Competition, run: Run) -> None:
    assert run("organize", "push", "cats").out == "cats is up to date.\n"
    assert Holdout.objects.filter(ledger__competition=pushed).count() == 1
    assert run("organize", "push", "cats", "--dry-run").code == 0


def test_a_push_sends_what_changed_and_nothing_else(
    pushed: Competition, folder: Path, run: Run
) -> None:
    (folder / "rules.md").write_text("Play fair.\nNo hand labels.\n")
    (folder / "data" / "train.csv").write_text("x,label\n1,0\n2,1\n3,2\n")
    changed = YAML.replace("daily_limit: 7", "daily_limit: 9")
    (folder / "holdfast.yaml").write_text(changed)
    assert run("organize", "push", "cats").out.splitlines() == [
        "~ rules: 1 lines added, 0 removed",
        "~ daily_limit: 7 → 9",
        "~ data/train.csv: 20 bytes",
    ]
    assert run("organize", "push", "cats").out == "cats is up to date.\n"


def test_a_dry_run_sends_nothing_and_says_so_by_its_code(
    pushed: Competition, folder: Path, run: Run
) -> None:
    (folder / "holdfast.yaml").write_text(YAML.replace("Cats and dogs", "Dogs"))
    ran = run("organize", "push", "cats", "--dry-run", "--format", "json")
    assert ran.code == 3
    assert json.loads(ran.out)["changes"] == [
        {"sign": "~", "what": "title", "detail": "Cats and dogs → Dogs"}
    ]
    assert Competition.objects.filter(title="Cats and dogs").exists()


def test_a_sealed_solution_is_sent_only_where_it_is_asked_for(
    pushed: Competition, folder: Path, run: Run
) -> None:
    (folder / "solution.csv").write_bytes(solution(public=12))
    assert run("organize", "push", "cats").out == "cats is up to date.\n"
    assert "solution.csv" in run("organize", "push", "cats", "--solution").out
    holdout = Competition.objects.get(slug="cats").current_round.active_holdout
    assert holdout is not None
    assert holdout.public_rows == 12


def test_other_columns_withdraw_the_solution_and_seal_it_again(
    pushed: Competition, folder: Path, run: Run
) -> None:
    (folder / "holdfast.yaml").write_text(YAML.replace("[0, 1, 2, 3]", "[0, 1, 2, 3, 4]"))
    ran = run("organize", "push", "cats")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == ["~ columns", "~ solution.csv"]
    assert pushed.current_round.active_holdout is not None


def test_another_sample_is_exchanged_with_the_solution(
    pushed: Competition, folder: Path, run: Run
) -> None:
    sample = folder / "sample_submission.csv"
    sample.write_text(sample.read_text().replace(",0\n", ",1\n"))
    ran = run("organize", "push", "cats")
    assert ran.code == 0, ran.err
    assert [line[0] for line in ran.out.splitlines()] == ["-", "~", "~"]
    assert run("organize", "push", "cats").out == "cats is up to date.\n"


def test_an_open_competition_keeps_what_participants_rely_on(
    pushed: Competition, folder: Path, run: Run
) -> None:
    assert run("organize", "push", "cats", "--open").out == "~ phase: draft → open\n"
    other = YAML.replace("metric: accuracy", "metric: error_rate").replace("Cats and", "Some")
    (folder / "holdfast.yaml").write_text(other)
    ran = run("organize", "push", "cats")
    assert ran.code == 1
    assert "Nothing was sent" in ran.err
    assert "metric error_rate" in ran.err
    assert Competition.objects.get(slug="cats").title == "Cats and dogs"


def test_files_that_the_folder_lacks_stay_unless_they_are_pruned(
    pushed: Competition, folder: Path, run: Run
) -> None:
    lines = [line for line in YAML.splitlines() if "train.csv" not in line]
    (folder / "holdfast.yaml").write_text("\n".join(lines))
    assert run("organize", "push", "cats").out == "cats is up to date.\n"
    assert run("organize", "push", "cats", "--prune").out == "- train.csv\n"


def test_a_refusal_says_what_was_sent_before_it(organizer: World, folder: Path, run: Run) -> None:
    (folder / "solution.csv").write_text("id,label,Usage\nr0,9,Private\n")
    ran = run("organize", "push", "cats")
    assert ran.code == 1
    assert "solution.csv: " in ran.err
    assert "sent before: + data/train.csv" in ran.err
    (folder / "solution.csv").write_bytes(solution())
    assert run("organize", "push", "cats").out == "+ solution.csv: to be sealed\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: X", "line 1"),
        (YAML.replace("daily_limit: 7", "daily_limit: many"), "line 8"),
        (YAML.replace("data/train.csv", "../train.csv"), "leaves the bundle"),
        (YAML.replace("data/train.csv", "nowhere.csv"), "no file “nowhere.csv”"),
        (YAML.replace("path: data/train.csv", "path: solution.csv"), "everybody could download it"),
        (YAML.replace("version: 1", "version: 9"), "Version 9"),
    ],
)
def test_a_wrong_folder_is_explained_and_nothing_is_sent(
    text: str, said: str, organizer: World, folder: Path, run: Run
) -> None:
    (folder / "holdfast.yaml").write_text(text)
    ran = run("organize", "push", "cats")
    assert ran.code == 1
    assert said in ran.err
    assert Competition.objects.count() == 1


def test_a_folder_without_its_file_is_told_how_to_get_one(
    organizer: World, environment: Path, run: Run
) -> None:
    ran = run("organize", "push", ".")
    assert ran.code == 1
    assert "holdfast organize init" in ran.err


# --- Beginning ------------------------------------------------------------------------------------


def test_init_writes_what_push_takes(organizer: World, dropped: Path, run: Run) -> None:
    assert run("organize", "init", "prices").code == 0
    ran = run("organize", "push", "prices", "--open")
    assert ran.code == 0, ran.err
    made = Competition.objects.get(slug="prices")
    assert made.opened_by_organizer_at is not None
    assert made.current_round.board.metric == "mae"
    assert run("organize", "push", "prices").out == "prices is up to date.\n"


def test_init_of_an_empty_folder_is_valid_and_kept(
    organizer: World, environment: Path, run: Run
) -> None:
    assert run("organize", "init", "new-one").code == 0
    assert run("organize", "push", "new-one").code == 0
    assert Competition.objects.get(slug="new-one").title == "New one"
    again = run("organize", "init", "new-one")
    assert again.code == 1
    assert "there already" in again.err


def test_create_makes_an_open_competition_of_three_files(
    organizer: World, dropped: Path, run: Run
) -> None:
    ran = run("organize", "create", "prices", "--slug", "prices", "--open")
    assert ran.code == 0, ran.err
    assert "To predict: price (number)" in ran.out
    made = Competition.objects.get(slug="prices")
    assert made.opened_by_organizer_at is not None
    assert made.current_round.files.filter(role="sample").exists()


def test_create_takes_another_metric(organizer: World, dropped: Path, run: Run) -> None:
    ran = run("organize", "create", "prices", "--slug", "prices", "--metric", "rmse")
    assert ran.code == 0, ran.err
    board = Competition.objects.get(slug="prices").current_round.board
    assert board.metric == "rmse"
    assert board.round.active_holdout is not None


def test_create_prints_what_is_proposed_and_why(organizer: World, dropped: Path, run: Run) -> None:
    ran = run("organize", "create", "prices", "--slug", "prices", "--teams", "20")
    assert ran.code == 0, ran.err
    assert "Prices: a draft, http" in ran.out
    for reason in ("- id: ", "- metric: ", "- split: solution.csv splits", "- Mechanism "):
        assert reason in ran.out
    round = Competition.objects.get(slug="prices").current_round
    assert (round.team_limit, round.competition.rules[:2]) == (22, "1.")


def test_create_takes_the_folder_s_pages(organizer: World, dropped: Path, run: Run) -> None:
    (dropped / "rules.md").write_text("Play fair.\n")
    assert run("organize", "create", "prices", "--slug", "prices").code == 0
    made = Competition.objects.get(slug="prices")
    assert (made.rules, made.description[:7]) == ("Play fair.", "Predict")


def test_create_leaves_a_draft_where_something_is_missing(
    organizer: World, dropped: Path, run: Run
) -> None:
    (dropped / "rules.md").write_text("")
    ran = run("organize", "create", "prices", "--slug", "prices", "--open")
    assert ran.code == 1
    assert "Texts: The rules page is empty." in ran.err
    assert Competition.objects.get(slug="prices").opened_by_organizer_at is None


def test_create_says_which_file_is_wrong(organizer: World, dropped: Path, run: Run) -> None:
    (dropped / "test.csv").write_text("id,size\nh0,1\n")
    ran = run("organize", "create", "prices", "--slug", "prices")
    assert ran.code == 1
    assert "solution.csv" in ran.err
    assert Competition.objects.count() == 1


def test_create_names_the_files_that_lack(organizer: World, dropped: Path, run: Run) -> None:
    (dropped / "solution.csv").unlink()
    ran = run("organize", "create", "prices", "--slug", "prices")
    assert ran.code == 1
    assert "no solution.csv" in ran.err
    assert Competition.objects.count() == 1
