"""An organizer ends a competition, from closing it to the reveal; after all other pages."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage, sign_in
from tests.browser.test_every_page import TOOLS, VARIANTS, visit

ENDED_PAGES = {
    "overview-ended": "/c/breast-cancer/",
    "board-final": "/c/breast-cancer/leaderboard/",
    "board-final-released": "/c/breast-cancer/leaderboard/released/",
}


def close(page: Page) -> list[str]:
    """Close it early; return what is wrong with the page that asks."""
    page.goto("/organize/")
    page.get_by_role("link", name="Breast cancer").click()
    page.get_by_role("link", name="Finals", exact=True).click()
    page.get_by_role("link", name="Close it early").click()
    wrong = visit(page, "organize-end-close", page.url, "wide-light")
    page.get_by_role("button", name="Close it now").click()
    expect(page.get_by_text("The competition is closed.")).to_be_visible()
    return wrong


def wait_for_scores(page: Page) -> None:
    """Look again until the workers have measured every entry."""
    there = page.get_by_role("heading", name="All final scores are there")
    for _ in range(60):
        if there.is_visible():
            return
        page.wait_for_timeout(500)
        page.reload()
    expect(there).to_be_visible()


@pytest.fixture(scope="package")
def ends() -> dict[str, list[str]]:
    """Hold what was wrong with the pages on the way; filled once."""
    return {}


@pytest.fixture
def ended(
    open_page: NewPage,
    alice: dict[str, int],
    passwords: dict[str, str],
    ends: dict[str, list[str]],
) -> list[str]:
    """End breast cancer and reveal its final scores."""
    if "problems" not in ends:
        page = open_page(**TOOLS)
        sign_in(page, "organizer", passwords["organizer"])
        ends["problems"] = end(page)
    return ends["problems"]


def end(page: Page) -> list[str]:
    """Go the organizer's way; return what is wrong with its pages."""
    wrong = close(page)
    closed = page.url
    wrong += visit(page, "organize-end-closed", closed, "wide-light")
    page.get_by_role("button", name="Start the final scoring").click()
    expect(page.get_by_text("Submissions and selections are closed")).to_be_visible()
    wait_for_scores(page)
    wrong += visit(page, "organize-end-scored", closed, "wide-light")
    page.get_by_role("link", name="Reveal the final scores").click()
    wrong += visit(page, "organize-end-reveal", page.url, "wide-light")
    page.get_by_role("button", name="Reveal them now").click()
    expect(page.get_by_text("The final scores are revealed.")).to_be_visible()
    return wrong


def test_an_organizer_ends_a_competition_on_accessible_pages(ended: list[str]) -> None:
    assert ended == []


def test_everybody_sees_the_final_board_first(open_page: NewPage, ended: list[str]) -> None:
    page = open_page()
    page.goto("/c/breast-cancer/leaderboard/")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("baseline")
    page.get_by_role("link", name="During the competition").click()
    expect(page.get_by_role("link", name="Final scores")).to_be_visible()
    expect(page.get_by_role("region", name="Guarantee of this board")).to_be_visible()


@pytest.mark.parametrize("variant", VARIANTS)
def test_pages_of_an_ended_competition_fit_and_are_accessible(
    open_page: NewPage, ended: list[str], variant: str
) -> None:
    options: dict[str, Any] = {**TOOLS, **VARIANTS[variant]}
    page = open_page(**options)
    wrong = [visit(page, name, path, variant) for name, path in ENDED_PAGES.items()]
    assert [problem for problems in wrong for problem in problems] == []
