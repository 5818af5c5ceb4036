"""Bundles of Codabench, and the files of Kaggle's hosts."""

import pytest

from bundles.bundle import Bundle
from bundles.errors import BundleError
from bundles.folders import from_files
from bundles.metric_names import find_metric
from bundles.reading import read_any
from tests.bundles.files import archive

COMPETITION = """\
version: 2
title: Iris
description: Tell irises apart.
image: logo.png
registration_auto_approve: True
docker_image: codalab/codalab-legacy:py39
terms: pages/terms.md
pages:
  - title: Overview
    file: pages/overview.md
  - title: Evaluation
    file: pages/evaluation.html
  - title: Data
    file: pages/data.md
tasks:
  - index: 0
    name: Development
    input_data: input/
    reference_data: reference
    scoring_program: scoring
  - index: 1
    name: Final
    reference_data: final.zip
    scoring_program: scoring
solutions: []
phases:
  - index: 0
    name: Development
    start: 2030-01-01 13:30:00
    end: 2-1-2030
    max_submissions_per_day: 5
    max_submissions: 100
    tasks: [0]
  - index: 1
    name: Again
    start: 2030-02-01
    end: 2030-03-01
    tasks: [0]
  - index: 2
    name: Final
    start: 2030-03-01
    auto_migrate_to_this_phase: True
    execution_time_limit: 600
    tasks: [1]
leaderboards:
  - title: Results
    key: main
    columns:
      - {title: Fancy score, key: fancy_f1, index: 0, sorting: desc}
      - {title: Accuracy, key: accuracy, index: 1, sorting: desc}
      - {title: Macro F1 score, key: x, index: 2}
      - {title: Mean, key: mean, index: 3, computation: avg, computation_indexes: [0, 1]}
"""
LABELS = b"id,kind\n" + b"".join(b"f%d,%s\n" % (n, b"abc"[n % 3 : n % 3 + 1]) for n in range(30))
FILES = {
    "competition.yaml": COMPETITION.encode(),
    "logo.png": b"\x89PNG",
    "pages/terms.md": b"Play fair.",
    "pages/overview.md": b"# Iris",
    "pages/evaluation.html": b"<h1>How</h1><script>alert(1)</script><p>By <b>accuracy</b>.</p>",
    "pages/data.md": b"Flowers.",
    "input/test.csv": b"id,x\nf0,1\n",
    "reference/labels.csv": LABELS,
    "final.zip": archive({"truth.csv": LABELS.replace(b"f", b"g")}).getvalue(),
    "scoring/score.py": b"raise SystemExit",
}


def codabench(**changed: bytes) -> Bundle:
    return read_any(from_files(FILES | changed))


def test_texts_times_limits_and_phases_are_carried_over() -> None:
    found = codabench()
    first, again, final = found.rounds
    assert found.settings == {"title": "Iris", "tagline": "Tell irises apart."}
    assert found.texts["rules"] == "Play fair."
    assert found.texts["data"] == "Flowers."
    assert found.texts["overview"].startswith("# Iris\n\n## Evaluation")
    assert first.settings["opens_at"].isoformat() == "2030-01-01T13:30:00+00:00"
    assert first.settings["closes_at"].isoformat() == "2030-02-01T00:00:00+00:00"
    assert (first.settings["daily_limit"], first.settings["total_limit"]) == (5, 100)
    assert [round.title for round in found.rounds] == ["Development", "Again", "Final"]
    assert [round.continues for round in found.rounds] == [False, True, False]
    assert "closes_at" not in final.settings
    assert not again.files


def test_html_becomes_markdown_without_its_scripts() -> None:
    text = codabench().texts["overview"]
    assert "# How\n\nBy **accuracy**." in text
    assert "alert" not in text


def test_columns_of_the_leaderboard_are_metrics_by_key_or_title() -> None:
    boards = codabench().rounds[0].boards
    assert [(board.metric, board.title) for board in boards] == [
        ("accuracy", "Accuracy"),
        ("f1_macro", "Macro F1 score"),
    ]


def test_reference_data_are_the_solution_also_when_packed() -> None:
    first, _, final = codabench().rounds
    assert first.columns == {
        "id_column": "id",
        "columns": [{"name": "kind", "kind": "label", "classes": ["a", "b", "c"]}],
    }
    assert first.solution == "reference/labels.csv"
    assert codabench().folder.read(final.solution).startswith(b"id,kind\ng0")
    assert [file.role for file in first.files] == ["test", "sample"]


@pytest.mark.parametrize(
    "said",
    [
        "Not carried over: the logo.",
        "Not carried over: the Docker image.",
        "The scoring program of task Development is never run",
        "Column Fancy score is no metric that is known here by this name: choose",
        "Column Mean is computed from others",
        "here for each team",
        "evaluation.html is HTML",
        "Submissions are not sent again to phase Final",
        "“execution_time_limit” of phase Final has no counterpart.",
        "A sample submission is made for phase Development",
        "To be predicted in phase Development: kind (label)",
        "Column Accuracy becomes accuracy: check that it means the same.",
    ],
)
def test_what_is_lost_is_told(said: str) -> None:
    assert any(said in each for each in codabench().lost)


def test_nothing_is_told_twice() -> None:
    lost = codabench().lost
    assert len(set(lost)) == len(lost)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("version: 2", "version: 1", "is of version 1"),
        ("version: 2\n", "", "has no version"),
        ("title: Iris", "title: ''", "“title” is missing"),
        ("start: 2030-02-01", "start: soon", "Phase Again: “soon” is no moment"),
        ("file: pages/data.md", "file: ../../etc/passwd", "leaves the bundle"),
        (
            "file: pages/data.md",
            "file: pages/none.md",
            "pages/none.md: The bundle has no such file",
        ),
        ("tasks: [1]", "tasks: [7]", "Phase Final names no task"),
        ("leaderboards:", "boards:", "“leaderboards” is missing"),
        ("  - title: Overview\n    file: pages/overview.md", "  - 7", "not built as Codabench's"),
        ("key: main", "key: &RESULTS main", "is an anchor"),
    ],
)
def test_what_is_wrong_is_told(before: str, after: str, said: str) -> None:
    assert before in COMPETITION
    with pytest.raises(BundleError) as caught:
        codabench(**{"competition.yaml": COMPETITION.replace(before, after, 1).encode()})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("key", "title", "metric"),
    [
        ("test_MAE", "Mean error", "mae"),
        ("score", "RMSE (test)", "rmse"),
        ("mae_private", "MAE Privé (2019-2020)", "mae"),
        ("auprc", "AUPRC", "average_precision"),
        ("x", "R² (hidden)", "r2"),
        ("recall80", "Recall @ 80% Purity", ""),
        ("set1_score", "Prediction score", ""),
    ],
)
def test_metrics_are_known_by_the_names_that_organizers_give(
    key: str, title: str, metric: str
) -> None:
    assert find_metric(key, title) == metric


def test_a_phase_of_no_length_gets_a_day_and_one_task_may_stand_alone() -> None:
    text = COMPETITION.replace("end: 2-1-2030", "end: 2030-01-01 13:30").replace(
        "tasks: [0]", "task: 0", 1
    )
    found = codabench(**{"competition.yaml": text.encode()})
    assert found.rounds[0].settings["closes_at"].isoformat() == "2030-01-02T13:30:00+00:00"
    assert "Phase Development ends as it starts: it is given a day." in found.lost


def test_an_older_bundle_of_codalab_is_called_so_despite_its_anchors() -> None:
    text = b"title: Old\nhtml: {overview: o.html}\nleaderboard:\n  a: &A {label: x}\n  b: *A\n"
    with pytest.raises(BundleError, match="The bundle has no version"):
        codabench(**{"competition.yaml": text})


def test_reference_data_of_another_shape_are_told_and_left() -> None:
    found = codabench(**{"reference/labels.csv": b"1\n2\n2\n"})
    assert found.rounds[0].columns is None
    assert any("are no CSV file with a header" in each for each in found.lost)


KAGGLE = {
    "train.csv": b"id,x,label\n1,1,cat\n2,1,dog\n",
    "test.csv": b"id,x\n3,1\n",
    "sample_submission.csv": b"id,label\n3,cat\n",
    "solution.csv": b"id,label,Usage\n3,dog,Private\n",
}


def test_kaggles_files_make_a_competition() -> None:
    found = read_any(from_files(KAGGLE))
    (round,) = found.rounds
    assert round.columns == {
        "id_column": "id",
        "columns": [{"name": "label", "kind": "label", "classes": ["cat", "dog"]}],
    }
    assert {file.path: file.role for file in round.files} == {
        "sample_submission.csv": "sample",
        "test.csv": "test",
        "train.csv": "train",
    }
    assert round.solution == "solution.csv"
    assert any("They don't tell the metric: accuracy is set" in each for each in found.lost)


def test_a_sample_that_is_missing_is_made() -> None:
    files = {name: content for name, content in KAGGLE.items() if "sample" not in name}
    found = read_any(from_files(files))
    assert found.folder.read("sample_submission.csv") == b"id,label\n3,cat\n"


@pytest.mark.parametrize(
    ("labels", "sample", "kind"),
    [
        (b"0 1 1", b"0.5", "probability"),
        (b"0 1 1", b"0", "label"),
        (b"1.5 2.5 3", b"0", "number"),
    ],
)
def test_the_kind_follows_from_labels_and_sample(labels: bytes, sample: bytes, kind: str) -> None:
    train = b"id,label\n" + b"".join(b"%d,%s\n" % row for row in enumerate(labels.split()))
    files = KAGGLE | {"train.csv": train, "sample_submission.csv": b"id,label\n3,%s\n" % sample}
    columns = read_any(from_files(files)).rounds[0].columns
    assert columns is not None
    assert columns["columns"][0]["kind"] == kind


def test_two_solutions_are_one_too_many() -> None:
    with pytest.raises(BundleError, match="looks like the solution file as well"):
        read_any(from_files(KAGGLE | {"my_solution.csv": b"a,b\n"}))


def test_a_solution_without_the_samples_columns_is_told() -> None:
    with pytest.raises(BundleError, match="The columns id, label were expected"):
        read_any(from_files(KAGGLE | {"solution.csv": b"row,label\n3,dog\n"}))


def test_anything_else_is_told_what_was_expected() -> None:
    with pytest.raises(BundleError, match=r"A holdfast.yaml was expected"):
        read_any(from_files({"a.txt": b""}))
