"""The hidden labels go in through memory and come out nowhere."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.test import Client

from leaderboard import organize
from leaderboard.models import Competition, Event, EventKind, Holdout, Round, User
from tests.cast import ROWS, World, active_holdout, make_competition, set_board, set_round, upload
from tests.console.conftest import SignIn
from tests.console.pages import at, send_solution, text
from tests.routes import all_routes
from tests.walking import Stage, kept_stage, make_stage

# A label that occurs nowhere else, to search for.
MARK = "73.19264815"


def _solution(wrong: str = "") -> bytes:
    lines = [f"r{row},{MARK if row == 20 else row},Private" for row in range(ROWS)]
    return ("id,label,Usage\n" + "\n".join(lines) + "\n" + wrong).encode()


@pytest.fixture
def draft(world: World) -> Competition:
    """Make a draft of numbers without a solution."""
    made = make_competition("numbers", world.organizer)
    Holdout.objects.filter(ledger__competition=made).update(retired_at="2026-01-01T00:00Z")
    Competition.objects.filter(pk=made.pk).update(opened_by_organizer_at=None)
    schema = {"id_column": "id", "columns": [{"name": "label", "kind": "number"}]}
    set_round(made, schema=schema)
    set_board(made, metric="mae", metric_parameters={"clip": "100"})
    return made


# The operator has the organizers' pages too, and others never get into the admin.
AREAS = {"organizer": "organize", "operator": "admin"}


def _addresses(stage: Stage, area: str) -> list[str]:
    """Return every address of the console or of the admin."""
    return [stage.path(route) for route in all_routes() if route.area == area]


def _stored() -> str:
    """Return all that the database holds."""
    rows = [list(model._default_manager.values()) for model in apps.get_models()]
    return repr(rows)


def test_labels_are_in_no_page_row_file_or_log_entry(
    draft: Competition, world: World, organizer: Client, sign_in: SignIn
) -> None:
    assert send_solution(organizer, draft, _solution()).status_code == 302
    world.digits = draft
    organize.open_competition(draft)
    stage = make_stage(world)
    for role, area in AREAS.items():
        client = sign_in(stage.people[role])
        pages = [client.get(address) for address in _addresses(stage, area)]
        assert not any(MARK in text(page) for page in pages)
    assert MARK not in _stored()
    for name in default_storage.listdir("vault")[1]:
        assert MARK.encode() not in default_storage.open(f"vault/{name}").read()


def test_the_sealed_file_is_neither_shown_nor_linked(world: World, sign_in: SignIn) -> None:
    stage = kept_stage(world)
    holdout = active_holdout(world.digits)
    sealed = str(holdout.sealed_solution.name)
    secret = base64.b64encode(bytes(holdout.sealed_secret)).decode()
    for role, area in AREAS.items():
        client = sign_in(stage.people[role])
        for address in _addresses(stage, area):
            page = text(client.get(address))
            links = re.findall(r'(?:href|src|action)="([^"]*)"', page)
            assert not any("vault" in link or sealed in link for link in links), address
            assert sealed not in page
            assert secret not in page


def test_a_large_solution_never_touches_the_disk(
    draft: Competition,
    organizer: Client,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    seen: list[object] = []

    def install(round: Round, file: Any, *, by: User | None) -> Holdout:
        seen.append(file)
        assert not list(tmp_path.iterdir())
        return installed(round, file, by=by)

    installed = organize.install_solution
    monkeypatch.setattr(organize, "install_solution", install)
    assert send_solution(organizer, draft, _solution()).status_code == 302
    assert [type(file) for file in seen] == [InMemoryUploadedFile]


def test_the_upload_is_protected_against_forged_requests(draft: Competition, world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.organizer)
    assert send_solution(client, draft, _solution()).status_code == 403
    assert draft.current_round.active_holdout is None
    page = text(client.get(at("solution", draft)))
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[0]
    form = {"solution": upload(_solution(), "s.csv"), "csrfmiddlewaretoken": token}
    assert client.post(at("solution", draft), form).status_code == 302


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_solution("r99,1,Private\n"), "r99"),
        (_solution().replace(b"r5,5,Private", b"r5,five,Private"), "five"),
        (_solution().replace(b"r5,5,Private", b"r5,5,Pubic"), "Pubic"),
        (_solution().replace(b"r5,5,Private", b"r5,,Private"), "empty"),
        (_solution().replace(b"r5,5,Private\n", b""), "r5"),
        (_solution().replace(b"r5,", b"r6,"), "r6"),
        (_solution().replace(b"id,label", b"id,lable"), "lable"),
        (_solution().replace(b"Private", b"Public"), "nothing to hold out"),
        (b"\x89PNG\r\n\x1a\n\x00", "image"),
    ],
)
def test_a_bad_solution_is_explained_and_not_stored(
    content: bytes, said: str, draft: Competition, organizer: Client
) -> None:
    events = Event.objects.count()
    page = text(send_solution(organizer, draft, content))
    assert "This file can&#x27;t be the solution. Nothing was stored." in page
    table = page.split('class="problems"', 1)[1]
    assert said in table
    assert draft.current_round.active_holdout is None
    assert MARK not in _stored()
    assert Event.objects.count() == events


def test_an_empty_solution_is_refused(draft: Competition, organizer: Client) -> None:
    assert "empty" in text(send_solution(organizer, draft, b""))


def test_a_solution_that_does_not_fit_the_metric_is_refused(
    draft: Competition, organizer: Client
) -> None:
    set_board(draft, metric="roc_auc", metric_parameters={})
    page = text(send_solution(organizer, draft, _solution()))
    assert "ROC AUC, line 4, column <code>label</code>: labels are 0 or 1" in page
    assert draft.current_round.active_holdout is None


def test_success_shows_counts_only(draft: Competition, organizer: Client) -> None:
    page = send_solution(organizer, draft, _solution()).headers["Location"]
    said = "0 Public, 40 Private, 0 Final, 0 Ignored rows"
    assert said in text(organizer.get(page))
    sealed = Event.objects.filter(kind=EventKind.SOLUTION_SEALED, competition=draft).last()
    assert sealed is not None
    assert sealed.data.keys() == {"version"}


def test_no_raw_score_is_shown(world: World, organizer: Client) -> None:
    """Three errors on 32 private rows are a loss of 0.09375, which the grid rounds to 0.10."""
    addresses = _addresses(kept_stage(world), "organize")
    shown = "".join(text(organizer.get(address)) for address in addresses)
    assert "0.90" in shown
    assert not re.search(r"0\.?0937|0\.906|(?<!\d)90\.6|(?<!\d)9\.37", shown)
