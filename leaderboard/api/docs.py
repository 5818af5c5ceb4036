"""The OpenAPI schema read for people: operations with their fields, and the objects they name."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from leaderboard.api.problems import MEDIA_TYPE

Json = dict[str, Any]
METHODS = ("get", "post", "patch", "put", "delete")
CLI = "x-holdfast-cli"


@dataclass(frozen=True)
class Field:
    """A parameter or a field of an object. `link` names the object that its type is."""

    name: str
    kind: str
    link: str
    required: bool
    help: str


@dataclass(frozen=True)
class Answer:
    """A successful answer: its status, media type and what it is."""

    status: str
    media_type: str
    kind: str
    link: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Operation:
    """One thing that the API can do."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    public: bool
    cli: str
    curl: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    body_type: str
    answers: tuple[Answer, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Operations on one subject."""

    name: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Object:
    """A JSON object that operations answer with."""

    name: str
    description: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Reference:
    """The whole page."""

    title: str
    description: str
    groups: tuple[Group, ...]
    objects: tuple[Object, ...]


@lru_cache(maxsize=1)
def schema() -> Json:
    """The OpenAPI document; the same as long as the process lives."""
    generator: Any = SchemaGenerator  # it has no types
    document: Json = generator().get_schema(request=None, public=True)
    return document


@lru_cache(maxsize=1)
def reference() -> Reference:
    """The schema, ready for a template."""
    document = schema()
    operations = [
        (operation["tags"][0], _operation(document, path, method, operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]
    groups = tuple(
        Group(
            tag["name"],
            tag["description"],
            tuple(each for name, each in operations if name == tag["name"]),
        )
        for tag in document["tags"]
    )
    return Reference(
        document["info"]["title"],
        document["info"]["description"],
        groups,
        _objects(document, groups),
    )


def _operation(document: Json, path: str, method: str, raw: Json) -> Operation:
    body, body_type = _body(document, raw)
    security = raw.get("security", [])
    return Operation(
        id=raw["operationId"],
        method=method.upper(),
        path=path,
        summary=raw["summary"],
        description=raw["description"],
        public={} in security or not security,
        cli=raw.get(CLI, ""),
        curl=_curl(path, method, {} not in security and bool(security), body, body_type),
        parameters=tuple(_parameter(each) for each in raw.get("parameters", ())),
        body=body,
        body_type=body_type,
        answers=tuple(_answers(document, raw)),
        problems=tuple(_codes(raw)),
    )


def _parameter(raw: Json) -> Field:
    kind, _ = _kind(raw["schema"])
    return Field(
        raw["name"],
        kind if raw["in"] == "query" else f"{kind}, in the {raw['in']}",
        "",
        raw.get("required", False),
        raw.get("description", "") or _default(raw["schema"]),
    )


def _default(raw: Json) -> str:
    return f"{raw['default']} if left out." if "default" in raw else ""


def _body(document: Json, raw: Json) -> tuple[tuple[Field, ...], str]:
    for media_type, content in raw.get("requestBody", {}).get("content", {}).items():
        return _fields(_resolved(document, content["schema"])), media_type
    return (), ""


def _answers(document: Json, raw: Json) -> Any:
    for status, response in raw["responses"].items():
        if not status.startswith("2"):
            continue
        contents = response.get("content") or {"": {"schema": {}}}
        for media_type, content in contents.items():
            kind, link = _kind(content["schema"])
            paged = link.endswith("Page")
            fields = _fields(_resolved(document, content["schema"])) if paged else ()
            yield Answer(status, media_type, kind, "" if paged else link, fields)


def _codes(raw: Json) -> Any:
    """The problem codes of an operation, as its responses' examples have them."""
    for response in raw["responses"].values():
        examples = response.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})
        for example in examples.values():
            yield example["value"]["code"]


def _objects(document: Json, groups: tuple[Group, ...]) -> tuple[Object, ...]:
    """The objects that answers name, and those which these name."""
    known: Json = document["components"]["schemas"]
    wanted = [
        link
        for group in groups
        for operation in group.operations
        for answer in operation.answers
        for link in (answer.link, *(field.link for field in answer.fields))
    ]
    found: dict[str, Object] = {}
    while wanted:
        name = wanted.pop(0)
        if name in found or "properties" not in known.get(name, {}):
            continue
        fields = _fields(known[name])
        found[name] = Object(name, known[name].get("description", ""), fields)
        wanted += [field.link for field in fields]
    return tuple(found.values())


def _fields(raw: Json) -> tuple[Field, ...]:
    required = raw.get("required", ())
    return tuple(
        Field(name, *_kind(each), name in required, each.get("description", ""))
        for name, each in raw.get("properties", {}).items()
    )


def _resolved(document: Json, raw: Json) -> Json:
    _, link = _kind(raw)
    known: Json = document["components"]["schemas"].get(link, raw)
    return known


def _kind(raw: Json) -> tuple[str, str]:
    """A type in words, and the object that it names, if any."""
    inner = raw.get("$ref") or next(
        (each["$ref"] for key in ("allOf", "oneOf") for each in raw.get(key, ()) if "$ref" in each),
        "",
    )
    if inner:
        name = inner.rpartition("/")[2]
        kind, link = name.removesuffix("Request"), name
    elif raw.get("type") == "array":
        each, link = _kind(raw["items"])
        kind = f"list of {each}"
    else:
        kind, link = _plain(raw), ""
    return (f"{kind} or null" if raw.get("nullable") else kind), link


_FORMATS = {"date-time": "time", "binary": "file", "uri": "address", "email": "address"}
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}


def _plain(raw: Json) -> str:
    if raw.get("enum"):
        return " | ".join(str(each) for each in raw["enum"])
    words = _FORMATS.get(raw.get("format", "")) or _TYPES.get(raw.get("type", ""), "")
    return words or ("object" if raw else "nothing")


def _curl(
    path: str, method: str, needs_token: bool, body: tuple[Field, ...], body_type: str
) -> str:
    """The operation as a person tries it in a shell."""
    address = path.replace("{slug}", "digits").replace("{number}", "1")
    parts = ["curl"] + ([f"-X {method.upper()}"] if method != "get" and not body else [])
    parts += ['-H "Authorization: Token $HOLDFAST_TOKEN"'] if needs_token else []
    if body_type.startswith("multipart"):
        parts += ["-F file=@predictions.csv"]
    elif body:
        example = {each.name: True if each.kind == "true or false" else "…" for each in body}
        parts += [f"-X {method.upper()}"] if method != "post" else []
        parts += ["-H 'Content-Type: application/json'", f"-d '{_json(example)}'"]
    name = address.replace("{name}", "train.csv")
    return " ".join([*parts, f'"$HOLDFAST_URL{name}"'])


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
