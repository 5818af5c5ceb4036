"""A draft from dropped files: what is proposed, and what is refused with file, column and line."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import default_storage

from leaderboard import organize, tasks
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, Holdout, Round
from leaderboard.organize import quick
from leaderboard.organize import recast as organized_recast
from leaderboard.organize.quick import create_from_files, name_roles
from leaderboard.organize.staging import stage
from scoring.predictions import recast
from tests.cast import World, active_holdout, make_user, upload
from tests.leaderboard import dropped


def _create(world: World, texts: dropped.Texts, **change: Any) -> Competition:
    given = {"files": dropped.files(texts), "title": "Made"} | change
    return create_from_files(by=world.organizer, **given)


def _board(world: World, texts: dropped.Texts, **change: Any) -> tuple[Round, Board]:
    round = _create(world, texts, **change).current_round
    return round, round.board


def _refused(world: World, texts: dropped.Texts, **change: str | None) -> str:
    """Return why these files are refused; nothing may be left of them."""
    before = _stored(), Competition.objects.count()
    with pytest.raises(Refused) as refused:
        _create(world, texts, files=dropped.files(texts, **change))
    assert (_stored(), Competition.objects.count()) == before
    return str(refused.value)


def _stored(folder: str = "") -> set[str]:
    folders, names = default_storage.listdir(folder)
    return {f"{folder}{name}" for name in names}.union(
        *(_stored(f"{folder}{each}/") for each in folders)
    )


@pytest.mark.parametrize("name", ["binary", "minutes", "classes"])
def test_a_draft_from_files_passes_its_checklist(world: World, name: str) -> None:
    made = _create(world, getattr(dropped, name)())
    assert all(check.passed for check in organize.checklist(made))


def test_two_classes_are_judged_by_accuracy(world: World) -> None:
    round, board = _board(world, dropped.binary())
    assert (board.metric, board.mechanism) == ("accuracy", "guard")
    assert round.schema["columns"][0]["classes"] == ["0", "1"]


def test_a_rare_class_is_judged_by_probabilities(world: World) -> None:
    _, board = _board(world, dropped.binary(share=0.1))
    assert board.metric == "log_loss"


def test_minutes_are_clipped_where_errors_end(world: World) -> None:
    _, board = _board(world, dropped.minutes())
    assert board.metric == "mae"
    assert 40 <= float(board.metric_parameters["clip"]) <= 150


def test_days_are_proposed_as_groups_and_stay_whole(world: World) -> None:
    made = _create(world, dropped.minutes())
    split = made.current_round.quick.facts["split"]
    assert (split["by"], split["column"]) == ("group", "date")
    assert "depend on each other" in split["reason"]
    assert active_holdout(made).effective_private_rows == 20


def test_a_sample_of_classes_asks_for_their_probabilities(world: World) -> None:
    round, board = _board(world, dropped.classes())
    assert board.metric == "log_loss_multiclass"
    assert [each["name"] for each in round.schema["columns"]] == ["adelie", "chinstrap", "gentoo"]


def test_a_sample_is_made_of_the_best_constant(world: World) -> None:
    round, _ = _board(world, dropped.minutes())
    with round.files.get(role="sample").file.open() as file:
        lines = file.read().decode().splitlines()
    assert lines[0] == "flight,delay"
    assert len({line.partition(",")[2] for line in lines[1:]}) == 1


def test_a_column_usage_is_kept(world: World) -> None:
    texts = dropped.binary()
    head, *rows = texts["solution"].splitlines()
    usage = [f"{row},{'Public' if at < 100 else 'Private'}" for at, row in enumerate(rows)]
    made = _create(world, texts | {"solution": "\n".join([f"{head},Usage", *usage]) + "\n"})
    holdout = active_holdout(made)
    assert (holdout.public_rows, holdout.private_rows) == (100, 300)


def test_the_split_is_another_each_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[bytes]()
    real = recast.with_split

    def with_split(solution: Any, usage: Any, groups: Any) -> Any:
        drawn.append(usage.tobytes())
        return real(solution, usage, groups)

    monkeypatch.setattr(quick, "with_split", with_split)
    _create(world, dropped.binary())
    _create(world, dropped.binary())
    assert drawn[0] != drawn[1]


def test_the_split_does_not_depend_on_labels(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[bytes]()
    real = recast.with_split

    def with_split(solution: Any, usage: Any, groups: Any) -> Any:
        drawn.append(usage.tobytes())
        return real(solution, usage, groups)

    monkeypatch.setattr(quick, "with_split", with_split)
    same = SimpleNamespace(token_bytes=lambda count: b"seed")
    monkeypatch.setattr("leaderboard.organize.quick.secrets", same)
    texts = dropped.binary()
    _create(world, texts)
    flipped = texts["solution"].replace(",0\n", ",x\n")
    flipped = flipped.replace(",1\n", ",0\n").replace(",x\n", ",1\n")
    _create(world, texts | {"solution": flipped})
    assert drawn[0] == drawn[1]


def test_another_metric_may_be_given(world: World) -> None:
    assert _board(world, dropped.minutes(), metric="rmse")[1].metric == "rmse"


def test_roles_follow_from_names() -> None:
    texts = dropped.classes()
    names = {"X_train.csv": "train", "X_test.csv": "test", "test_labels.csv": "solution"}
    files = {name: upload(texts[role].encode(), name) for name, role in names.items()}
    assert name_roles(files) == names


def test_files_that_nobody_can_tell_are_named() -> None:
    texts = dropped.classes()
    files = {f"{at}.csv": upload(texts["train"].encode(), f"{at}.csv") for at in range(2)}
    with pytest.raises(Refused, match=r"0\.csv, 1\.csv: nobody can tell"):
        name_roles(files)


def test_wrong_roles_are_named(world: World) -> None:
    texts = dropped.binary()
    told = _refused(world, texts, train=texts["test"])
    assert "train.csv has no column that test.csv lacks" in told
    told = _refused(world, texts, test=texts["train"])
    assert "train.csv has no column that test.csv lacks" in told
    told = _refused(world, texts, solution=texts["test"])
    assert "test.csv is the solution itself" in told
    told = _refused(world, texts, solution=texts["solution"].replace("churned", "left"))
    assert "solution.csv has no column “churned”" in told


def test_the_solution_is_not_published(world: World) -> None:
    texts = dropped.binary()
    rows = texts["solution"].splitlines()[1:]
    shown = "id,age,plan,churned\n" + "".join(
        f"{row.partition(',')[0]},30,basic,{row.partition(',')[2]}\n" for row in rows
    )
    assert "hidden rows with their true labels" in _refused(world, texts, train=shown)
    split = shown.replace("id,age", "id,usage", 1)
    assert "its column “usage” splits the rows" in _refused(world, texts, train=split)
    told = _refused(world, texts, sample=texts["solution"])
    assert "sample_submission.csv is the solution itself" in told


def test_groups_that_are_torn_are_named_with_their_line(world: World) -> None:
    texts = dropped.binary()
    lines = [
        f"{row},g{at // 2},{'Public' if at % 2 else 'Private'}"
        for at, row in enumerate(texts["solution"].splitlines()[1:])
    ]
    told = _refused(world, texts, solution="\n".join(["id,churned,Group,Usage", *lines]) + "\n")
    assert "solution.csv, line 3" in told
    assert "g0" in told


def test_ids_that_are_wrong_are_named_with_file_and_line(world: World) -> None:
    texts = dropped.binary()
    head, first, *rest = texts["solution"].splitlines(keepends=True)
    told = _refused(world, texts, solution="".join([head, *rest]))
    assert "solution.csv" in told
    assert "5000" in told
    twice = "".join([head, first, *rest, first])
    assert "solution.csv, line 402" in _refused(world, texts, solution=twice)
    test = texts["test"].splitlines(keepends=True)
    assert "test.csv, line 402" in _refused(world, texts, test="".join([*test, test[1]]))


def test_a_sample_that_does_not_fit_is_named(world: World) -> None:
    texts = dropped.classes()
    told = _refused(world, texts, sample=texts["sample"].replace("p9000,", "p1,", 1))
    assert "sample_submission.csv, line 2: the id “p1” is not in test.csv" in told
    told = _refused(world, texts, sample=texts["sample"].replace("gentoo", "emperor", 1))
    assert "sample_submission.csv has the column" in told


def test_labels_that_training_data_lack_are_named(world: World) -> None:
    texts = dropped.binary()
    told = _refused(
        world,
        texts,
        solution=texts["solution"].replace("5003,0", "5003,2").replace("5003,1", "5003,2"),
    )
    assert "solution.csv, line 5" in told


def test_an_end_in_the_past_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="must close"):
        _create(world, dropped.binary(), closes_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert not Holdout.objects.exclude(ledger__competition=world.digits).exists()


def test_only_organizers_make_competitions(world: World) -> None:
    with pytest.raises(Refused, match="organizer's role"):
        create_from_files(
            by=make_user("nobody"), files=dropped.files(dropped.binary()), title="Mine"
        )


def test_staged_files_need_names_of_their_own_that_are_not_too_long(world: World) -> None:
    given: dict[str, Any] = dict(dropped.files(dropped.binary()))
    for role in ("train", "test"):
        given[role] = stage(upload(given[role].read(), "data.csv"), by=world.organizer)
    with pytest.raises(Refused, match="There is a file named data"):
        create_from_files(by=world.organizer, files=given, title="Churn")
    with pytest.raises(Refused, match="more than 120 characters"):
        stage(upload(b"id\n", "n" * 121), by=world.organizer)


def test_a_solution_that_was_uploaded_by_hand_meanwhile_is_not_overwritten(world: World) -> None:
    texts = dropped.binary()
    made = _create(world, texts)
    shares = {"public": "1/4", "private": "1/2", "final": "1/4"}
    split = {"by": "row", "column": "", "by_day": False, "shares": shares}
    organized_recast.change_proposal(made, organized_recast.Wish(split=split), by=world.organizer)
    lines = texts["solution"].splitlines()
    usage = ["Public", "Private"] * len(lines)
    given = "".join(f"{line},{word}\n" for line, word in zip(lines[1:], usage, strict=False))
    organize.install_solution(
        made.current_round, upload(f"{lines[0]},Usage\n{given}".encode()), by=world.organizer
    )
    version = active_holdout(made).version
    tasks.rewrite_solution(round_id=made.current_round.pk)
    assert active_holdout(made).version == version
    assert not organized_recast.waiting()
