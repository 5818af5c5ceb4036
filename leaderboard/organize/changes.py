"""What an event keeps of a change: what is new, and what was before."""

import hashlib
import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

_LONGEST: Final = 300  # characters; of longer values their digest is kept


def changed(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Collection[str] | None = None
) -> dict[str, Any]:
    """Return an event's data: the new values by name, and under `before` the old ones.

    names: those to tell; all unless they are given.
    """
    now, then = (
        {name: _value(value) for name, value in values.items() if names is None or name in names}
        for values in (after, before)
    )
    return now | {"before": then}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if len(text) <= _LONGEST:
        return value
    return {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
