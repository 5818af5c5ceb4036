"""Setting a competition up: files, the sealed solution, the checklist, and the opening.

What freezes is refused here, whoever asks. Schema, metric and mechanism are written in a draft; an
open competition goes back to being one only as long as nobody has submitted. The holdout freezes at
the first release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.core.files.base import ContentFile, File
from django.db import transaction
from django.db.models import Max
from django.db.models.fields.files import FieldFile
from django.utils import timezone

from leaderboard import ledger_lock, vault
from leaderboard.errors import Refused
from leaderboard.files import open_stored
from leaderboard.models import (
    Competition,
    CompetitionFile,
    FileRole,
    Halt,
    Holdout,
    HoldoutState,
    LedgerNote,
    Release,
    Submission,
    User,
)
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError, ParameterError
from scoring.predictions import RowIds, Schema, Solution, Usage, read_row_ids, read_solution


@dataclass(frozen=True)
class Check:
    """A line of the checklist: what must hold, whether it does, and what to do if not."""

    name: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class RowCounts:
    """How many plain rows each set of the solution counts as; public knowledge."""

    public: int
    private: int


def effective_rows(holdout: Holdout) -> RowCounts:
    """What a mechanism asks of the holdout's size."""
    return RowCounts(holdout.effective_public_rows, holdout.effective_private_rows)


def is_frozen(competition: Competition) -> bool:
    """Whether an answer has left the holdout: then its meaning may not change any more.

    Also an answer that a restored database has forgotten: another solution would begin another
    ledger, with a budget of its own.
    """
    entries = (model.objects.filter(holdout__competition=competition) for model in _ENTRIES)
    if any(found.exists() for found in entries):
        return True
    states = HoldoutState.objects.filter(holdout__competition=competition)
    return states.filter(halted_for=Halt.REWOUND).exists()


_ENTRIES = (Release, LedgerNote)


def add_file(
    competition: Competition, file: File[bytes], *, role: str, name: str = "", description: str = ""
) -> CompetitionFile:
    """Adds a public file. Raises Refused; a sample submission is read first (SolutionError)."""
    name = PurePath(name or file.name or "").name
    if not name:
        raise Refused.invalid("file", "The file needs a name.")
    if competition.files.filter(name=name).exists():
        raise Refused.invalid("file", f"There is a file named {name} already.")
    if role == FileRole.SAMPLE:
        _check_sample(competition, file)
    content = _read(file)
    return CompetitionFile.objects.create(
        competition=competition,
        name=name,
        role=role,
        description=description,
        file=ContentFile(content, name=name),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def remove_file(entry: CompetitionFile) -> None:
    """Removes a public file; the sample only as long as no solution is aligned to it."""
    if entry.role == FileRole.SAMPLE and _holdout(entry.competition) is not None:
        raise Refused.invalid(
            "file",
            "The sealed solution is aligned to this sample submission. It can be removed once the "
            "solution is withdrawn.",
        )
    _delete_stored(entry.file)
    entry.delete()


@dataclass(frozen=True)
class Scoring:
    """How a competition scores: names in the registries, parameters as their JSON texts."""

    metric: str
    metric_parameters: dict[str, str]
    mechanism: str
    mechanism_parameters: dict[str, str]


def change_schema(competition: Competition, schema: Schema) -> bool:
    """Writes another schema; True if that withdrew a solution, which was encoded by the old one.

    Raises Refused unless the competition is a draft.
    """
    with transaction.atomic():
        locked = _draft(competition)
        if locked.schema == schema.to_json():
            return False
        locked.schema = competition.schema = schema.to_json()
        locked.save(update_fields=["schema"])
        return _withdraw(locked)


def change_scoring(competition: Competition, scoring: Scoring) -> bool:
    """Writes metric and mechanism; True if that withdrew a solution, checked by the old metric.

    Raises Refused unless the competition is a draft.
    """
    with transaction.atomic():
        locked = _draft(competition)
        before = (locked.metric, locked.metric_parameters)
        for name, value in vars(scoring).items():
            setattr(locked, name, value)
            setattr(competition, name, value)
        locked.save(update_fields=list(vars(scoring)))
        changed = before != (scoring.metric, scoring.metric_parameters)
        return changed and _withdraw(locked)


def withdraw_solution(competition: Competition) -> None:
    """Takes the holdout out of force, so that sample and solution can be mended in a draft."""
    with transaction.atomic():
        _withdraw(_draft(competition))


def return_to_draft(competition: Competition) -> None:
    """Takes an opening back, as long as nobody has submitted. Raises Refused after that."""
    with transaction.atomic():
        locked = ledger_lock.lock(competition)
        if Submission.objects.filter(team__competition=locked).exists() or is_frozen(locked):
            raise Refused(
                "frozen",
                "This is frozen",
                "Somebody has submitted: what the competition asks must not change any more.",
            )
        if locked.unsealed_at is not None:
            raise Refused("frozen", "This is frozen", "Its true labels are public by now.")
        locked.opened_by_organizer_at = None
        locked.save(update_fields=["opened_by_organizer_at"])
    competition.refresh_from_db()


def delete_competition(competition: Competition) -> None:
    """Deletes a competition that nobody has submitted to, with all that belongs to it.

    Raises Refused after the first submission: quotas and the ledger would be forgotten.
    """
    with transaction.atomic():
        locked = ledger_lock.lock(competition)
        if Submission.objects.filter(team__competition=locked).exists() or is_frozen(locked):
            raise Refused(
                "has_submissions",
                "The competition has submissions",
                "A competition that somebody has submitted to is kept, with its ledger. Set its "
                "visibility to hidden instead.",
            )
        HoldoutState.objects.filter(holdout__competition=locked).delete()
        for holdout in locked.holdouts.all():
            _delete_stored(holdout.sealed_solution)
            _delete_stored(holdout.opening)
            holdout.delete()
        for entry in locked.files.all():
            _delete_stored(entry.file)
        locked.delete()


def install_solution(competition: Competition, file: File[bytes], *, by: User | None) -> Holdout:
    """Checks and seals a solution, which becomes the holdout in force.

    The plain labels are in memory for the time of this call only. Raises SolutionError (the file is
    wrong), ParameterError (it doesn't fit the metric), Refused (no sample yet, or frozen).
    """
    if is_frozen(competition):
        raise _frozen("holdout")
    checked = check_solution(competition, file)
    with transaction.atomic():
        ledger_lock.lock(competition)
        if is_frozen(competition):
            raise _frozen("holdout")
        holdout = create_version(competition, checked, by)
        if competition.opened_by_organizer_at is not None:
            _start_ledger(competition, holdout)
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
    schema = _schema(competition)
    ids = _sample_ids(competition, schema)
    if ids is None:
        raise Refused.invalid("solution", "Upload the sample submission first: it fixes the rows.")
    if not competition.metric:
        raise Refused.invalid("solution", "Choose the metric first: the labels must fit it.")
    content = _read(file)
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
        _check_mechanism_fits(competition, effective)
    return CheckedSolution(solution, ids, effective)


def create_version(
    competition: Competition, checked: CheckedSolution, by: User | None, **facts: Any
) -> Holdout:
    """Seals a solution with a new salt and a new secret; it takes the place of the one in force.

    Call it under `ledger_lock.lock`.
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


def _check_not_the_sample(competition: Competition, content: bytes) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    if competition.files.filter(role=FileRole.SAMPLE, sha256=sha256).exists():
        raise Refused.invalid(
            "solution", "This is the sample submission. Choose the file with the true labels."
        )


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
        locked = ledger_lock.lock(competition)
        if locked.opened_by_organizer_at is None:
            locked.opened_by_organizer_at = timezone.now()
            locked.save(update_fields=["opened_by_organizer_at"])
            _start_ledger(locked, locked.holdouts.get(retired_at__isnull=True))
    competition.refresh_from_db()


def check_settings(competition: Competition) -> None:
    """Parses schema, metric and mechanism parameters. Raises ParameterError naming the field."""
    schema = Schema.from_json(competition.schema)
    metric = metrics.get(competition.metric)
    metric.check(schema, None, metric.parse(competition.metric_parameters))
    mechanism = mechanisms.get(competition.mechanism)
    mechanism.parse(competition.mechanism_parameters)


def _start_ledger(competition: Competition, holdout: Holdout) -> None:
    mechanism = mechanisms.get(competition.mechanism)
    head = mechanism.initial_holdout(mechanism.parse(competition.mechanism_parameters))
    fresh = {"budget_left": head.budget_left}
    HoldoutState.objects.get_or_create(holdout=holdout, defaults=fresh)
    # An opening that was taken back may have left a head with the budget of other parameters.
    HoldoutState.objects.filter(holdout=holdout, releases=0).update(**fresh)


def _draft(competition: Competition) -> Competition:
    """The competition, locked; raises Refused if it is not a draft."""
    locked = ledger_lock.lock(competition)
    if locked.opened_by_organizer_at is not None:
        raise Refused(
            "not_a_draft",
            "The competition is open",
            "What the competition asks is fixed while it is open: participants rely on it.",
        )
    # A file that came in while the opening was taken back may have been scored since.
    if is_frozen(locked):
        raise _frozen("competition")
    return locked


def _withdraw(draft: Competition) -> bool:
    in_force = draft.holdouts.filter(retired_at__isnull=True)
    return in_force.update(retired_at=timezone.now()) > 0


def _delete_stored(file: FieldFile) -> None:
    """Deletes the bytes once the row is gone for good."""
    storage, name = file.storage, file.name
    if name:
        transaction.on_commit(lambda: storage.delete(name))


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


def _schema(competition: Competition) -> Schema:
    if not competition.schema:
        raise Refused.invalid("schema", "The columns of a prediction file are not written yet.")
    return Schema.from_json(competition.schema)


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
    return f"Header: {','.join(_schema(competition).header)}"


def _check_sample_file(competition: Competition) -> str:
    ids = _sample_ids(competition, _schema(competition))
    if ids is None:
        raise Refused.invalid("file", "There is no sample submission.")
    return f"{len(ids)} rows."


def _check_holdout(competition: Competition) -> str:
    holdout = _holdout(competition)
    if holdout is None:
        raise Refused.invalid("solution", "No solution is sealed.")
    ids = _sample_ids(competition, _schema(competition))
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
    metric.check(_schema(competition), None, parameters)
    return f"{metric.title}."


def _check_mechanism(competition: Competition) -> str:
    if not competition.mechanism:
        raise Refused.invalid("mechanism", "No mechanism is chosen yet.")
    holdout = _holdout(competition)
    if holdout is None:
        raise Refused.invalid("solution", "No solution is sealed.")
    counts = effective_rows(holdout)
    return _check_mechanism_fits(competition, counts)


def _check_mechanism_fits(competition: Competition, counts: RowCounts) -> str:
    mechanism = mechanisms.get(competition.mechanism)
    parameters: Any = mechanism.parse(competition.mechanism_parameters)
    metric = metrics.get(competition.metric)
    if reason := metric.allows(mechanism.name):
        raise ParameterError("mechanism", reason)
    mechanism.check(parameters, metric, counts)
    return f"{mechanism.title}."


def _holdout(competition: Competition) -> Holdout | None:
    return competition.holdouts.filter(retired_at__isnull=True).first()


def _sample_ids(competition: Competition, schema: Schema) -> RowIds | None:
    sample = competition.files.filter(role=FileRole.SAMPLE).first()
    if sample is None:
        return None
    with open_stored(sample.file.name) as file:
        return read_row_ids(file, schema)


def _check_sample(competition: Competition, file: File[bytes]) -> None:
    if competition.files.filter(role=FileRole.SAMPLE).exists():
        raise Refused.invalid("file", "There is a sample submission already.")
    read_row_ids(_read(file), _schema(competition))


def _read(file: File[bytes]) -> bytes:
    file.seek(0)
    content: bytes = file.read()
    file.seek(0)
    return content


def _frozen(what: str) -> Refused:
    return Refused(
        "frozen",
        "This is frozen",
        f"The {what} is frozen: scores have been released from it, and their meaning must not "
        "change afterwards.",
    )
