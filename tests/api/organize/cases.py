"""How each problem that only organizers meet is provoked, for `tests/api/test_problems.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard import organize
from leaderboard.ledger import watermark
from leaderboard.models import Holdout, Loss, Scope, Selection, Submission
from tests import ending
from tests.api.organize.conftest import ALL, DIGITS, SAMPLE, file, secret
from tests.api.test_scopes import token_client
from tests.cast import make_competition, make_draft, predictions, set_round, solution

if TYPE_CHECKING:
    from tests.api.test_problems import Stage

Case = Callable[["Stage"], Any]


def _organizer(stage: Stage) -> APIClient:
    return token_client(stage.world.organizer, Scope.ORGANIZE)


def _ask(method: str, path: str, *before: Callable[[Stage], object], **body: Any) -> Case:
    """Return a case that asks for a part of `digits` once all that comes `before` was done."""

    def case(stage: Stage) -> Any:
        for each in before:
            each(stage)
        send = getattr(_organizer(stage), method)
        return send(f"{DIGITS}{path}", body, format="multipart" if body else "json")

    return case


def _make_gate(stage: Stage) -> Any:
    body = {"name": "ci", "kind": "mark", "mark": 0.5}
    return _organizer(stage).post(f"{DIGITS}gates/", body, format="json")


def _return_to_draft(stage: Stage) -> None:
    organize.return_to_draft(stage.world.digits, by=stage.world.organizer)


def _score(stage: Stage) -> None:
    stage.world.score(stage.team, predictions([10]))


def _submit(stage: Stage) -> None:
    stage.world.submit(stage.team)


def _fail(stage: Stage) -> None:
    _submit(stage)
    Submission.objects.update(status="failed", finished_at=timezone.now())


def _close(stage: Stage) -> None:
    ending.close(stage.world.digits)


def _lose(stage: Stage) -> None:
    _score(stage)
    Loss.objects.create(competition=stage.world.digits, team=stage.team, kind="people")
    _close(stage)


def _select_too_many(stage: Stage) -> None:
    _score(stage)
    stage.world.score(stage.team, predictions([11]))
    for each in Submission.objects.all():
        Selection.objects.create(team=stage.team, submission=each)
    set_round(stage.world.digits, finals_limit=1)
    _close(stage)


def _uncheck(stage: Stage) -> None:
    _close(stage)
    Holdout.objects.update(reason="A typo.", fits_at=None)


def _add_rounds(stage: Stage) -> None:
    for number in (1, 2):
        moment = timezone.now() + timedelta(days=100 * number)
        end = moment + timedelta(days=9)
        organize.add_round(
            stage.world.digits, by=stage.world.organizer, opens_at=moment, closes_at=end
        )


def _lose_the_watermark(stage: Stage) -> None:
    def away(*_: object, **__: object) -> None:
        raise watermark.WatermarkAway("away")

    stage.patch.setattr(watermark, "read_all", away)


def _checklist(stage: Stage) -> Any:
    organizer = _organizer(stage)
    organizer.post(ALL, {"title": "Empty"}, format="json")
    return organizer.post(f"{ALL}empty/open/")


def _looks_hidden(stage: Stage) -> Any:
    make_competition("mine", stage.world.organizer)
    return _organizer(stage).post(f"{ALL}mine/files/", file("t.csv", solution(), role="test"))


def _team(stage: Stage, method: str, part: str, **body: Any) -> Any:
    where = f"{DIGITS}teams/{stage.team.uid}/{part}/"
    return getattr(_organizer(stage), method)(where, body, format="json")


def _merge(stage: Stage) -> Any:
    other = stage.world.join(stage.world.bob)
    return _team(stage, "post", "merge", into=other.uid)


def _merge_hidden(stage: Stage) -> Any:
    set_round(stage.world.digits, is_hidden=True, team_limit=9, question_limit=90)
    return _merge(stage)


def _merge_selected(stage: Stage) -> Any:
    _score(stage)
    Selection.objects.create(team=stage.team, submission=Submission.objects.get())
    return _merge(stage)


def _sanction(stage: Stage) -> Any:
    return _team(stage, "put", "sanction", kind="disqualified", reason="Why.")


def _sanction_revealed(stage: Stage) -> Any:
    _score(stage)
    ending.reveal(stage.world.digits)
    return _sanction(stage)


def _class_list(stage: Stage) -> Any:
    form = file("class.csv", b"name,mail\nAnn,nowhere\n")
    return _organizer(stage).post(f"{DIGITS}people/class-list/", form)


def _last_board(stage: Stage) -> Any:
    draft = make_draft("mine", stage.world.organizer, rows=40)
    return _organizer(stage).delete(f"{ALL}mine/boards/{draft.current_round.board.uid}/")


CASES: dict[str, Case] = {
    "wrong_file": lambda stage: _organizer(stage).put(
        f"{DIGITS}solution/", secret(SAMPLE[:50]), format="multipart"
    ),
    "looks_hidden": _looks_hidden,
    "submissions_waiting": _ask("post", "finals/start/", _submit, _close),
    "submissions_failed": _ask("post", "finals/start/", _score, _fail, _close),
    "restore_unsettled": _ask("post", "finals/start/", _lose),
    "selections_over_limit": _ask("post", "finals/start/", _select_too_many),
    "nothing_to_score": _ask("post", "finals/start/", _close),
    "not_open": _ask("post", "close/", _close),
    "not_closed": _ask("post", "finals/start/"),
    "not_the_last_round": _ask("delete", "rounds/2/", _add_rounds),
    "round_begun": _ask("delete", "rounds/1/"),
    "last_board": _last_board,
    "no_practice": lambda stage: _organizer(stage).post(
        f"{DIGITS}practice/", {"is_open": True}, format="json"
    ),
    "finals_not_scored": _ask("post", "finals/reveal/"),
    "not_ended": _ask("post", "publication/"),
    "not_a_draft": _ask("delete", "solution/"),
    "gate_closed": _make_gate,
    "frozen": _ask("post", "draft/", _score),
    "has_submissions": _ask("delete", "", _submit),
    "checklist_not_green": _checklist,
    "nothing_released": lambda stage: _organizer(stage).post(
        f"{DIGITS}revision/", secret(reason="A typo.")
    ),
    "not_movable": _ask("post", "archive/", _return_to_draft),
    "not_mergeable": lambda stage: _team(stage, "post", "merge", into=stage.team.uid),
    "merge_hidden": _merge_hidden,
    "selections_left": _merge_selected,
    "sanctioned_already": lambda stage: (_sanction(stage), _sanction(stage))[1],
    "not_sanctioned": lambda stage: _team(stage, "delete", "sanction"),
    "final_board_revealed": _sanction_revealed,
    "class_list_wrong": _class_list,
    "revision_unchecked": _ask("post", "finals/start/", _score, _uncheck),
    "watermark_away": _ask("post", "close/", _lose_the_watermark),
}
