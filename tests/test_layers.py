"""Rules between the packages that import-linter can't express; its own are in pyproject.toml."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITES = {
    *("create", "save", "delete", "update", "get_or_create", "update_or_create"),
    *("bulk_create", "bulk_update", "acreate", "aupdate"),
}
STATE = {"HoldoutState", "TeamState"}


def modules(folder: str, *, without: str = "") -> list[Path]:
    """The Python files below a folder."""
    found = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in found if not without or without not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def called_names(path: Path) -> set[str]:
    """Plain functions and methods that a file calls, by their last name."""
    functions = (node.func for node in nodes(path) if isinstance(node, ast.Call))
    return {
        function.id if isinstance(function, ast.Name) else function.attr
        for function in functions
        if isinstance(function, ast.Name | ast.Attribute)
    }


def imported_names(path: Path) -> set[str]:
    """What a file takes from other modules by `from ... import`."""
    statements = (node for node in nodes(path) if isinstance(node, ast.ImportFrom))
    return {alias.name for statement in statements for alias in statement.names}


@pytest.mark.parametrize("path", modules("scoring"), ids=named)
def test_the_numeric_core_opens_no_files_and_prints_nothing(path: Path) -> None:
    plain = {
        node.func.id
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not plain & {"open", "print", "input", "eval", "exec"}


@pytest.mark.parametrize("path", modules("scoring"), ids=named)
def test_the_numeric_core_draws_from_generators_it_is_given(path: Path) -> None:
    """`np.random.seed` and its like share one hidden state; a Generator is passed in."""
    drawn = {
        node.attr
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
    }
    assert drawn <= {"Generator", "default_rng", "SeedSequence", "Philox", "PCG64"}


@pytest.mark.parametrize(
    "path", [*modules("leaderboard/queries"), ROOT / "leaderboard" / "access.py"], ids=named
)
def test_reads_write_nothing(path: Path) -> None:
    assert not called_names(path) & WRITES


def test_only_release_opening_and_corrections_know_the_mechanisms_state() -> None:
    allowed = {
        "leaderboard/pipeline/release.py",
        "leaderboard/organize/drafts.py",
        "leaderboard/organize/solutions.py",
        "leaderboard/organize/revisions.py",
        "leaderboard/ledger/rewinds.py",
        "leaderboard/ledger/lock.py",
    }
    reads = set(modules("leaderboard/queries"))
    found = {
        named(path)
        for path in modules("leaderboard", without="migrations")
        if "models" not in path.parts and path not in reads and imported_names(path) & STATE
    }
    assert found <= allowed


def test_a_ledger_is_locked_in_one_place_which_asks_the_guard() -> None:
    """Only who asks the guard by `check` takes the row alone."""

    def locks(node: ast.AST) -> bool:
        text = ast.unparse(node)
        return "HoldoutState" in text and "select_for_update" in text

    files = modules("leaderboard", without="migrations")
    lockers = {
        named(path)
        for path in files
        if any(locks(node) for node in nodes(path) if isinstance(node, ast.Call))
    }
    assert lockers == {"leaderboard/ledger/lock.py"}
    alone = {named(path) for path in files if "lock_row" in called_names(path)}
    assert alone == {"leaderboard/pipeline/release.py", "leaderboard/ledger/rewinds.py"}
    assert all("check" in called_names(ROOT / name) for name in alone)


def test_only_the_end_writes_exact_scores_and_one_file_of_the_reads_knows_them() -> None:
    allowed = {"leaderboard/pipeline/finalize.py", "leaderboard/queries/finals.py"}
    found = {
        named(path)
        for path in modules("leaderboard", without="migrations")
        if "models" not in path.parts and "FinalScore" in imported_names(path)
    }
    assert found == allowed


@pytest.mark.parametrize("path", modules("leaderboard/models"), ids=named)
def test_models_hide_no_logic_in_save_or_signals(path: Path) -> None:
    defined = {node.name for node in nodes(path) if isinstance(node, ast.FunctionDef)}
    assert not defined & {"save", "delete", "refresh_from_db"}
    assert not imported_names(path) & {"receiver", "post_save", "pre_save", "post_delete"}


@pytest.mark.parametrize("path", modules("tests"), ids=named)
def test_no_test_is_skipped(path: Path) -> None:
    marks = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
    assert not marks & {"skip", "skipif", "xfail", "importorskip", "skipTest"}
