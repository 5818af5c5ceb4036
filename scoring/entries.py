"""What a ledger publishes of its rows, boards and answers, on a server and off it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from scoring.chain import ANSWER_FIELDS, document_hash
from scoring.guarantees.certificate import Certificate, Released, certify, interval_fields
from scoring.guarantees.groups import Design, design_of
from scoring.ledger import Terms
from scoring.metrics.base import Metric
from scoring.predictions import Usage

Facts = dict[str, Any]

# What a published entry has as it is kept.
OWN_FIELDS: Final = (
    *("number", *ANSWER_FIELDS, "low", "high", "bound"),
    *("answered", "log_alphabets", "firings", "budget_left", "share_left"),
    *("predictions_tag", "question", "parameters_hash", "previous_hash"),
)
LAW_FIELDS: Final = ("length", "public_loss")


class Rows(Protocol):
    """The rows of a revision, as they are counted and committed to."""

    @property
    def row_ids_digest(self) -> str: ...

    @property
    def solution_commitment(self) -> str: ...

    @property
    def secret_commitment(self) -> str: ...

    @property
    def public_rows(self) -> int: ...

    @property
    def private_rows(self) -> int: ...

    @property
    def effective_public_rows(self) -> int: ...

    @property
    def effective_private_rows(self) -> int: ...

    @property
    def designs(self) -> dict[str, Any]: ...


class Asked(Protocol):
    """A board by what it asks, and how it answers."""

    @property
    def metric(self) -> str: ...

    @property
    def metric_parameters(self) -> dict[str, Any]: ...

    @property
    def mechanism(self) -> str: ...

    @property
    def mechanism_parameters(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Bounds:
    """How the interval of an answer is found: by the rows as they count, and how losses do."""

    rows: int
    design: Design
    rounding: float

    @classmethod
    def of(cls, metric: Metric, held: Rows) -> Self:
        """Return the bounds of a metric on the Private rows."""
        rows = held.effective_private_rows
        design = design_of(held.designs, Usage.PRIVATE, rows)
        return cls(rows, design, metric.rounding(weighted=rows < held.private_rows))

    def fields(self, said: Released, length: int | None) -> Facts:
        """Return `low`, `high` and `bound` of an entry."""
        return interval_fields(
            said, self.rows, design=self.design, rounding=self.rounding, length=length
        )

    def certify(self, said: Released, length: int | None) -> Certificate | None:
        """Return the interval of an answer, also of one that is only foreseen."""
        return certify(said, self.rows, design=self.design, rounding=self.rounding, length=length)


def holdout_facts(held: Rows, schema: Facts) -> Facts:
    """Return what is published and hashed of a revision: its rows and its commitments."""
    return {
        "schema": schema,
        "row_ids_digest": held.row_ids_digest,
        "solution_commitment": held.solution_commitment,
        "secret_commitment": held.secret_commitment,
        "public_rows": held.public_rows,
        "private_rows": held.private_rows,
        "effective_public_rows": held.effective_public_rows,
        "effective_private_rows": held.effective_private_rows,
    } | ({"designs": held.designs} if held.designs else {})


def board_facts(board: Asked) -> Facts:
    """Return what is published and hashed of a board."""
    return {
        "metric": board.metric,
        "metric_parameters": board.metric_parameters,
        "mechanism": board.mechanism,
        "mechanism_parameters": board.mechanism_parameters,
    }


def ledger_facts(terms: Terms) -> Facts:
    """Return what is published and hashed of a ledger: its laws and limits, if it has any."""
    return {"ledger": terms.to_json()} if terms.version else {}


def parameters_hash(uid: str, rows: Facts, board: Facts, terms: Terms) -> str:
    """Return the SHA-256 of everything that fixes what a board's answer means."""
    return document_hash(rows | board | ledger_facts(terms) | {"board": uid})


def entry_document(
    own: Mapping[str, Any],
    *,
    board: str,
    team: str,
    submission: int,
    repeat: bool,
    created_at: str,
    of_laws: Mapping[str, Any] | None = None,
) -> Facts:
    """Return an answer as it is published and hashed.

    own: at least OWN_FIELDS. of_laws: LAW_FIELDS and `baseline`, on a ledger that has laws.
    created_at: to the second; finer moments would reveal how long the vault and the noise took.
    """
    return {
        **(of_laws or {}),
        **{name: own[name] for name in OWN_FIELDS},
        "board": board,
        "team": team,
        "submission": submission,
        "repeat": repeat,
        "created_at": created_at,
    }
