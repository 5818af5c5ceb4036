"""A board by a formula that its organizer wrote."""

import pytest
from django.test import Client

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.models import Competition, Status
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.scoring import Scoring
from tests.cast import LADDER, World, ledger_of, make_draft, upload

ROWS = 40
LOSS = "abs(log1p(prediction) - log1p(label))"


def file(value: float) -> bytes:
    return b"id,y\n" + b"".join(f"r{row},{value}\n".encode() for row in range(ROWS))


def scored_by(loss: str, **parameters: str) -> Scoring:
    given = {"loss": loss, "low": "0", "high": "3"} | parameters
    return Scoring("expression", given, "ladder", LADDER)


@pytest.fixture
def competition(world: World) -> Competition:
    draft = make_draft("delays", world.organizer, ROWS)
    round = draft.current_round
    organize.change_scoring(round.board, scored_by(LOSS), by=world.organizer)
    organize.install_solution(round, upload(file(1.0), "solution.csv"), by=world.organizer)
    organize.open_competition(draft, by=world.organizer)
    return Competition.objects.get(pk=draft.pk)


def test_files_are_scored_and_the_ledger_is_verified(
    world: World, competition: Competition
) -> None:
    team = world.join(world.alice, competition=competition)
    for value in (3.0, 1.0):
        assert world.score(team, file(value)).status == Status.RELEASED
    (row,) = queries.board(competition.current_round.board, world.alice).rows
    assert row.score == "0.0"
    assert verify_ledger(ledger_of(competition)).report.difference is None


def test_rows_without_a_loss_count_as_the_worst_and_fail_nothing(
    world: World, competition: Competition
) -> None:
    team = world.join(world.alice, competition=competition)
    submission = world.score(team, file(-5.0))
    assert submission.status == Status.RELEASED
    assert submission.release is not None
    assert submission.release.level in (None, submission.release.steps)


def test_participants_see_the_formula(
    world: World, competition: Competition, client: Client
) -> None:
    assert f"<code>{LOSS}</code>" in client.get("/c/delays/").content.decode()
    assert LOSS in client.get("/c/delays/rules/").content.decode()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("9**9**9", "Character 5: Expected one exponent only"),
        ("prediction.__class__", "Character 11: Expected an operator such as + or the end"),
        ("prediction_y - label", "Character 1: Expected one of prediction, label, weight"),
    ],
)
def test_a_bad_formula_is_refused_at_its_field(world: World, loss: str, message: str) -> None:
    draft = make_draft("delays", world.organizer, ROWS)
    with pytest.raises(Refused) as caught:
        organize.change_scoring(draft.current_round.board, scored_by(loss), by=world.organizer)
    assert message in caught.value.fields["metric_parameters.loss"]


def test_the_console_takes_a_formula_and_says_what_is_wrong_beside_it(
    world: World, client: Client
) -> None:
    make_draft("delays", world.organizer, ROWS)
    client.force_login(world.organizer)
    address = "/organize/delays/data/scoring/"
    given = {
        "metric": "expression",
        "metric-expression-loss": "abs(prediction - lable)",
        "metric-expression-low": "0",
        "metric-expression-high": "3",
        "metric-expression-unit": "minutes",
        "mechanism-ladder-rung": "0",
        "mechanism": "ladder",
        **{f"mechanism-ladder-{name}": value for name, value in LADDER.items()},
    }
    page = client.post(address, given).content.decode()
    assert "Character 18: Expected prediction, label, weight or a function" in page
    client.post(address, given | {"metric-expression-loss": LOSS})
    board = Competition.objects.get(slug="delays").current_round.board
    assert board.metric_parameters == {"loss": LOSS, "low": "0", "high": "3", "unit": "minutes"}
