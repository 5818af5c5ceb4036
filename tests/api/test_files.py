"""Downloads: whole, in parts, resumed, unchanged."""

from typing import Any

import pytest

from tests.api.conftest import DIGITS, As
from tests.cast import World

CONTENT = b"x,label\n1,0\n"
URL = f"{DIGITS}files/train.csv/"


@pytest.fixture
def get(world: World, as_: As) -> Any:
    world.join(world.alice)
    client = as_(world.alice)
    return lambda **headers: client.get(URL, **headers)


def _content(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_a_file_comes_whole_with_its_checksum_and_name(get: Any) -> None:
    response = get()
    assert _content(response) == CONTENT
    assert response.headers["Content-Length"] == str(len(CONTENT))
    assert response.headers["Content-Disposition"] == 'attachment; filename="train.csv"'
    assert response.headers["Accept-Ranges"] == "bytes"
    assert len(response.headers["ETag"]) == 66


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=4-", 4, 11), ("bytes=0-3", 0, 3), ("bytes=-5", 7, 11), ("bytes=8-99", 8, 11)],
)
def test_a_part_is_the_part_that_is_asked_for(asked: str, first: int, last: int, get: Any) -> None:
    response = get(HTTP_RANGE=asked)
    assert response.status_code == 206
    assert _content(response) == CONTENT[first : last + 1]
    assert response.headers["Content-Range"] == f"bytes {first}-{last}/12"
    assert response.headers["Content-Length"] == str(last - first + 1)


@pytest.mark.parametrize("asked", ["bytes=5-3", "bytes=-", "lines=1-2", "bytes=0-1,3-4", "x"])
def test_a_range_that_means_nothing_gives_the_whole(asked: str, get: Any) -> None:
    response = get(HTTP_RANGE=asked)
    assert response.status_code == 200
    assert _content(response) == CONTENT


@pytest.mark.parametrize("asked", ["bytes=12-", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused(asked: str, get: Any) -> None:
    assert get(HTTP_RANGE=asked).status_code == 416


def test_a_download_of_an_older_version_starts_over(get: Any) -> None:
    etag = get().headers["ETag"]
    assert get(HTTP_RANGE="bytes=4-", HTTP_IF_RANGE=etag).status_code == 206
    assert get(HTTP_RANGE="bytes=4-", HTTP_IF_RANGE='"other"').status_code == 200


def test_an_unchanged_file_is_not_sent_again(get: Any) -> None:
    assert get(HTTP_IF_NONE_MATCH=get().headers["ETag"]).status_code == 304


def test_a_file_that_is_not_there_is_not_found(world: World, as_: As) -> None:
    world.join(world.alice)
    client = as_(world.alice)
    for name in ("test.csv", "..%2Ftrain.csv", "solution.csv"):
        assert client.get(f"{DIGITS}files/{name}/").status_code == 404
