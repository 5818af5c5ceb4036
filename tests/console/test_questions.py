"""A sample that says the same in every row: the organizer is asked what it means."""

import json
from typing import Any

import pytest
from django.test import Client

from leaderboard.models import Competition
from tests.cast import World, upload
from tests.console.pages import at, settings_form, text

ADD = "/organize/new/by-hand/"


@pytest.fixture
def draft(organizer: Client, world: World) -> Competition:
    organizer.post(ADD, settings_form())
    return Competition.objects.get(slug="flowers")


def proposed(client: Client, draft: Competition, sample: bytes, more: bytes = b"") -> Any:
    files = {"sample": upload(sample, "sample.csv")}
    if more:
        files["more"] = upload(more, "train.csv")
    return client.post(at("columns", draft), {"propose": "1", **files})


def sent_back(response: Any, **answers: str) -> dict[str, str]:
    """Write the proposed form as a browser sends it, with answers."""
    form = response.context["form"]
    return {name: form[name].value() for name in ("id_column", "columns", "asked")} | answers


def saved(draft: Competition) -> Any:
    draft.refresh_from_db()
    return draft.current_round.schema.get("columns")


ZEROS = b"id,target\n1,0\n2,0\n"


def test_a_column_of_zeros_is_asked_about(organizer: Client, draft: Competition) -> None:
    page = text(proposed(organizer, draft, ZEROS))
    assert "What is “target”?" in page
    assert "All rows of the sample say “0”" in page
    assert page.count('type="radio"') == 3
    assert "checked" not in page.split("What is “target”?")[1].split("</fieldset>")[0]


@pytest.mark.parametrize(
    ("answer", "column"),
    [
        ("label: 0, 1", {"name": "target", "kind": "label", "classes": ["0", "1"]}),
        ("probability", {"name": "target", "kind": "probability"}),
        ("number", {"name": "target", "kind": "number"}),
    ],
)
def test_the_answer_becomes_the_column(
    organizer: Client, draft: Competition, answer: str, column: dict[str, Any]
) -> None:
    form = sent_back(proposed(organizer, draft, ZEROS), open_1=answer)
    assert organizer.post(at("columns", draft), form).status_code == 302
    assert saved(draft) == [column]


def test_without_an_answer_nothing_is_saved(organizer: Client, draft: Competition) -> None:
    form = sent_back(proposed(organizer, draft, ZEROS))
    page = text(organizer.post(at("columns", draft), form))
    assert "Choose what it is." in page
    assert "What is “target”?" in page
    assert saved(draft) is None


def test_an_answer_that_was_no_choice_is_none(organizer: Client, draft: Competition) -> None:
    form = sent_back(proposed(organizer, draft, ZEROS), open_1="ranking of 3: a, b")
    page = text(organizer.post(at("columns", draft), form))
    assert "Choose what it is." in page
    assert saved(draft) is None


def test_a_line_that_is_written_by_hand_needs_no_answer(
    organizer: Client, draft: Competition
) -> None:
    form = sent_back(proposed(organizer, draft, ZEROS)) | {"columns": "target: number"}
    assert organizer.post(at("columns", draft), form).status_code == 302
    assert saved(draft) == [{"name": "target", "kind": "number"}]


def test_columns_that_say_the_same_are_asked_about_once(
    organizer: Client, draft: Competition
) -> None:
    response = proposed(organizer, draft, b"id,price,rent,p\n1,0.0,0.0,0.5\n2,0.0,0.0,0.5\n")
    assert "What are “price” and “rent”?" in text(response)
    assert response.context["form"]["columns"].value() == "price: ?1\nrent: ?1\np: probability"
    organizer.post(at("columns", draft), sent_back(response, open_1="number"))
    assert [each["kind"] for each in saved(draft)] == ["number", "number", "probability"]


def test_many_columns_are_not_all_named_in_the_question(
    organizer: Client, draft: Competition
) -> None:
    sample = f"id,{','.join(f'y{n}' for n in range(8))}\n1{',0' * 8}\n"
    page = text(proposed(organizer, draft, sample.encode()))
    assert "What are “y0”, “y1”, “y2”, “y3”, “y4” and 3 more?" in page


def test_a_single_class_asks_for_the_others(organizer: Client, draft: Competition) -> None:
    response = proposed(organizer, draft, b"id,city\n1,Rome\n2,Rome\n")
    assert "shows one class of “city”" in text(response)
    assert response.context["form"]["columns"].value() == "city: label: Rome"
    assert "from 2 to" in text(organizer.post(at("columns", draft), sent_back(response)))
    assert saved(draft) is None


def test_training_data_show_all_classes(organizer: Client, draft: Competition) -> None:
    train = b'id,x,city\n5,1,Oslo\n6,2,"New York, NY"\n7,3,Rome\n'
    response = proposed(organizer, draft, b"id,city\n1,Rome\n2,Rome\n", train)
    assert response.context["form"]["columns"].value() == (
        'city: label: "New York, NY", Oslo, Rome'
    )


def test_the_file_that_is_wrong_is_named(organizer: Client, draft: Competition) -> None:
    response = proposed(organizer, draft, b"id,city\n1,Rome\n", b"id,town\n1,Rome\n")
    page = text(response)
    assert "train.csv" in page
    assert "has none of the columns" in page


@pytest.mark.parametrize("asked", ["x", "[1]", json.dumps([{"number": 1}]), "{}", "null"])
def test_questions_that_nobody_asked_are_none(
    organizer: Client, draft: Competition, asked: str
) -> None:
    form = {"id_column": "id", "columns": "y: number", "asked": asked}
    assert organizer.post(at("columns", draft), form).status_code == 302
    assert saved(draft) == [{"name": "y", "kind": "number"}]


def test_many_columns_are_in_sight(organizer: Client, draft: Competition) -> None:
    breeds = [f"breed{n}" for n in range(12)]
    sample = f"id,{','.join(breeds)}\n1{',0.08' * 12}\n"
    assert 'rows="13"' in text(proposed(organizer, draft, sample.encode()))
