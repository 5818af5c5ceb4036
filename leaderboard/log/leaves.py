"""What a competition's log tells: a leaf for each thing that decides a place.

`of_event` has the leaves of a change, `everything` those of the state that a competition is in: a
log that begins late begins with these, and `operate.log_verification` compares them with what the
entries of the log come to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from django.db.models import Q, QuerySet

from leaderboard.log.entries import Leaf, utc
from leaderboard.models import (
    Competition,
    EventKind,
    FinalScore,
    Gate,
    Holdout,
    LedgerNote,
    NoteKind,
    Release,
    Round,
    Sanction,
    SanctionKind,
    Selection,
    Status,
    Submission,
    Team,
)
from scoring.chain import document_hash

LIMITS = (
    *("daily_limit", "total_limit", "max_file_bytes", "finals_limit"),
    *("question_limit", "team_limit", "nats_limit", "gate_limit", "is_hidden"),
)
OUTCOMES = {
    Status.RELEASED: "released",
    Status.REJECTED: "rejected",
    Status.FAILED: "failed",
}


# --- Leaves of one thing --------------------------------------------------------------------------


def accepted(submission: Submission) -> Leaf:
    """Tell that a file was accepted, and when; the salt is kept with what a restore needs."""
    return Leaf(
        "accepted",
        {
            **_named(submission),
            "round": submission.round.number,
            "practice": submission.is_practice,
        },
        hidden={"file": submission.sha256},
        kept={
            "stored": submission.file,
            "name": submission.file_name,
            "size": submission.size,
            "claimed": submission.claimed_score,
            "takes_quota": submission.takes_quota,
            **({"gate": submission.gate.uid} if submission.gate else {}),
            "user": submission.user.uid,
        },
        at=submission.created_at,
        submission=submission,
    )


def became(kind: str, submission: Submission) -> Leaf:
    """Tell that a file was `rejected`, has `failed`, or was `requeued`."""
    return Leaf(kind, _named(submission), submission=submission)


def released(submission: Submission, answers: Sequence[Release]) -> Leaf:
    """Tell which entries of the ledger a file got; they name it as it was called then."""
    first = answers[0]
    return Leaf(
        "released",
        {
            "team": first.team.uid,
            "submission": first.submission_number,
            "ledger": first.holdout.ledger.uid,
            "entries": [
                {"board": each.board.uid, "number": each.number, "hash": each.hash}
                for each in answers
            ],
        },
        submission=submission,
    )


def restored(submission: Submission, ledger: str, answers: Sequence[Release] = ()) -> Leaf:
    """Tell that answers came from a copy of the ledger, and what stands for what was accepted.

    The answer of a gate follows in an entry of its own.
    """
    called = released(submission, answers).fields if answers else {"entries": []}
    facts = {
        "ledger": ledger,
        "round": submission.round.number,
        "practice": submission.is_practice,
        "accepted": utc(submission.created_at),
    }
    return Leaf("restored", {**_named(submission), **facts, **called}, submission=submission)


def gate(gate: Gate) -> Leaf:
    """Tell what a gate asks, by hashes, and whether it may still be asked."""
    file = gate.in_use and sha256(f"{gate.uid}:{gate.in_use.sha256}".encode()).hexdigest()
    return Leaf(
        "gate",
        {
            "round": gate.round.number,
            "gate": gate.uid,
            "asks": document_hash({"board": gate.board.uid, "asks": gate.question.to_json()}),
            "in_use": file,
            "on": gate.retired_at is None,
        },
    )


def gated(submission: Submission, note: LedgerNote) -> Leaf:
    """Tell which entry of the ledger has the answer of the gate that a file was sent to."""
    return Leaf(
        "gated",
        {
            **_named(submission),
            "gate": note.document["gate"],
            "ledger": note.holdout.ledger.uid,
            "number": note.number,
            "hash": note.hash,
        },
        submission=submission,
    )


def noted(note: LedgerNote) -> Leaf:
    """Tell of an entry of the ledger that is no answer."""
    ledger = note.holdout.ledger.uid
    return Leaf("noted", {"ledger": ledger, "number": note.number, "hash": note.hash})


def restored_gate(note: LedgerNote) -> Iterator[Leaf]:
    """Yield what the log has of the answer of a gate, brought back from a copy."""
    ledger, related = note.holdout.ledger.uid, ("team", "round", "gate__board", "gate__in_use")
    for submission in Submission.objects.filter(gate_answer=note).select_related(*related):
        assert submission.gate is not None  # noqa: S101  (it has its answer)
        yield gate(submission.gate)
        yield restored(submission, ledger)
        yield gated(submission, note)


def restored_note(note: LedgerNote) -> Iterator[Leaf]:
    """Yield what the log has of an entry that is no answer, brought back from a copy."""
    if note.kind == NoteKind.MERGE:
        teams = Team.objects.select_related("merged_into")
        yield _merged(teams.get(uid=note.document["team"]))
    yield noted(note)


def lost(index: int) -> Leaf:
    """Tell that an entry does not hold any more: a restored database lacks what it tells."""
    return Leaf("lost", {"entry": index})


def sealed(holdout: Holdout) -> Leaf:
    """Tell of a solution, the first one or a revision, by its commitment."""
    return Leaf(
        "revised" if holdout.reason else "sealed",
        {
            "ledger": holdout.ledger.uid,
            "version": holdout.version,
            "solution": holdout.solution_commitment,
        },
    )


def rules(competition: Competition) -> Leaf:
    """Tell what the rules say, by their hash."""
    return Leaf("rules", {"sha256": sha256(competition.rules.encode()).hexdigest()})


def deadline(round: Round) -> Leaf:
    """Tell when a round opens and closes."""
    closes_at = round.closes_at and utc(round.closes_at)
    return Leaf(
        "deadline",
        {"round": round.number, "opens_at": utc(round.opens_at), "closes_at": closes_at},
    )


def limits(round: Round) -> Leaf:
    """Tell a round's limits."""
    found = {name: getattr(round, name) for name in LIMITS}
    if round.gate_limit is None:  # as logs have it that began before there were gates
        del found["gate_limit"]
    return Leaf("limits", {"round": round.number, "limits": found})


def scoring(round: Round) -> Leaf:
    """Tell what a round's boards ask and how they answer, by its hash."""
    names = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
    boards = {
        each.uid: {name: getattr(each, name) for name in names}
        for each in round.boards.order_by("position")
    }
    asked = document_hash({"boards": boards, "order": list(boards), "schema": round.schema})
    return Leaf("scoring", {"round": round.number, "parameters_hash": asked})


def team(team: Team) -> Leaf:
    """Tell that a team goes by a name, which is hidden by a salt."""
    return Leaf("team", {"team": team.uid}, hidden={"name": team.name})


def final(score: FinalScore, scores: Iterable[FinalScore], place: int | None) -> Leaf:
    """Tell the final scores of an entry on the boards of a round, and its place on the first."""
    return Leaf(
        "final",
        {
            "team": score.team.uid,
            "submission": score.submission.number,
            "round": score.board.round.number,
            "place": place,
            "scores": {
                each.board.uid: {"units": each.units, "of": each.rows * each.resolution}
                for each in scores
            },
        },
        submission=score.submission,
    )


def published(holdout: Holdout) -> Leaf:
    """Tell the hash of a publication, which is the name that it is stored under."""
    return Leaf(
        "published",
        {
            "ledger": holdout.ledger.uid,
            "version": holdout.version,
            "sha256": PurePath(holdout.publication.name or "").stem,
        },
    )


def _named(submission: Submission) -> dict[str, Any]:
    return {"team": submission.team.uid, "submission": submission.number}


def _mark(kind: str, team: Team, *, on: bool) -> Leaf:
    return Leaf(kind, {"team": team.uid, "on": on})


def _quota(team: Team) -> Leaf:
    extra = {"daily": team.extra_daily, "total": team.extra_total}
    return Leaf("quota", {"team": team.uid, **extra})


def _merged(team: Team) -> Leaf:
    assert team.merged_into is not None  # noqa: S101  (it was merged)
    # A team that had submitted nothing has no note, and nothing to count on from.
    note = mergers(team).first()
    offset = note.document["offset"] if note else 0
    into = team.merged_into.uid if note is None else note.document["into"]
    return Leaf("merged", {"team": team.uid, "into": into, "offset": offset})


def mergers(team: Team) -> QuerySet[LedgerNote]:
    """Return the notes of all ledgers that report the merger of a team."""
    notes = LedgerNote.objects.filter(
        holdout__ledger__competition=team.competition_id,
        kind=NoteKind.MERGE,
        document__team=team.uid,
    )
    return notes.select_related("holdout__ledger").order_by("holdout__ledger", "number")


def _excluded(team: str, submission: int, *, on: bool) -> Leaf:
    return Leaf("excluded", {"team": team, "submission": submission, "on": on})


def _selected(team: Team, round: Round) -> Leaf:
    chosen = Selection.objects.filter(team=team, submission__round__ledger=round.ledger)
    numbers = sorted(chosen.values_list("submission__number", flat=True))
    # Until the end a choice is the team's own affair.
    fields = {"team": team.uid, "round": round.number}
    return Leaf("selected", fields, hidden={"choice": " ".join(map(str, numbers))})


def _of_round(round: Round) -> list[Leaf]:
    return [deadline(round), limits(round), scoring(round)]


def _finals(round: Round) -> Iterator[Leaf]:
    """Yield the final scores of a round's entries, in the order of the board."""
    rows = FinalScore.objects.filter(board__round=round, board__position=0)
    described = rows.select_related("team", "submission__team", "board__round")
    others = FinalScore.objects.filter(board__round=round).select_related("board")
    of_entry = dict[int, list[FinalScore]]()
    for each in others.order_by("board__position"):
        of_entry.setdefault(each.submission_id, []).append(each)
    for score in described.order_by("position", "team__uid", "submission__number"):
        yield final(score, of_entry[score.submission_id], score.place)


# --- Leaves of a change ---------------------------------------------------------------------------


def of_submission(
    submission: Submission, kind: EventKind, answers: Sequence[Release]
) -> Leaf | None:
    """Return what the log says of a submission's change; `answers` are those it got."""
    if answers:
        return released(submission, answers)
    if submission.gate_answer and kind is EventKind.SUBMISSION_RELEASED:
        return gated(submission, submission.gate_answer)
    if kind is EventKind.SUBMISSION_ACCEPTED:
        return accepted(submission)
    became_what = {
        EventKind.SUBMISSION_REJECTED: "rejected",
        EventKind.SUBMISSION_REQUEUED: "requeued",
    }.get(kind)
    return became(became_what, submission) if became_what else None


def of_event(
    competition: Competition,
    kind: EventKind,
    subjects: Mapping[str, Any],
    data: Mapping[str, Any],
) -> Iterable[Leaf]:
    """Return what the log says of a change that an event reports; read in its transaction."""
    make = _OF_EVENTS.get(kind)
    return make(competition, subjects, data) if make else ()


def _round(competition: Competition, subjects: Mapping[str, Any]) -> Round:
    return Round.objects.select_related("ledger").get(
        competition=competition, number=subjects["round"]
    )


def _team(competition: Competition, subjects: Mapping[str, Any]) -> Team:
    rows = Team.objects.select_related("merged_into")
    return rows.get(competition=competition, uid=subjects["team"])


def _when_opened(competition: Competition, *_: Any) -> Iterator[Leaf]:
    """Yield what an opening fixes; one that was taken back may have told another."""
    yield rules(Competition.objects.get(pk=competition.pk))
    for each in Round.objects.filter(competition=competition).order_by("number"):
        yield from _of_round(each)
    active = Holdout.objects.active().filter(ledger__competition=competition)
    yield from map(sealed, active.select_related("ledger").order_by("pk"))


def _when_texts_changed(competition: Competition, _: Any, data: Mapping[str, Any]) -> list[Leaf]:
    changed = "rules" in data
    return [rules(Competition.objects.get(pk=competition.pk))] if changed else []


def _when_limits_changed(
    competition: Competition, subjects: Mapping[str, Any], _: Any
) -> list[Leaf]:
    """Return the limits of all rounds on the same rows, which share some."""
    round = _round(competition, subjects)
    same = Q(pk=round.pk) | Q(ledger__isnull=False, ledger=round.ledger)
    return [limits(each) for each in competition.rounds.filter(same).order_by("number")]


def _when_sealed(competition: Competition, subjects: Mapping[str, Any], _: Any) -> list[Leaf]:
    active = Holdout.objects.active().select_related("ledger")
    found = active.filter(ledger__rounds__number=subjects["round"], ledger__competition=competition)
    return [sealed(each) for each in found.distinct()]


def _when_revised(competition: Competition, subjects: Mapping[str, Any], data: Any) -> list[Leaf]:
    notes = LedgerNote.objects.select_related("holdout__ledger")
    note = notes.get(
        holdout__ledger__uid=subjects["ledger"],
        holdout__version=data["version"],
        kind=NoteKind.REVISION,
    )
    return [sealed(note.holdout), noted(note)]


def _when_merged(competition: Competition, _: Any, data: Mapping[str, Any]) -> list[Leaf]:
    gone = _team(competition, {"team": data["merged"]})
    return [_merged(gone), *map(noted, mergers(gone))]


def _when_marked(
    kind: str, sanction: SanctionKind | None = None
) -> Callable[[Competition, Mapping[str, Any], Any], list[Leaf]]:
    def make(competition: Competition, subjects: Mapping[str, Any], _: Any) -> list[Leaf]:
        found = _team(competition, subjects)
        held = found.sanctions.at().of_teams().filter(kind=sanction)
        on = held.exists() if sanction else getattr(found, f"is_{kind}")
        return [_mark(kind, found, on=on)]

    return make


def _when_excluded(_: Competition, subjects: Mapping[str, Any], data: Any) -> list[Leaf]:
    return [_excluded(subjects["team"], subjects["submission"], on="lifted" not in data)]


def _when_topped_up(
    competition: Competition, subjects: Mapping[str, Any], data: Mapping[str, Any]
) -> list[Leaf]:
    board, to, amount = subjects["board"], subjects.get("team"), data["amount"]
    notes = LedgerNote.objects.filter(
        holdout__ledger__competition=competition, kind=NoteKind.TOP_UP, document__board=board
    )
    note = notes.select_related("holdout__ledger").latest("pk")
    return [Leaf("top_up", {"board": board, "team": to, "amount": amount}), noted(note)]


def _when_revealed(competition: Competition, subjects: Mapping[str, Any], _: Any) -> list[Leaf]:
    round = _round(competition, subjects)
    return [*_finals(round), Leaf("revealed", {"round": round.number})]


def _when_gated(_: Competition, subjects: Mapping[str, Any], __: Any) -> list[Leaf]:
    gates = Gate.objects.select_related("round", "board", "in_use")
    return [gate(gates.get(uid=subjects["gate"]))]


_OF_EVENTS: Mapping[EventKind, Callable[[Competition, Any, Any], Iterable[Leaf]]] = {
    EventKind.OPENED: _when_opened,
    EventKind.ROUND_ADDED: lambda there, named, _: _of_round(_round(there, named)),
    EventKind.CLOSED: lambda there, named, _: [deadline(_round(there, named))],
    EventKind.DEADLINE_CHANGED: lambda there, named, _: [deadline(_round(there, named))],
    EventKind.LIMIT_CHANGED: _when_limits_changed,
    EventKind.TEXTS_CHANGED: _when_texts_changed,
    EventKind.SCORING_CHANGED: lambda there, named, _: [scoring(_round(there, named))],
    EventKind.BOARD_ADDED: lambda there, named, _: [scoring(_round(there, named))],
    EventKind.SOLUTION_SEALED: _when_sealed,
    EventKind.REVISED: _when_revised,
    EventKind.TEAM_CREATED: lambda there, named, _: [team(_team(there, named))],
    EventKind.TEAM_RENAMED: lambda there, named, _: [team(_team(there, named))],
    EventKind.TEAM_MERGED: _when_merged,
    EventKind.BASELINE_CHANGED: _when_marked("baseline"),
    EventKind.TEAM_VERIFIED: _when_marked("verified"),
    EventKind.DISQUALIFIED: _when_marked("disqualified", SanctionKind.DISQUALIFIED),
    EventKind.TEAM_HIDDEN: _when_marked("hidden", SanctionKind.HIDDEN),
    EventKind.QUOTA_ADDED: lambda there, named, _: [_quota(_team(there, named))],
    EventKind.SUBMISSION_EXCLUDED: _when_excluded,
    EventKind.SELECTED: lambda there, named, _: [
        _selected(_team(there, named), _round(there, named))
    ],
    EventKind.BUDGET_ADDED: _when_topped_up,
    EventKind.GATE_MADE: _when_gated,
    EventKind.GATE_RETIRED: _when_gated,
    EventKind.FINALS_STARTED: lambda there, named, _: [
        Leaf("finals_started", {"round": named["round"]})
    ],
    EventKind.REVEALED: _when_revealed,
}


# --- Leaves of everything -------------------------------------------------------------------------


def everything(competition: Competition) -> Iterator[Leaf]:
    """Yield the leaves of the state that a competition is in, in an order that can be followed."""
    competition = Competition.objects.get(pk=competition.pk)
    yield rules(competition)
    rounds = list(Round.objects.filter(competition=competition).order_by("number"))
    for round in rounds:
        yield from _of_round(round)
    holdouts = Holdout.objects.filter(ledger__competition=competition).select_related("ledger")
    yield from map(sealed, holdouts.order_by("ledger", "version"))
    yield from _teams(competition)
    gates = Gate.objects.filter(round__competition=competition)
    yield from map(gate, gates.select_related("round", "board", "in_use").order_by("pk"))
    yield from _submissions(competition)
    notes = LedgerNote.objects.filter(holdout__ledger__competition=competition)
    yield from map(noted, notes.select_related("holdout__ledger").order_by("holdout", "number"))
    yield from _selections(competition)
    for round in rounds:
        if round.finals_started_at is not None:
            yield Leaf("finals_started", {"round": round.number})
        if round.revealed_at is not None:
            yield from _finals(round)
            yield Leaf("revealed", {"round": round.number})
    yield from map(published, holdouts.filter(published_at__isnull=False).order_by("pk"))


def _teams(competition: Competition) -> Iterator[Leaf]:
    teams = list(competition.teams.select_related("merged_into").order_by("pk"))
    for each in teams:
        yield team(each)
    yield from (_merged(each) for each in teams if each.merged_into_id is not None)
    for mark in ("baseline", "verified"):
        yield from (_mark(mark, each, on=True) for each in teams if getattr(each, f"is_{mark}"))
    yield from (_quota(each) for each in teams if each.extra_daily or each.extra_total)
    held = Sanction.objects.at().filter(team__competition=competition)
    for sanction in held.select_related("team", "submission").order_by("pk"):
        if sanction.submission is None:
            yield _mark(sanction.kind, sanction.team, on=True)
        else:
            yield _excluded(sanction.team.uid, sanction.submission.number, on=True)


def _submissions(competition: Competition) -> Iterator[Leaf]:
    rows = Submission.objects.filter(team__competition=competition)
    related = ("team", "round", "user", "gate", "gate_answer__holdout__ledger")
    for each in rows.select_related(*related).order_by("created_at", "pk").iterator():
        yield accepted(each)
        if each.gate_answer:
            yield gated(each, each.gate_answer)
        if each.status in (Status.REJECTED, Status.FAILED):
            yield became(OUTCOMES[Status(each.status)], each)
    answers = Release.objects.filter(team__competition=competition)
    described = answers.select_related("team", "board", "holdout__ledger", "submission")
    together = list[Release]()
    for answer in described.order_by("holdout", "number").iterator():
        if together and _question(together[0]) != _question(answer):
            yield released(together[0].submission, together)
            together = []
        together.append(answer)
    if together:
        yield released(together[0].submission, together)


def _question(answer: Release) -> tuple[int, int]:
    return answer.submission_id, answer.holdout_id


def _selections(competition: Competition) -> Iterator[Leaf]:
    rows = Selection.objects.filter(team__competition=competition)
    pairs = rows.order_by("team", "submission__round").values_list("team", "submission__round")
    rounds = Round.objects.in_bulk([round for _, round in pairs.distinct()])
    teams = Team.objects.in_bulk([team for team, _ in pairs.distinct()])
    last = {(team, rounds[round].ledger_id): rounds[round] for team, round in pairs.distinct()}
    for (key, _), round in last.items():
        yield _selected(teams[key], round)
