"""Object storage: files go there and back, and where it is away everybody is told what it means."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from pytest_django import Settings

from leaderboard import tasks
from leaderboard.models import Status, Submission, Team
from leaderboard.operate.doctor import files
from leaderboard.platform.outages import StorageAway
from leaderboard.platform.storage.objects import ObjectStorage
from leaderboard.queries import quota
from tests.cast import World, predictions, upload
from tests.web.pages import text


class Bucket(ThreadingHTTPServer):
    """A bucket in memory behind S3's protocol, as far as it is used here. `refused` has the status
    that it answers to a method as long as it is away."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.refused: dict[str, int] = {}
        self.parts: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Bucket
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._give()

    def do_GET(self) -> None:
        self._give()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            size, _, rest = body.partition(b"\r\n")
            body = rest[: int(size.partition(b";")[0], 16)]
        if self._is_away():
            return
        self.server.objects[self.path] = body
        self._answer(200)

    def do_DELETE(self) -> None:
        if not self._is_away():
            self.server.objects.pop(self.path, None)
            self._answer(204)

    def _give(self) -> None:
        if self._is_away():
            return
        found = self.server.objects.get(self.path)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if found is not None and asked:
            self.server.parts.append(asked[0])
            self._answer(206, found[int(asked[1]) : int(asked[2]) + 1])
            return
        self._answer(404 if found is None else 200, found or b"")

    def _is_away(self) -> bool:
        status = self.server.refused.get(self.command, 0)
        if status:
            self._answer(status)
        return bool(status)

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.send_header("Last-Modified", "Sat, 21 Nov 2026 12:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests say nothing."""


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = Bucket()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def options(bucket: Bucket) -> dict[str, Any]:
    """The bucket as settings name one."""
    return {
        "bucket_name": "files",
        "endpoint_url": f"http://127.0.0.1:{bucket.server_port}",
        "access_key": "someone",
        "secret_key": "something",
        "region_name": "us-east-1",
        "file_overwrite": False,
    }


@pytest.fixture
def storage(options: dict[str, Any]) -> ObjectStorage:
    return ObjectStorage(**options)


@pytest.fixture
def in_the_bucket(options: dict[str, Any], settings: Settings) -> None:
    """The site keeps its files there."""
    backend = {"BACKEND": "leaderboard.platform.storage.objects.ObjectStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": backend}


@pytest.fixture
def world(in_the_bucket: None, world: World) -> World:
    """The cast, whose files are in the bucket; alice has joined."""
    world.join(world.alice)
    return world


@pytest.fixture
def alice(world: World) -> Client:
    client = Client(raise_request_exception=False, headers={"X-Request-ID": "request-1"})
    client.force_login(world.alice)
    return client


def told_once(caplog: pytest.LogCaptureFixture) -> bool:
    """Whether there is one line about the outage."""
    return [record.levelname for record in caplog.records].count("ERROR") == 1


def test_files_go_there_and_back(storage: ObjectStorage) -> None:
    name = storage.save("a/b.csv", ContentFile(b"id,label\n"))
    assert storage.exists(name)
    assert storage.size(name) == 9
    with storage.open(name) as file:
        assert file.read() == b"id,label\n"
    storage.delete(name)
    assert not storage.exists(name)


def test_a_file_that_is_not_there_is_missing_and_no_outage(storage: ObjectStorage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.open("a/b.csv")


@pytest.mark.parametrize("status", [403, 500, 503])
def test_a_storage_that_refuses_is_away(
    storage: ObjectStorage, bucket: Bucket, status: int
) -> None:
    bucket.refused = dict.fromkeys(("HEAD", "GET", "PUT", "DELETE"), status)
    for use in (storage.exists, storage.size, storage.open, storage.delete, storage.listdir):
        with pytest.raises(StorageAway):
            use("a/b.csv")
    with pytest.raises(StorageAway):
        storage.save("a/b.csv", ContentFile(b"id,label\n"))


def test_a_storage_that_nobody_hears_is_away(options: dict[str, Any]) -> None:
    with pytest.raises(StorageAway):
        ObjectStorage(**options | {"endpoint_url": "http://127.0.0.1:1"}).exists("a/b.csv")


def test_a_part_of_a_file_is_asked_of_the_storage_and_no_more(
    world: World, alice: Client, bucket: Bucket
) -> None:
    content = predictions()
    world.submit(Team.objects.get(), content)
    path = "/c/digits/submissions/1/file"
    part = alice.get(path, headers={"Range": "bytes=3-9"})
    assert (part.status_code, b"".join(part)) == (206, content[3:10])
    assert part["Content-Range"] == f"bytes 3-9/{len(content)}"
    assert bucket.parts == ["bytes=3-9"]
    assert b"".join(alice.get(path)) == content


def test_browsers_fetch_files_from_a_storage_that_they_can_reach(
    world: World,
    alice: Client,
    bucket: Bucket,
    options: dict[str, Any],
    settings: Settings,
) -> None:
    world.submit(Team.objects.get())
    backend = settings.STORAGES["default"] | {
        "OPTIONS": options | {"public_url": "https://files.example.org"}
    }
    settings.STORAGES = {**settings.STORAGES, "default": backend}
    answer = alice.get("/c/digits/submissions/1/file")
    assert answer.status_code == 302
    address = urlsplit(answer["Location"])
    assert (address.hostname, "no-store" in answer["Cache-Control"]) == ("files.example.org", True)
    assert {"X-Amz-Signature", "X-Amz-Expires"} <= parse_qs(address.query).keys()
    assert bucket.parts == []


@pytest.mark.parametrize("refused", ["HEAD", "PUT"])
def test_an_upload_to_the_api_is_refused_and_nothing_is_counted(
    world: World,
    alice: Client,
    bucket: Bucket,
    refused: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bucket.refused = {refused: 503}
    answer = alice.post("/api/v1/competitions/digits/submissions/", {"file": upload(predictions())})
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Content-Type"] == "application/problem+json"
    assert int(answer["Retry-After"]) > 0
    assert not Submission.objects.exists()
    assert quota(Team.objects.get()).daily_left == world.round.daily_limit
    assert told_once(caplog)


def test_an_upload_on_the_page_says_so_beside_the_form(
    alice: Client, bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.refused = {"PUT": 503}
    answer = alice.post("/c/digits/submit/", {"file": upload(predictions())})
    assert answer.status_code == 503
    assert "look first whether the file is listed" in text(answer)
    assert "Prediction file" in text(answer)
    assert not Submission.objects.exists()
    assert told_once(caplog)


@pytest.mark.parametrize("refused", ["HEAD", "GET"])
@pytest.mark.parametrize("part", [{}, {"Range": "bytes=2-"}])
def test_a_download_from_the_api_is_a_problem_before_it_begins(
    alice: Client,
    bucket: Bucket,
    refused: str,
    part: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    bucket.refused = {refused: 503}
    answer = alice.get("/api/v1/competitions/digits/files/train.csv/", headers=part)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert told_once(caplog)


@pytest.mark.parametrize("refused", ["HEAD", "GET"])
def test_a_download_on_the_page_is_a_page_that_says_when_to_come_back(
    alice: Client, bucket: Bucket, refused: str, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.refused = {refused: 503}
    answer = alice.get("/c/digits/data/train.csv")
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert "Try again in a minute" in text(answer)
    assert told_once(caplog)


def test_a_download_is_the_file(alice: Client) -> None:
    whole = alice.get("/api/v1/competitions/digits/files/train.csv/")
    part = alice.get("/api/v1/competitions/digits/files/train.csv/", headers={"Range": "bytes=2-"})
    assert b"".join(whole) == b"x,label\n1,0\n"
    assert b"".join(part) == b"label\n1,0\n"


def test_the_doctor_says_what_the_storage_answered(in_the_bucket: None, bucket: Bucket) -> None:
    bucket.refused = {"HEAD": 403}
    (finding,) = files.storage()
    assert "ClientError: An error occurred (403)" in finding.says


def test_a_submission_waits_for_the_storage_and_that_is_no_attempt(
    world: World, bucket: Bucket
) -> None:
    submission = world.submit(Team.objects.get())
    bucket.refused = {"GET": 503}
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert (submission.status, submission.attempts) == (Status.QUEUED, 0)
    bucket.refused = {}
    tasks.score_submission(submission_id=submission.pk)
    submission.refresh_from_db()
    assert submission.status == Status.RELEASED
