"""Holdfast's own bundles: what is read of them, and what is refused, with its line."""

import json
from pathlib import Path

import pytest

from bundles.bundle import read_bundle, without_solutions, write_bundle
from bundles.documents import read_yaml, write_yaml
from bundles.errors import BundleError
from bundles.folders import from_files
from bundles.schema import SCHEMA
from bundles.templates import TEMPLATES, read_template
from tests.bundles.files import YAML, bundle

ROOT = Path(__file__).parent.parent.parent


def wrong(yaml: bytes) -> str:
    """Return what is said of a bundle with this holdfast.yaml."""
    with pytest.raises(BundleError) as caught:
        read_bundle(from_files(bundle(yaml=yaml)))
    return "\n".join(map(str, caught.value.troubles))


def test_what_is_written_is_read_again() -> None:
    first = read_bundle(from_files(bundle()))
    again = read_bundle(from_files(dict(write_bundle(first))))
    assert (again.settings, again.texts, again.rounds) == (
        first.settings,
        first.texts,
        first.rounds,
    )


def test_classes_and_parameters_are_texts_however_they_are_written() -> None:
    (round,) = read_bundle(from_files(bundle())).rounds
    assert round.columns is not None
    assert round.columns["columns"][0]["classes"] == ["0", "1", "2", "3"]
    assert round.boards[0].mechanism_parameters == {"steps": "20"}


@pytest.mark.parametrize(
    "value", ["no", "1e5", "007", "~", "", "2027-01-01", "a: b", "<<", "é\n", "0.10"]
)
def test_a_text_stays_the_text_it_was(value: str) -> None:
    written = write_yaml({"text": value})
    assert read_yaml(written.encode(), "x").value == {"text": value}


def test_the_solution_can_be_left_out() -> None:
    written = dict(write_bundle(without_solutions(read_bundle(from_files(bundle())))))
    assert "solution.csv" not in written
    assert b"solution" not in written["holdfast.yaml"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"version: 1", b"version: 2", "line 1: Version 2 of the format is not known here"),
        (b"version: 1\n", b"", "“version” is missing"),
        (b"title:", b"titel:", "line 3: There is no “titel”. Did you mean “title”?"),
        (b"title: Kinds", b"title: &a Kinds", "line 3: “&a” is an anchor"),
        (b"title: Kinds", b"title: *a", "line 3: “*a” is an alias"),
        (b"title: Kinds", b"title: !!python/name:os.system x", "is a tag"),
        (b"title: Kinds", b"title: !!str Kinds", "is a tag"),
        (b"title: Kinds", b"<<: {title: x}", "Merging"),
        (b"title: Kinds", b"title: Kinds\ntitle: Other", "line 4: “title” is there twice"),
        (b"title: Kinds", b"title: " + b"[" * 21 + b"]" * 21, "nested more than 20 deep"),
        (b"title: Kinds", b"title: [Kinds]", "“title” has to be a text, and is a list"),
        (b"title: Kinds", b"title: Kinds\n---\na: b", "A second document begins here"),
        (b"daily_limit: 5", b"daily_limit: 0", "line 8: “rounds.1.daily_limit” has to be from 1"),
        (b"daily_limit: 5", b"daily_limit: 1.5", "has to be a whole number"),
        (b"daily_limit: 5", b"daily_limt: 5", "Did you mean “daily_limit”?"),
        (b"2027-01-01", b"2027-02-30", "There is no such day"),
        (b"2027-01-01", b"soon", "“soon” is not a moment"),
        (b"data/train.csv", b"/etc/passwd", "The path is absolute"),
        (b"data/train.csv", b"C:/train.csv", "The path is absolute"),
        (b"data/train.csv", b"data/../../train.csv", "leaves the bundle by “..”"),
        (b"data/train.csv", b"data/test.csv", "line 18: The bundle has no file “data/test.csv”"),
        (b"data/train.csv", b"solution.csv", "The solution is offered as a public file"),
        (b"role: train", b"role: solution", "has to be one of train, test, sample, other"),
        (b"kind: label,", b"kind: image,", "has to be one of label"),
        (b"[0, 1, 2, 3]", b"[true, false]", "has to be a text or a whole number"),
        (b"  - opens_at", b"  - continues: true\n    opens_at", "The first round can't go on"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(before: bytes, after: bytes, said: str) -> None:
    assert before in YAML
    assert said in wrong(YAML.replace(before, after, 1))


def test_everything_wrong_is_told_at_once() -> None:
    text = YAML.replace(b"title: Kinds", b"titel: x").replace(b"daily_limit: 5", b"daily_limit: 0")
    assert len(wrong(text).splitlines()) == 3


@pytest.mark.parametrize("yaml", [b"", b"{", b"\0", b"\xff", b"- a", b"a" * 300_000, b"\t\ta: b"])
def test_what_is_no_such_document_is_refused(yaml: bytes) -> None:
    assert "holdfast.yaml" in wrong(yaml)


def test_a_text_has_to_be_one() -> None:
    with pytest.raises(BundleError, match="not encoded in UTF-8"):
        read_bundle(from_files(bundle() | {"rules.md": b"\xff\xfe"}))


def test_a_file_that_nobody_names_is_told() -> None:
    (lost,) = read_bundle(from_files(bundle() | {"notes.txt": b"?"})).lost
    assert lost.startswith("notes.txt")


def test_the_published_schema_is_the_one_that_is_checked() -> None:
    published = json.loads((ROOT / "docs" / "holdfast-bundle.schema.json").read_text())
    assert published == SCHEMA


def test_the_example_in_the_documentation_is_a_bundle() -> None:
    text = (ROOT / "docs" / "bundles.md").read_text()
    yaml = text.partition("```yaml\n")[2].partition("```")[0]
    named = (
        "overview.md",
        "rules.md",
        "data.md",
        "data/train.csv",
        "data/test.csv",
        "solution.csv",
    )
    found = read_bundle(from_files({"holdfast.yaml": yaml.encode()} | dict.fromkeys(named, b"x")))
    assert [round.continues for round in found.rounds] == [False, True]


@pytest.mark.parametrize("name", [each.name for each in TEMPLATES])
def test_templates_are_bundles(name: str) -> None:
    template = read_template(name)
    assert set(template.texts) == {"overview", "rules", "data"}
    assert not template.lost
