"""The solution: checked, sealed, and active."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.files.base import ContentFile, File
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from leaderboard import vault
from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import (
    Audience,
    EventKind,
    FileRole,
    Holdout,
    Ledger,
    Round,
    User,
)
from leaderboard.notify import events
from leaderboard.organize.beginning import begin_ledger
from leaderboard.organize.drafts import is_frozen
from leaderboard.organize.files import content_of, sample_ids, schema_of
from leaderboard.organize.same_rows import check_rows_are_free, claim_rows
from leaderboard.organize.scoring import RowCounts, check_mechanism_fits
from leaderboard.pipeline.queue import enqueue_baselines
from scoring import metrics
from scoring.guarantees.groups import choose_designs
from scoring.predictions import RowIds, Solution, Usage, read_solution


def install_solution(round: Round, file: File[bytes], *, by: User | None) -> Holdout:
    """Check and seal a solution, which becomes the active holdout.

    The plain labels are in memory for the time of this call only. Raises SolutionError (the file is
    wrong), ParameterError (it doesn't fit the metric), Refused (no sample yet, or frozen).
    """
    check_right(by, round.competition, Right.EDIT)
    if is_frozen(round):
        raise Refused("frozen")
    return install_checked(round, check_solution(round, file), by=by)


def install_checked(round: Round, checked: CheckedSolution, *, by: User | None) -> Holdout:
    """Seal a solution that was checked, which becomes the active holdout. Raises Refused."""
    with transaction.atomic():
        competition = lock.lock(round.competition)
        round.refresh_from_db()
        if is_frozen(round):
            raise Refused("frozen")
        answers = competition.opened_by_organizer_at is not None
        (claim_rows if answers else check_rows_are_free)(round, checked.ids.digest)
        if round.ledger is None:
            round.ledger = Ledger.objects.create(competition=competition)
            round.save(update_fields=["ledger"])
        holdout = create_revision(round.ledger, checked, by)
        if competition.opened_by_organizer_at is not None:
            begin_ledger(round)
        events.record(
            competition,
            EventKind.SOLUTION_SEALED,
            actor=by,
            audience=Audience.ORGANIZERS,
            subjects={"round": round.number, "ledger": round.ledger.uid},
            version=holdout.version,
        )
        if competition.opened_by_organizer_at is None:
            transaction.on_commit(partial(enqueue_baselines, round.pk))
    return holdout


@dataclass(frozen=True, repr=False)
class CheckedSolution:
    """A solution that fits a round. It holds plain labels: keep it for one call only."""

    solution: Solution
    ids: RowIds
    effective: RowCounts


def check_solution(round: Round, file: File[bytes]) -> CheckedSolution:
    """Read a solution and check it as `check_labels` does.

    Raises SolutionError, ParameterError or Refused.
    """
    schema = schema_of(round)
    ids = sample_ids(round, schema)
    if ids is None:
        raise Refused("invalid", field="solution", variant="sample_first")
    if not all(board.metric for board in round.boards.all()):
        raise Refused("invalid", field="solution", variant="metric_first")
    content = content_of(file)
    sha256 = hashlib.sha256(content).hexdigest()
    if round.origin.files.filter(role=FileRole.SAMPLE, sha256=sha256).exists():
        raise Refused("invalid", field="solution", variant="is_the_sample")
    return check_labels(round, read_solution(content, schema, ids), ids)


def check_labels(round: Round, solution: Solution, ids: RowIds) -> CheckedSolution:
    """Check labels that were read against metrics and, once open, the mechanisms.

    Raises ParameterError or Refused.
    """
    schema, boards = solution.schema, list(round.boards.all())
    for board in boards:
        metric = metrics.get(board.metric)
        metric.check(schema, solution, metric.parse(board.metric_parameters))
    if not solution.counts().private:
        raise Refused("invalid", field="solution", variant="no_private_rows")
    effective = RowCounts(
        solution.effective_rows(Usage.PUBLIC), solution.effective_rows(Usage.PRIVATE)
    )
    if round.competition.opened_by_organizer_at is not None:
        for board in boards:
            check_mechanism_fits(board, effective)
    return CheckedSolution(solution, ids, effective)


def create_revision(
    ledger: Ledger, checked: CheckedSolution, by: User | None, **facts: Any
) -> Holdout:
    """Seal a solution with a new salt and a new secret; it takes the place of the active one.

    Call it under `lock.lock`.
    """
    counts = checked.solution.counts()
    sealed, secret = vault.seal_solution(checked.solution), vault.seal_new_secret()
    versions = ledger.holdouts.aggregate(last=Max("version"))["last"] or 0
    ledger.holdouts.active().update(retired_at=timezone.now())
    return Holdout.objects.create(
        ledger=ledger,
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
        designs=choose_designs(checked.solution),
        uploaded_by=by,
        **facts,
    )
