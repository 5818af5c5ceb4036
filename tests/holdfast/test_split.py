"""Splitting rows on the organizer's own machine."""

from pathlib import Path

import pytest

from tests.holdfast.conftest import Run

TABLE = "id,day,label\n" + "".join(f"r{row},d{row // 5},{row % 2}\n" for row in range(100))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own, with labels of 20 days."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text(TABLE)
    return tmp_path


def test_a_split_by_group_writes_a_solution(table: Path, run: Run) -> None:
    ran = run("split", "labels.csv", "--by", "group", "--column", "day")
    assert ran.code == 0, ran.err
    assert "solution.csv: 20 Public, 60 Private, 20 Final." in ran.out
    assert "The seed was" in ran.err
    assert (table / "solution.csv").read_text().startswith("id,Group,label,Usage\nr0,d0,0,")


def test_the_same_seed_writes_the_same_file_where_it_is_wanted(table: Path, run: Run) -> None:
    parts = ("--public", "0", "--private", "3", "--final", "1")
    for name in ("a.csv", "b.csv"):
        ran = run("split", "labels.csv", "--by", "row", "--seed", "s", "-o", name, *parts)
        assert ran.out.strip() == f"{name}: 0 Public, 75 Private, 25 Final."
        assert not ran.err
    assert (table / "a.csv").read_bytes() == (table / "b.csv").read_bytes()


def test_a_file_is_replaced_only_if_asked(table: Path, run: Run) -> None:
    (table / "solution.csv").write_text("kept")
    ran = run("split", "labels.csv", "--by", "row")
    assert ran.code == 1
    assert "is there already" in ran.err
    assert (table / "solution.csv").read_text() == "kept"
    assert run("split", "labels.csv", "--by", "row", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--by", "group"), 2, "need a --column"),
        (("--by", "row", "--column", "day"), 2, "by row takes"),
        (("--by", "group", "--column", "week"), 1, "no column “week”"),
        (("--by", "row", "--public", "0", "--private", "0", "--final", "0"), 2, "are all 0"),
        (("--by", "row", "--private", "0"), 1, "Private rows are needed"),
    ],
)
def test_what_cannot_be_done_is_said(
    table: Path, run: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = run("split", "labels.csv", *arguments)
    assert (ran.code, (table / "solution.csv").exists()) == (code, False)
    assert message in " ".join(ran.err.split())


def test_a_bad_line_is_named(table: Path, run: Run) -> None:
    (table / "labels.csv").write_text("id,day,label\nr0,d0\n")
    ran = run("split", "labels.csv", "--by", "row")
    assert ran.code == 1
    assert "Line 2 has 2 cells" in ran.err
