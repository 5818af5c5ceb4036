"""The threat model names the tests that show its promises: they exist."""

import ast
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+?)(?:::(\w+))?`", TEXT)))


def test_a_promise_names_a_test_that_exists() -> None:
    for path, names in groupby(NAMED, key=itemgetter(0)):
        tree = ast.parse((ROOT / path).read_text())
        tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert any(each.startswith("test_") for each in tests), path
        assert {name for _, name in names if name} <= tests, path


def test_every_promise_names_a_test() -> None:
    tables = TEXT.split("| Promise | Shown by |\n|---|---|\n")[1:]
    promises = [line for table in tables for line in table.split("\n\n")[0].splitlines()]
    assert promises
    assert [line for line in promises if "`tests/" not in line] == []
