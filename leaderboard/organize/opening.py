"""The checklist, and the opening of a draft that passes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import Competition
from leaderboard.organize.parts import holdout_in_force, sample_ids, schema_of
from leaderboard.organize.solutions import check_mechanism_fits, effective_rows, start_ledger
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError, ParameterError
from scoring.predictions import Schema


@dataclass(frozen=True)
class Check:
    """A line of the checklist: what must hold, whether it does, and what to do if not."""

    name: str
    title: str
    passed: bool
    detail: str


def checklist(competition: Competition) -> list[Check]:
    """What must be green before the competition opens."""
    tests: tuple[tuple[str, str, Callable[[Competition], str]], ...] = (
        ("texts", "Texts", _check_texts),
        ("times", "Times", _check_times),
        ("schema", "Prediction schema", _check_schema),
        ("sample", "Sample submission", _check_sample_file),
        ("metric", "Metric fits the schema", _check_metric),
        ("solution", "Solution: ids match the sample, usage of each row", _check_holdout),
        ("mechanism", "Mechanism fits the metric and the rows", _check_mechanism),
    )
    return [_run(name, title, test, competition) for name, title, test in tests]


def open_competition(competition: Competition) -> None:
    """Opens a draft whose checklist is green. Raises Refused with what is missing."""
    missing = [check for check in checklist(competition) if not check.passed]
    if missing:
        raise Refused(
            "checklist_not_green",
            "The checklist is not green",
            "Not opened: " + " ".join(f"{check.title}: {check.detail}" for check in missing),
        )
    with transaction.atomic():
        locked = lock.lock(competition)
        if locked.opened_by_organizer_at is None:
            locked.opened_by_organizer_at = timezone.now()
            locked.save(update_fields=["opened_by_organizer_at"])
            start_ledger(locked, locked.holdouts.get(retired_at__isnull=True))
    competition.refresh_from_db()


def check_settings(competition: Competition) -> None:
    """Parses schema, metric and mechanism parameters. Raises ParameterError naming the field."""
    schema = Schema.from_json(competition.schema)
    metric = metrics.get(competition.metric)
    metric.check(schema, None, metric.parse(competition.metric_parameters))
    mechanism = mechanisms.get(competition.mechanism)
    mechanism.parse(competition.mechanism_parameters)


_WHOLE_FIELDS = ("schema", "metric", "mechanism", "solution")


def _run(
    name: str, title: str, test: Callable[[Competition], str], competition: Competition
) -> Check:
    try:
        return Check(name, title, True, test(competition))
    except ParameterError as error:
        whole = error.field in _WHOLE_FIELDS
        return Check(name, title, False, error.message if whole else str(error))
    except (HoldfastError, Refused) as error:
        return Check(name, title, False, str(error))


def _check_texts(competition: Competition) -> str:
    for name, text in (("overview", competition.description), ("rules", competition.rules)):
        if not text.strip():
            raise Refused.invalid(name, f"The {name} page is empty.")
    return "Overview and rules are written."


def _check_times(competition: Competition) -> str:
    if competition.closes_at <= timezone.now():
        raise Refused.invalid("closes_at", "The closing time has passed.")
    return "It closes in the future."


def _check_schema(competition: Competition) -> str:
    return f"Header: {','.join(schema_of(competition).header)}"


def _check_sample_file(competition: Competition) -> str:
    ids = sample_ids(competition, schema_of(competition))
    if ids is None:
        raise Refused.invalid("file", "There is no sample submission.")
    return f"{len(ids)} rows."


def _check_holdout(competition: Competition) -> str:
    holdout = holdout_in_force(competition)
    if holdout is None:
        raise Refused.invalid("solution", "No solution is sealed.")
    ids = sample_ids(competition, schema_of(competition))
    if ids is None or ids.digest != holdout.row_ids_digest:
        raise Refused.invalid(
            "solution", "The sample submission changed since: upload the solution again."
        )
    return (
        f"Sealed: {holdout.public_rows} Public, {holdout.private_rows} Private, "
        f"{holdout.final_rows} Final, {holdout.ignored_rows} Ignored rows."
    )


def _check_metric(competition: Competition) -> str:
    if not competition.metric:
        raise Refused.invalid("metric", "No metric is chosen yet.")
    metric = metrics.get(competition.metric)
    parameters = metric.parse(competition.metric_parameters)
    metric.check(schema_of(competition), None, parameters)
    return f"{metric.title}."


def _check_mechanism(competition: Competition) -> str:
    if not competition.mechanism:
        raise Refused.invalid("mechanism", "No mechanism is chosen yet.")
    holdout = holdout_in_force(competition)
    if holdout is None:
        raise Refused.invalid("solution", "No solution is sealed.")
    counts = effective_rows(holdout)
    return check_mechanism_fits(competition, counts)
