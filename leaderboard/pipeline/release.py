"""The only code that changes mechanism state: one question, one answer, one transaction."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F
from django.utils import timezone

from leaderboard.ledger import lock, watermark
from leaderboard.models import (
    Competition,
    Halt,
    Holdout,
    HoldoutState,
    Kind,
    Release,
    Standing,
    Status,
    Submission,
    Team,
    TeamState,
)
from leaderboard.vault import Measured
from scoring import mechanisms
from scoring.chain import ANSWER_FIELDS, answer_fields, document_hash
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.mechanisms.base import Mechanism, State
from scoring.mechanisms.base import TeamState as TeamHead


class LostRace(Exception):
    """The holdout was changed or corrected meanwhile: nothing was written, try again."""


@dataclass(frozen=True)
class _Asked:
    """A question: who asks, about which predictions, in which state."""

    submission: Submission
    holdout: Holdout
    digest: str
    tag: str
    question: str


def release(
    submission_id: int, holdout: Holdout, predictions_digest: str, measured: Measured
) -> bool:
    """Asks the mechanism and writes down what it says; False if that was done before.

    Everything happens in one durable transaction, or not at all. A retry gives the same answer:
    noise is a function of what is asked, and a question that has been answered is not asked again.
    Raises LostRace where the holdout is halted or not in force any more, Rewound or GuardAway where
    the guard does not let it.
    """
    with transaction.atomic(durable=True):
        row = lock.lock_row(holdout)
        # A correction holds the row that was just locked: what this reads stays true.
        in_force = Exists(Holdout.objects.filter(pk=holdout.pk, retired_at__isnull=True))
        submission = (
            Submission.objects.select_for_update(of=("self",))
            .select_related("team__competition")
            .annotate(in_force=in_force)
            .get(pk=submission_id)
        )
        if submission.status != Status.SCORING:
            return False
        if row.halted_at is not None or not submission.in_force:
            raise LostRace
        lock.check(row, holdout)
        entry = _answer(row, submission, holdout, predictions_digest, measured)
    watermark.append(row.name_for(holdout), watermark.Head(entry.number, entry.hash))
    return True


def look_for_rewinds() -> None:
    """Halts every ledger in force that knows less than the guard: for workers that start."""
    in_force = HoldoutState.objects.filter(holdout__retired_at__isnull=True, halted_at__isnull=True)
    for holdout in Holdout.objects.filter(state__in=in_force):
        with transaction.atomic():
            row = lock.lock_row(holdout)
            try:
                lock.check(row, holdout)
            except watermark.Rewound as rewound:
                halt(holdout.competition, Halt.REWOUND, str(rewound))


def halt(competition: Competition, reason: Halt, because: str) -> None:
    """Has the holdout in force answer nobody until that is mended; submissions wait."""
    HoldoutState.objects.filter(
        holdout__competition=competition,
        holdout__retired_at__isnull=True,
        halted_at__isnull=True,
    ).update(halted_at=timezone.now(), halted_for=reason, halted_because=because[:300])


def _answer(
    row: HoldoutState, submission: Submission, holdout: Holdout, digest: str, measured: Measured
) -> Release:
    competition = submission.team.competition
    mechanism = mechanisms.get(competition.mechanism)
    parameters = mechanism.parse(competition.mechanism_parameters)
    state = _load(mechanism, parameters, row, submission.team)
    question = mechanism.question(parameters, state, measured.measurement.reference)
    tag = measured.noise.tag(digest, team=str(submission.team_id), board="")
    asked = _Asked(submission, holdout, digest, tag, question)
    stored = _stored_answer(asked)
    if stored is None:
        noise = measured.noise.for_question(
            digest, asked.question, team=str(submission.team_id), board=""
        )
        state, answer = mechanism.step(parameters, state, measured.measurement, noise)
        fields = answer_fields(answer)
    else:
        fields = _copied(stored)
    now = timezone.now()
    written = _append(row, asked, fields, state, competition, now)
    _save(row, state, submission.team, written)
    stand(written, submission, state)
    _finish(submission, written, now)
    return written


def ledger_head(row: HoldoutState) -> LedgerHead:
    """The ledger's head as mechanisms know it."""
    return LedgerHead(row.asked, row.answered, row.log_alphabets, row.firings, row.budget_left)


def team_head(row: TeamState) -> TeamHead:
    """A team's state as mechanisms know it."""
    return TeamHead(row.best, row.last, row.share_left)


def _load(mechanism: Mechanism[Any], parameters: Any, row: HoldoutState, team: Team) -> State:
    head = ledger_head(row)
    known = TeamState.objects.filter(holdout_id=row.holdout_id, team=team).first()
    if known is None:
        head, of_team = mechanism.initial_team(parameters, head)
    else:
        of_team = team_head(known)
    return State(head, of_team)


def _stored_answer(asked: _Asked) -> Release | None:
    """The answer to the same question of the same team: given again, it costs nothing."""
    return Release.objects.filter(
        holdout=asked.holdout,
        team=asked.submission.team,
        predictions_tag=asked.tag,
        question=asked.question,
        repeat_of__isnull=True,
    ).first()


def _copied(stored: Release) -> dict[str, Any]:
    return {name: getattr(stored, name) for name in ANSWER_FIELDS} | {"repeat_of": stored}


def _append(
    row: HoldoutState,
    asked: _Asked,
    fields: dict[str, Any],
    state: State,
    competition: Competition,
    now: datetime,
) -> Release:
    entry = Release(
        submission=asked.submission,
        holdout=asked.holdout,
        team=asked.submission.team,
        number=row.releases + 1,
        share_left=state.team.share_left,
        answered=state.holdout.answered,
        log_alphabets=state.holdout.log_alphabets,
        firings=state.holdout.firings,
        budget_left=state.holdout.budget_left,
        predictions_tag=asked.tag,
        predictions_digest=asked.digest,
        question=asked.question,
        parameters_hash=parameters_hash(competition, asked.holdout),
        previous_hash=row.head_hash,
        created_at=now,
        **fields,
    )
    entry.hash = entry_hash(entry)
    entry.save(force_insert=True)
    return entry


def _save(row: HoldoutState, state: State, team: Team, entry: Release) -> None:
    """Writes the new state where the version is still the one that was read."""
    written = HoldoutState.objects.filter(pk=row.pk, version=row.version).update(
        version=F("version") + 1,
        releases=entry.number,
        head_hash=entry.hash,
        guarded=True,
        **asdict(state.holdout),
    )
    if written != 1:
        raise LostRace
    TeamState.objects.update_or_create(
        holdout_id=row.holdout_id, team=team, defaults=asdict(state.team)
    )


def stand(entry: Release, submission: Submission, state: State) -> None:
    """The team's row of the board: its best released loss, and when the file that reached it was
    accepted, so that a retry does not decide who was first."""
    standing = Standing.objects.select_related("best", "last").filter(
        team_id=entry.team_id
    ).first() or Standing(
        competition=submission.team.competition,
        team_id=entry.team_id,
        reached_at=submission.created_at,
    )
    if _replaces(entry, standing):
        standing.loss, standing.best, standing.reached_at = None, None, submission.created_at
    standing.last = entry
    standing.entries += submission.release_id is None
    best = state.team.best
    if best is not None and (standing.loss is None or best / entry.steps < standing.loss):
        standing.loss, standing.best = best / entry.steps, entry
        standing.reached_at = submission.created_at
    standing.save()


def _replaces(entry: Release, standing: Standing) -> bool:
    """Whether a first answer on a corrected solution takes the place of what stood there before; a
    team without a share left is told nothing, and keeps its score on the earlier solution."""
    stands_on = standing.best or (standing.last if standing.last_id else None)
    is_earlier = stands_on is not None and stands_on.holdout_id != entry.holdout_id
    return is_earlier and entry.kind != Kind.EXHAUSTED


def _finish(submission: Submission, entry: Release, now: datetime) -> None:
    submission.status = Status.RELEASED
    submission.release = entry
    submission.finished_at = now
    submission.save(update_fields=["status", "release", "finished_at"])


def scoring_facts(competition: Competition, holdout: Holdout) -> dict[str, Any]:
    """All that fixes what an answer means, as it is published and hashed."""
    return {
        "metric": competition.metric,
        "metric_parameters": competition.metric_parameters,
        "mechanism": competition.mechanism,
        "mechanism_parameters": competition.mechanism_parameters,
        "schema": competition.schema,
        "row_ids_digest": holdout.row_ids_digest,
        "solution_commitment": holdout.solution_commitment,
        "secret_commitment": holdout.secret_commitment,
        "public_rows": holdout.public_rows,
        "private_rows": holdout.private_rows,
        "effective_public_rows": holdout.effective_public_rows,
        "effective_private_rows": holdout.effective_private_rows,
    }


def parameters_hash(competition: Competition, holdout: Holdout) -> str:
    """SHA-256 of all that fixes what an answer means."""
    return document_hash(scoring_facts(competition, holdout))


def entry_hash(entry: Release) -> str:
    """The hash that chains a ledger entry to the one before it."""
    return document_hash(ledger_document(entry))


def ledger_document(entry: Release) -> dict[str, Any]:
    """A ledger entry as it is published and hashed."""
    return {
        "number": entry.number,
        "board": "",
        "team": str(entry.team_id),
        "submission": entry.submission.number,
        "kind": entry.kind,
        "level": entry.level,
        "reference_level": entry.reference_level,
        "steps": entry.steps,
        "width": entry.width,
        "tolerance": entry.tolerance,
        "certificate": entry.certificate,
        "asked": entry.asked,
        "answered": entry.answered,
        "log_alphabets": entry.log_alphabets,
        "firings": entry.firings,
        "budget_left": entry.budget_left,
        "share_left": entry.share_left,
        "predictions_tag": entry.predictions_tag,
        "question": entry.question,
        "repeat": entry.repeat_of_id is not None,
        "parameters_hash": entry.parameters_hash,
        "previous_hash": entry.previous_hash,
        # Finer moments would tell how long the vault and the noise took to answer.
        "created_at": entry.created_at.isoformat(timespec="seconds"),
    }
