"""A real site with its demo, and real browsers that visit it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    FloatRect,
    Page,
    sync_playwright,
)

from leaderboard.operate.demo import datasets
from tests.servers.deployment import ROOT
from tests.servers.embedded import Embedded, started_before

ARTIFACTS = ROOT / "artifacts" / "screenshots"
AXE = ROOT / "tests" / "web" / "vendor" / "axe-core" / "axe.min.js"
FLAGS = [
    *("--disable-gpu", "--disable-quic", "--disable-sync", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
]
WIDE = {"viewport": {"width": 1280, "height": 900}}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
PATIENCE_MS = 120_000  # on a busy machine
LONG = 10_000  # pixels
NewPage = Callable[..., Page]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Start the platform as `make run` does, with the demo that an earlier start has made."""
    with tempfile.TemporaryDirectory(prefix="holdfast-browsed-") as name:
        directory = shutil.copytree(started_before(tmp_path_factory), Path(name) / "var")
        with Embedded(directory) as site:
            site.wait_until_ready()
            yield site


@pytest.fixture(scope="package")
def address(site: Embedded) -> str:
    return f"http://localhost:{site.port}"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start Chromium: the one that was named, or found on PATH, or Playwright's own."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[NewPage]:
    """Open pages in browsers of their own. A script's error or a blocked resource fails the test.

    An answer that is an error is not one of the page's: browsers write those to the same console.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    def open_page(**options: Any) -> Page:
        context = browser.new_context(base_url=address, **{**WIDE, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="package")
def passwords(site: Embedded) -> dict[str, str]:
    """Read the demo accounts' passwords by name."""
    lines = (site.directory / "demo-accounts.txt").read_text().splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def digits_file(wrong: int) -> bytes:
    """Write predictions for the digits that err on the first `wrong` rows."""
    labels = datasets.digits().solution[["id", "label"]].copy()
    labels.loc[labels.index[:wrong], "label"] = (
        labels["label"][:wrong].astype(int).add(1).mod(10).astype(str)
    )
    return labels.to_csv(index=False).encode()


def broken_file() -> bytes:
    """Write predictions for the digits with an unknown label in line 18."""
    lines = digits_file(0).decode().splitlines()
    lines[17] = lines[17].split(",")[0] + ",cat"
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(scope="package")
def alice(site: Embedded, passwords: dict[str, str]) -> dict[str, int]:
    """Let alice join both competitions and submit; return her submissions' numbers by status."""
    with site.client() as client:
        who = {"username": "alice", "password": passwords["alice"]}
        token = client.post("/api/v1/auth/login/", json=who).json()["token"]
        client.headers["Authorization"] = f"Token {token}"
        for slug in ("digits", "breast-cancer"):
            join = {"accept_rules": True, "team_name": "Alice and friends"}
            answer = client.post(f"/api/v1/competitions/{slug}/join/", json=join)
            assert answer.status_code == 201, answer.text
        return {
            "released": _submit(client, digits_file(60)),
            "rejected": _submit(client, broken_file()),
        }


def _submit(client: httpx.Client, content: bytes) -> int:
    path = "/api/v1/competitions/digits/submissions/"
    answer = client.post(path, files={"file": ("mine.csv", content)})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["number"]
    return number


def sign_in(page: Page, name: str, password: str) -> None:
    """Sign in by the form."""
    page.goto("/account/login/")
    page.get_by_label("Username or email").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/")


def picture(page: Page, name: str) -> None:
    """Keep a screenshot of the whole page, of a very long one its beginning.

    With all of a phone's pixels, or with all that the API has, it would take longest.
    """
    root = "document.documentElement"
    width, height = page.evaluate(f"() => [{root}.clientWidth, {root}.scrollHeight]")
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": min(height, LONG)}
    file = ARTIFACTS / f"{name}.png"
    page.screenshot(path=file, full_page=True, clip=clip, scale="css", timeout=PATIENCE_MS)
