"""Values against a JSON schema, of which this knows the part that the bundle's schema uses."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from bundles.documents import Document, Place
from bundles.errors import Trouble

Shape = Mapping[str, Any]
_TYPES: Final = {
    "object": (dict, "a mapping"),
    "array": (list, "a list"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "null"),
}


def find_wrong(document: Document, shape: Shape, shapes: Shape) -> list[Trouble]:
    """Return all that is wrong, with its line. `shapes` are what `$ref` names."""
    return [
        Trouble(document.where(place), what)
        for place, what in _check(document.value, shape, shapes, ())
    ]


def _check(value: Any, shape: Shape, shapes: Shape, place: Place) -> Iterator[tuple[Place, str]]:
    if "$ref" in shape:
        shape = shapes[shape["$ref"].rpartition("/")[2]]
    types = shape.get("type", list(_TYPES))
    types = [types] if isinstance(types, str) else types
    if not any(_is_of(value, each) for each in types):
        expected = " or ".join(_TYPES[each][1] for each in types if each != "null")
        yield place, f"“{_named(place)}” has to be {expected}, and is {_described(value)}."
        return
    if isinstance(value, dict):
        yield from _check_mapping(value, shape, shapes, place)
    elif isinstance(value, list):
        yield from _check_list(value, shape, shapes, place)
    elif value is not None:
        yield from _check_scalar(value, shape, place)


def _check_mapping(
    value: dict[str, Any], shape: Shape, shapes: Shape, place: Place
) -> Iterator[tuple[Place, str]]:
    known, others = shape.get("properties", {}), shape.get("additionalProperties", True)
    around = f" of “{_named(place)}”" if place else ""
    for name in shape.get("required", ()):
        if name not in value:
            yield place, f"“{name}”{around} is missing."
    for name, each in value.items():
        here = (*place, name)
        if name in known:
            yield from _check(each, known[name], shapes, here)
        elif others is False:
            close = get_close_matches(name, known, 1)
            meant = f" Did you mean “{close[0]}”?" if close else f" Known: {', '.join(known)}."
            yield here, f"There is no “{name}”{around}.{meant}"
        elif others is not True:
            yield from _check(each, others, shapes, here)


def _check_list(
    value: list[Any], shape: Shape, shapes: Shape, place: Place
) -> Iterator[tuple[Place, str]]:
    if len(value) < shape.get("minItems", 0):
        yield place, f"“{_named(place)}” needs at least {shape['minItems']}."
    if len(value) > shape.get("maxItems", len(value)):
        yield (
            place,
            f"“{_named(place)}” has at most {shape['maxItems']:,}; here are {len(value):,}.",
        )
        return
    for index, each in enumerate(value):
        yield from _check(each, shape.get("items", {}), shapes, (*place, index))


def _check_scalar(value: Any, shape: Shape, place: Place) -> Iterator[tuple[Place, str]]:
    name = _named(place)
    if "const" in shape and value != shape["const"]:
        yield place, f"“{name}” has to be {shape['const']}, and is {_described(value)}."
    if "enum" in shape and value not in shape["enum"]:
        choices = ", ".join(map(str, shape["enum"]))
        yield place, f"“{name}” has to be one of {choices}, and is {_described(value)}."
    if isinstance(value, str) and len(value) > shape.get("maxLength", len(value)):
        yield place, f"“{name}” has at most {shape['maxLength']:,} characters."
    if isinstance(value, str) and not re.search(shape.get("pattern", ""), value):
        yield place, f"“{name}”: {_described(value)} is not {shape['description']}"
    if isinstance(value, str):
        return
    if value < shape.get("minimum", value) or value > shape.get("maximum", value):
        low, high = shape.get("minimum"), shape.get("maximum")
        within = f"from {low:,} to {high:,}" if high is not None else f"at least {low:,}"
        yield place, f"“{name}” has to be {within}, and is {value:,}."


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind][0])  # type: ignore[arg-type]  # types, or a pair of them


def _named(place: Place) -> str:
    """Return how a part is called: `rounds.1.boards.1.metric`, counted as people do."""
    return ".".join(str(each + 1) if isinstance(each, int) else each for each in place) or "It"


def _described(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None:
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"“{text[:60]}”"
