"""Stored states are exactly what was written, or are refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import StateError
from scoring.mechanisms.base import Answer, HoldoutState, TeamState
from scoring.mechanisms.codec import decode, encode

HOLDOUT = HoldoutState(9, 4, 18.4, 3, 2)
TEAM = TeamState(best=3, last=5, share_left=1)
ANSWER = Answer("corrected", 3, 4, 20, 0.1, 0.025, True, 9)


@pytest.mark.parametrize("value", [HOLDOUT, TEAM, ANSWER, HoldoutState(), TeamState()])
def test_a_stored_value_comes_back(value: HoldoutState | TeamState | Answer) -> None:
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


@given(st.floats(0, 1e12))
def test_a_logarithm_comes_back_to_the_last_bit(log_alphabets: float) -> None:
    state = HoldoutState(log_alphabets=log_alphabets)
    assert decode(HoldoutState, json.loads(json.dumps(encode(state)))) == state


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"version": None},
        {"type": "team"},
        {"asked": -1},
        {"asked": 3},
        {"asked": 9.0},
        {"asked": True},
        {"asked": "9"},
        {"firings": 5},
        {"log_alphabets": 18},
        {"log_alphabets": float("nan")},
        {"log_alphabets": -0.5},
        {"budget_left": -1},
        {"extra": 1},
    ],
)
def test_anything_off_in_a_holdout_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        decode(HoldoutState, encode(HOLDOUT) | change)


@pytest.mark.parametrize("key", ["version", "type", "asked", "budget_left"])
def test_a_missing_key_is_refused(key: str) -> None:
    data = encode(HOLDOUT)
    del data[key]
    with pytest.raises(StateError):
        decode(HoldoutState, data)


@pytest.mark.parametrize(
    "change", [{"best": 6}, {"best": None}, {"last": None}, {"share_left": -1}, {"best": 2.0}]
)
def test_anything_off_in_a_team_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        decode(TeamState, encode(TEAM) | change)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "maybe"},
        {"kind": []},
        {"level": 21},
        {"level": True},
        {"reference_level": -1},
        {"steps": 0},
        {"width": float("inf")},
        {"width": 1},
        {"tolerance": -0.1},
        {"counted": 1},
        {"asked": 0},
        {"certificate": 0.1},
    ],
)
def test_anything_off_in_an_answer_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        decode(Answer, encode(ANSWER) | change)


@pytest.mark.parametrize("data", [None, [], "{}", 3])
def test_what_is_not_an_object_is_refused(data: object) -> None:
    with pytest.raises(StateError):
        decode(TeamState, data)


def test_a_certificate_is_the_sum_below_one_half() -> None:
    assert Answer("pass", 1, None, 2, 0.25, 0.125, True, 1).certificate == 0.375
    assert Answer("pass", 1, None, 2, 0.25, 0.25, True, 1).certificate is None
