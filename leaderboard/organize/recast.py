"""Another split, metric or kind of prediction for a draft whose solution is sealed already.

Only a worker can open the seal: what is wanted is written down, and `rewrite` seals it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from django.core.files.base import ContentFile
from django.db import transaction

from leaderboard import vault
from leaderboard.errors import Refused, refuse_fields
from leaderboard.ledger import lock
from leaderboard.models import Board, Competition, FileRole, Holdout, QuickSetup, Round, User
from leaderboard.organize.drafts import change_schema, is_frozen, locked_draft, withdraw
from leaderboard.organize.dropped_files import make_sample, neutral, read_split_cells
from leaderboard.organize.files import add_file, remove_file, sample_ids
from leaderboard.organize.proposals import propose, training_labels, use_proposal
from leaderboard.organize.quick import BASELINES, draw
from leaderboard.organize.scoring import Scoring, change_scoring
from leaderboard.organize.settings import change_settings
from leaderboard.organize.solutions import check_labels, install_checked
from leaderboard.pipeline.queue import enqueue_rewrite
from scoring import metrics
from scoring.dropped import Target, write_constant
from scoring.errors import HoldfastError, ParameterError
from scoring.predictions import Column, RowIds, Schema, Solution
from scoring.predictions.recast import as_labels, as_probabilities
from scoring.proposals import best_constant, choose_mechanism
from scoring.split import Shares

SHARES: Final = ("public", "private", "final")


@dataclass(frozen=True)
class Wish:
    """What an organizer changes of a proposal; None is as it is.

    metric: one that may ask for probabilities where labels are asked for now. clip, steps: as they
    are typed. split: by, column and by_day as they were proposed, with the shares as texts.
    """

    metric: str | None = None
    clip: str | None = None
    steps: str | None = None
    split: Mapping[str, Any] | None = None
    teams: int | None = None
    submissions: int | None = None
    closes_at: datetime | None = None


def change_proposal(competition: Competition, wish: Wish, *, by: User) -> bool:
    """Change what was proposed for a draft, all or nothing; return whether a worker has to seal it.

    What is not changed follows from what is. Raises Refused naming fields.
    """
    with transaction.atomic():
        round = locked_draft(competition.current_round, by)
        setup = _setup_of(round)
        _change_limits(competition, wish, by)
        round = Round.objects.select_related("competition", "ledger").get(pk=round.pk)
        had = round.active_holdout is not None
        if wish.metric is not None and wish.metric != round.board.metric:
            _change_metric(round, setup, wish.metric, by)
        board = Board.objects.select_related("round__competition").get(pk=round.board.pk)
        _repropose(board, by)
        own = {
            "clip": ("metric_parameters", wish.clip),
            "steps": ("mechanism_parameters", wish.steps),
        }
        _set_parameters(
            board, {name: each for name, each in own.items() if each[1] is not None}, by
        )
        split = _checked_split(setup, wish.split)
        withdrew = had and round.ledger is not None and _is_withdrawn(round)
        if not withdrew and split is None:
            competition.refresh_from_db()
            return False
        withdraw(round)
        setup.wanted = {"split": split, "steps": wish.steps}
        setup.wanted_by, setup.failure = by, ""
        setup.save(update_fields=["wanted", "wanted_by", "failure"])
        transaction.on_commit(lambda: enqueue_rewrite(round.pk))
    competition.refresh_from_db()
    return True


def waiting() -> list[int]:
    """Return the keys of the rounds whose solutions wait for a worker."""
    rows = QuickSetup.objects.filter(wanted__isnull=False, failure="")
    return list(rows.values_list("round", flat=True))


def rewrite(round_id: int) -> None:
    """Seal a draft's solution as it is wanted: a worker's task. Done twice, it changes nothing.

    Where that can't be done, the reason is noted for the organizer; it rests on no label.
    """
    round = Round.objects.select_related("competition", "ledger").get(pk=round_id)
    setup = _setup_of(round)
    if setup.wanted is None or is_frozen(round) or round.competition.opened_by_organizer_at:
        return
    assert round.ledger is not None  # noqa: S101  (a solution was sealed, and withdrawn)
    before = _last_sealed(round)
    wanted, by = setup.wanted, setup.wanted_by
    written, failure = None, ""
    try:
        written = _written(round, setup, before)
    except ParameterError as error:
        failure = error.message
    with transaction.atomic():
        competition = lock.lock(round.competition)
        changed = QuickSetup.objects.filter(pk=setup.pk, wanted=wanted)
        if competition.opened_by_organizer_at or not _is_last(round, before):
            changed.update(wanted=None)  # another solution was uploaded by hand
            return
        if written is not None:
            failure = _seal(round, written[0], by)
            if not failure and written[1] is not None:
                setup.facts = setup.facts | {"split": written[1]}
        changed.update(wanted=wanted if failure else None, failure=failure[:300], facts=setup.facts)
        if not failure:
            board = Board.objects.select_related("round__competition").get(pk=round.board.pk)
            _repropose(board, None)
            if wanted["steps"]:
                steps = {"steps": ("mechanism_parameters", wanted["steps"])}
                _set_parameters(board, steps, None)


def _last_sealed(round: Round) -> Holdout:
    """Return the newest solution of a round that had one."""
    return Holdout.objects.filter(ledger=round.ledger).order_by("-version")[0]


def _is_last(round: Round, withdrawn: Holdout) -> bool:
    """Return whether a solution is the newest one still, and out of use."""
    last = _last_sealed(round)
    return last == withdrawn and last.retired_at is not None


def _written(
    round: Round, setup: QuickSetup, before: Holdout
) -> tuple[Solution, Mapping[str, Any] | None]:
    """Return the solution in the columns and sets that are wanted. Raises ParameterError."""
    solution = vault.reopen_draft(before)
    schema = Schema.from_json(round.schema)
    if solution.schema != schema:
        is_label = schema.columns[0].kind == "label"
        solution = (as_labels if is_label else as_probabilities)(solution, schema)
    split: Mapping[str, Any] | None = (setup.wanted or {}).get("split")
    if split is None:
        return solution, None
    cells = None
    if split["column"] and split["by"] != "row":
        entry = round.files.get(role=FileRole.TEST)
        ids = sample_ids(round, schema)
        assert ids is not None  # noqa: S101  (the solution was aligned to them)
        cells = read_split_cells(entry, schema.id_column, split["column"], ids)
    return draw(split, solution, cells), split


def _seal(round: Round, solution: Solution, by: User | None) -> str:
    """Seal the solution; return why it can't be, with nothing of its labels."""
    ids = sample_ids(round, solution.schema)
    assert isinstance(ids, RowIds)  # noqa: S101  (the solution was aligned to them)
    try:
        install_checked(round, check_labels(round, solution, ids), by=None)
    except (HoldfastError, Refused):
        title = metrics.get(round.board.metric).title
        return (
            f"The labels don't fit {title}. Choose another metric, or upload the solution again on "
            "its own page, which names the lines."
        )
    Holdout.objects.active().filter(ledger=round.ledger).update(uploaded_by=by)
    return ""


def _setup_of(round: Round) -> QuickSetup:
    setup = QuickSetup.objects.filter(round=round).first()
    if setup is None:
        raise Refused("not_from_files")
    return setup


def _change_limits(competition: Competition, wish: Wish, by: User) -> None:
    round = competition.current_round
    limits = {"teams": wish.teams, "submissions": wish.submissions}
    refuse_fields(
        {name: {"variant": "too_few"} for name, n in limits.items() if n is not None and n < 1}
    )
    teams = (round.team_limit or 1) if wish.teams is None else wish.teams + BASELINES
    submissions = wish.submissions or round.total_limit or 1
    changes: dict[str, Any] = {
        "team_limit": teams,
        "total_limit": submissions,
        "question_limit": teams * submissions,
    }
    if wish.closes_at is not None:
        changes["closes_at"] = wish.closes_at
    try:
        change_settings(competition, by, **changes)
    except Refused as refused:
        names = {"team_limit": "teams", "total_limit": "submissions"}
        errors = [
            each | {"field": names.get(each["field"], each["field"])} for each in refused.errors
        ]
        raise Refused(refused.code, errors=errors) from None


def _change_metric(round: Round, setup: QuickSetup, name: str, by: User) -> None:
    """Choose another metric, and with it another kind of prediction where it asks for one."""
    metric = metrics.METRICS.get(name)
    if metric is None:
        raise Refused("invalid", field="metric", variant="not_chosen", kind="metric")
    schema, label = target_for(round, setup, name)
    if schema != Schema.from_json(round.schema):
        _ask_for(round, setup, schema, label, name, by)
    mechanism = choose_mechanism(metric).name
    change_scoring(round.board, Scoring(name, {}, mechanism, {}), by=by)


def target_for(round: Round, setup: QuickSetup, name: str) -> tuple[Schema, Column | None]:
    """Return the columns that a metric asks for: those there are, or probabilities of the labels.

    Raises Refused where it fits neither.
    """
    metric, schema = metrics.get(name), Schema.from_json(round.schema)
    given = setup.facts.get("label")
    label = Column.from_json(given) if given else None
    asked = [(schema, label)]
    if setup.facts.get("sample_made"):
        other = Target(schema, "", {}).as_probability
        if label is not None:
            asked.append((Schema(schema.id_column, (label,)), None))
        elif other is not None:
            asked.append((other.schema, other.label))
    why = ""
    for columns, of_label in asked:
        try:
            metric.check(columns, None, metric.parse({}))
        except ParameterError as error:
            why = why or error.message
            continue
        return columns, of_label
    raise Refused("invalid", field="metric", message=why)


def _ask_for(
    round: Round, setup: QuickSetup, schema: Schema, label: Column | None, name: str, by: User
) -> None:
    """Write other columns, with a sample submission that has them."""
    ids = sample_ids(round, Schema.from_json(round.schema))
    assert ids is not None  # noqa: S101  (the draft was made with a sample)
    change_schema(round, schema, by=by)
    setup.facts = setup.facts | {"label": label.to_json() if label else None}
    setup.save(update_fields=["facts"])
    round.refresh_from_db()
    metric, labels = metrics.get(name), training_labels(round)
    best = labels and best_constant(metric, metric.parse({}), schema, labels)
    constant = write_constant(schema, best) if best else None
    setup.facts = setup.facts | {"constant": list(constant) if constant else None}
    setup.save(update_fields=["facts"])
    sample = round.files.get(role=FileRole.SAMPLE)
    remove_file(sample, by=by)
    content = make_sample(
        schema, (ids[row] for row in range(len(ids))), constant or neutral(schema)
    )
    add_file(round, ContentFile(content, sample.name), role=FileRole.SAMPLE, by=by)


def _repropose(board: Board, by: User | None) -> None:
    """Take what is proposed now, unless another mechanism than the proposed one was chosen."""
    proposed = next((each.value for each in propose(board) if each.field == "mechanism"), None)
    if proposed == board.mechanism:
        use_proposal(board, by=by)
        board.refresh_from_db()


def _set_parameters(
    board: Board, given: Mapping[str, tuple[str, str | None]], by: User | None
) -> None:
    """Set single parameters. Raises Refused naming them as the form does."""
    scoring = Scoring(
        board.metric,
        dict(board.metric_parameters),
        board.mechanism,
        dict(board.mechanism_parameters),
    )
    for name, (kind, value) in given.items():
        if name in getattr(scoring, kind):
            scoring = replace(scoring, **{kind: getattr(scoring, kind) | {name: str(value)}})
    try:
        change_scoring(board, scoring, by=by)
    except Refused as refused:
        errors = [each | {"field": each["field"].rpartition(".")[2]} for each in refused.errors]
        raise Refused(refused.code, errors=errors) from None


def _checked_split(setup: QuickSetup, wanted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a split that differs from the one there is; None where it doesn't. Raises Refused."""
    now = setup.facts["split"]
    if wanted is None or now["given"]:
        return None
    try:
        Shares(*(Fraction(wanted["shares"][name]) for name in SHARES))
    except ParameterError as error:
        raise Refused("invalid", field=error.field, message=error.message) from None
    except (ValueError, ZeroDivisionError):
        raise Refused("invalid", field="private", message="Give shares as numbers.") from None
    split = {
        "given": False,
        **{name: wanted[name] for name in ("by", "column", "by_day")},
        "reason": wanted.get("reason", ""),
        "groups": wanted.get("groups", 0),
        "shares": {name: str(Fraction(wanted["shares"][name])) for name in SHARES},
    }
    same = all(split[name] == now[name] for name in ("by", "column", "by_day", "shares"))
    return None if same and not setup.failure else split


def _is_withdrawn(round: Round) -> bool:
    return not Holdout.objects.active().filter(ledger=round.ledger).exists()
