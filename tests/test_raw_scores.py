"""A raw score on the hidden rows is nowhere: it is looked for by its value, in every spelling.

Here in this process, with every exception that may come between the vault and the ledger; with real
workers, Redis and files in `tests/servers/test_raw_scores.py`.
"""

from __future__ import annotations

import base64
import gzip
import json
import logging
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, default_storage
from django.db import DatabaseError, OperationalError
from django.http import FileResponse, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.log import AdminEmailHandler
from django.views.debug import ExceptionReporter
from pytest_django import Settings

from leaderboard import organize, tasks, vault
from leaderboard.ledger import answers
from leaderboard.models import Competition, Status, Submission
from leaderboard.pipeline import intake, release
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.ladder import Ladder
from tests import needles
from tests.cast import World, make_competition, upload
from tests.needles import Needles
from tests.routes import all_routes
from tests.walking import make_stage
from tests.web.pages import browser

SCHEMA = {"id_column": "id", "columns": [{"name": "label", "kind": "number"}]}
# Labels that occur nowhere else, and distances from them that make an odd mean.
LABELS = [round(37.123457 + 0.731 * row, 6) for row in range(40)]


def guesses(off: float) -> bytes:
    """A file that is wrong by about so much in every row."""
    lines = [f"r{row},{label + off + 0.0137 * row:.9f}" for row, label in enumerate(LABELS)]
    return ("id,label\n" + "\n".join(lines) + "\n").encode()


def solution() -> bytes:
    lines = [
        f"r{row},{label},{'Public' if row < 8 else 'Private'}" for row, label in enumerate(LABELS)
    ]
    return ("id,label,Usage\n" + "\n".join(lines) + "\n").encode()


@pytest.fixture
def own_storage(settings: Settings) -> None:
    """Without the files of other tests, which are full of numbers."""
    settings.STORAGES = dict(settings.STORAGES)


@pytest.fixture
def numbers(own_storage: None, world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The cast with a competition of numbers, scored by their distance, on two boards."""
    with monkeypatch.context() as patched:
        patched.setattr("tests.cast.solution", lambda rows, public: solution())
        world.digits = make_competition(
            "numbers",
            world.organizer,
            schema=SCHEMA,
            metric="mae",
            metric_parameters={"clip": "100"},
        )
    organize.return_to_draft(world.digits, by=world.organizer)
    organize.add_board(
        world.digits.current_round,
        by=world.organizer,
        metric="mae",
        metric_parameters={"clip": "100"},
        mechanism="ladder",
        mechanism_parameters={"steps": "10", "confidence": "0.95"},
    )
    file = upload(solution(), "solution.csv")
    organize.install_solution(world.digits.current_round, file, by=world.organizer)
    organize.open_competition(world.digits, by=world.organizer)
    world.digits.refresh_from_db()
    return world


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Measurement]:
    """What the vault has said, for the test's eyes."""
    said: list[Measurement] = []
    real = vault.measure

    def measure(*args: Any, **kwargs: Any) -> vault.Measured:
        found = real(*args, **kwargs)
        said.append(found.measurement)
        return found

    monkeypatch.setattr(vault, "measure", measure)
    return said


def raw(measured: list[Measurement]) -> Needles:
    """What the vault said of the competition of numbers: the others' counts are small."""
    found = Needles(())
    for each in measured:
        if each.holdout.whole > 10**6:
            found += needles.of_measurement(each)
    assert found.all
    return found


def database() -> bytes:
    """Every column of every row, as text and, where it is bytes, as it is."""
    parts: list[bytes] = []
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.values_list():
            parts += [bytes(value) for value in row if isinstance(value, (bytes, memoryview))]
            parts.append(repr(row).encode())
            parts += [struct.pack("<d", value) for value in row if isinstance(value, float)]
    return b"\n".join(parts)


def files(storage: Storage = default_storage, folder: str = "") -> bytes:
    """Everything that is stored, with its names, but for the participants' own files."""
    folders, names = storage.listdir(folder)
    parts = [files(storage, f"{folder}{each}/") for each in folders if each != "submissions"]
    for name in names:
        with storage.open(f"{folder}{name}", "rb") as file:
            parts += [name.encode(), file.read()]
    return b"\n".join(parts)


LABEL = needles.of_text(str(LABELS[20]))


def test_the_search_finds_a_score_however_it_is_written() -> None:
    mean = Mean(units=123_456_789, rows=1000, resolution=300_000)
    value = mean.units / mean.whole
    planted: list[bytes] = [
        str(value).encode(),
        f"{value:.4f}".encode(),
        f"score {100 * value:.2f} %".encode(),
        f"{1 - value:.6f}".encode(),
        b"units=123456789,",
        struct.pack("<d", value),
        pickle.dumps({"loss": value}),
        pickle.dumps(mean.units),
        base64.b64encode(b"..." + struct.pack("<d", value)),
        gzip.compress(json.dumps({"loss": value}).encode()),
        json.dumps(base64.b64encode(gzip.compress(repr(value).encode())).decode()).encode(),
        struct.pack(">d", value).hex().encode(),
    ]
    for blob in planted:
        assert needles.of_mean(mean).found_in(b"some bytes before " + blob), blob
    assert not needles.of_mean(mean).found_in(b"0.41 0.4116 " + bytes(range(256)))


def test_raw_scores_and_labels_are_in_no_column_file_log_line_or_page(
    numbers: World, measured: list[Measurement], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    competition = numbers.digits
    stage = make_stage(numbers)
    looked_for = raw(measured) + LABEL
    roles = ("participant", "organizer", "operator")
    pages = [
        stage.ask(role, "GET", route).response
        for route in all_routes()
        for role in (roles[1:] if route.is_of_organizers else roles)
    ]
    shown = b"".join({_content(page) for page in pages})
    for place, blob in (
        ("the database", database()),
        ("the files", files()),
        ("the log", caplog.text.encode()),
        ("the pages", shown),
    ):
        assert looked_for.found_in(blob) == [], place
    assert Submission.objects.filter(team__competition=competition, status="released").exists()


def _content(page: HttpResponseBase) -> bytes:
    """What a page says; files of the data page are not made by us."""
    if isinstance(page, StreamingHttpResponse) and not isinstance(page, FileResponse):
        return page.getvalue()
    return page.content if isinstance(page, HttpResponse) else b""


# --- With exceptions that carry it ----------------------------------------------------------------


def _saying(error: type[Exception], measured: list[Measurement]) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> Any:
        mean = measured[-1].holdout
        value = mean.units / mean.whole  # a local of this frame, too
        raise error(f"units {mean.units}, loss {value!r}, label {LABELS[20]}")

    return fail


PLACES: dict[str, tuple[Any, str, type[Exception]]] = {
    "in the mechanism": (Ladder, "step", ValueError),
    "in the question": (Ladder, "question", ArithmeticError),
    "when the entry is written": (answers, "add_entry", DatabaseError),
    "when the state is written": (answers, "save_heads", OperationalError),
    "when the submission ends": (release, "update_row", RuntimeError),
}


@pytest.fixture
def _mails_to_admins(settings: Any) -> Iterator[None]:
    """As Django would send them, with its page for debugging."""
    settings.ADMINS = [("operator", "operator@example.org")]
    handler = AdminEmailHandler(include_html=True)
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)


@pytest.mark.usefixtures("_mails_to_admins")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fails_again", [False, True])
def test_an_exception_that_carries_a_score_does_not_get_out(
    place: str,
    fails_again: bool,
    numbers: World,
    measured: list[Measurement],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: Any,
) -> None:
    """Not into the row, a log line, a mail, Celery's result, nor Django's page for debugging; also
    where writing the failure down fails in its turn."""
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG)
    submission = numbers.submit(numbers.join(numbers.alice), guesses(11))
    owner, name, error = PLACES[place]
    monkeypatch.setattr(owner, name, _saying(error, measured))
    if fails_again:
        monkeypatch.setattr(tasks, "_held", _saying(RuntimeError, measured))
    result = tasks.score_submission.apply(kwargs={"submission_id": submission.pk})
    submission.refresh_from_db()
    assert submission.status in {Status.FAILED, Status.QUEUED, Status.SCORING}
    looked_for = raw(measured) + LABEL
    parts = [database(), caplog.text.encode(), repr(result.result).encode()]
    parts += [str(result.traceback).encode()]
    parts += [str(each.message()).encode() for each in mail.outbox]
    parts += [record.getMessage().encode() for record in caplog.records]
    if isinstance(result.result, BaseException):
        parts.append(_debug_page(result.result))
    assert looked_for.found_in(b"\n".join(parts)) == []


def _debug_page(error: BaseException) -> bytes:
    reporter = ExceptionReporter(None, type(error), error, error.__traceback__)
    return (reporter.get_traceback_html() + reporter.get_traceback_text()).encode()


@pytest.mark.usefixtures("_mails_to_admins")
def test_not_even_a_worker_inside_a_request_shows_it_on_the_page_for_debugging(
    numbers: World,
    measured: list[Measurement],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: Any,
) -> None:
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG)
    numbers.join(numbers.alice)
    monkeypatch.setattr(Ladder, "step", _saying(ValueError, measured))
    monkeypatch.setattr(tasks, "_failure", _saying(RuntimeError, measured))
    submit = intake.submit

    def at_once(**given: Any) -> Submission:
        sent = submit(**given)
        tasks.score_submission(submission_id=sent.pk)
        return sent

    monkeypatch.setattr(intake, "submit", at_once)
    client = browser(numbers.alice)
    client.raise_request_exception = False
    page = client.post("/c/numbers/submit/", {"file": upload(guesses(11))})
    assert page.status_code == 500
    assert b"Traceback" in page.content
    parts = [page.content, caplog.text.encode(), *(str(m.message()).encode() for m in mail.outbox)]
    assert (raw(measured) + LABEL).found_in(b"\n".join(parts)) == []
    assert Competition.objects.filter(slug="numbers").exists()


def test_a_planted_score_is_found_where_we_look(
    numbers: World, measured: list[Measurement], caplog: pytest.LogCaptureFixture
) -> None:
    """So that the tests above are not empty."""
    numbers.score(numbers.join(numbers.alice), guesses(11))
    mean = measured[-1].holdout
    Submission.objects.update(message=f"got {mean.units / mean.whole:.7f}")
    assert raw(measured).found_in(database())
    default_storage.save("vault/planted", ContentFile(pickle.dumps(mean.units)))
    try:
        assert raw(measured).found_in(files())
    finally:
        default_storage.delete("vault/planted")
    logging.getLogger("planted").warning("loss %s", mean.units / mean.whole)
    assert raw(measured).found_in(caplog.text.encode())
