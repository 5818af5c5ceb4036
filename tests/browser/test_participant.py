"""What a participant does, from signing up to the own row on the board."""

import gzip

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import NewPage, broken_file, digits_file, picture, sign_in


def csv_file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def sign_up(page: Page, name: str) -> None:
    page.goto("/account/signup/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Email").fill(f"{name}@example.org")
    page.get_by_label("Password", exact=True).fill("correct horse battery")
    page.get_by_label("Password (again)").fill("correct horse battery")
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def join(page: Page, team: str) -> None:
    page.goto("/c/digits/rules/")
    page.get_by_label("Team name").fill(team)
    page.get_by_label("I have read the rules and accept them").check()
    page.get_by_role("button", name="Join the competition").click()
    expect(page.get_by_text("You have joined").or_(page.get_by_text(team)).first).to_be_visible()


def upload(page: Page, content: bytes, message: str = "") -> None:
    page.goto("/c/digits/submit/")
    page.get_by_label("Prediction file").set_input_files(csv_file("mine.csv", content))
    page.get_by_label("Message").fill(message)
    page.get_by_role("button", name="Upload file").click()


def test_sign_up_join_submit_and_see_the_score_on_the_board(open_page: NewPage) -> None:
    page = open_page()
    sign_up(page, "carol")
    join(page, "Carol’s crew")
    upload(page, digits_file(wrong=36), "first try")
    page.wait_for_url("**/c/digits/submissions/1/")
    expect(page.get_by_text("New best: 0.97")).to_be_visible(timeout=30_000)
    picture(page, "journey-released")
    page.goto("/c/digits/leaderboard/")
    mine = page.get_by_role("row").filter(has_text="Carol’s crew")
    expect(mine).to_contain_text("0.97")
    expect(mine).to_contain_text("you")
    picture(page, "journey-board")


def test_a_rejected_file_names_line_column_and_what_was_expected(open_page: NewPage) -> None:
    page = open_page()
    sign_up(page, "dave")
    join(page, "Dave")
    upload(page, broken_file())
    problem = page.get_by_role("row").filter(has_text="cat")
    expect(problem).to_contain_text("18", timeout=30_000)
    expect(problem).to_contain_text("label")
    expect(problem).to_contain_text("0-9")
    page.goto("/c/digits/submit/")
    expect(page.get_by_text("20 of 20 left today")).to_be_visible()


def test_a_file_can_be_dropped(open_page: NewPage) -> None:
    page = open_page()
    sign_up(page, "erin")
    join(page, "Erin")
    page.goto("/c/digits/submit/")
    transfer = page.evaluate_handle(
        """content => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([content], "dropped.csv", { type: "text/csv" }));
          return transfer;
        }""",
        digits_file(wrong=200).decode(),
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_text("dropped.csv")).to_be_visible()
    page.get_by_role("button", name="Upload file").click()
    expect(page.get_by_text("New best")).to_be_visible(timeout=30_000)


def test_an_empty_file_is_refused_beside_the_field_and_counts_nothing(open_page: NewPage) -> None:
    page = open_page()
    sign_up(page, "frank")
    join(page, "Frank")
    upload(page, b"")
    expect(page.get_by_text("The file has no bytes in it")).to_be_visible()
    page.reload()
    expect(page.get_by_text("20 of 20 left today")).to_be_visible()


def test_everything_works_without_scripts(open_page: NewPage) -> None:
    page = open_page(java_script_enabled=False)
    sign_up(page, "grace")
    join(page, "Grace")
    upload(page, digits_file(wrong=120))
    expect(page.get_by_text("New best: 0.9")).to_be_visible(timeout=30_000)
    page.goto("/c/digits/leaderboard/")
    expect(page.get_by_role("row").filter(has_text="Grace")).to_contain_text("0.9")


def test_a_submission_can_be_made_by_keyboard_alone(
    open_page: NewPage, alice: dict[str, int], passwords: dict[str, str]
) -> None:
    page = open_page()
    sign_in(page, "alice", passwords["alice"])
    page.goto("/c/digits/submit/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    with page.expect_file_chooser() as chooser:
        tab_to(page, "input[type=file]")
        page.keyboard.press("Enter")
    chooser.value.set_files(csv_file("keys.csv", digits_file(wrong=61)))
    tab_to(page, "form.upload button")
    page.keyboard.press("Enter")
    expect(page.get_by_text("by more than 0.01")).to_be_visible(timeout=30_000)


def test_focus_is_visible_wherever_the_keyboard_goes(open_page: NewPage) -> None:
    page = open_page()
    page.goto("/c/digits/leaderboard/")
    unseen = []
    for _ in range(25):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            """() => {
              const element = document.activeElement;
              const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
              const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
              const seen = outlined || boxShadow !== "none" || element === document.body;
              return { name: element.outerHTML.slice(0, 120), seen };
            }"""
        )
        if not focused["seen"]:
            unseen.append(focused["name"])
    assert unseen == []


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} can't be reached by keyboard")


def test_a_file_is_checked_in_the_browser_in_the_servers_words(
    open_page: NewPage, alice: dict[str, int], passwords: dict[str, str]
) -> None:
    page = open_page()
    sign_in(page, "alice", passwords["alice"])
    page.goto("/c/digits/submit/")
    field, told = page.get_by_label("Prediction file"), page.locator(".checked")
    packed = gzip.compress(broken_file())
    field.set_input_files(csv_file("mine.csv.gz", packed))
    expect(told).to_contain_text("Line 18, column label: 'cat' is not one of 0-9.")
    field.set_input_files(csv_file("mine.csv", digits_file(wrong=60)))
    expect(told).to_contain_text(f"Same file as submission {alice['released']}")
    expect(told).to_contain_text("each id of the sample submission once")
    transfer = page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(50_000_001)], "large.csv"));
          return transfer;
        }"""
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_role("button", name="Upload file")).to_be_disabled()
