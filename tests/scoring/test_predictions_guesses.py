"""What the cells of a sample suggest, and what they leave open for the organizer to say."""

import pytest

from scoring.errors import SolutionError
from scoring.predictions import Guess, Proposal, propose, propose_with

ZERO_OR_ONE = Guess("label", ("0", "1"))


def proposal(*cells: str, name: str = "y") -> Proposal:
    rows = "".join(f'{row},"{cell}"\n' for row, cell in enumerate(cells))
    return propose(f"id,{name}\n{rows}".encode())


@pytest.mark.parametrize(
    ("cell", "guesses"),
    [
        ("0", (ZERO_OR_ONE, Guess("probability"), Guess("number"))),
        ("1", (ZERO_OR_ONE, Guess("probability"), Guess("number"))),
        ("0.0", (Guess("probability"), Guess("number"))),
        ("1.00", (Guess("probability"), Guess("number"))),
        ("7", (Guess("number"), Guess("label", ("7",)))),
        (
            "a b c",
            (
                Guess("ranking", ("a", "b", "c"), " ", 3),
                Guess("labels", ("a", "b", "c")),
                Guess("label", ("a b c",)),
            ),
        ),
        ("guinea pig", (Guess("label", ("guinea pig",)), Guess("labels", ("guinea", "pig")))),
    ],
)
def test_one_value_in_every_row_leaves_open_what_it_is(
    cell: str, guesses: tuple[Guess, ...]
) -> None:
    (column,) = proposal(cell, cell, cell).columns
    assert column.guesses == guesses
    assert (column.is_open, column.only) == (True, cell)


@pytest.mark.parametrize(
    ("cell", "kind"), [("0.5", "probability"), ("180921.2", "number"), ("-3.5", "number")]
)
def test_one_number_that_says_enough_is_not_asked_about(cell: str, kind: str) -> None:
    (column,) = proposal(cell, cell).columns
    assert column.guesses == (Guess(kind),)  # type: ignore[arg-type]  # a kind


@pytest.mark.parametrize("cells", [("0", "1"), ("1", "4", "2"), ("0.1", "0.9"), ("cat", "dog")])
def test_cells_that_differ_are_not_asked_about(cells: tuple[str, ...]) -> None:
    (column,) = proposal(*cells).columns
    assert not column.is_open
    assert column.only is None


def test_another_table_shows_the_other_classes() -> None:
    table = b'lat,y\n1,"Paris, TX"\n2,Rome\n3,"New York, NY"\n4,Bonn\n5,Oslo\n6,Riga\n7,Kiel\n'
    (column,) = propose_with(proposal("New York, NY", "New York, NY"), table).columns
    expected = ("Bonn", "Kiel", "New York, NY", "Oslo", "Paris, TX", "Riga", "Rome")
    assert column.guesses == (Guess("label", expected),)


def test_another_table_shows_that_zeros_are_amounts() -> None:
    (column,) = propose_with(proposal("0.0", "0.0"), b"y\n12.5\n99000\n").columns
    assert column.guesses == (Guess("number"),)


def test_true_labels_do_not_say_whether_zeros_are_labels_or_probabilities() -> None:
    (column,) = propose_with(proposal("0", "0"), b"y\n0\n1\n").columns
    assert column.guesses == (ZERO_OR_ONE, Guess("probability"), Guess("number"))


def test_probabilities_stay_probabilities_beside_true_labels() -> None:
    (column,) = propose_with(proposal("0.5", "0.5"), b"y\n0\n1\n").columns
    assert column.guesses == (Guess("probability"),)


def test_a_column_that_the_other_table_lacks_stays_as_it_was() -> None:
    both = propose(b"id,x,y\n1,0.5,cat\n2,0.5,cat\n")
    assert propose_with(both, b"y\ncat\ndog\n").columns[0] == both.columns[0]


def test_a_table_with_none_of_the_columns_is_refused() -> None:
    with pytest.raises(SolutionError) as caught:
        propose_with(proposal("cat"), b"id,animal\n1,dog\n")
    assert [each.code for each in caught.value.problems] == ["missing_column"]


def test_uneven_rows_of_another_table_are_passed_over() -> None:
    (column,) = propose_with(proposal("cat", "cat"), b"y,z\ndog\neel,1\n").columns
    assert column.guesses == (Guess("label", ("cat", "eel")),)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"<!doctype html><title>Sign in</title>", "not_csv"),
        (b"{id: 1, y: 2}", "not_csv"),
        (b"id;y\n1;0,5\n", "wrong_delimiter"),
        (b"id\ty\n1\t0.5\n", "wrong_delimiter"),
        (b"id\n1\n", "missing_column"),
    ],
)
def test_a_sample_that_is_no_table_with_commas_is_told_as_such(text: bytes, code: str) -> None:
    with pytest.raises(SolutionError) as caught:
        propose(text)
    assert [each.code for each in caught.value.problems] == [code]
