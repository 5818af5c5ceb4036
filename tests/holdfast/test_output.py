"""Numbers and sizes as people read them."""

import pytest

from holdfast import output


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (7800, "7.8 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1 MB"),
        (52_428_800, "52.4 MB"),
        (10**9, "1 GB"),
        (10**18, "1,000,000 TB"),
    ],
)
def test_sizes_are_decimal(count: int, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(("count", "text"), [(1, "1 entry"), (1204, "1,204 entries")])
def test_a_number_agrees_with_its_noun(count: int, text: str) -> None:
    assert output.number(count, "entry", "entries") == text
