"""The pages show what is proposed and what is warned of, and take a proposal at a click."""

import numpy as np
import pytest
from django.test import Client

from leaderboard import organize
from leaderboard.models import Competition, FileRole
from tests.cast import World, make_draft, upload
from tests.console.pages import at, text


@pytest.fixture
def draft(world: World) -> Competition:
    """A draft with training labels in minutes."""
    made = make_draft("delays", world.organizer, 40)
    labels = np.random.default_rng(1).gamma(1.2, 20, 500).round(1)
    rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    file = upload(f"x,y\n{rows}".encode(), "train.csv")
    organize.add_file(made.current_round, file, role=FileRole.TRAIN)
    return made


def test_the_page_shows_proposals_with_their_reasons(organizer: Client, draft: Competition) -> None:
    page = text(organizer.get(at("scoring", draft)))
    assert "Proposed from your data" in page
    assert "of the errors of the best constant prediction" in page
    assert "60 are expected" in page


def test_a_proposal_is_taken_at_a_click(organizer: Client, draft: Competition) -> None:
    response = organizer.post(at("scoring-proposal", draft), follow=True)
    assert "The proposed values are saved." in text(response)
    board = Competition.objects.get(pk=draft.pk).current_round.board
    assert board.mechanism == "guard"
    assert board.metric_parameters["clip"] not in ("", "1")


def test_an_open_competition_gets_no_proposals(organizer: Client, world: World) -> None:
    page = text(organizer.get(at("scoring", world.digits)))
    assert "Proposed from your data" not in page


def test_warnings_stand_under_the_checklist_and_hold_nothing_up(
    organizer: Client, draft: Competition
) -> None:
    page = text(organizer.get(at("run", draft)))
    assert "The clip cuts too much" in page
    assert "Warnings, not errors" in page


def test_guard_is_chosen_before_anything_is(organizer: Client, world: World) -> None:
    made = organize.create_competition(
        slug="new", organizer=world.organizer, title="New", opens_at=world.round.opens_at
    )
    form = organizer.get(at("scoring", made)).context["form"]
    assert form["mechanism"].value() == "guard"
