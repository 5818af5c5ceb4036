"""Trial submissions in a draft: by organizers, on a scratch ledger that is thrown away at opening.

They go the way of real ones (parse, measure, mechanism), in a worker, which alone can open the
seal. The scratch ledger has a secret of its own and shares no stored answer with the real one. What
it said is for owner and editor; nobody who could see it may join a team (`access.ever_organized`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import asdict
from typing import Any, Final

from django.core.files.base import ContentFile, File
from django.db import transaction
from django.utils import timezone

from leaderboard import vault
from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger.heads import rules_of
from leaderboard.models import (
    Audience,
    Board,
    Competition,
    EventKind,
    FileRole,
    Holdout,
    QuickSetup,
    Round,
    Status,
    Trial,
    TrialKind,
    TrialLedger,
    User,
)
from leaderboard.notify import events
from leaderboard.organize.drafts import locked_draft
from leaderboard.organize.files import delete_stored, digest_of, sample_ids
from leaderboard.organize.proposals import training_labels
from leaderboard.pipeline import claims
from leaderboard.pipeline.parse import parse_file
from leaderboard.pipeline.queue import enqueue_trial
from leaderboard.platform.files import open_stored
from leaderboard.vault import Measured
from scoring import ledger as rules
from scoring import metrics
from scoring.chain import answer_fields
from scoring.dropped import write_constant
from scoring.errors import HoldfastError, PredictionError
from scoring.laws.books import Account, TeamBook
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.predictions import Schema
from scoring.proposals import best_constant

MOST: Final = 200  # trials of one draft
_TITLE: Final = 60
_ASKED: Final = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")


def try_file(
    round: Round, file: File[bytes], *, by: User, title: str = "", claimed: float | None = None
) -> Trial:
    """Try a prediction file in a draft. Raises Refused."""
    check_sees_trials(round, by)
    if round.competition.opened_by_organizer_at is not None:
        raise Refused("not_a_draft", variant="trial")
    if not file.size:
        raise Refused("file_empty")
    if file.size > round.max_file_bytes:
        raise Refused("file_too_large", limit=round.max_file_bytes)
    with transaction.atomic():
        draft = locked_draft(round, by)
        if draft.competition.opened_by_organizer_at is not None:  # a round that comes
            raise Refused("not_a_draft")
        if draft.active_holdout is None:
            raise Refused("invalid", field="file", variant="no_solution")
        if draft.trials.count() >= MOST:
            raise Refused("invalid", field="file", variant="too_many_trials", limit=MOST)
        claims.check(draft, claimed)
        trial = Trial.objects.create(
            round=draft,
            user=by,
            title=(title.strip() or file.name or "A file")[:_TITLE],
            sha256=digest_of(file),
            size=file.size,
            claimed_score=claimed,
            file=File(file, name="trial"),
        )
        events.record(
            draft.competition,
            EventKind.TRIED,
            actor=by,
            audience=Audience.ORGANIZERS,
            subjects={"round": draft.number},
        )
        transaction.on_commit(lambda: enqueue_trial(trial.pk))
    return trial


def try_baselines(round: Round) -> list[Trial]:
    """Make trials of the best constant prediction and of the sample, as they are now."""
    made = list[Trial]()
    sample = round.origin.files.filter(role=FileRole.SAMPLE).first()
    if sample is None or round.active_holdout is None:
        return made
    contents = {TrialKind.CONSTANT: _write_constant(round)}
    setup = QuickSetup.objects.filter(round=round).first()
    if setup is None or not setup.facts.get("sample_made") or not contents[TrialKind.CONSTANT]:
        with open_stored(sample.file.name) as file:
            contents[TrialKind.SAMPLE] = file.read()
    basis = basis_of(round)
    with transaction.atomic():
        # One at a time: every change of a draft asks for them.
        Competition.objects.select_for_update(no_key=True).get(pk=round.competition_id)
        for kind, content in contents.items():
            old = Trial.objects.filter(round=round, kind=kind).first()
            sha256 = hashlib.sha256(content).hexdigest()
            if old is not None:
                is_same = old.sha256 == sha256
                if is_same and (old.status == Status.QUEUED or old.basis == basis):
                    continue
                delete_stored(old.file)
                old.delete()
            if content:
                made.append(
                    Trial.objects.create(
                        round=round,
                        kind=kind,
                        title=kind.label,
                        sha256=sha256,
                        size=len(content),
                        file=ContentFile(content, name="trial"),
                    )
                )
    return made


def score_trial(trial_id: int) -> None:
    """Take a trial through parse, measure and mechanism: a worker's task. Done twice, no harm."""
    found = Trial.objects.select_related("round__competition", "round__ledger")
    trial = found.filter(pk=trial_id, status=Status.QUEUED).first()
    if trial is None or trial.round.competition.opened_by_organizer_at is not None:
        return
    try:
        _answer(trial)
    except PredictionError as error:
        _end(
            trial.pk,
            status=Status.REJECTED,
            problems=[problem.to_json() for problem in error.problems],
            problem_count=error.total,
        )


def note_failure(trial_id: int, failure: str) -> None:
    """Note where a trial failed, by place and type alone."""
    _end(trial_id, status=Status.FAILED, failure=failure[:200])


def waiting() -> list[int]:
    """Return the keys of trials that nobody has looked at."""
    rows = Trial.objects.filter(
        status=Status.QUEUED, round__competition__opened_by_organizer_at=None
    )
    return list(rows.values_list("pk", flat=True))


def mark_baseline(trial: Trial, *, by: User, is_baseline: bool) -> None:
    """Make a trial a baseline that participants will see, or not any more. Raises Refused."""
    with transaction.atomic():
        locked_draft(trial.round, by)
        Trial.objects.filter(pk=trial.pk).update(is_baseline=is_baseline)


def remove_trial(trial: Trial, *, by: User) -> None:
    """Forget a trial. What the scratch ledger knows of it stays there. Raises Refused."""
    with transaction.atomic():
        locked_draft(trial.round, by)
        delete_stored(trial.file)
        trial.delete()


def throw_away(round: Round, *, baselines: bool) -> None:
    """Throw the scratch ledger away, and all trials but those that become baselines.

    Of these the files stay until they are sent, and nothing that they were told. Call it in the
    transaction of the opening.
    """
    TrialLedger.objects.filter(round=round).delete()
    trials = Trial.objects.filter(round=round)
    if baselines:
        made = trials.exclude(kind=TrialKind.OWN).exclude(status=Status.REJECTED)
        made.update(is_baseline=True)
    for each in trials.filter(is_baseline=False):
        delete_stored(each.file)
        each.delete()
    trials.update(
        answers={}, problems=[], problem_count=0, status=Status.QUEUED, finished_at=None, basis=""
    )


def basis_of(round: Round) -> str:
    """Return what the answers of trials rest on: solution, metric and mechanism, as a digest."""
    holdout = round.active_holdout
    boards = [[getattr(board, name) for name in ("uid", *_ASKED)] for board in round.boards.all()]
    facts = [holdout.solution_commitment if holdout else "", round.schema, boards]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def check_sees_trials(round: Round, by: User | None) -> None:
    """Raise Refused unless the person may read what trials were told: as owner or editor."""
    check_right(by, round.competition, Right.EDIT)


def _end(trial_id: int, **changes: Any) -> None:
    """Write what became of a trial, unless it was thrown away: what opens meanwhile has none."""
    with transaction.atomic():
        found = Trial.objects.select_related("round").filter(pk=trial_id, status=Status.QUEUED)
        trial = found.first()
        if trial is not None and _is_draft(trial.round):
            found.update(**changes, finished_at=timezone.now())


def _is_draft(round: Round) -> bool:
    """Return whether the competition is a draft, and keep it one: an opening waits."""
    competitions = Competition.objects.select_for_update(no_key=True)
    return competitions.get(pk=round.competition_id).opened_by_organizer_at is None


def _answer(trial: Trial) -> None:
    """Ask each board of a trial, as an entry of its scratch ledger, and write what it says."""
    round = trial.round
    predictions = parse_file(round, str(trial.file.name), trial.sha256)
    holdout = Holdout.objects.active().select_related("ledger").get(ledger=round.ledger)
    with transaction.atomic():
        if not _is_draft(round):
            return
        scratch = _scratch(round)
    boards = list(round.boards.all())
    measured = {
        board: vault.measure_trial(
            holdout,
            board,
            predictions,
            trial.claimed_score,
            vault.Sealed(bytes(scratch.sealed_secret), scratch.secret_commitment),
        )
        for board in boards
    }
    with transaction.atomic():
        # Opened since, removed, or asking something else: what was measured is of no use any more.
        waits = (
            _is_draft(round) and Trial.objects.filter(pk=trial.pk, status=Status.QUEUED).exists()
        )
        locked = TrialLedger.objects.filter(pk=scratch.pk, basis=scratch.basis).first()
        if not waits or locked is None:
            return
        asked = {board: rules_of(board, holdout) for board in boards}
        names = ("question_limit", "team_limit", "gate_limit")
        limits = {name: getattr(round, name) for name in names}
        terms = rules.begin([(each.mechanism, each.laws) for each in asked.values()], **limits)
        answers = {}
        for board, each in measured.items():
            answers[board.uid] = _ask(locked, terms, asked[board], board, predictions.digest, each)
        locked.save(update_fields=["state"])
        _end(trial.pk, answers=answers, basis=locked.basis, status=Status.RELEASED)


def _ask(
    scratch: TrialLedger,
    terms: rules.Terms,
    asked: rules.Board,
    board: Board,
    digest: str,
    measured: Measured,
) -> dict[str, Any]:
    """Ask one board, and write what it knows into the scratch ledger's state."""
    known = scratch.state.get(board.uid, {})
    head = HoldoutState(**known["head"]) if known else asked.mechanism.initial_holdout(asked.params)
    state = State(head, TeamState(**known["team"]) if known else TeamState())
    account = scratch.state.get("account")
    before = rules.Standing(
        state,
        Account.from_json(account) if account else Account(),
        TeamBook.from_json(known["book"]) if known.get("book") else None,
    )
    by = {"team": "trials", "board": board.uid}
    question = asked.mechanism.question(asked.params, state, measured.measurement.reference)
    noise = measured.noise.for_question(digest, question, **by)
    after, given, _ = rules.ask(terms, asked, before, measured.measurement, noise)
    scratch.state[board.uid] = {
        "head": asdict(after.state.holdout),
        "team": asdict(after.state.team),
        "book": after.book.to_json() if after.book else None,
    }
    scratch.state["account"] = after.account.to_json()
    return answer_fields(given)


def _scratch(round: Round) -> TrialLedger:
    """Return the scratch ledger for what the draft asks now, begun anew where it asks otherwise."""
    basis = basis_of(round)
    secret = vault.seal_new_secret()
    fresh = {
        "basis": basis,
        "state": {},
        "sealed_secret": secret.box,
        "secret_commitment": secret.commitment,
    }
    scratch, _ = TrialLedger.objects.get_or_create(round=round, defaults=fresh)
    if scratch.basis != basis:
        scratch, _ = TrialLedger.objects.update_or_create(round=round, defaults=fresh)
    return scratch


def _write_constant(round: Round) -> bytes:
    """Return the best constant prediction by the training labels as a file; empty without one."""
    schema, metric = Schema.from_json(round.schema), metrics.METRICS.get(round.board.metric)
    labels = training_labels(round)
    ids = sample_ids(round, schema)
    if metric is None or labels is None or ids is None:
        return b""
    try:
        best = best_constant(metric, metric.parse(round.board.metric_parameters), schema, labels)
    except HoldfastError:
        return b""
    if best is None:
        return b""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(schema.header)
    cells = write_constant(schema, best)
    writer.writerows((ids[row], *cells) for row in range(len(ids)))
    return file.getvalue().encode()
