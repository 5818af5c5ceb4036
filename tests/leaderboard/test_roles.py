"""Which role may do what: every action of organizers, whatever edge it is called from."""

import ast
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Gate, Role, Submission, Trial, User
from leaderboard.operate import archives
from leaderboard.organize import (
    announcements,
    bundles,
    class_list,
    entry,
    gates,
    invitations,
    moves,
    people,
    plan,
    preview,
    recast,
    revisions,
    sanctions,
    teams,
    trials,
    webhooks,
)
from leaderboard.organize import settings as texts
from leaderboard.pipeline import finalize, publish, queue
from leaderboard.queries.exports import members_csv
from scoring.predictions import Column, Schema
from tests.cast import LADDER, World, make_user, solution, upload
from tests.walking import HOOK

NOW = timezone.now()
JUDGES = {Role.OWNER, Role.EDITOR, Role.JUDGE}
EDITORS = {Role.OWNER, Role.EDITOR}
OWNERS = {Role.OWNER}
SCHEMA = Schema("id", (Column("label", "number"),))
SCORING = organize.Scoring("error_rate", {}, "ladder", LADDER)
MARK = gates.NewGate("ci", "mark", mark=0.8)


def _gate(world: World) -> Gate:
    facts = {"kind": "mark", "bound": "1/5", "created_at": NOW}
    return Gate.objects.create(round=world.round, board=world.board, name="ci", **facts)


Act = Callable[[World, User], object]
ACTIONS: dict[str, tuple[set[Role], Act]] = {
    "settings": (EDITORS, lambda w, by: texts.change_settings(w.digits, by, title="New")),
    "schema": (EDITORS, lambda w, by: organize.change_schema(w.round, SCHEMA, by=by)),
    "scoring": (EDITORS, lambda w, by: organize.change_scoring(w.round.board, SCORING, by=by)),
    "board": (EDITORS, lambda w, by: organize.add_board(w.round, by=by, **vars(SCORING))),
    "round": (
        EDITORS,
        lambda w, by: organize.add_round(
            w.digits, by=by, opens_at=timezone.now() + timedelta(days=99)
        ),
    ),
    "round changed": (EDITORS, lambda w, by: organize.change_round(w.round, by=by, daily_limit=1)),
    "round removed": (EDITORS, lambda w, by: organize.remove_round(w.round, by=by)),
    "board removed": (EDITORS, lambda w, by: organize.remove_board(w.round.board, by=by)),
    "practice": (EDITORS, lambda w, by: organize.change_practice(w.round, is_open=True, by=by)),
    "file": (
        EDITORS,
        lambda w, by: organize.add_file(
            w.round, upload(b"x\n", "x.csv"), role=FileRole.OTHER, by=by
        ),
    ),
    "file removed": (
        EDITORS,
        lambda w, by: organize.remove_file(w.round.files.get(name="train.csv"), by=by),
    ),
    "solution": (
        EDITORS,
        lambda w, by: organize.install_solution(w.round, upload(solution()), by=by),
    ),
    "withdrawal": (EDITORS, lambda w, by: organize.withdraw_solution(w.round, by=by)),
    "revision": (
        EDITORS,
        lambda w, by: revisions.revise_solution(w.round, upload(solution()), by=by, reason="Typo."),
    ),
    "announcement": (
        EDITORS,
        lambda w, by: announcements.announce(w.digits, by=by, title="News", text=""),
    ),
    "announcement edited": (
        EDITORS,
        lambda w, by: announcements.edit(w.digits.announcements.get(), by=by, title="x", text=""),
    ),
    "announcement withdrawn": (
        EDITORS,
        lambda w, by: announcements.withdraw(w.digits.announcements.get(), by=by),
    ),
    "webhook": (EDITORS, lambda w, by: webhooks.add_webhook(w.digits, by=by, url=HOOK)),
    "webhook changed": (
        EDITORS,
        lambda w, by: webhooks.change_webhook(w.digits.webhooks.get(), by=by, url=HOOK),
    ),
    "webhook's secret": (
        EDITORS,
        lambda w, by: webhooks.renew_secret(w.digits.webhooks.get(), by=by),
    ),
    "webhook off": (
        EDITORS,
        lambda w, by: webhooks.switch_webhook(w.digits.webhooks.get(), by=by, on=False),
    ),
    "webhook tried": (
        EDITORS,
        lambda w, by: webhooks.try_webhook(w.digits.webhooks.get(), by=by),
    ),
    "webhook sent again": (
        EDITORS,
        lambda w, by: webhooks.send_again(
            w.digits.webhooks.get().deliveries.create(
                channel="webhook", created_at=NOW, due_at=NOW, expires_at=NOW
            ),
            by=by,
        ),
    ),
    "webhook deleted": (
        EDITORS,
        lambda w, by: webhooks.delete_webhook(w.digits.webhooks.get(), by=by),
    ),
    "gate": (EDITORS, lambda w, by: gates.make_gate(w.board, MARK, by=by)),
    "gate retired": (EDITORS, lambda w, by: gates.retire_gate(_gate(w), by=by)),
    "gate promoted": (
        EDITORS,
        lambda w, by: gates.promote_gate(_gate(w), Submission(pk=1), by=by),
    ),
    "budget": (EDITORS, lambda w, by: organize.add_budget(w.board, 1, by=by)),
    "trial": (EDITORS, lambda w, by: trials.try_file(w.round, upload(b"x"), by=by)),
    "baseline": (
        EDITORS,
        lambda w, by: trials.mark_baseline(Trial(round=w.round, pk=1), by=by, is_baseline=True),
    ),
    "trial removed": (EDITORS, lambda w, by: trials.remove_trial(Trial(round=w.round), by=by)),
    "proposal": (EDITORS, lambda w, by: recast.change_proposal(w.digits, recast.Wish(), by=by)),
    "planned board": (EDITORS, lambda w, by: plan.use_board(w.round, "ladder", by=by)),
    "preview": (EDITORS, lambda w, by: preview.as_participant(w.digits, by=by).__enter__()),
    "opening": (EDITORS, lambda w, by: organize.open_competition(w.digits, by=by)),
    "draft": (EDITORS, lambda w, by: organize.return_to_draft(w.digits, by=by)),
    "publication": (EDITORS, lambda w, by: publish.publish(w.round, by=by)),
    "closing": (JUDGES, lambda w, by: finalize.close_early(w.round, by=by)),
    "finals": (JUDGES, lambda w, by: finalize.start_finals(w.round, by=by)),
    "reveal": (JUDGES, lambda w, by: finalize.reveal(w.round, by=by)),
    "requeue": (JUDGES, lambda w, by: queue.requeue_failed(Submission.objects.all(), by=by)),
    "invitation": (JUDGES, lambda w, by: invitations.invite(w.digits, ["a@uni.example"], by=by)),
    "mail": (JUDGES, lambda w, by: invitations.send_again(w.digits.invitees.get(), by=by)),
    "withdrawn": (JUDGES, lambda w, by: invitations.withdraw(w.digits.invitees.get(), by=by)),
    "account withdrawn": (
        JUDGES,
        lambda w, by: invitations.withdraw_account(w.digits, w.bob, by=by),
    ),
    "class list": (
        JUDGES,
        lambda w, by: class_list.apply_class_list(w.digits, b"name,mail\nAda,a@uni.example", by=by),
    ),
    "class list seen": (
        JUDGES,
        lambda w, by: class_list.check_class_list(w.digits, b"name,mail", by=by),
    ),
    "join code": (JUDGES, lambda w, by: entry.renew_join_code(w.digits, by=by)),
    "no join code": (JUDGES, lambda w, by: entry.switch_off_join_code(w.digits, by=by)),
    "domains": (JUDGES, lambda w, by: entry.change_mail_domains(w.digits, ["uni.example"], by=by)),
    "members": (JUDGES, lambda w, by: members_csv(w.digits, by)),
    "sanction": (
        JUDGES,
        lambda w, by: sanctions.sanction_team(w.digits.teams.get(), "hidden", "Why.", by=by),
    ),
    "lifted": (JUDGES, lambda w, by: sanctions.lift_from_team(w.digits.teams.get(), by=by)),
    "entry": (
        JUDGES,
        lambda w, by: sanctions.sanction_submission(Submission.objects.get(), "Why.", by=by),
    ),
    "entry lifted": (
        JUDGES,
        lambda w, by: sanctions.lift_from_submission(Submission.objects.get(), by=by),
    ),
    "quota": (
        JUDGES,
        lambda w, by: teams.add_quota(w.digits.teams.get(), daily=1, total=0, by=by),
    ),
    "merger": (
        JUDGES,
        lambda w, by: teams.merge_teams(w.digits.teams.get(), w.digits.teams.get(), by=by),
    ),
    "team": (
        JUDGES,
        lambda w, by: teams.change_team(w.digits.teams.get(), by, is_verified=True),
    ),
    "organizer": (OWNERS, lambda w, by: people.add_organizer(w.digits, by, Role.OWNER, by)),
    "export": (EDITORS, lambda w, by: bundles.export(w.digits, by=by).close()),
    "clone": (EDITORS, lambda w, by: bundles.clone(w.digits, slug="clone", by=by)),
    "archive": (OWNERS, lambda w, by: archives.export_archive(w.digits, by=by).close()),
    "move": (OWNERS, lambda w, by: moves.move(w.digits, "9" * 64, by=by)),
    "deletion": (OWNERS, lambda w, by: organize.delete_competition(w.digits, by=by)),
}


def operator() -> User:
    return make_user("operator", is_superuser=True)


@pytest.fixture
def stage(world: World) -> World:
    """Let there be a failed submission, somebody invited, an announcement and a webhook."""
    announcements.announce(world.digits, by=world.organizer, title="News", text="")
    webhooks.add_webhook(world.digits, by=world.organizer, url=HOOK)
    submission = world.submit(world.join(world.alice))
    Submission.objects.filter(pk=submission.pk).update(status="failed", finished_at=timezone.now())
    world.digits.invitees.create(email="b@uni.example")
    return world


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_asks_for_its_role(stage: World, action: str) -> None:
    """Who has the role gets further, be it to another refusal; nobody else is let in."""
    allowed, act = ACTIONS[action]
    assert {role for role in (*Role, None) if _is_let_in(stage, act, role)} == allowed


def _is_let_in(stage: World, act: Act, role: Role | None) -> bool:
    """Try an action as a person with this role, and undo it."""
    person = make_user(f"person-{role}", is_organizer=True)
    if role is not None:
        people.add_organizer(stage.digits, person, role, by=stage.organizer)
    stage.digits.refresh_from_db()
    before = transaction.savepoint()  # not a block: some actions must not be nested in one
    try:
        act(stage, person)
    except Refused as refused:
        return refused.code != "not_allowed"
    finally:
        transaction.savepoint_rollback(before)
    return True


def test_every_action_that_an_edge_asks_for_is_told_who_asks() -> None:
    """Without `by` an action is this installation's own, and asks for no role."""
    actions = {act.__name__ for act in functions_with_by()}
    assert {"add_file", "change_scoring", "start_finals", "publish", "requeue_failed"} <= actions
    root = settings.BASE_DIR / "leaderboard"
    missing = [
        f"{path.name}: {call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id}"
        for edge in ("admin", "api", "web")
        for path in (root / edge).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute | ast.Name)
        and (call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id) in actions
        and "by" not in {keyword.arg for keyword in call.keywords}
    ]
    assert not missing


def functions_with_by() -> list[Any]:
    """Return the actions that take who asks by keyword, and may do without."""
    found = [
        value
        for module in (
            *(organize, revisions, finalize, publish, queue, announcements, webhooks),
            *(class_list, entry, invitations, sanctions, bundles, archives, moves),
        )
        for value in vars(module).values()
        if "by" in (getattr(value, "__kwdefaults__", None) or {})
    ]
    assert found
    return found


def test_an_operator_owns_every_competition(world: World) -> None:
    organize.return_to_draft(world.digits, by=operator())
    assert not Competition.objects.filter(opened_by_organizer_at__isnull=False).exists()
