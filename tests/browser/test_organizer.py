"""What an organizer does in a browser that a test client can't: scripts of the set-up pages."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage, sign_in

pytestmark = pytest.mark.xdist_group("browser")


def test_metrics_are_found_by_name_and_by_initials(
    open_page: NewPage, passwords: dict[str, str]
) -> None:
    page = open_page()
    sign_in(page, "organizer", passwords["organizer"])
    page.goto("/organize/new/by-hand/")
    page.get_by_label("Title").fill("Kappas")
    page.get_by_label("Title").blur()
    page.get_by_label("Opens (UTC)").fill("2026-01-01T00:00")
    page.get_by_label("Closes (UTC)").fill("2099-01-01T00:00")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_label("Columns to predict").fill("grade: label: A, B, C")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("link", name="Scoring").click()
    finder = page.get_by_label("Find a metric")
    for words in ("quadratic", "QWK", "kappa quadratic"):
        finder.fill(words)
        expect(page.get_by_label("Quadratic weighted kappa")).to_be_visible()
        expect(page.get_by_label("Macro F1")).to_be_hidden()
    finder.fill("rmse")
    why = "Root mean squared error takes number; grade is a label."
    expect(page.get_by_text(why, exact=True)).to_be_visible()
    finder.fill("")
    expect(page.get_by_label("Macro F1")).to_be_visible()
