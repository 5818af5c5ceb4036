"""Logs of language models: ids and answers are taken out, and nothing else is looked at."""

import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import PredictionError, Problem, SolutionError
from scoring.predictions import (
    Column,
    Limits,
    Predictions,
    RowIds,
    Schema,
    Solution,
    read_predictions,
    read_solution,
    texts,
)
from scoring.predictions.codes import row_codes
from scoring.predictions.sketch import sketch
from tests.scoring.model_logs import (
    FOLDER,
    QUESTIONS,
    SAID,
    epochs,
    files,
    generated,
    harness,
    harness_sample,
    inspect_eval,
    inspect_json,
    inspect_sample,
    likelihoods,
)
from tests.scoring.packed import in_zip

NAMES = RowIds([name for name, *_ in QUESTIONS])
NUMBERS = RowIds([str(place) for place in range(len(QUESTIONS))])
RUNS = Schema("id", (Column("answer", "text", most=5),))
ONE = Schema("id", (Column("answer", "text"),))
WRITTEN = files()
HARNESS, CHOICES, TWO_RUNS, JSON, EVAL = WRITTEN


def answers(data: bytes, schema: Schema = RUNS, ids: RowIds = NUMBERS) -> list[list[str]]:
    return said(read_predictions(data, schema, ids))


def said(predictions: Predictions) -> list[list[str]]:
    return list(texts.rows(predictions.columns["answer"]))


def problem(data: bytes, schema: Schema = RUNS, ids: RowIds = NUMBERS, **limits: int) -> Any:
    with pytest.raises(PredictionError) as caught:
        read_predictions(data, schema, ids, Limits(**limits))
    return caught.value.problems[0]


def outcome(data: bytes, ids: RowIds) -> tuple[list[list[str]], tuple[Problem, ...]]:
    """The answers, or what is wrong."""
    try:
        return answers(data, RUNS, ids), ()
    except PredictionError as error:
        return [], error.problems


@pytest.mark.parametrize("name", WRITTEN)
def test_the_written_logs_are_those_that_are_tested(name: str) -> None:
    assert (FOLDER / name).read_bytes() == WRITTEN[name]


def test_what_the_model_said_is_taken_from_harness_samples_and_no_filter() -> None:
    assert answers(WRITTEN[HARNESS]) == [[each] for each in SAID[1]]


def test_the_likeliest_choice_is_its_letter() -> None:
    assert answers(WRITTEN[CHOICES]) == [["B"], ["A"], ["B"], ["D"]]


def test_the_likeliest_choice_is_the_class_in_its_place() -> None:
    schema = Schema("id", (Column("answer", "label", ("lyon", "paris", "nice", "lille")),))
    found = read_predictions(WRITTEN[CHOICES], schema, NUMBERS)
    assert found.columns["answer"].tolist() == [1, 0, 1, 3]


def test_several_logs_in_an_archive_are_several_runs() -> None:
    assert answers(WRITTEN[TWO_RUNS]) == [list(each) for each in zip(*SAID.values(), strict=True)]


def test_repeats_are_several_runs() -> None:
    data = harness([harness_sample(place, [["A", "B", "C"]]) for place in range(4)])
    assert answers(data) == [["A", "B", "C"]] * 4


def test_a_field_of_the_document_called_like_the_id_column_is_the_id() -> None:
    schema = Schema("name", RUNS.columns)
    assert answers(WRITTEN[HARNESS], schema, NAMES) == [[each] for each in SAID[1]]


@pytest.mark.parametrize("name", [JSON, EVAL])
def test_both_formats_of_inspect_say_the_same(name: str) -> None:
    found = read_predictions(WRITTEN[name], RUNS, NAMES)
    assert said(found) == [list(each) for each in zip(*SAID.values(), strict=True)]
    assert found.runs == 2


def test_a_log_and_a_table_of_the_same_answers_have_the_same_digest() -> None:
    table = "id,answer\n" + "".join(
        f'{place},"{each}"\n' for place, each in reversed(list(enumerate(SAID[1])))
    )
    found = [
        read_predictions(data, RUNS, NUMBERS).digest
        for data in (WRITTEN[HARNESS], table.encode(), harness(generated(1)[:4]))
    ]
    assert len(set(found)) == 1


def test_what_is_in_parts_is_put_together_and_what_failed_is_an_empty_answer() -> None:
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "B"}]
    samples = [
        inspect_sample(0, 1, "", output={"choices": [{"message": {"content": parts}}]}),
        inspect_sample(1, 1, "", output={"model": "m", "error": "refused"}),
        inspect_sample(2, 1, "attachment://f00", attachments={"f00": "the long answer"}),
        inspect_sample(3, 1, "D"),
    ]
    assert answers(inspect_json(samples)) == [["B"], [""], ["the long answer"], ["D"]]


def edited(place: int, **fields: Any) -> bytes:
    samples = [harness_sample(each, [["A"]]) for each in range(4)]
    samples[place] |= fields
    return harness([{k: v for k, v in each.items() if v is not ...} for each in samples])


BAD: dict[str, tuple[bytes, str, int | None, str]] = {
    "no responses": (edited(2, resps=...), "log_field", 3, "`resps` is missing in this sample"),
    "an old harness": (
        harness([{"doc_id": 0, "prompt_0": "Q", "logit_0": "A", "truth": "A", "acc": "True"}]),
        "log_field",
        1,
        "lm-evaluation-harness",
    ),
    "responses of another kind": (edited(1, resps=[[{"text": "A"}]]), "log_field", 2, "`resps`"),
    "no id": (edited(3, doc_id=None), "log_field", 4, "`doc_id`"),
    "a broken line": (edited(0) + b'{"doc_id": 4,', "log_damaged", 5, "no JSON object"),
    "a list": (edited(0) + b"[1]", "log_damaged", 5, "no JSON object"),
    "deep JSON": (b'{"doc_id":' + b"[" * 100_000, "log_damaged", 1, "no JSON object"),
    "an unknown id": (edited(1, doc_id=17), "unknown_id", 2, "no id of the sample"),
    "a missing id": (harness(generated(1)[:3]), "missing_id", None, "1 id of the"),
    "a doubled id": (
        edited(0) + harness([harness_sample(0, [["B"]])]),
        "runs_differ",
        2,
        "1 answer, but 2 in line 1",
    ),
    "too many runs": (
        edited(1, resps=[["A"] * 6]),
        "too_many_runs",
        2,
        "6 answers are more than 5",
    ),
    "another JSON": (b'{"predictions": [1, 2]}', "not_csv", 1, "This is JSON"),
    "an old Inspect": (inspect_json(epochs(), version=1), "log_version", None, "of version 1;"),
    "an old archive": (inspect_eval(epochs(), version=3), "log_version", None, "of version 3;"),
    "no version": (inspect_json([], version=None), "log_version", None, "an unknown version;"),
    "no samples": (json.dumps({"version": 2, "eval": {}}).encode(), "log_field", 1, "`samples`"),
    "no output": (
        inspect_eval([inspect_sample(0, 1, "A"), inspect_sample(1, 1, "A", output=None)]),
        "log_field",
        2,
        "`output` is missing in this sample of Inspect",
    ),
    "no epoch": (inspect_json([inspect_sample(0, "1", "A")]), "log_field", 1, "`epoch`"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_log_that_cannot_be_read_says_what_where_and_what_was_expected(case: str) -> None:
    data, code, line, words = BAD[case]
    found = problem(data)
    assert (found.code, found.line) == (code, line)
    assert words in found.message
    assert found.expected


def test_a_single_run_has_one_answer_for_each_id() -> None:
    found = problem(WRITTEN[TWO_RUNS], ONE)
    assert (found.code, found.expected) == ("too_many_runs", "one answer")


def test_a_log_has_no_answers_for_several_columns() -> None:
    found = problem(WRITTEN[HARNESS], Schema("id", (*ONE.columns, Column("p", "probability"))))
    assert found.code == "log_columns"
    assert "'answer', 'p'" in found.message


def test_an_archive_that_expands_too_far_is_refused() -> None:
    bomb = {"samples/1_epoch_1.json": bytes(3_000_000), "header.json": b'{"version": 2}'}
    assert problem(in_zip(bomb)).code == "expands_too_much"
    many = inspect_eval([inspect_sample(place, 1, "A" * 5_000) for place in range(50)])
    assert problem(many, max_expanded_bytes=100_000).code == "too_many_bytes"


def test_an_archive_that_announces_too_little_is_damaged() -> None:
    data = bytearray(in_zip({"header.json": b'{"version": 2}', "samples/1.json": bytes(9_999)}))
    place = data.rindex(b"PK\x01\x02")  # the entry of the sample, whose size is at 24
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    assert problem(bytes(data)).code == "zip_damaged"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_by_a_method_that_expands_at_once_is_refused(method: int) -> None:
    logs = dict.fromkeys(("a.jsonl", "b.jsonl"), b"{}\n" * 9999)
    assert problem(in_zip(logs, method)).code == "zip_damaged"


def test_more_answers_to_one_id_than_runs_are_refused_at_once() -> None:
    line = json.dumps({"doc_id": 1, "resps": [["a", "b"]]}).encode() + b"\n"
    found = problem(line * 1_000)
    assert found.code == "too_many_runs"
    assert found.fields["count"] < 10


def test_an_archive_of_other_files_is_refused_as_before() -> None:
    assert problem(in_zip({"a.jsonl": b"{}", "b.csv": b"id"})).code == "zip_not_one_file"


def test_json_with_more_items_than_a_worker_has_memory_for_is_refused() -> None:
    found = problem(b'{"doc_id": 0, "resps": [' + b"0," * 4_000_001 + b"0]}")
    assert (found.code, found.fields["variant"]) == ("log_damaged", "large")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = ("doc_id", "doc", "resps", "filter", "id", "epoch", "output", "attachments")


@given(
    name=st.sampled_from([HARNESS, CHOICES, TWO_RUNS, JSON, EVAL]),
    place=st.integers(0, 3),
    field=st.sampled_from(FIELDS),
    value=JSON_VALUES,
)
def test_any_change_of_a_log_is_read_or_refused_with_reasons(
    name: str, place: int, field: str, value: object
) -> None:
    chosen = [harness_sample(each, likelihoods(0)) for each in range(4)]
    made: dict[str, Callable[[], bytes]] = {
        HARNESS: lambda: harness(_changed(generated(1), place, field, value)),
        CHOICES: lambda: harness(_changed(chosen, place, field, value)),
        JSON: lambda: inspect_json(_changed(epochs(), place, field, value)),
        EVAL: lambda: inspect_eval(_changed(epochs(), place, field, value)),
        TWO_RUNS: lambda: in_zip({"a.jsonl": harness(_changed(generated(1), place, field, value))}),
    }
    ids = NAMES if name in (JSON, EVAL) else NUMBERS
    found, problems = outcome(made[name](), ids)
    assert len(found) == len(QUESTIONS) if not problems else all(each.message for each in problems)


def _changed(samples: list[Any], place: int, field: str, value: object) -> list[Any]:
    samples[place][field] = value
    return samples


@given(cut=st.integers(0, len(WRITTEN[EVAL])), name=st.sampled_from([EVAL, JSON, HARNESS]))
def test_a_log_that_is_cut_off_is_refused_or_misses_ids(cut: int, name: str) -> None:
    data = WRITTEN[name][:cut]
    _, problems = outcome(data, NUMBERS if name == HARNESS else NAMES)
    # The lines of the second filter say the same as those of the first.
    assert problems or name == HARNESS or cut >= len(WRITTEN[name])


@given(runs=st.lists(st.text(max_size=9), min_size=1, max_size=5))
def test_answers_come_back_as_they_were_said(runs: list[str]) -> None:
    data = harness([harness_sample(each, [runs]) for each in range(4)])
    plain = [each.encode("utf-8", "replace").decode() for each in runs]
    assert answers(data) == [plain] * 4


def test_accepted_answers_are_sealed_and_read_back() -> None:
    rows = (
        b'id,answer,Usage\n0,"[""B"", ""b and c""]",Public\n1,A,Private\n2,,Ignored\n3,D,Private\n'
    )
    solution = read_solution(rows, RUNS, NUMBERS)
    again = Solution.from_bytes(solution.to_bytes())
    assert list(texts.rows(again.columns["answer"])) == [["B", "b and c"], ["A"], [""], ["D"]]
    with pytest.raises(SolutionError, match="the cell is empty"):
        read_solution(rows.replace(b",A,", b", ,"), RUNS, NUMBERS)


def test_files_differ_in_codes_and_sketches_where_their_answers_do() -> None:
    first, second = (
        read_predictions(harness([harness_sample(0, [["B"]]), *others]), RUNS, NUMBERS)
        for others in ([harness_sample(row, [[said]]) for row in (1, 2, 3)] for said in "AB")
    )
    rows = np.ones(4, np.bool_)
    codes = row_codes(first, rows), row_codes(second, rows)
    assert (codes[0] == codes[1]).tolist() == [True, False, False, False]
    assert 0 < np.count_nonzero(sketch(first) != sketch(second)) <= 6


def test_no_member_is_read_further_than_it_announces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is checked before is what is expanded."""
    sizes, read = list[int](), zipfile.ZipExtFile.read

    def noting(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        sizes.append(n or 0)
        return read(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", noting)
    answers(WRITTEN[EVAL], RUNS, NAMES)
    assert sizes
    assert max(sizes) <= 1 << 20
    assert min(sizes) > 0
