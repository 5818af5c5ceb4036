"""Measure what a gate asks of a file, for its answer and again to publish and verify it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.db.models import QuerySet

from leaderboard import vault
from leaderboard.ledger import gates
from leaderboard.models import Gate, Holdout, LedgerNote, Submission
from leaderboard.pipeline.measure import check_fits
from leaderboard.pipeline.parse import parse
from leaderboard.platform.files import FileDamaged
from scoring.errors import PredictionError, Problem, StateError
from scoring.gates import Evidence, share_differing
from scoring.noise import KeyedNoise
from scoring.predictions import Predictions
from scoring.verification.publications import Gated, Lost


@dataclass(frozen=True, repr=False)
class Asked:
    """What a gate found on a revision, for one answer, then forgotten.

    digest: of the predictions. in_use: that of the file that they are compared with, or "".
    """

    holdout: Holdout
    digest: str
    in_use: str
    evidence: Evidence
    noise: KeyedNoise


def ask(submission: Submission, predictions: Predictions) -> Asked:
    """Measure predictions for the gate that they were sent to, on the active holdout.

    Raises PredictionError where they differ from the file in use on more rows than announced:
    nothing is asked then. Raises StateError and RowsMoved as `measure` does.
    """
    gate = _gates().get(submissions=submission)
    holdout = Holdout.objects.active().select_related("ledger").get(ledger=submission.round.ledger)
    if holdout.is_unchecked:
        check_fits(holdout)
    in_use = _read_in_use(gate)
    if in_use is not None:
        _check_differs(gate, share_differing(predictions, in_use))
    evidence = vault.ask_gate(holdout, gate, predictions, in_use)
    digest = in_use.digest if in_use else ""
    return Asked(holdout, predictions.digest, digest, evidence, vault.noise(holdout))


def ask_again(holdout: Holdout, note: LedgerNote) -> Gated | Lost:
    """Return what a gate's answer follows from, or which file is lost.

    Raises VaultClosed, and what an outage raises.
    """
    gate = _gates().get(uid=note.document["gate"])
    given = Submission.objects.filter(gate_answer=note).exclude(file="")
    noise, lost = vault.noise(holdout), Lost(note.number, "A file that was compared is lost.")
    submission = given.select_related("team", "round").order_by("created_at", "pk").first()
    if submission is None:
        return lost
    try:
        predictions, in_use = parse(submission), _read_in_use(gate)
        evidence = vault.ask_gate(holdout, gate, predictions, in_use)
    except (FileNotFoundError, FileDamaged, PredictionError, StateError):
        return lost
    digests = predictions.digest, in_use.digest if in_use else ""
    asked_by = noise.tag(digests[0], team=note.document["team"], board=gate.uid)
    against = gates.tag_of(gate, None, noise, digests[1]) if digests[1] else ""
    if (asked_by, against) != (note.document["predictions_tag"], note.document["against"]):
        return lost
    return Gated(note.number, *digests, evidence)


def _gates() -> QuerySet[Gate]:
    return Gate.objects.select_related("board__round", "in_use__round")


def _read_in_use(gate: Gate) -> Predictions | None:
    """Return the predictions that a gate compares with. Raises StateError where they are gone."""
    if gate.in_use is None:
        return None
    try:
        return parse(gate.in_use)
    except (FileNotFoundError, FileDamaged, PredictionError):
        # None of it is the fault of whoever asks.
        raise StateError("The file in use can't be read any more.") from None


def _check_differs(gate: Gate, share: Fraction) -> None:
    announced = gate.question.differing
    if share > announced:
        # Not on how many: from such figures the file in use, perhaps another team's, could be made.
        message = (
            f"It differs from the version in use on more than {float(announced):.2%} of all rows, "
            f"which is the most that the gate “{gate}” compares."
        )
        raise PredictionError([Problem("differs_too_much", message=message)])
