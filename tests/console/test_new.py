"""From dropped files to an open competition: three pages."""

import re
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import Client

from leaderboard import tasks
from leaderboard.models import Competition, StagedFile
from leaderboard.organize.plan import foresee_guarantee, plan_boards
from tests.cast import World, active_holdout
from tests.console.pages import at, text
from tests.leaderboard import dropped

NEW = "/organize/new/"
FIELDS = {
    "title": "Delays",
    "teams": "60",
    "submissions": "100",
    "closes_at": "2099-01-01T00:00",
    "staged": "",
}


def _drop(client: Client, texts: dict[str, str], **fields: Any) -> Any:
    files = list(dropped.files(texts).values())
    return client.post(NEW, FIELDS | {"files": files} | fields)


def _proposal(draft: Competition, client: Client, **change: str) -> dict[str, str]:
    """Return what a browser sends from the page of proposals, with changes."""
    form = client.get(at("proposal", draft)).context["form"]
    shown = {name: form[name].value() for name in form.fields}
    shown["closes_at"] = shown["closes_at"].strftime("%Y-%m-%dT%H:%M")
    return {name: str(value) for name, value in shown.items()} | change


@pytest.fixture
def draft(organizer: Client) -> Competition:
    """A draft of delays in minutes, from files."""
    response = _drop(organizer, dropped.minutes())
    assert response.status_code == 302, text(response)
    return Competition.objects.get(slug="delays")


def test_three_pages_lead_from_files_to_an_open_competition(
    organizer: Client, draft: Competition
) -> None:
    response = organizer.post(at("proposal", draft), _proposal(draft, organizer))
    assert response.headers["Location"] == at("run", draft)
    assert "Missing:" not in text(organizer.get(at("run", draft)))
    organizer.post(at("open", draft))
    draft.refresh_from_db()
    assert draft.opened_by_organizer_at is not None


def test_every_proposal_stands_beside_its_reason(organizer: Client, draft: Competition) -> None:
    page = text(organizer.get(at("proposal", draft)))
    assert "of the errors of the best constant prediction" in page
    assert "Rows that share one depend on each other" in page
    assert "Which board" in page


def test_files_may_be_chosen_one_by_one(organizer: Client, world: World) -> None:
    response = organizer.post(NEW, FIELDS | dropped.files(dropped.binary()))
    assert response.status_code == 302, text(response)


def test_what_is_wrong_stands_beside_the_file_and_nothing_is_made(
    organizer: Client, world: World
) -> None:
    texts = dropped.binary()
    response = _drop(organizer, texts | {"train": texts["test"].replace("5", "1")})
    assert response.status_code == 422
    assert "has no column that test.csv lacks" in text(response)
    assert not Competition.objects.filter(title="Delays").exists()


def test_public_files_are_sent_before_the_form(organizer: Client, world: World) -> None:
    files = dropped.files(dropped.binary())
    sent = [organizer.post(f"{NEW}files/", {"file": files[role]}) for role in ("train", "test")]
    ids = " ".join(each.json()["id"] for each in sent)
    response = organizer.post(NEW, FIELDS | {"staged": ids, "files": [files["solution"]]})
    assert response.status_code == 302, text(response)
    assert not StagedFile.objects.exists()
    made = Competition.objects.get(title="Delays")
    assert default_storage.exists(str(made.current_round.files.get(role="train").file.name))


def test_staged_files_are_their_senders_alone(
    organizer: Client, rival: Any, sign_in: Any, world: World
) -> None:
    files = dropped.files(dropped.binary())
    sent = organizer.post(f"{NEW}files/", {"file": files["train"]}).json()["id"]
    other = sign_in(rival).post(
        NEW, FIELDS | {"staged": sent, "files": [files["test"], files["solution"]]}
    )
    assert "are gone" in text(other) or "is gone" in text(other)


def test_the_solution_is_never_on_the_disk(
    organizer: Client, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    seen = list[str]()
    monkeypatch.setattr(
        "django.core.files.uploadhandler.TemporaryUploadedFile.__init__",
        lambda self, *args, **kwargs: seen.append("disk"),
    )
    large = dropped.binary(rows=4000)
    assert _drop(organizer, large).status_code == 302
    assert not seen


def test_another_split_is_drawn_by_a_worker(
    organizer: Client, draft: Competition, django_capture_on_commit_callbacks: Any
) -> None:
    change = _proposal(draft, organizer, split="row", public="30", private="50", final="20")
    response = organizer.post(at("proposal", draft), change)
    assert response.status_code == 302, text(response)
    assert "seals the solution anew" in text(organizer.get(at("run", draft)))
    tasks.rewrite_solution(round_id=draft.current_round.pk)
    draft.refresh_from_db()
    holdout = active_holdout(draft)
    counts = (holdout.public_rows, holdout.private_rows, holdout.final_rows)
    assert counts == (120, 200, 80)


def test_another_metric_may_ask_for_probabilities(organizer: Client, world: World) -> None:
    assert _drop(organizer, dropped.binary()).status_code == 302
    made = Competition.objects.get(title="Delays")
    change = _proposal(made, organizer, metric="log_loss")
    organizer.post(at("proposal", made), change)
    tasks.rewrite_solution(round_id=made.current_round.pk)
    made.refresh_from_db()
    round = made.current_round
    assert round.schema["columns"] == [{"name": "churned", "kind": "probability"}]
    assert round.active_holdout is not None
    assert "Missing:" not in text(organizer.get(at("run", made)))


def test_a_card_is_taken_at_a_click(organizer: Client, draft: Competition) -> None:
    organizer.post(at("proposal-board", draft), {"board": "ladder"})
    assert Competition.objects.get(pk=draft.pk).current_round.board.mechanism == "ladder"


def test_card_checklist_and_open_board_foresee_the_same(
    organizer: Client, draft: Competition
) -> None:
    board = draft.current_round.board
    plan, foreseen = plan_boards(draft.current_round), foresee_guarantee(board)
    assert plan is not None
    assert next(card for card in plan.cards if card.is_used).foreseen == foreseen
    assert organizer.get(at("run", draft)).context["foreseen"] == foreseen
    organizer.post(at("open", draft))
    assert organizer.get(at("run", draft)).context["foreseen"] == foreseen


def test_where_nothing_can_be_promised_the_page_names_what_would_help(
    organizer: Client, draft: Competition
) -> None:
    page = text(organizer.get(at("proposal", draft)))
    assert "The board in use promises nothing in the end" in page
    assert re.search(r"What would: .*about [\d,]+ Private groups\.", page)
    assert "comes first because" in page


def test_shares_are_whole_and_add_up(organizer: Client, draft: Competition) -> None:
    form = _proposal(draft, organizer)
    shares = [float(form[name]) for name in ("public", "private", "final")]
    assert sum(shares) == 100
    assert all(share.is_integer() for share in shares)
