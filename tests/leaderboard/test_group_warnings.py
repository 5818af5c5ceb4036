"""The warning that rows may belong together: shown before the opening, and never in its way."""

import pytest

from leaderboard import organize
from leaderboard.models import Competition, FileRole
from tests.cast import World, truth, upload


def rows(count: int = 60) -> bytes:
    lines = (f"r{row},2026-01-{1 + row % 12:02},{row % 15},{row / 7}" for row in range(count))
    return ("id,day,store,price\n" + "\n".join(lines) + "\n").encode()


def groups_named(competition: Competition) -> list[str]:
    found = organize.find_warnings(competition)
    return [each.detail for each in found if each.name == "groups"]


@pytest.fixture
def draft(world: World) -> Competition:
    """The small competition, in a draft, with test data of 12 days."""
    organize.return_to_draft(world.digits)
    organize.add_file(world.round, upload(rows(), "test.csv"), role=FileRole.TEST)
    world.digits.refresh_from_db()
    return world.digits


def test_columns_that_look_like_groups_are_named_with_what_to_do(draft: Competition) -> None:
    (detail,) = groups_named(draft)
    assert "“day” (12 days), “store” (15 values)." in detail
    assert "a column Group of the solution" in detail
    assert "price" not in detail


def test_a_warning_is_no_error(draft: Competition) -> None:
    organize.open_competition(draft)
    assert draft.opened_by_organizer_at is not None
    assert groups_named(draft) == []


def test_a_solution_with_groups_answers_it(draft: Competition, world: World) -> None:
    lines = "".join(f"r{row},{truth(row)},Private,g{row // 2}\n" for row in range(40))
    file = upload(f"id,label,Usage,Group\n{lines}".encode(), "solution.csv")
    organize.install_solution(world.round, file, by=world.organizer)
    assert groups_named(draft) == []


def test_many_columns_are_named_by_the_first_few(draft: Competition, world: World) -> None:
    names = ",".join(f"pixel{at}" for at in range(10))
    lines = "\n".join(",".join([str(row % 16)] * 10) for row in range(60))
    organize.add_file(
        world.round, upload(f"{names}\n{lines}\n".encode(), "more.csv"), role=FileRole.TEST
    )
    (detail,) = groups_named(draft)
    assert "“day” (12 days), “pixel0” (16 values), " in detail
    assert "“pixel3” (16 values) and 7 more." in detail


@pytest.mark.parametrize("content", [b"\x89PNG", b"PK\x03\x04", b"id,day\nr0\n"])
def test_other_files_are_passed_over(world: World, content: bytes) -> None:
    organize.return_to_draft(world.digits)
    organize.add_file(world.round, upload(content, "images.zip"), role=FileRole.TEST)
    world.digits.refresh_from_db()
    assert groups_named(world.digits) == []
