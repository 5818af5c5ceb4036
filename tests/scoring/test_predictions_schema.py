"""Schemas: what may be one, and its JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ParameterError, Problem
from scoring.predictions import Column, Limits, Schema
from tests.scoring.files import CHANCE, DIGITS, SCHEMA

JSON = {
    "id_column": "id",
    "columns": [
        {"name": "label", "kind": "label", "classes": list("0123456789")},
        {"name": "p", "kind": "probability"},
        {"name": "price", "kind": "number"},
    ],
}


def test_a_schema_becomes_json_and_back() -> None:
    assert SCHEMA.to_json() == JSON
    assert Schema.from_json(JSON) == SCHEMA


def test_the_header_begins_with_the_id() -> None:
    assert SCHEMA.header == ("id", "label", "p", "price")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "A schema is a JSON object with id_column and columns."),
        ({}, '"columns" is missing.'),
        ({**JSON, "extra": 1}, '"extra" is not known here.'),
        ({**JSON, "columns": {}}, '"columns" is a list of columns.'),
        ({**JSON, "columns": []}, "A prediction file needs at least one column besides the id."),
        ({**JSON, "id_column": 7}, "A column's name is a text of one line."),
        (
            {**JSON, "columns": [{"name": "a", "kind": "image"}]},
            "`a`: a column is one of label, probability, number, labels, ranking, text.",
        ),
        (
            {**JSON, "columns": [{"name": "a", "kind": "text", "most": 1}]},
            "`a`: answers are of one run, or of 2 to 100.",
        ),
        (
            {**JSON, "columns": [{"name": "a", "kind": "label", "classes": "ab"}]},
            '"classes" is a list of texts.',
        ),
    ],
)
def test_other_json_is_refused_with_the_reason(data: object, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Schema.from_json(data)
    assert (caught.value.field, caught.value.message) == ("schema", message)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats()
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id_column", "columns", "name", "kind", "classes", "x"]),
            inner,
            max_size=4,
        )
    ),
)


@given(ANY_JSON)
def test_any_json_is_a_schema_or_refused(data: object) -> None:
    try:
        schema = Schema.from_json(data)
    except ParameterError:
        return
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("name", ["", " p", "p\n", "a" * 201, "Usage", "SPLIT", "\u202ep"])
def test_names_that_would_confuse_are_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        Column(name, "number")


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "a"), ("a", " "), ("a", "b" * 201)])
def test_classes_are_two_or_more_different_texts(classes: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError):
        Column("label", "label", classes)


def test_only_labels_have_classes() -> None:
    with pytest.raises(ParameterError, match="only label columns have classes"):
        Column("p", "probability", ("0", "1"))


def test_names_differ_by_more_than_case() -> None:
    with pytest.raises(ParameterError, match="differ by more than case"):
        Schema("P", (CHANCE,))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (DIGITS, "one of 0-9"),
        (Column("y", "label", ("0", "1")), "one of 0, 1"),
        (Column("y", "label", ("cat", "dog")), "one of cat, dog"),
        (
            Column("y", "label", tuple(f"c{i}" for i in range(100))),
            "one of 100 classes (c0, c1, c2, c3, c4, …, c99)",
        ),
        (CHANCE, "a number from 0 to 1"),
        (Column("y", "number"), "a finite number"),
        (
            Column("city", "label", ("New York, NY", "Rome")),
            "one of “New York, NY”, “Rome”",
        ),
    ],
)
def test_what_is_expected_is_a_short_phrase(column: Column, expected: str) -> None:
    assert Problem("empty_cell", **column.facts).expected == expected


def test_limits_are_positive() -> None:
    with pytest.raises(ParameterError, match="max_rows"):
        Limits(max_rows=0)
