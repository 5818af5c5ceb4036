"""Rules between the packages that import-linter can't express; its own are in pyproject.toml."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WRITES = {
    *("create", "save", "delete", "update", "get_or_create", "update_or_create"),
    *("bulk_create", "bulk_update", "acreate", "aupdate"),
    *("insert_row", "update_row", "update_rows"),
}
# What mechanisms know and what they said, and where these rows are reached from others.
STATE = {"Ledger", "BoardState", "TeamState"}
BOOKS = STATE | {"Release", "LedgerNote", "Standing", "LevelCount", "DayStart"}
RELATED = {
    *("ledger", "ledgers", "state", "states", "board_states", "team_states"),
    *("release", "releases", "notes", "standing", "standings", "level_counts", "day_start"),
}


def modules(folder: str, *, without: str = "") -> list[Path]:
    """Return the Python files below a folder."""
    found = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in found if not without or without not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def guilty(paths: Iterable[Path], forbidden: Callable[[Path], object]) -> dict[str, object]:
    """Return what is forbidden, by the file that has it."""
    return {named(path): found for path in paths if (found := forbidden(path))}


def called_names(path: Path) -> set[str]:
    """Return the plain functions and methods that a file calls, by their last name."""
    functions = (node.func for node in nodes(path) if isinstance(node, ast.Call))
    return {
        function.id if isinstance(function, ast.Name) else function.attr
        for function in functions
        if isinstance(function, ast.Name | ast.Attribute)
    }


def imported_names(path: Path) -> set[str]:
    """Return what a file takes from other modules by `from ... import`."""
    statements = (node for node in nodes(path) if isinstance(node, ast.ImportFrom))
    return {alias.name for statement in statements for alias in statement.names}


def imported_from_models(path: Path) -> set[str]:
    """Return the models that a file imports by name."""
    return {
        alias.name
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "leaderboard.models"
        for alias in node.names
    }


def method_calls(path: Path) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield what each method is called on, by the name of its model or relation, and the method.

    Of `Ledger.objects.filter(...).update(...)` that is Ledger, of `round.ledger.save()` ledger.
    """
    for node in nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            owner = owner.func.value
        if isinstance(owner, ast.Attribute) and owner.attr == "objects":
            owner = owner.value
        yield ast.unparse(owner).rpartition(".")[2], node.func.attr, node


def statement_calls(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the first argument of each call of a writing statement, and the statement."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            (first, *_), called = node.args, node.func.id
            if called in {"insert_row", "update_row", "update_rows"}:
                made = first.func if isinstance(first, ast.Call) else first
                yield ast.unparse(made).rpartition(".")[2], called


def outside_the_ledger() -> list[Path]:
    """Return the product's modules but for the models and `leaderboard.ledger`."""
    found = modules("leaderboard", without="migrations")
    return [path for path in found if not {"ledger", "models"} & set(path.parts)]


def test_the_numeric_core_opens_no_files_and_prints_nothing() -> None:
    def opened(path: Path) -> set[str]:
        plain = {
            node.func.id
            for node in nodes(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        return plain & {"open", "print", "input", "eval", "exec"}

    assert not guilty(modules("scoring"), opened)


def test_the_numeric_core_draws_from_generators_it_is_given() -> None:
    """`np.random.seed` and its like share one hidden state; a Generator is passed in."""

    def drawn(path: Path) -> set[str]:
        attributes = (node for node in nodes(path) if isinstance(node, ast.Attribute))
        return {
            node.attr
            for node in attributes
            if isinstance(node.value, ast.Attribute) and node.value.attr == "random"
        } - {"Generator", "default_rng", "SeedSequence", "Philox", "PCG64"}

    assert not guilty(modules("scoring"), drawn)


def test_reads_write_nothing() -> None:
    reads = [*modules("leaderboard/queries"), ROOT / "leaderboard" / "access.py"]
    assert not guilty(reads, lambda path: called_names(path) & WRITES)


def test_only_the_ledger_writes_the_mechanisms_state_and_its_entries() -> None:
    """Setting a draft up begins a ledger, and deleting what nobody has asked ends it."""
    allowed = {
        ("leaderboard/organize/solutions.py", "Ledger.create"),
        ("leaderboard/organize/drafts.py", "BoardState.delete"),
        ("leaderboard/organize/drafts.py", "ledgers.delete"),
    }
    found = {
        (named(path), f"{written}.{method}")
        for path in outside_the_ledger()
        for written, method, _ in method_calls(path)
        if method in WRITES and written in BOOKS | RELATED
    }
    assert found == allowed
    stated = {each for path in outside_the_ledger() for each in statement_calls(path)}
    assert {"submission", "event"} <= {written for written, _ in stated}
    assert not {written for written, _ in stated} & (BOOKS | RELATED)


def test_only_who_begins_ends_or_verifies_a_ledger_knows_the_mechanisms_state() -> None:
    """So that nobody else writes it by another name, or makes a row and saves it."""
    allowed = {
        "leaderboard/operate/verification.py",
        "leaderboard/organize/drafts.py",
        "leaderboard/organize/solutions.py",
    }
    reads = modules("leaderboard/queries")
    importers = {
        named(path): called_names(path) & imported_from_models(path) & BOOKS
        for path in outside_the_ledger()
        if path not in reads and imported_from_models(path) & STATE
    }
    assert importers.keys() == allowed
    assert not any(importers.values())


def test_a_ledger_is_locked_in_one_place_which_asks_the_watermark() -> None:
    """Only who asks the watermark by `check` takes the row alone; one snapshot is read under it."""
    files = modules("leaderboard", without="migrations")
    locks = [
        (named(path), locked, node)
        for path in files
        for locked, method, node in method_calls(path)
        if method == "select_for_update"
    ]
    models = imported_names(ROOT / "leaderboard" / "models" / "__init__.py")
    assert {locked for _, locked, _ in locks} <= models  # none by another name
    allowed = {"leaderboard/ledger/lock.py", "leaderboard/queries/snapshots.py"}
    assert {path for path, locked, _ in locks if locked == "Ledger"} == allowed
    alone = {path for path in files if "lock_row" in called_names(path)}
    assert {named(path) for path in alone} == {
        "leaderboard/ledger/pauses.py",
        "leaderboard/ledger/rewinds.py",
        "leaderboard/operate/verification.py",
        "leaderboard/pipeline/duels.py",
        "leaderboard/pipeline/gates.py",
        "leaderboard/pipeline/handover.py",
        "leaderboard/pipeline/release.py",
    }
    assert all("check" in called_names(path) for path in alone)


def test_a_lock_takes_no_row_of_another_table_along() -> None:
    """A join under `select_for_update` locks both sides, unless it is told `of` which."""

    def joined(path: Path) -> list[str]:
        if "select_for_update" not in path.read_text(encoding="utf-8"):
            return []
        chains = (ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Call))
        locks = (each for each in chains if "select_for_update()" in each)
        return [each for each in locks if re.search(r"\bselect_related\(", each)]

    assert not guilty(modules("leaderboard", without="migrations"), joined)


def test_only_the_end_and_verify_know_exact_scores_and_one_file_of_the_reads() -> None:
    """Archives take them along as they are; the log tells them at the reveal."""
    allowed = {
        "leaderboard/ledger/archives.py",
        "leaderboard/log/leaves.py",
        "leaderboard/operate/final_verification.py",
        "leaderboard/pipeline/final_places.py",
        "leaderboard/pipeline/final_tests.py",
        "leaderboard/pipeline/finalize.py",
        "leaderboard/queries/finals.py",
    }
    found = {
        named(path)
        for path in modules("leaderboard", without="migrations")
        if "models" not in path.parts and "FinalScore" in imported_names(path)
    }
    assert found == allowed


def test_models_hide_no_logic_in_save_or_signals() -> None:
    def hidden(path: Path) -> set[str]:
        defined = {node.name for node in nodes(path) if isinstance(node, ast.FunctionDef)}
        signals = {"receiver", "post_save", "pre_save", "post_delete"}
        return defined & {"save", "delete", "refresh_from_db"} | imported_names(path) & signals

    assert not guilty(modules("leaderboard/models"), hidden)


def test_no_test_is_skipped() -> None:
    def marks(path: Path) -> set[str]:
        marked = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
        return marked & {"skip", "skipif", "xfail", "importorskip", "skipTest"}

    assert not guilty(modules("tests"), marks)
