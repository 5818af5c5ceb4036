"""The OpenAPI schema read for people: operations with their fields, and the objects they name."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from drf_spectacular.generators import SchemaGenerator

from leaderboard.api.schema import CLI, SCOPE
from leaderboard.errors import PROBLEM_TYPE
from scoring.mechanisms import MECHANISMS

Json = dict[str, Any]
METHODS = ("get", "post", "patch", "put", "delete")


@dataclass(frozen=True)
class Field:
    """A parameter or a field of an object. `link` names the object that its type is."""

    name: str
    kind: str
    link: str
    required: bool
    help: str


def schema() -> Json:
    """Return the OpenAPI document, which names the answers of all registered mechanisms."""
    return _read(tuple(MECHANISMS))[0]


def reference() -> Json:
    """Return the schema, ready for a template: its own words, and below them what they come to."""
    return _read(tuple(MECHANISMS))[1]


def operations() -> SafeString:
    """Return what a page shows of all operations and objects: too much to render at each visit."""
    return _shown(tuple(MECHANISMS))


@lru_cache(maxsize=1)
def _shown(mechanisms: tuple[str, ...]) -> SafeString:
    return render_to_string("api/operations.html", {"reference": _read(mechanisms)[1]})


@lru_cache(maxsize=1)
def _read(_mechanisms: tuple[str, ...]) -> tuple[Json, Json]:
    """Make both once, and anew when a mechanism is registered."""
    generator: Any = SchemaGenerator  # it has no types
    document: Json = generator().get_schema(request=None, public=True)
    return document, _Reader(document).reference()


class _Reader:
    """Reads one OpenAPI document; `known` are the objects and enumerations that it names."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.known: Json = document["components"]["schemas"]

    def reference(self) -> Json:
        operations = [
            self.operation(path, method, raw)
            for path, methods in self.document["paths"].items()
            for method, raw in methods.items()
            if method in METHODS
        ]
        groups = [
            {**tag, "operations": [each for each in operations if tag["name"] in each["tags"]]}
            for tag in self.document["tags"]
        ]
        return {**self.document["info"], "groups": groups, "objects": self.objects(operations)}

    def operation(self, path: str, method: str, raw: Json) -> Json:
        body, body_type = self.body(raw)
        security = raw.get("security", [])
        public = not security or {} in security
        return {
            **raw,
            "id": raw["operationId"],
            "method": method.upper(),
            "path": path,
            "public": public,
            "scope": raw.get(SCOPE, ""),
            "cli": raw.get(CLI, ""),
            "curl": _curl(path, method, not public, body, body_type),
            "parameters": [self.parameter(each) for each in raw.get("parameters", ())],
            "body": body,
            "body_type": body_type,
            "answers": list(self.answers(raw)),
            "problems": list(_codes(raw)),
        }

    def parameter(self, raw: Json) -> Field:
        kind, _ = self.kind(raw["schema"])
        default = raw["schema"].get("default")
        if default not in (None, ""):
            kind = f"{kind}, {default} if left out"
        if raw["in"] == "header":
            kind = f"{kind}, a header"
        return Field(raw["name"], kind, "", raw.get("required", False), raw.get("description", ""))

    def body(self, raw: Json) -> tuple[tuple[Field, ...], str]:
        for media_type, content in raw.get("requestBody", {}).get("content", {}).items():
            return self.fields(self.resolved(content["schema"])), media_type
        return (), ""

    def answers(self, raw: Json) -> Iterator[Json]:
        """Yield the successful ones. A page, no object of its own, is known by its fields."""
        for status, response in raw["responses"].items():
            if not status.startswith("2"):
                continue
            contents = response.get("content") or {"": {"schema": {}}}
            for media_type, content in contents.items():
                kind, link = self.kind(content["schema"])
                paged = link.endswith("Page")
                yield {
                    "status": status,
                    "media_type": media_type,
                    "kind": kind,
                    "link": "" if paged else link,
                    "fields": self.fields(self.resolved(content["schema"])) if paged else (),
                }

    def objects(self, operations: list[Json]) -> list[Json]:
        """Return the objects that bodies and answers name, and those which these name."""
        wanted = [
            link
            for operation in operations
            for part in ({"link": "", "fields": operation["body"]}, *operation["answers"])
            for link in (part["link"], *(field.link for field in part["fields"]))
        ]
        found: Json = {}
        while wanted:
            name = wanted.pop(0)
            if name and name not in found:
                fields = self.fields(self.known[name])
                found[name] = {
                    "description": "",
                    **self.known[name],
                    "name": name,
                    "fields": fields,
                }
                wanted += [field.link for field in fields]
        return list(found.values())

    def fields(self, raw: Json) -> tuple[Field, ...]:
        required = raw.get("required", ())
        return tuple(
            Field(name, *self.kind(each), name in required, each.get("description", ""))
            for name, each in raw.get("properties", {}).items()
        )

    def resolved(self, raw: Json) -> Json:
        found: Json = self.known.get(_named(raw), raw)
        return found

    def kind(self, raw: Json) -> tuple[str, str]:
        """Return a type in words, and the object that it names, if any."""
        if raw.get("type") == "array":
            each, link = self.kind(raw["items"])
            kind = f"list of {each}"
        else:
            target = self.resolved(raw)
            is_object = "properties" in target
            link = _named(raw) if is_object else ""
            kind = link if is_object else _plain(target)
        return (f"{kind} or null" if raw.get("nullable") else kind), link


def _named(raw: Json) -> str:
    """Return the component that a schema refers to, directly or as one of several."""
    refs = [raw, *(each for key in ("allOf", "oneOf") for each in raw.get(key, ()))]
    return next((each["$ref"].rpartition("/")[2] for each in refs if "$ref" in each), "")


def _codes(raw: Json) -> Iterator[str]:
    """Return the problem codes of an operation, as its responses' examples have them."""
    for response in raw["responses"].values():
        examples = response.get("content", {}).get(PROBLEM_TYPE, {}).get("examples", {})
        for example in examples.values():
            yield example["value"]["code"]


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
    """Return the operation as a person tries it in a shell."""
    address = path.replace("{slug}", "digits").replace("{number}", "1")
    parts = ["curl"] + ([f"-X {method.upper()}"] if method != "get" and not body else [])
    parts += ['-H "Authorization: Token $HOLDFAST_TOKEN"'] if needs_token else []
    if body_type.startswith("multipart"):
        parts += ["-F file=@predictions.csv"]
    elif body:
        # What is needed, and one of what may be left out: those may exclude each other.
        shown = sorted(body, key=lambda each: not each.required)
        shown = shown[: 1 + sum(each.required for each in body)]
        example = {each.name: _EXAMPLES.get(each.kind, "…") for each in shown}
        parts += [f"-X {method.upper()}"] if method != "post" else []
        data = json.dumps(example, ensure_ascii=False)
        parts += ["-H 'Content-Type: application/json'", f"-d '{data}'"]
    if "{name}" in address:
        parts[0] += " -o train.csv"
    name = address.replace("{name}", "train.csv")
    return " ".join([*parts, f'"$HOLDFAST_URL{name}"'])


_EXAMPLES: Json = {"true or false": True, "list of integer": [1]}
