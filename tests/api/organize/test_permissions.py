"""What the four roles get from every address below `/api/v1/organize/`: one table.

A cell is the status; `+` says that something was changed. A method that a route does not list is
refused. What people get who run nothing is in `tests/test_permissions.py`.
"""

import pytest

from leaderboard.models import Competition, Role
from leaderboard.organize.people import add_organizer
from tests.api.organize.walking import AREA
from tests.cast import World, make_user
from tests.routes import Route, all_routes
from tests.walking import Stage, kept_stage

LISTED = ("GET", "POST", "PATCH", "PUT", "DELETE")
MATRIX = """
                 owner
                      editor
                           judge
                                viewer
/bundles/
  POST           201+ 201+ 201+ 201+
/bundles/plan/
  POST           200  200  200  200
/archives/
  GET            200  200  200  200
  POST           422  422  422  422
/competitions/
  GET            200  200  200  200
  POST           201+ 201+ 201+ 201+
/competitions/from-files/
  POST           201+ 201+ 201+ 201+
/competitions/<slug>/
  GET            200  200  200  200
  PATCH          200+ 200+ 403  403
  DELETE         204+ 403  403  403
/competitions/<slug>/checklist/
  GET            200  200  200  200
/competitions/<slug>/open/
  POST           200+ 200+ 403  403
/competitions/<slug>/draft/
  POST           200+ 200+ 403  403
/competitions/<slug>/columns/
  GET            200  200  200  200
  PUT            200+ 200+ 403  403
/competitions/<slug>/columns/proposal/
  POST           200  200  200  200
/competitions/<slug>/files/
  GET            200  200  200  200
  POST           201+ 201+ 403  403
/competitions/<slug>/files/<name>/
  DELETE         204+ 204+ 403  403
/competitions/<slug>/scoring/
  GET            200  200  200  200
  PUT            200+ 200+ 403  403
/competitions/<slug>/scoring/proposal/
  POST           200+ 200+ 403  403
/competitions/<slug>/solution/
  GET            200  200  200  200
  PUT            200+ 200+ 403  403
  DELETE         204+ 204+ 403  403
/competitions/<slug>/revision/
  GET            200  200  200  200
  POST           200+ 200+ 403  403
/competitions/<slug>/revision/preview/
  POST           200  200  403  403
/competitions/<slug>/plan/
  GET            200  200  200  200
  POST           200+ 200+ 403  403
/competitions/<slug>/trials/
  GET            200  200  403  403
  POST           201+ 201+ 403  403
/competitions/<slug>/trials/<trial_id>/
  GET            200  200  403  403
  DELETE         204+ 204+ 403  403
/competitions/<slug>/submissions/
  GET            200  200  200  200
/competitions/<slug>/submissions/requeue/
  POST           200+ 200+ 200+ 403
/competitions/<slug>/teams/
  GET            200  200  200  200
/competitions/<slug>/teams/<uid>/
  GET            200  200  200  200
  PATCH          200+ 200+ 200+ 403
/competitions/<slug>/teams/<uid>/sanction/
  PUT            204+ 204+ 204+ 403
  DELETE         409  409  409  403
/competitions/<slug>/teams/<uid>/quota/
  PUT            204+ 204+ 204+ 403
/competitions/<slug>/teams/<uid>/merge/
  POST           404  404  404  404
/competitions/<slug>/teams/<uid>/submissions/<number>/sanction/
  PUT            204+ 204+ 204+ 403
  DELETE         409  409  409  403
/competitions/<slug>/people/
  GET            200  200  200  200
  POST           200+ 200+ 200+ 403
/competitions/<slug>/people/class-list/
  POST           200+ 200+ 200+ 403
/competitions/<slug>/people/<uid>/
  DELETE         204+ 204+ 204+ 403
/competitions/<slug>/access/
  GET            200  200  200  200
  PATCH          200+ 200+ 200+ 403
/competitions/<slug>/organizers/
  GET            200  200  200  200
/competitions/<slug>/organizers/<username>/
  PUT            200+ 403  403  403
  DELETE         204+ 403  403  403
/competitions/<slug>/budget/
  GET            200  200  200  200
  POST           422  422  403  403
/competitions/<slug>/gates/
  GET            200  200  200  200
  POST           201+ 201+ 403  403
/competitions/<slug>/gates/<gate>/
  DELETE         204+ 204+ 403  403
/competitions/<slug>/gates/<gate>/promote/
  POST           404  404  404  404
/competitions/<slug>/events/
  GET            200  200  200  200
/competitions/<slug>/close/
  POST           200+ 200+ 200+ 403
/competitions/<slug>/finals/
  GET            200  200  200  200
/competitions/<slug>/finals/start/
  POST           200+ 200+ 200+ 403
/competitions/<slug>/finals/reveal/
  POST           200+ 200+ 200+ 403
/competitions/<slug>/finals/board/
  GET            200  200  403  403
/competitions/<slug>/announcements/
  GET            200  200  200  200
  POST           201+ 201+ 403  403
/competitions/<slug>/announcements/<number>/
  PUT            200+ 200+ 403  403
  DELETE         204+ 204+ 403  403
/competitions/<slug>/webhooks/
  GET            200  200  403  403
  POST           422  422  403  403
/competitions/<slug>/webhooks/<uid>/
  PATCH          200+ 200+ 403  403
  DELETE         204+ 204+ 403  403
/competitions/<slug>/webhooks/<uid>/deliveries/
  GET            200  200  403  403
  POST           202+ 202+ 403  403
/competitions/<slug>/rounds/
  GET            200  200  200  200
  POST           201+ 201+ 403  403
/competitions/<slug>/rounds/<number>/
  PATCH          409  409  403  403
  DELETE         409  409  403  403
/competitions/<slug>/rounds/<number>/boards/
  POST           201+ 201+ 403  403
/competitions/<slug>/boards/<uid>/
  PUT            200+ 200+ 403  403
  DELETE         409  409  403  403
/competitions/<slug>/practice/
  POST           200+ 200+ 403  403
/competitions/<slug>/bundle/
  POST           200+ 200+ 403  403
/competitions/<slug>/archive/
  POST           200+ 403  403  403
/competitions/<slug>/move/
  GET            200  200  200  200
  POST           202+ 403  403  403
/competitions/<slug>/clone/
  POST           201+ 201+ 403  403
/competitions/<slug>/publication/
  GET            200  200  200  200
  POST           200+ 200+ 403  403
"""
ROUTES = [route for route in all_routes() if route.pattern.startswith(AREA)]


@pytest.fixture
def stage(world: World) -> Stage:
    """Add a person for each role to every competition."""
    stage = kept_stage(world)
    for role in Role:
        person = stage.people[role] = make_user(f"an-{role}", is_organizer=True)
        for competition in Competition.objects.all():
            add_organizer(competition, person, role, by=world.organizer)
        stage.sign_in(role)
    return stage


def block(stage: Stage, route: Route) -> str:
    """Write a route as the table has it."""
    lines = [f"/{route.pattern.removeprefix(AREA)}"]
    for method in LISTED:
        seen = [stage.ask(Role.OWNER, method, route)]
        if seen[0].status != 405:
            seen += [stage.ask(role, method, route) for role in Role if role != Role.OWNER]
            cells = " ".join(f"{each.text:<4}" for each in seen)
            lines.append(f"  {method:<12}   {cells}".rstrip())
    return "\n".join(lines)


def test_each_role_gets_what_the_table_says(stage: Stage) -> None:
    seen = "\n".join(block(stage, route) for route in ROUTES)
    said = MATRIX.partition("viewer\n")[2].strip()
    assert seen == said, f"If this is meant, put into MATRIX what was seen:\n{seen}"
