"""Solutions: reading them, and keeping their labels to themselves."""

import copy
import io
import pickle
import zipfile

import numpy as np
import pytest

from scoring.errors import SolutionError
from scoring.predictions import Column, Counts, RowIds, Schema, Solution, Usage, read_solution
from tests.scoring.files import GOOD, IDS, ROW_IDS, SCHEMA, with_line


def with_usage(*usages: str, name: str = "Usage") -> str:
    """The good file with a usage for each row, the last one repeated."""
    lines = GOOD.splitlines()
    filled = [*usages, *[usages[-1]] * (len(IDS) - len(usages))]
    rows = [f"{line},{usage}" for line, usage in zip(lines[1:], filled, strict=True)]
    return "\n".join([f"{lines[0]},{name}", *rows])


def read(text: str) -> Solution:
    return read_solution(text.encode(), SCHEMA, ROW_IDS)


def codes(text: str) -> list[str]:
    with pytest.raises(SolutionError) as caught:
        read(text)
    return [each.code for each in caught.value.problems]


def test_without_a_usage_column_all_rows_are_private() -> None:
    assert read(GOOD).counts() == Counts(public=0, private=20, final=0, ignored=0)


@pytest.mark.parametrize("name", ["Usage", "usage", "USAGE", "split", "Split"])
def test_the_usage_column_has_two_names_in_any_case(name: str) -> None:
    solution = read(with_usage("Public", "private", "FINAL", "Ignored", "Private", name=name))
    assert solution.usage[:5].tolist() == [0, 1, 2, 3, 1]
    assert solution.counts() == Counts(public=1, private=17, final=1, ignored=1)


def test_rows_are_aligned_with_the_sample() -> None:
    lines = with_usage("Public", "Private").splitlines()
    solution = read("\n".join([lines[0], *reversed(lines[1:])]))
    assert solution.usage[:2].tolist() == [Usage.PUBLIC, Usage.PRIVATE]
    assert solution.columns["label"].tolist() == [int(each) % 10 for each in IDS]
    assert solution.columns["label"].dtype == np.int32
    assert solution.row_ids_digest == ROW_IDS.digest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (with_usage("Publik", "Private"), ["unknown_usage"]),
        (with_usage("", "Private"), ["unknown_usage"]),
        (with_usage("Public"), ["no_private_rows"]),
        (with_usage("Private", name="Use"), ["extra_column"]),
        (GOOD.replace("13,3,0.13,13.5\n", ""), ["missing_id"]),
        (GOOD + "13,3,0.13,13.5\n", ["duplicate_id"]),
        (GOOD + "99,3,0.13,13.5\n", ["unknown_id"]),
        (with_line(5, "13,ten,0.13,13.5"), ["unknown_label"]),
        (with_line(5, "13,3,2,13.5"), ["probability_out_of_range"]),
        (with_line(5, "13,3,0.13,nan"), ["missing_value"]),
        (with_line(5, "13,3,,13.5"), ["empty_cell"]),
        ("", ["file_empty"]),
    ],
)
def test_what_is_wrong_is_named(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_an_empty_label_is_named_with_its_line() -> None:
    with pytest.raises(SolutionError) as caught:
        read(with_line(5, "13,,0.13,13.5"))
    assert str(caught.value) == (
        "Line 5, column `label`: the cell is empty; give one of 0-9. "
        "Only ignored rows may leave it empty."
    )


def test_only_ignored_rows_may_have_no_label() -> None:
    text = with_usage("Ignored", "Private").replace("10,0,0.10,10.5", "10,,,")
    solution = read(text)
    assert solution.columns["label"][0] == -1
    assert np.isnan(solution.columns["p"][0])
    assert Solution.from_bytes(solution.to_bytes()).counts() == solution.counts()


def test_bytes_give_the_same_solution_back() -> None:
    solution = read(with_usage("Public", "Final", "Ignored", "Private"))
    again = Solution.from_bytes(solution.to_bytes())
    assert again.schema == SCHEMA
    assert again.row_ids_digest == solution.row_ids_digest
    assert np.array_equal(again.usage, solution.usage)
    for name, labels in solution.columns.items():
        assert np.array_equal(again.columns[name], labels)
        assert again.columns[name].dtype == labels.dtype
    assert again.to_bytes() == solution.to_bytes()


def test_equal_solutions_have_equal_bytes_whatever_the_file() -> None:
    lines = GOOD.splitlines()
    other = "\r\n".join([lines[0], *reversed(lines[1:])])
    assert read(other).to_bytes() == read(GOOD).to_bytes()


def rewritten(**changes: object) -> bytes:
    """A stored solution with other arrays in place of some."""
    with np.load(io.BytesIO(read(GOOD).to_bytes())) as arrays:
        kept = {**arrays, **changes}
    file = io.BytesIO()
    np.savez(file, **{name: np.asarray(value) for name, value in kept.items()})  # type: ignore[arg-type]  # numpy's stub takes the names for its own keyword
    return file.getvalue()


DAMAGED = {
    "nothing": b"",
    "no archive": b"spam",
    "an empty archive": b"PK\x05\x06" + bytes(18),
    "an unknown usage": rewritten(usage=np.full(20, 4, np.int8)),
    "a negative usage": rewritten(usage=np.full(20, -1, np.int8)),
    "a wide usage": rewritten(usage=np.ones(20, np.int64)),
    "a short usage": rewritten(usage=np.ones(19, np.int8)),
    "a label out of range": rewritten(column0=np.full(20, 10, np.int32)),
    "a label of another type": rewritten(column0=np.zeros(20)),
    "a probability out of range": rewritten(column1=np.full(20, 1.5)),
    "an infinite number": rewritten(column2=np.full(20, np.inf)),
    "NaN": rewritten(column2=np.full(20, np.nan)),
    "two dimensions": rewritten(column2=np.zeros((20, 1))),
    "an array too many": rewritten(column3=np.zeros(20)),
    "no JSON": rewritten(meta=np.frombuffer(b"spam", np.uint8)),
    "other JSON": rewritten(meta=np.frombuffer(b"[1]", np.uint8)),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_other_bytes_are_refused_without_a_word_of_their_content(data: bytes) -> None:
    with pytest.raises(SolutionError) as caught:
        Solution.from_bytes(data)
    assert str(caught.value) == "The stored solution can't be read back."
    assert caught.value.__context__ is None


def test_pickles_in_a_stored_solution_are_never_opened() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, archive.open("meta.npy", "w") as member:
        np.lib.format.write_array(member, np.array([object()]), allow_pickle=True)
    with pytest.raises(SolutionError):
        Solution.from_bytes(file.getvalue())


def test_compressed_archives_are_refused() -> None:
    file = io.BytesIO()
    np.savez_compressed(file, meta=np.zeros(10**6, np.uint8))
    with pytest.raises(SolutionError):
        Solution.from_bytes(file.getvalue())


def test_a_solution_is_never_shown_copied_or_pickled() -> None:
    solution = read(GOOD)
    assert repr(solution) == str(solution) == "<Solution: not shown>"
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="may not be pickled or copied"):
            attempt(solution)


def test_labels_cannot_be_changed() -> None:
    solution = read(GOOD)
    for values in (solution.usage, *solution.columns.values()):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


WEIGHTED = "id,p,Usage,Weight\nb,1,Public,2\na,0,Private,0.5\nc,,Ignored,\n"
CHANCES = Schema("id", (Column("p", "probability"),))


def test_weights_come_in_the_order_of_the_sample() -> None:
    solution = read_solution(WEIGHTED.encode(), CHANCES, RowIds(["a", "b", "c"]))
    assert solution.weights is not None
    assert solution.weights.tolist() == [0.5, 2.0, 0.0]
    again = Solution.from_bytes(solution.to_bytes())
    assert again.weights is not None
    assert again.weights.tolist() == [0.5, 2.0, 0.0]


def test_a_weight_to_predict_is_no_weight_of_rows() -> None:
    schema = Schema("id", (Column("weight", "number"),))
    solution = read_solution(b"id,weight\na,3\n", schema, RowIds(["a"]))
    assert solution.weights is None
    assert solution.columns["weight"].tolist() == [3.0]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("0.5", "-0.5", "negative_weight"),
        ("0.5", "", "empty_cell"),
        ("0.5", "much", "not_a_number"),
        ("0.5", "0", "no_weight"),
    ],
)
def test_a_wrong_weight_is_named(old: str, new: str, code: str) -> None:
    with pytest.raises(SolutionError) as caught:
        read_solution(WEIGHTED.replace(old, new).encode(), CHANCES, RowIds(["a", "b", "c"]))
    assert [each.code for each in caught.value.problems] == [code]


def test_rows_with_weights_count_as_fewer_plain_ones() -> None:
    text = "id,p,Usage,Weight\na,1,Private,4\nb,0,Private,1\nc,0,Private,3.5\nd,1,Public,9\n"
    solution = read_solution(text.encode(), CHANCES, RowIds(["a", "b", "c", "d"]))
    assert solution.effective_rows(Usage.PRIVATE) == 2
    assert solution.effective_rows(Usage.PUBLIC) == 1
    assert solution.effective_rows(Usage.FINAL) == 0


def test_rows_without_weights_count_as_themselves() -> None:
    assert read(with_usage("Public", "Private")).effective_rows(Usage.PRIVATE) == len(IDS) - 1


GROUPED = (
    "id,p,Usage,Group\nb,1,Public,monday\na,0,Private, tuesday\nc,,Ignored,\n"
    "d,1,Private,tuesday\ne,1,Ignored,monday\n"
)
FIVE = RowIds(["a", "b", "c", "d", "e"])


def grouped(text: str) -> Solution:
    return read_solution(text.encode(), CHANCES, FIVE)


def grouped_codes(text: str) -> list[str]:
    with pytest.raises(SolutionError) as caught:
        grouped(text)
    return [each.code for each in caught.value.problems]


@pytest.mark.parametrize("name", ["Group", "group", "GROUPS"])
def test_groups_are_numbered_in_the_order_of_the_sample(name: str) -> None:
    solution = grouped(GROUPED.replace("Group", name))
    assert solution.groups is not None
    assert solution.groups.tolist() == [0, 1, -1, 0, 1]
    assert solution.groups.dtype == np.int64
    lines = GROUPED.replace("tuesday", "z").splitlines()
    other = grouped("\n".join([lines[0], *reversed(lines[1:])]))
    assert other.to_bytes() == solution.to_bytes()
    again = Solution.from_bytes(solution.to_bytes()).groups
    assert again is not None
    assert again.tolist() == [0, 1, -1, 0, 1]


def test_a_group_in_two_splits_is_refused_with_the_line() -> None:
    with pytest.raises(SolutionError) as caught:
        grouped(GROUPED.replace("a,0,Private", "a,0,Final"))
    assert str(caught.value) == (
        "Line 5, column `Group`: 'tuesday' is in Private here, and in Final in line 3."
    )


@pytest.mark.parametrize("usage", ["Public", "Final"])
def test_no_two_splits_share_a_group(usage: str) -> None:
    assert grouped_codes(GROUPED.replace("d,1,Private", f"d,1,{usage}")) == ["group_split"]


def test_a_row_that_is_scored_needs_a_group() -> None:
    assert grouped_codes(GROUPED.replace(" tuesday", "")) == ["empty_cell"]


def test_a_group_to_predict_is_no_group_of_rows() -> None:
    schema = Schema("id", (Column("group", "number"),))
    solution = read_solution(b"id,group\na,3\n", schema, RowIds(["a"]))
    assert solution.groups is None


def test_rows_in_groups_count_as_their_largest_group_allows() -> None:
    text = "id,p,Usage,Group\na,1,Private,x\nb,0,Private,x\nc,0,Private,y\nd,1,Private,z\n"
    four = RowIds(["a", "b", "c", "d"])
    assert read_solution(text.encode(), CHANCES, four).effective_rows(Usage.PRIVATE) == 2
    weighted = text.replace("Group\n", "Group,Weight\n").replace("x\n", "x,1\n")
    weighted = weighted.replace("y\n", "y,4\n").replace("z\n", "z,6\n")
    solution = read_solution(weighted.encode(), CHANCES, four)
    assert solution.effective_rows(Usage.PRIVATE) == 2
    assert solution.effective_rows(Usage.FINAL) == 0


@pytest.mark.parametrize(
    "groups",
    [
        np.array([0, 1, -1, 0, 1], np.int32),
        np.array([0, 1, -1, 0]),
        np.array([0, 1, -1, -1, 1]),
        np.array([0, 1, -2, 0, 1]),
        np.array([0, 0, -1, 0, 1]),
    ],
    ids=["another type", "too short", "a scored row without", "below -1", "a group in two splits"],
)
def test_damaged_groups_are_refused(groups: object) -> None:
    with np.load(io.BytesIO(grouped(GROUPED).to_bytes())) as arrays:
        kept = {**arrays, "groups": groups}
    file = io.BytesIO()
    np.savez(file, **kept)
    with pytest.raises(SolutionError):
        Solution.from_bytes(file.getvalue())
