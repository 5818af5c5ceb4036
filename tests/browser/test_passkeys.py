"""Passkeys, made and used by Chromium's virtual authenticator."""

from playwright.sync_api import expect

from tests.browser.conftest import NewPage, picture, sign_in

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


def test_a_passkey_is_made_once_and_signs_in_without_the_password(
    open_page: NewPage, passwords: dict[str, str]
) -> None:
    page = open_page()
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    sign_in(page, "bob", passwords["bob"])
    page.goto("/account/second-factor/webauthn/add/")
    page.get_by_label("Password").fill(passwords["bob"])
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("my laptop")
    page.get_by_label("Also sign in by it alone").check()
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.goto("/account/second-factor/")
    expect(page.get_by_text("my laptop").first).to_be_visible()
    picture(page, "second-factor")
    page.get_by_role("button", name="Sign out").click()
    page.goto("/account/login/")
    picture(page, "sign-in")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("link", name="bob")).to_be_visible()
