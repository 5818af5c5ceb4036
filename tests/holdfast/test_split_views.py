"""A thousand servers that show two people two logs; see `split_views`."""

from tests.holdfast.split_views import play

VIEWS = 1000


def test_with_one_witness_every_split_view_is_noticed() -> None:
    missed = [seed for seed in range(VIEWS) if not play(seed, witnessed=True)]
    assert missed == []


def test_nobody_is_accused_by_an_honest_log() -> None:
    accused = [play(seed, witnessed=True, lies=False) for seed in range(VIEWS // 10)]
    assert set(accused) == {""}
