"""Every page, wide and narrow, light and dark: looks, fits and is accessible.

What fits depends on the width, and contrast on the colours: two variants have both of each.
"""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import AXE, PHONE, WIDE, NewPage, picture, sign_in

VARIANTS: dict[str, dict[str, Any]] = {
    "wide-light": {**WIDE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}
VISITORS_PAGES = {
    "home": "/",
    "how-it-works": "/how-it-works/",
    "overview": "/c/digits/",
    "overview-thresholdout": "/c/breast-cancer/",
    "rules-visitor": "/c/digits/rules/",
    "board": "/c/digits/leaderboard/",
    "board-thresholdout": "/c/breast-cancer/leaderboard/",
    "ledger": "/c/digits/ledger/",
    "sign-in": "/account/login/",
    "sign-up": "/account/signup/",
    "reset-password": "/account/password/reset/",
    "api-docs": "/api/v1/docs/",
    "not-found": "/c/nothing/",
}
PARTICIPANTS_PAGES = {
    "home-signed-in": "/",
    "data": "/c/digits/data/",
    "rules": "/c/digits/rules/",
    "board-mine": "/c/digits/leaderboard/",
    "submit": "/c/digits/submit/",
    "submissions": "/c/digits/submissions/",
    "submission-released": "/c/digits/submissions/1/",
    "submission-rejected": "/c/digits/submissions/2/",
    "team": "/c/digits/team/",
    "account": "/account/",
}
ORGANIZERS_PAGES = {
    "organize": "/organize/",
    "organize-new": "/organize/new/",
    "organize-run": "/organize/digits/",
    "organize-budget": "/organize/digits/budget/",
    "organize-submissions": "/organize/digits/submissions/",
    "organize-teams": "/organize/digits/teams/",
    "organize-settings": "/organize/digits/settings/",
    "organize-files": "/organize/digits/data/files/",
    "organize-rounds": "/organize/digits/rounds/",
    "organize-people": "/organize/digits/people/organizers/",
    "organize-audit": "/organize/digits/audit/",
    "organize-revision": "/organize/digits/data/solution/revision/",
}

# Screenshots and axe bring styles of their own, which the pages' policy would refuse.
TOOLS = {"bypass_csp": True}


def visit(page: Page, name: str, path: str, variant: str) -> list[str]:
    """Open a page, keep its picture, and return what is wrong with it."""
    page.goto(path)
    picture(page, f"{name}-{variant}")
    return [f"{name}: {problem}" for problem in (*overflow(page), *violations(page))]


def overflow(page: Page) -> list[str]:
    """Return what scrolls sideways: the page, or a table of it.

    Prediction files, the API's fields and what organizers write are as wide as they are.
    """
    wider: int = page.evaluate(
        "() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    )
    tables: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.scroll[aria-label]')]"
        ".filter(each => each.querySelector(':scope > table:not(.file, .api-fields)'))"
        ".filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.ariaLabel)"
    )
    page_too = [f"{wider} px wider than the screen"] if wider > 0 else []
    return page_too + [f"table “{label}” scrolls sideways" for label in tables]


def violations(page: Page) -> list[str]:
    """Return what axe finds to be serious or critical."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run({ resultTypes: ['violations'] })")["violations"]
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_pages_for_everybody_fit_and_are_accessible(
    open_page: NewPage, alice: dict[str, int], variant: str
) -> None:
    page = open_page(**TOOLS, **VARIANTS[variant])
    wrong = [visit(page, name, path, variant) for name, path in VISITORS_PAGES.items()]
    assert [problem for problems in wrong for problem in problems] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_pages_for_participants_fit_and_are_accessible(
    open_page: NewPage, alice: dict[str, int], passwords: dict[str, str], variant: str
) -> None:
    assert alice == {"released": 1, "rejected": 2}
    page = open_page(**TOOLS, **VARIANTS[variant])
    sign_in(page, "alice", passwords["alice"])
    wrong = [visit(page, name, path, variant) for name, path in PARTICIPANTS_PAGES.items()]
    assert [problem for problems in wrong for problem in problems] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_pages_for_organizers_fit_and_are_accessible(
    open_page: NewPage, passwords: dict[str, str], variant: str
) -> None:
    page = open_page(**TOOLS, **VARIANTS[variant])
    sign_in(page, "organizer", passwords["organizer"])
    wrong = [visit(page, name, path, variant) for name, path in ORGANIZERS_PAGES.items()]
    assert [problem for problems in wrong for problem in problems] == []


def test_no_page_breaks_its_own_security_policy(
    open_page: NewPage, alice: dict[str, int], passwords: dict[str, str]
) -> None:
    """`open_page` fails where a page wants what its Content-Security-Policy refuses."""
    visitor, participant, organizer = open_page(), open_page(), open_page()
    sign_in(participant, "alice", passwords["alice"])
    sign_in(organizer, "organizer", passwords["organizer"])
    for page, paths in (
        (visitor, VISITORS_PAGES),
        (participant, PARTICIPANTS_PAGES),
        (organizer, ORGANIZERS_PAGES),
    ):
        for path in paths.values():
            page.goto(path)


def test_the_reader_chooses_between_light_and_dark(open_page: NewPage) -> None:
    page = open_page(color_scheme="light")
    page.goto("/")
    bright = background(page)
    page.get_by_role("button", name="Dark theme").click()
    assert background(page) < bright
    page.reload()
    assert background(page) < bright


def background(page: Page) -> int:
    """Return how bright the page is, from 0 to 765."""
    colour: str = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.strip("rgba()").split(",")[:3])
