"""The page "Scoring" offers what fits the columns, and says why the rest doesn't."""

from typing import Any

import pytest
from django.test import Client

from leaderboard.models import Competition
from scoring.metrics import METRICS
from tests.cast import World, make_draft, set_board, set_round
from tests.console.pages import at, text

LABEL = {"name": "city", "kind": "label", "classes": ["New York, NY", "Oslo", "Rome"]}
PROBABILITY = {"name": "p", "kind": "probability"}
NUMBER = {"name": "price", "kind": "number"}
RANKING = {"name": "items", "kind": "ranking", "classes": ["a", "b", "c"], "separator": " "}


@pytest.fixture
def draft(world: World) -> Competition:
    return make_draft("houses", world.organizer, rows=10)


def offered(client: Client, draft: Competition, *columns: dict[str, Any]) -> Any:
    """Return the form for these columns."""
    set_round(draft, schema={"id_column": "id", "columns": list(columns)})
    return client.get(at("scoring", draft)).context["form"]


def names(form: Any) -> dict[str, list[str]]:
    return {group.title: [each.name for each in group.choices] for group in form.metric_groups}


def test_metrics_are_grouped_by_what_their_scores_carry(
    organizer: Client, draft: Competition
) -> None:
    set_board(draft, metric="brier")
    found = names(offered(organizer, draft, PROBABILITY))
    assert list(found) == ["Means over rows", "Other metrics"]
    assert found["Means over rows"] == ["brier", "log_loss", "expression"]


def test_metrics_made_for_the_columns_kind_come_first(
    organizer: Client, draft: Competition
) -> None:
    others = names(offered(organizer, draft, PROBABILITY))["Other metrics"]
    assert others.index("roc_auc") < others.index("pearson")


def test_every_metric_is_offered_or_said_not_to_fit(organizer: Client, draft: Competition) -> None:
    form = offered(organizer, draft, LABEL)
    fitting = {name for group in names(form).values() for name in group}
    others = {each.name for group in form.other_metrics for each in group.choices}
    assert fitting | others == set(METRICS)
    assert not fitting & others
    assert form.other_count == len(others)


def test_why_a_metric_does_not_fit_is_said(organizer: Client, draft: Competition) -> None:
    form = offered(organizer, draft, NUMBER, NUMBER | {"name": "rent"})
    page = text(organizer.get(at("scoring", draft)))
    assert "Brier score takes probability; <code>price</code> is a number." in page
    assert [group.title for group in form.other_metrics][:1] == ["For labels"]


def test_before_there_are_columns_all_metrics_are_offered(
    organizer: Client, draft: Competition
) -> None:
    set_round(draft, schema={})
    set_board(draft, metric="")
    form = organizer.get(at("scoring", draft)).context["form"]
    assert {name for group in names(form).values() for name in group} == set(METRICS)
    assert form.other_count == 0


def test_a_metric_that_is_chosen_and_no_longer_fits_stays_in_sight(
    organizer: Client, draft: Competition
) -> None:
    form = offered(organizer, draft, LABEL)  # the draft's metric is mae
    (chosen,) = [each for group in form.metric_groups for each in group.choices if each.misfit]
    assert (chosen.name, chosen.checked) == ("mae", True)


def test_as_many_places_are_proposed_to_count_as_a_ranking_has(
    organizer: Client, draft: Competition
) -> None:
    form = offered(organizer, draft, RANKING | {"most": 3})
    assert form["metric-map_at_k-k"].value() == "3"


def test_places_that_were_chosen_stay(organizer: Client, draft: Competition) -> None:
    set_board(draft, metric="map_at_k", metric_parameters={"k": "2"})
    form = offered(organizer, draft, RANKING | {"most": 3})
    assert form["metric-map_at_k-k"].value() == "2"
