"""The pages of a competition that was made from files: what is known of it, in plain Markdown."""

from collections.abc import Mapping
from typing import Any

from scoring import metrics
from scoring.dropped import Sheet, Target
from scoring.predictions import Column

_SHOWN = 40


def write_texts(target: Target, sheets: Mapping[str, Sheet]) -> dict[str, Any]:
    """Return tagline, overview, rules and data page, for the organizer to go on from."""
    asked = _join([f"`{column.name}`" for column in target.schema.columns[:_SHOWN]])
    metric = metrics.get(target.metric)
    return {
        "tagline": f"Predict {asked.replace('`', '')}."[:200],
        "description": (
            f"Predict {asked} for each row of {_name(sheets, 'test', 'the test data')}.\n\n"
            "## What to send\n\n"
            f"A CSV file with the columns `{'`, `'.join(target.schema.header[: _SHOWN + 1])}`, and "
            f"a row for each `{target.schema.id_column}`.\n\n"
            + "\n".join(f"- `{each.name}` is {_kind(each)}." for each in target.schema.columns[:20])
            + f"\n\n## How it is scored\n\n**{metric.title}.** {metric.description}\n"
        ),
        "rules": (
            "1. One account for each person, and one team for each account.\n"
            "2. Don't share code or data outside your team while the competition is open.\n"
            "3. Don't label the test data by hand, and don't look for its labels elsewhere.\n"
            "4. Who organizes this competition, or has seen its hidden data, doesn't take part.\n"
            "5. The organizers may disqualify a team that breaks these rules, with a public "
            "reason.\n"
        ),
        "data_description": "\n\n".join(
            f"**{sheet.name}**{_about(role)} Its columns: {_listed(sheet)}."
            for role, sheet in sheets.items()
            if role in ("train", "test")
        )
        or "The sample submission has the ids of all rows.",
    }


def _about(role: str) -> str:
    return (
        " has rows with labels to learn from." if role == "train" else " has the rows to predict."
    )


def _name(sheets: Mapping[str, Sheet], role: str, other: str) -> str:
    return f"`{sheets[role].name}`" if role in sheets else other


def _listed(sheet: Sheet) -> str:
    more = f" and {len(sheet.header) - _SHOWN} more" if len(sheet.header) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in sheet.header[:_SHOWN]) + more


def _kind(column: Column) -> str:
    if column.kind == "label":
        shown = [f"`{each}`" for each in column.classes[:12]]
        more = f" and {len(column.classes) - 12} others" if len(column.classes) > 12 else ""
        return f"one of {_join(shown) if not more else ', '.join(shown) + more}"
    return {
        "probability": "a probability from 0 to 1",
        "number": "a number",
        "labels": "a set of labels",
        "ranking": "a ranking, the best first",
        "text": "an answer in words",
    }[column.kind]


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
