"""What `tests/walking.py` sends below `/api/v1/organize/`, and which competition is asked there."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from bundles.folders import write_zip
from leaderboard.models import Competition
from tests.cast import LADDER, predictions, solution, upload
from tests.leaderboard import dropped

if TYPE_CHECKING:
    from tests.walking import Stage

AREA = "api/v1/organize/"
_ALL = f"{AREA}competitions/"
_ONE = f"{_ALL}<slug>/"
_CLASS = b"name,mail,alias\nAnn,ann@example.org,Ann\n"
# Where nothing is said it is `digits`, which is open.
_COMPETITIONS = {
    "": "sketch",
    "checklist/": "sketch",
    "columns/": "sketch",
    "columns/proposal/": "sketch",
    "files/": "sketch",
    "files/<name>/": "sketch",
    "scoring/": "sketch",
    "scoring/proposal/": "sketch",
    "solution/": "sketch",
    "plan/": "sketch",
    "trials/": "sketch",
    "trials/<trial_id>/": "sketch",
    "rounds/<number>/boards/": "sketch",
    "boards/<uid>/": "sketch",
    "open/": "sketch",
    "draft/": "fresh",
    "finals/": "closed",
    "finals/start/": "closed",
    "finals/reveal/": "scored",
    "finals/board/": "scored",
    "publication/": "revealed",
    "practice/": "revealed",
}


def competition_of(stage: Stage, pattern: str) -> Competition | None:
    """Return the competition that is asked at a route; None for a route of somebody else."""
    if not pattern.startswith(_ONE):
        return None
    found: Competition = getattr(stage, _COMPETITIONS.get(pattern.removeprefix(_ONE), "digits"))
    return found


def body_of(method: str, pattern: str) -> dict[str, Any] | None:
    """Return what somebody sends who may do what the route is for."""
    if not pattern.startswith(AREA):
        return None
    return _bodies().get((method, pattern.removeprefix(_ONE)), {})


@cache
def _bodies() -> dict[tuple[str, str], dict[str, Any]]:
    column = {"name": "label", "kind": "label", "classes": ["0", "1", "2", "3", "4"]}
    scoring = {"metric": "accuracy", "mechanism": "ladder", "mechanism_parameters": LADDER}
    corrected = {"solution": upload(solution(public=10), "solution.csv")}
    return {
        ("POST", _ALL): {"title": "Mine"},
        ("POST", f"{_ALL}from-files/"): {
            "title": "Dropped",
            **dropped.files(dropped.binary(40)),
        },
        ("POST", "trials/"): {"file": upload(predictions([9]))},
        ("POST", f"{AREA}bundles/"): {"bundle": _bundle()},
        ("POST", f"{AREA}bundles/plan/"): {"bundle": _bundle()},
        ("POST", "announcements/"): {"title": "News"},
        ("PUT", "announcements/<number>/"): {"title": "Old news"},
        ("POST", "webhooks/"): {"url": "https://192.0.2.1/hook"},
        ("PATCH", "webhooks/<uid>/"): {"is_on": False},
        ("POST", "rounds/"): {"opens_at": "2098-01-01T00:00:00Z"},
        ("PATCH", "rounds/<number>/"): {"daily_limit": 3},
        ("POST", "rounds/<number>/boards/"): scoring,
        ("PUT", "boards/<uid>/"): scoring | {"mechanism_parameters": LADDER | {"steps": "10"}},
        ("POST", "practice/"): {"is_open": True},
        ("POST", "clone/"): {"slug": "copy"},
        ("POST", "plan/"): {"mechanism": "ladder"},
        ("POST", "move/"): {"destination": "ab" * 32},
        ("POST", f"{AREA}archives/"): {"archive": _bundle()},
        ("PATCH", ""): {"title": "Another title"},
        ("PUT", "columns/"): {"id_column": "id", "columns": [column]},
        ("POST", "columns/proposal/"): {"sample": upload(predictions(), "sample.csv")},
        ("POST", "files/"): {"file": upload(b"a,b\n1,2\n", "more.csv"), "role": "other"},
        ("PUT", "scoring/"): scoring | {"mechanism_parameters": LADDER | {"steps": "10"}},
        ("PUT", "solution/"): {"solution": upload(solution(), "solution.csv")},
        ("POST", "revision/"): corrected | {"reason": "A typo."},
        ("POST", "revision/preview/"): corrected,
        ("PATCH", "teams/<uid>/"): {"is_verified": True},
        ("PUT", "organizers/<username>/"): {"role": "judge"},
        ("POST", "budget/"): {"amount": 1},
        ("POST", "gates/"): {"name": "other", "kind": "mark", "mark": 0.7},
        ("POST", "gates/<gate>/promote/"): {"team": "0" * 32, "submission": 1},
        ("POST", "people/"): {"people": ["new@example.org"]},
        ("POST", "people/class-list/"): {"file": upload(_CLASS, "class.csv")},
        ("PATCH", "access/"): {"join_code": "renew"},
        ("PUT", "teams/<uid>/sanction/"): {"kind": "disqualified", "reason": "Why."},
        ("PUT", "teams/<uid>/submissions/<number>/sanction/"): {"reason": "Why."},
        ("PUT", "teams/<uid>/quota/"): {"daily": 1, "total": 0},
        ("POST", "teams/<uid>/merge/"): {"into": "0" * 32},
    }


def _bundle() -> object:
    """Return Kaggle's files of a small competition."""
    packed = io.BytesIO()
    write_zip(packed, [("solution.csv", solution()), ("test.csv", b"id,x\n")])
    return upload(packed.getvalue(), "bundle.zip")


def values_of(stage: Stage, pattern: str) -> dict[str, object]:
    """Return what stands for the parameters of a route."""
    part = pattern.removeprefix(_ONE)
    if part.startswith("boards/"):
        return {"uid": stage.sketch.current_round.board.uid}
    if part.startswith("webhooks/"):
        return {"uid": stage.digits.webhooks.get().uid}
    if part.startswith("people/"):
        return {"uid": stage.digits.invitees.order_by("pk")[0].uid}
    return {"number": 1, "uid": stage.digits.teams.get(captain=stage.people["participant"]).uid}
