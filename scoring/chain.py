"""The public ledger as a hash chain: anyone can tell that an entry was changed, added or left out.

A document is what JSON can hold. Its canonical form has sorted keys, no spaces and ASCII only, so
that the same facts give the same bytes wherever they are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # Whoever only checks hashes needs no more than the standard library.
    from scoring.mechanisms.base import Answer

ANSWER_FIELDS: Final = (
    *("kind", "level", "reference_level", "steps"),
    *("width", "tolerance", "certificate", "asked"),
)


def canonical(document: Mapping[str, Any]) -> bytes:
    """Return the bytes that are hashed. Raises ValueError for numbers that are not finite."""
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode()


def document_hash(document: Mapping[str, Any]) -> str:
    """Hash the canonical form of a ledger entry or of the parameters (SHA-256, hex).

    An entry names the hash of the one before it as `previous_hash`; that is what chains them.
    """
    return hashlib.sha256(canonical(document)).hexdigest()


def answer_fields(answer: Answer) -> dict[str, Any]:
    """Return what an entry says of the answer itself; a question asked again gets the same."""
    return {name: getattr(answer, name) for name in ANSWER_FIELDS}
