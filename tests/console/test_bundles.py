"""The pages of bundles: what is shown before anything is made, and what leaves."""

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.http import FileResponse
from django.test import Client
from django.urls import reverse

from leaderboard.models import Competition, Handover, User
from leaderboard.organize.bundles import waiting
from leaderboard.pipeline.handover import carry_out
from tests.bundles.files import YAML, archive, bundle
from tests.bundles.test_others import FILES as CODABENCH
from tests.cast import World, predictions, upload
from tests.console.conftest import SignIn
from tests.console.pages import at, text

NEW = "/organize/new/bundle/"


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    """Leave no bundle that waits for its draft."""
    yield
    for name in waiting_files():
        default_storage.delete(f"{waiting.FOLDER}/{name}")


def waiting_files() -> list[str]:
    is_there = default_storage.exists(waiting.FOLDER)
    return default_storage.listdir(waiting.FOLDER)[1] if is_there else []


def send(client: Client, file: BytesIO) -> Any:
    """Upload a bundle and return the page that shows what becomes of it."""
    return client.post(NEW, {"bundle": upload(file.getvalue(), "bundle.zip")})


def make(client: Client, shown: Any, **given: Any) -> Any:
    """Send the plan's form back."""
    form = shown.context["form"]
    return client.post(NEW, {"token": form.initial["token"], "slug": form.initial["slug"]} | given)


def received(response: Any) -> BytesIO:
    assert isinstance(response, FileResponse)
    return BytesIO(response.getvalue())


def test_what_becomes_of_a_bundle_is_shown_before_anything_is_made(
    world: World, organizer: Client
) -> None:
    shown = send(organizer, archive(CODABENCH))
    page = text(shown)
    assert "Nothing is made yet" in page
    assert "Not carried over: the Docker image." in page
    assert "The scoring program of task Development is never run" in page
    assert Competition.objects.count() == 1


def test_the_draft_is_made_of_what_was_shown_without_another_upload(
    world: World, organizer: Client
) -> None:
    answer = make(organizer, send(organizer, archive(bundle())), slug="other")
    made = Competition.objects.get(slug="other")
    assert answer.headers["Location"] == at("run", made)
    assert made.current_round.active_holdout is not None
    assert waiting_files() == []


def test_a_bundle_that_waits_is_sealed(world: World, organizer: Client) -> None:
    send(organizer, archive(bundle()))
    (name,) = waiting_files()
    with default_storage.open(f"{waiting.FOLDER}/{name}") as file:
        content = file.read()
    assert b"PK" not in content[:100]
    assert b"solution.csv" not in content


def test_nobody_else_opens_a_bundle_that_waits(
    world: World, organizer: Client, rival: User, sign_in: SignIn
) -> None:
    shown = send(organizer, archive(bundle()))
    assert "choose the file again" in text(make(sign_in(rival), shown))
    for token in ("", "x", "../../vault.00", "0.0", f"{'0' * 32}.{'0' * 64}"):
        page = organizer.post(NEW, {"token": token, "slug": "other"})
        assert page.status_code == 200
    assert Competition.objects.count() == 1


def test_what_is_wrong_stands_beside_the_file(world: World, organizer: Client) -> None:
    yaml = YAML.replace(b"title:", b"titel:").replace(b"daily_limit: 5", b"daily_limit: 0")
    page = text(send(organizer, archive(bundle(yaml=yaml))))
    assert "Did you mean “title”?" in page
    assert "holdfast.yaml, line 8" in page
    assert "This is no zip archive" in text(send(organizer, BytesIO(b"no zip")))
    assert Competition.objects.count() == 1


def test_labels_among_public_files_can_be_confirmed(world: World, organizer: Client) -> None:
    files = bundle() | {"data/train.csv": b"id,label,Usage\nr0,0,Public\n"}
    shown = send(organizer, archive(files))
    refused = make(organizer, shown)
    assert "looks like the solution" in text(refused)
    assert make(organizer, shown, sure="on").status_code == 302


def test_a_template_makes_a_draft(world: World, organizer: Client) -> None:
    answer = organizer.post(reverse("organize-new-template"), {"name": "binary"})
    assert answer.headers["Location"] == at(
        "settings", Competition.objects.get(slug="who-will-leave")
    )
    organizer.post(reverse("organize-new-template"), {"name": "../../etc"})
    assert Competition.objects.count() == 2


def test_the_bundle_is_downloaded(world: World, organizer: Client) -> None:
    answer = organizer.post(at("copies-bundle", world.digits))
    assert "digits.zip" in answer.headers["Content-Disposition"]
    with zipfile.ZipFile(received(answer)) as opened:
        assert "holdfast.yaml" in opened.namelist()


def test_who_only_looks_downloads_nothing(world: World, organizer: Client) -> None:
    for name in ("copies-bundle", "copies-archive"):
        assert organizer.get(at(name, world.digits)).headers["Location"] == at(
            "copies", world.digits
        )


def test_a_clone_is_made(world: World, organizer: Client) -> None:
    answer = organizer.post(at("copies", world.digits), {"slug": "digits-2"})
    assert answer.headers["Location"] == at("run", Competition.objects.get(slug="digits-2"))
    assert "already exists" in text(organizer.post(at("copies", world.digits), {"slug": "digits"}))


def test_an_archive_is_downloaded_and_moves(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice), predictions([10]))
    wrong = organizer.post(at("move", world.digits), {"destination": "x", "slug": "digits"})
    assert "64 digits" in text(wrong)
    unsure = organizer.post(at("move", world.digits), {"destination": "a" * 64, "slug": "x"})
    assert "Type “digits” to confirm" in text(unsure)
    organizer.post(at("move", world.digits), {"destination": "9" * 64, "slug": "digits"})
    assert "Workers are sealing" in text(organizer.get(at("move", world.digits)))
    carry_out(Handover.objects.get().pk)
    assert "The secrets are sealed to it" in text(organizer.get(at("move", world.digits)))
    with zipfile.ZipFile(received(organizer.post(at("copies-archive", world.digits)))) as opened:
        assert "secrets.box" in opened.namelist()
    assert "goes on at another installation" in text(organizer.get("/c/digits/"))
