"""What an entry of a competition's log says: a JSON object in its canonical form.

Things go by their permanent ids, rounds by their numbers. Names of teams and hashes of files are
salted commitments, so that what stands in the log for good tells nobody what was committed to; the
salt can be shown, or deleted. No person is ever named.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from scoring.chain import canonical
from scoring.transparency.merkle import LONGEST_ENTRY
from scoring.verification.differences import Differs, shown

SALT_BYTES: Final = 32
_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)
_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
# In UTC, as Python writes it: two of them compare as texts.
_MOMENT: Final = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]{6})?\+00:00",
    re.ASCII,
)
_LARGEST: Final = 2**63 - 1

Leaf = Mapping[str, Any]
Check = Callable[[Any], bool]


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: type(value) is str and bool(pattern.fullmatch(value))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: type(value) is list and all(check(each) for each in value)


def _object_of(fields: Mapping[str, Check]) -> Check:
    return lambda value: (
        type(value) is dict
        and value.keys() == fields.keys()
        and all(check(value[name]) for name, check in fields.items())
    )


def _by_name(check: Check) -> Check:
    """Accept an object whose values are all of one kind, under ids or words."""
    return lambda value: (
        type(value) is dict and all(_is_id(name) and check(each) for name, each in value.items())
    )


_is_id: Final = _matches(_ID)
_is_hash: Final = _matches(_HASH)
_is_moment: Final = _matches(_MOMENT)
# An exact mean loss: units and rows * resolution.
_is_score: Final = _object_of({"units": _is_count, "of": _is_count})

_TEAM: Final = {"team": _is_id}
_SUBMISSION: Final = {"team": _is_id, "submission": _is_count}
_ON: Final = {"team": _is_id, "on": _is_flag}
_LEDGER_ENTRY: Final = {"board": _is_id, "number": _is_count, "hash": _is_hash}
_SOLUTION: Final = {"ledger": _is_id, "version": _is_count, "solution": _is_hash}

# kind -> its fields besides `kind` and `at`
KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "accepted": {**_SUBMISSION, "round": _is_count, "file": _is_hash, "practice": _is_flag},
    "rejected": _SUBMISSION,
    "failed": _SUBMISSION,
    "requeued": _SUBMISSION,
    "released": {**_SUBMISSION, "ledger": _is_id, "entries": _list_of(_object_of(_LEDGER_ENTRY))},
    # An answer from a copy of the ledger, in a restored database that did not know of it. The log
    # may lack what `accepted` has, then `accepted` is the moment of the answer.
    "restored": {
        **_SUBMISSION,
        "round": _is_count,
        "practice": _is_flag,
        "accepted": _is_moment,
        "ledger": _is_id,
        "entries": _list_of(_object_of(_LEDGER_ENTRY)),
    },
    "gate": {
        "round": _is_count,
        "gate": _is_id,
        "asks": _is_hash,
        "in_use": _or_none(_is_hash),
        "on": _is_flag,
    },
    "gated": {
        **_SUBMISSION,
        "gate": _is_id,
        "ledger": _is_id,
        "number": _is_count,
        "hash": _is_hash,
    },
    "noted": {"ledger": _is_id, "number": _is_count, "hash": _is_hash},
    # An earlier entry does not hold any more: what it tells was lost with a restored database.
    "lost": {"entry": _is_count},
    "team": {**_TEAM, "name": _is_hash},
    "merged": {**_TEAM, "into": _is_id, "offset": _is_count},
    "deadline": {"round": _is_count, "opens_at": _is_moment, "closes_at": _or_none(_is_moment)},
    "limits": {
        "round": _is_count,
        "limits": _by_name(lambda value: value is None or _is_flag(value) or _is_count(value)),
    },
    "rules": {"sha256": _is_hash},
    "scoring": {"round": _is_count, "parameters_hash": _is_hash},
    "sealed": _SOLUTION,
    "revised": _SOLUTION,
    "baseline": _ON,
    "verified": _ON,
    "disqualified": _ON,
    "hidden": _ON,
    "excluded": {**_SUBMISSION, "on": _is_flag},
    "selected": {**_TEAM, "round": _is_count, "choice": _is_hash},
    "quota": {**_TEAM, "daily": _is_count, "total": _is_count},
    "top_up": {"board": _is_id, "team": _or_none(_is_id), "amount": _is_count},
    "finals_started": {"round": _is_count},
    "final": {
        **_SUBMISSION,
        "round": _is_count,
        "place": _or_none(_is_count),
        "scores": _by_name(_is_score),
    },
    "revealed": {"round": _is_count},
    "published": {"ledger": _is_id, "version": _is_count, "sha256": _is_hash},
}


def leaf(kind: str, at: str, **fields: Any) -> bytes:
    """Return an entry; `at` is a moment in UTC. Raises Differs for what its kind does not have."""
    document = {"kind": kind, "at": at, **fields}
    _check(document, None)
    entry = canonical(document)
    if len(entry) > LONGEST_ENTRY:
        raise _differs(None, "entry", f"It has more than {LONGEST_ENTRY} bytes.")
    return entry


def parse(entry: bytes, index: int | None = None) -> dict[str, Any]:
    """Return what an entry says, if it is one and written as such. Raises Differs."""
    try:
        document = json.loads(entry) if len(entry) <= LONGEST_ENTRY else None
        if type(document) is not dict or canonical(document) != entry:
            raise ValueError("another form")
    except (ValueError, RecursionError):
        raise _differs(index, "entry", f"{shown(entry)} is no canonical JSON object.") from None
    _check(document, index)
    return document


def commit(salt: bytes, value: str) -> str:
    """Return the commitment to a text; of a text with many others like it, the salt hides it."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes")
    return hashlib.sha256(salt + value.encode()).hexdigest()


def _check(document: Leaf, index: int | None) -> None:
    kind = document.get("kind")
    fields = KINDS.get(kind) if type(kind) is str else None
    if fields is None:
        raise _differs(index, "kind", f"{shown(kind)} is no kind of entry.")
    if wrong := sorted(document.keys() ^ {"kind", "at", *fields}):
        raise _differs(index, "fields", f"Missing or unknown: {', '.join(wrong)[:200]}.")
    for name, check in {"at": _is_moment, **fields}.items():
        if not check(document[name]):
            raise _differs(index, name, f"{shown(document[name])} is impossible here.")


def _differs(index: int | None, name: str, message: str) -> Differs:
    return Differs(index, name, message, of="Log entry")
