"""Pages that show everybody the same are compressed, no others."""

import gzip

import pytest
from django.test import Client

from tests.cast import World

GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def alice(world: World) -> Client:
    client = Client(headers=GZIP)
    client.force_login(world.alice)
    return client


@pytest.mark.parametrize("path", ["/", "/how-it-works/", "/c/digits/", "/c/digits/leaderboard/"])
def test_public_pages_are_compressed(path: str, alice: Client) -> None:
    answer = alice.get(path)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert b"</html>" in gzip.decompress(answer.content)
    assert "Content-Encoding" not in alice.get(path, headers={"Accept-Encoding": ""}).headers


@pytest.mark.parametrize(
    "path",
    ["/account/", "/account/login/", "/c/digits/team/", "/c/digits/submissions/", "/api/v1/me/"],
)
def test_other_pages_are_not_compressed(path: str, alice: Client) -> None:
    assert "Content-Encoding" not in alice.get(path).headers


def test_the_same_page_has_another_length_each_time(alice: Client) -> None:
    lengths = {len(alice.get("/how-it-works/").content) for _ in range(20)}
    assert len(lengths) > 5
