"""The solution: checked, sealed, and in force."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.core.files.base import ContentFile, File
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from leaderboard import vault
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import Competition, FileRole, Holdout, HoldoutState, User
from leaderboard.organize.drafts import frozen, is_frozen
from leaderboard.organize.parts import content_of, sample_ids, schema_of
from scoring import mechanisms, metrics
from scoring.errors import ParameterError
from scoring.predictions import RowIds, Solution, Usage, read_solution


@dataclass(frozen=True)
class RowCounts:
    """How many plain rows each set of the solution counts as; public knowledge."""

    public: int
    private: int


def effective_rows(holdout: Holdout) -> RowCounts:
    """What a mechanism asks of the holdout's size."""
    return RowCounts(holdout.effective_public_rows, holdout.effective_private_rows)


def install_solution(competition: Competition, file: File[bytes], *, by: User | None) -> Holdout:
    """Checks and seals a solution, which becomes the holdout in force.

    The plain labels are in memory for the time of this call only. Raises SolutionError (the file is
    wrong), ParameterError (it doesn't fit the metric), Refused (no sample yet, or frozen).
    """
    if is_frozen(competition):
        raise frozen("holdout")
    checked = check_solution(competition, file)
    with transaction.atomic():
        lock.lock(competition)
        if is_frozen(competition):
            raise frozen("holdout")
        holdout = create_version(competition, checked, by)
        if competition.opened_by_organizer_at is not None:
            start_ledger(competition, holdout)
    return holdout


@dataclass(frozen=True, repr=False)
class CheckedSolution:
    """A solution that fits a competition. It holds plain labels: keep it for one call only."""

    solution: Solution
    ids: RowIds
    effective: RowCounts


def check_solution(competition: Competition, file: File[bytes]) -> CheckedSolution:
    """Reads a solution and checks it against sample, metric and, once open, the mechanism.

    Raises SolutionError, ParameterError or Refused.
    """
    schema = schema_of(competition)
    ids = sample_ids(competition, schema)
    if ids is None:
        raise Refused.invalid("solution", "Upload the sample submission first: it fixes the rows.")
    if not competition.metric:
        raise Refused.invalid("solution", "Choose the metric first: the labels must fit it.")
    content = content_of(file)
    _check_not_the_sample(competition, content)
    solution = read_solution(content, schema, ids)
    metric = metrics.get(competition.metric)
    metric.check(schema, solution, metric.parse(competition.metric_parameters))
    if not solution.counts().private:
        raise Refused.invalid("solution", "No row is Private: there would be nothing to hold out.")
    effective = RowCounts(
        solution.effective_rows(Usage.PUBLIC), solution.effective_rows(Usage.PRIVATE)
    )
    if competition.opened_by_organizer_at is not None:
        check_mechanism_fits(competition, effective)
    return CheckedSolution(solution, ids, effective)


def create_version(
    competition: Competition, checked: CheckedSolution, by: User | None, **facts: Any
) -> Holdout:
    """Seals a solution with a new salt and a new secret; it takes the place of the one in force.

    Call it under `lock.lock`.
    """
    counts = checked.solution.counts()
    sealed, secret = vault.seal_solution(checked.solution), vault.seal_new_secret()
    versions = competition.holdouts.aggregate(last=Max("version"))["last"] or 0
    competition.holdouts.filter(retired_at__isnull=True).update(retired_at=timezone.now())
    return Holdout.objects.create(
        competition=competition,
        version=versions + 1,
        sealed_solution=ContentFile(sealed.box, name=sealed.commitment),
        sealed_secret=secret.box,
        solution_commitment=sealed.commitment,
        secret_commitment=secret.commitment,
        row_ids_digest=checked.ids.digest,
        public_rows=counts.public,
        private_rows=counts.private,
        final_rows=counts.final,
        ignored_rows=counts.ignored,
        effective_public_rows=checked.effective.public,
        effective_private_rows=checked.effective.private,
        uploaded_by=by,
        **facts,
    )


def start_ledger(competition: Competition, holdout: Holdout) -> None:
    """Gives the holdout in force of an open competition its ledger."""
    mechanism = mechanisms.get(competition.mechanism)
    head = mechanism.initial_holdout(mechanism.parse(competition.mechanism_parameters))
    fresh = {"budget_left": head.budget_left}
    HoldoutState.objects.get_or_create(holdout=holdout, defaults=fresh)
    # An opening that was taken back may have left a head with the budget of other parameters.
    HoldoutState.objects.filter(holdout=holdout, releases=0).update(**fresh)


def check_mechanism_fits(competition: Competition, counts: RowCounts) -> str:
    """The mechanism's title. Raises ParameterError where it fits neither metric nor rows."""
    mechanism = mechanisms.get(competition.mechanism)
    parameters: Any = mechanism.parse(competition.mechanism_parameters)
    metric = metrics.get(competition.metric)
    if reason := metric.allows(mechanism.name):
        raise ParameterError("mechanism", reason)
    mechanism.check(parameters, metric, counts)
    return f"{mechanism.title}."


def _check_not_the_sample(competition: Competition, content: bytes) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    if competition.files.filter(role=FileRole.SAMPLE, sha256=sha256).exists():
        raise Refused.invalid(
            "solution", "This is the sample submission. Choose the file with the true labels."
        )
