"""The JSON schema of `holdfast.yaml`, version 1; docs/holdfast-bundle.schema.json is this one."""

from typing import Any, Final

VERSION: Final = 1
_MOMENT: Final = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$"
_COUNT: Final = {"type": "integer", "minimum": 1, "maximum": 1_000_000_000}


def _text(longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "description": description}


def _count(description: str, *, may_be_none: bool = True) -> dict[str, Any]:
    types = ["integer", "null"] if may_be_none else "integer"
    return {**_COUNT, "type": types, "description": description}


def _moment(description: str) -> dict[str, Any]:
    return {
        "type": ["string", "null"],
        "pattern": _MOMENT,
        "description": f"a moment such as 2027-01-31T12:00:00Z, in UTC unless it says otherwise. "
        f"{description}",
    }


def _mapping(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


_PATH: Final = _text(200, "A file of the bundle, by its path from holdfast.yaml.")
_PARAMETERS: Final = {
    "type": "object",
    "additionalProperties": {"type": ["string", "integer", "number"]},
    "description": "Values by name; what is left out has its default.",
}

SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Holdfast bundle, version 1",
    "description": "A competition as files: holdfast.yaml, its texts, its data.",
    **_mapping(
        ("version", "title", "rounds"),
        version={"const": VERSION, "type": "integer", "description": "The version of the format."},
        slug={
            **_text(60, "letters a to z, digits, hyphens and underscores: the short name."),
            "pattern": "^[-a-zA-Z0-9_]+$",
        },
        title=_text(120, "The name."),
        tagline=_text(200, "One sentence."),
        visibility={
            "type": "string",
            "enum": ["public", "invited", "hidden"],
            "description": "Who sees it once it is open.",
        },
        team_size=_count("Members of a team at most.", may_be_none=False),
        texts=_mapping((), overview=_PATH, rules=_PATH, data=_PATH),
        rounds={"type": "array", "minItems": 1, "maxItems": 50, "items": {"$ref": "#/$defs/round"}},
    ),
    "$defs": {
        "round": _mapping(
            ("boards",),
            title=_text(120, "The name of the round; a competition of one needs none."),
            opens_at=_moment("Left out: the moment of the import."),
            closes_at=_moment("Left out: it has no end."),
            continues={
                "type": "boolean",
                "description": "Goes on with the rows of the round before, and with its ledger.",
            },
            daily_limit=_count("Submissions of a team a day.", may_be_none=False),
            total_limit=_count("Submissions of a team in all."),
            max_file_bytes=_count("The largest file of predictions.", may_be_none=False),
            finals_limit=_count("Final entries of a team.", may_be_none=False),
            question_limit=_count("Questions in all, of all teams on all boards."),
            team_limit=_count("Teams at most."),
            nats_limit=_count("Nats that a team may cost."),
            gate_limit=_count("Gates that are answered: yes-or-no questions of programs."),
            is_hidden={"type": "boolean", "description": "Hidden until the end."},
            columns={"$ref": "#/$defs/columns"},
            boards={
                "type": "array",
                "minItems": 1,
                "maxItems": 20,
                "items": {"$ref": "#/$defs/board"},
                "description": "The first one ranks.",
            },
            files={"type": "array", "maxItems": 200, "items": {"$ref": "#/$defs/file"}},
            solution={**_PATH, "type": ["string", "null"]},
        ),
        "columns": _mapping(
            ("id_column", "columns"),
            id_column=_text(200, "The column with the row ids."),
            columns={"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/column"}},
        ),
        "column": _mapping(
            ("name", "kind"),
            name=_text(200, "The name in the header."),
            kind={
                "type": "string",
                "enum": ["label", "probability", "number", "labels", "ranking", "text"],
            },
            classes={
                "type": "array",
                "maxItems": 10_000,
                "items": {"type": ["string", "integer"]},
            },
            separator=_text(1, "Between the classes of one cell."),
            most=_count("The longest ranking; of a text the most runs."),
        ),
        "board": _mapping(
            ("metric",),
            title=_text(120, "The name of the column."),
            metric=_text(40, "A metric of docs/metrics.md."),
            metric_parameters=_PARAMETERS,
            mechanism=_text(40, "Left out: the one that is proposed for the metric."),
            mechanism_parameters=_PARAMETERS,
        ),
        "file": _mapping(
            ("path", "role"),
            path=_PATH,
            role={"type": "string", "enum": ["train", "test", "sample", "other"]},
            description=_text(300, "What it is."),
        ),
    },
}
