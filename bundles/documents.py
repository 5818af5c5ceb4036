"""YAML as data: mappings, lists, texts, numbers, yes and no; nothing that refers or constructs.

Aliases, anchors and tags are refused, so that a document is as large as it looks; duplicate keys
are, because one of them would be lost. Moments stay texts. What is nested further than anybody
writes by hand is refused while it is read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import yaml

from bundles.errors import fail

DEEPEST: Final = 20
LONGEST: Final = 256_000
Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None
Place = tuple[str | int, ...]

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_TAGGED: Final = (yaml.ScalarEvent, yaml.CollectionStartEvent)
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass
class Document:
    """A value, and the line at which each part of it begins."""

    name: str
    value: Value = None
    lines: dict[Place, int] = field(default_factory=dict)

    def where(self, place: Place) -> str:
        """Return file and line of a part, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.name}, line {self.lines.get(place, 1)}"


def read_yaml(content: bytes, name: str) -> Document:
    """Return what is written. Raises BundleError with the line."""
    if len(content) > LONGEST:
        raise fail(name, f"It has more than {LONGEST // 1000} kB. Texts and data are own files.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise fail(name, "It is not encoded in UTF-8.") from None
    document = Document(name)
    try:
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        document.value = _read(document, iter(events))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise fail(f"{name}{line}", f"This is no YAML: {error.problem}.") from None
    except yaml.YAMLError:
        raise fail(name, "This is no YAML: it has characters that are not allowed.") from None
    return document


def write_yaml(value: Value) -> str:
    """Write a value as `read_yaml` reads it."""
    return yaml.dump(
        value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100, line_break="\n"
    )


class _Plain(yaml.SafeDumper):
    """Write what is referred to twice twice, and texts so that they are read as texts."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = "'" if _scalar(data) != data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Plain.add_representer(str, _Plain.represent_str)


def _read(document: Document, events: Iterator[yaml.Event]) -> Value:
    value: Value = None
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise fail(_at(document, event), "A second document begins here; there is one.")
        elif isinstance(event, yaml.NodeEvent):
            value = _node(document, events, event, ())
    return value


def _node(
    document: Document, events: Iterator[yaml.Event], event: yaml.Event, place: Place
) -> Value:
    """Return the value that begins with an event, and take the events that belong to it."""
    document.lines.setdefault(place, _line(event))
    if why := _why_refused(event, place):
        raise fail(_at(document, event), why)
    if isinstance(event, yaml.SequenceStartEvent):
        items = list[Value]()
        while not isinstance(inner := next(events), yaml.SequenceEndEvent):
            items.append(_node(document, events, inner, (*place, len(items))))
        return items
    if isinstance(event, yaml.MappingStartEvent):
        mapping = dict[str, Value]()
        while not isinstance(inner := next(events), yaml.MappingEndEvent):
            key = _key(document, inner, place)
            if key in mapping:
                raise fail(_at(document, inner), f"“{key}” is there twice.")
            document.lines[*place, key] = _line(inner)
            mapping[key] = _node(document, events, next(events), (*place, key))
        return mapping
    assert isinstance(event, yaml.ScalarEvent)  # noqa: S101  (no other event begins a value)
    return _scalar(event.value) if event.implicit[0] else event.value


def _key(document: Document, event: yaml.Event, place: Place) -> str:
    if why := _why_refused(event, place):
        raise fail(_at(document, event), why)
    if not isinstance(event, yaml.ScalarEvent):
        raise fail(_at(document, event), "A key is a single word here.")
    if event.value == "<<" and event.implicit[0]:
        raise fail(_at(document, event), "Merging by “<<” is not allowed. Write it out.")
    return event.value


def _why_refused(event: yaml.Event, place: Place) -> str:
    if isinstance(event, yaml.AliasEvent):
        return f"“*{event.anchor}” is an alias. Write it out: aliases are not allowed."
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        return f"“&{event.anchor}” is an anchor. Anchors are not allowed."
    if isinstance(event, _TAGGED) and event.tag is not None:
        return f"“{event.tag}” is a tag. Tags are not allowed."
    if len(place) > DEEPEST:
        return f"It is nested more than {DEEPEST} deep."
    return ""


def _scalar(text: str) -> Value:
    """Return what plain words stand for: YAML 1.2, without moments, octals and the like."""
    if text.lower() in _WORDS and text in {text.lower(), text.title(), text.upper()}:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _at(document: Document, event: yaml.Event) -> str:
    return f"{document.name}, line {_line(event)}"


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
