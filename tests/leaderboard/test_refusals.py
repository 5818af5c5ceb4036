"""Every refusal is in the catalogue, and everything in the catalogue is raised and worded."""

import ast
import pickle
import re
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from leaderboard.errors import Refused
from leaderboard.refusals import PROBLEMS, REFUSALS

SOURCES = sorted((Path(settings.BASE_DIR) / "leaderboard").rglob("*.py"))


class Call(NamedTuple):
    """A place that refuses: its code, the variant if it names one, and the fields it gives."""

    path: Path
    code: str
    variant: str
    fields: frozenset[str]


def _texts(node: ast.AST) -> list[str]:
    """Return the texts that an expression may be; none where it isn't written out."""
    if isinstance(node, ast.IfExp):
        return _texts(node.body) + _texts(node.orelse)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return []


@cache
def raised() -> tuple[Call, ...]:
    """Return every call of `Refused` whose code is written out."""
    return tuple(_raised())


def _raised() -> Iterator[Call]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused":
                given = {each.arg or "*": each.value for each in node.keywords}
                variants = _texts(given["variant"]) if "variant" in given else [""]
                for code in _texts(node.args[0]):
                    for variant in variants:
                        yield Call(path, code, variant, frozenset(given))


def _needed(template: str) -> set[str]:
    """Return the fields without which a template can't be filled in."""
    plain = re.sub(r"\[[^\[\]]*\]", "", template)  # what may be missing
    return {name for _, name, _, _ in string.Formatter().parse(plain) if name}


def test_every_code_and_variant_that_is_raised_is_in_the_catalogue() -> None:
    unknown = {
        (call.code, call.variant)
        for call in raised()
        if call.code not in REFUSALS
        or (call.variant and call.variant not in REFUSALS[call.code].variants)
    }
    assert not unknown


def test_every_code_and_variant_in_the_catalogue_is_raised() -> None:
    texts = {
        node.value
        for path in SOURCES
        if path.name != "refusals.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    variants = {name for known in REFUSALS.values() for name in known.variants}
    assert not (set(REFUSALS) | variants) - texts


def test_whoever_refuses_gives_every_field_that_the_words_need() -> None:
    def gives(call: Call) -> bool:
        known = REFUSALS[call.code]
        needed = _needed(known.variants.get(call.variant, known.detail))
        return bool(call.fields & {"message", "errors", "*"}) or needed <= call.fields

    assert [call for call in raised() if not gives(call)] == []


def test_what_a_code_means_is_worded_without_any_case() -> None:
    assert [code for code in PROBLEMS if set("{}[]") & set(PROBLEMS[code].meaning)] == []


def test_a_refusal_travels_as_code_and_fields() -> None:
    closes_at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    refused = pickle.loads(pickle.dumps(Refused("deadline_passed", closes_at=closes_at)))  # noqa: S301  (made here)
    assert (refused.code, refused.facts) == ("deadline_passed", {"closes_at": closes_at})
    assert str(refused) == (
        "This competition closed on 21 November 2026 at 12:00 UTC. Nothing was accepted."
    )


def test_what_is_missing_is_left_out() -> None:
    assert str(Refused("deadline_passed", closes_at=None)) == "It has ended. Nothing was accepted."


def test_several_wrong_fields_are_counted_and_named() -> None:
    refused = Refused(
        "invalid",
        errors=[
            {"field": "closes_at", "variant": "closes_in_the_past"},
            {"field": "slug", "message": "Another competition has it."},
        ],
    )
    assert str(refused) == "2 things are wrong with what was sent."
    assert refused.fields == {
        "closes_at": "It must close in the future.",
        "slug": "Another competition has it.",
    }
