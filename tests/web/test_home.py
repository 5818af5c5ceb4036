"""The home page: two boards under attack for strangers, one's own competitions for members."""

import json
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from tests import ending
from tests.cast import World, set_round
from tests.web.pages import browser, text


def test_strangers_see_the_same_attack_on_two_boards(world: World) -> None:
    page = text(browser().get("/"))
    figures = json.loads((settings.BASE_DIR / "docs/figures/boosting.json").read_text())
    series = {each["label"]: each["y"] for each in figures["panels"][0]["series"]}
    for label in ("plain", "Thresholdout"):
        assert f"{100 - 100 * series[label][-1]:.1f} %" in page


def test_members_see_their_own_competitions_first(world: World) -> None:
    world.score(world.join(world.alice))
    page = text(browser(world.alice).get("/"))
    mine = page.split("Yours")[1].split("Others")[0]
    assert "1st of 1" in mine
    assert "uploads left today" in mine
    assert "random guesses" not in page


def test_who_has_joined_nothing_sees_what_there_is(world: World) -> None:
    page = text(browser(world.bob).get("/"))
    assert "Yours" not in page
    assert "Digits" in page


def test_the_final_place_stands_there_after_the_end(world: World) -> None:
    world.score(world.join(world.alice))
    ending.reveal(ending.score(world.digits))
    assert "final place 1st of 1" in text(browser(world.alice).get("/"))


def test_a_hidden_board_shows_no_place(world: World) -> None:
    world.score(world.join(world.alice))
    set_round(world.digits, is_hidden=True, team_limit=9, question_limit=900)
    assert "1st of" not in text(browser(world.alice).get("/"))


def test_the_last_day_of_a_competition_can_be_counted_down(world: World) -> None:
    set_round(world.digits, closes_at=timezone.now() + timedelta(hours=3))
    assert "data-countdown" in browser().get("/c/digits/").content.decode()
