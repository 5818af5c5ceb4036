"""The pages "Rounds": several rounds, columns with their cost, practice."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard import organize
from leaderboard.models import Board, Competition, Phase, Round
from tests import ending
from tests.cast import World, make_draft, predictions, set_round, solution, upload
from tests.console.pages import at, round_form, sample, scoring_form, text

STAMP = "%Y-%m-%dT%H:%M"


def moment(days: int) -> str:
    return f"{timezone.now() + timedelta(days=days):{STAMP}}"


def page_of(name: str, round: Round, *args: object) -> str:
    return reverse(f"organize-{name}", args=[round.competition.slug, round.number, *args])


@pytest.fixture
def later(world: World, organizer: Client) -> Round:
    """Add a round on new rows by the page."""
    organizer.post(at("rounds", world.digits), round_form(title="Spring"))
    return Round.objects.select_related("competition").get(number=2)


def test_a_round_is_added_with_its_own_times_and_limits(world: World, later: Round) -> None:
    assert (later.title, later.daily_limit, later.ledger) == ("Spring", 7, None)
    assert later.continues is None
    assert later.board.metric == world.board.metric


def test_the_competition_keeps_its_own_title(world: World, later: Round) -> None:
    world.digits.refresh_from_db()
    assert world.digits.title == "Digits"


def test_a_round_may_go_on_with_the_same_rows(world: World, organizer: Client) -> None:
    organizer.post(at("rounds", world.digits), round_form(rows="same", closes_at=""))
    added = Round.objects.get(number=2)
    assert added.ledger == world.round.ledger
    assert added.closes_at is None


def test_what_is_wrong_with_a_round_is_said_beside_the_field(
    world: World, organizer: Client
) -> None:
    page = text(organizer.post(at("rounds", world.digits), round_form(opens_at=moment(3))))
    assert "A round opens after the one before it has closed." in page
    assert Round.objects.count() == 1


def test_a_round_without_an_end_is_told_to_get_one_first(world: World, organizer: Client) -> None:
    set_round(world.digits, closes_at=None)
    page = text(organizer.get(at("rounds", world.digits)))
    assert "has no end" in page
    assert "Add the round" not in page


def test_a_coming_round_is_changed(later: Round, organizer: Client) -> None:
    given = round_form(title="Summer", opens_at=moment(40), closes_at="", daily_limit="3")
    assert organizer.post(page_of("round", later), given).status_code == 302
    later.refresh_from_db()
    assert (later.title, later.daily_limit, later.closes_at) == ("Summer", 3, None)


def test_a_coming_round_can_t_open_before_the_one_before_it_closes(
    later: Round, organizer: Client
) -> None:
    page = text(organizer.post(page_of("round", later), round_form(opens_at=moment(2))))
    assert "A round opens after the one before it has closed." in page


def test_a_coming_round_is_removed_after_a_question(later: Round, organizer: Client) -> None:
    assert "Remove round 2?" in text(organizer.get(page_of("round-remove", later)))
    organizer.post(page_of("round-remove", later))
    assert not Round.objects.filter(number=2).exists()


def test_the_current_round_is_neither_changed_nor_removed_here(
    world: World, organizer: Client
) -> None:
    organizer.post(page_of("round-remove", world.round))
    page = text(organizer.post(page_of("round", world.round), round_form()))
    assert Round.objects.get().title == ""
    assert "settings of the competition" in page


def test_new_rows_come_with_their_own_sample_and_solution(
    later: Round, organizer: Client, world: World
) -> None:
    file = upload(sample(), "sample_submission.csv")
    organizer.post(page_of("round-files", later), {"role": "sample", "file": file})
    organizer.post(page_of("round-solution", later), {"solution": upload(solution(), "s.csv")})
    later.refresh_from_db()
    assert later.ledger is not None
    assert later.ledger != world.round.ledger
    assert later.phase(timezone.now()) is Phase.UPCOMING
    page = text(organizer.get(page_of("round", later)))
    assert "Sealed: 8 Public, 32 Private" in page


def test_files_of_a_coming_round_are_not_shown_to_participants(
    later: Round, organizer: Client, client: Client
) -> None:
    file = upload(b"a,b\n1,2\n", "new_rows.csv")
    organizer.post(page_of("round-files", later), {"role": "other", "file": file})
    assert later.files.get().name == "new_rows.csv"
    assert "new_rows.csv" not in text(client.get("/c/digits/data/"))
    organizer.post(page_of("round-file-remove", later, later.files.get().pk))
    assert not later.files.exists()


def test_what_is_wrong_with_a_solution_is_listed(later: Round, organizer: Client) -> None:
    file = upload(sample(), "sample_submission.csv")
    organizer.post(page_of("round-files", later), {"role": "sample", "file": file})
    broken = upload(solution().replace(b"r3,3", b"r3,9"), "s.csv")
    page = text(organizer.post(page_of("round-solution", later), {"solution": broken}))
    assert "Nothing was stored." in page
    assert "1 problem:" in page


def test_the_solution_of_a_round_that_has_begun_is_not_taken_here(
    world: World, organizer: Client
) -> None:
    before = world.round.active_holdout
    given = {"solution": upload(solution())}
    page = organizer.post(page_of("round-solution", world.round), given, follow=True)
    assert "Only a round that has not begun" in text(page)
    assert world.round.active_holdout == before


# --- Columns --------------------------------------------------------------------------------------


def metrics_of(round: Round) -> list[str]:
    return list(Board.objects.filter(round=round).values_list("metric", flat=True))


COLUMN = scoring_form("error_rate", "ladder", steps="20")


@pytest.fixture
def draft(world: World) -> Competition:
    organize.return_to_draft(world.digits, by=world.organizer)
    world.digits.refresh_from_db()
    return world.digits


def test_a_column_s_cost_is_shown_before_it_is_added(draft: Competition, organizer: Client) -> None:
    round = draft.current_round
    answer = organizer.post(page_of("round-boards", round), COLUMN)
    assert "What it costs" in text(answer)
    assert len(metrics_of(round)) == 1
    seen = answer.context["form"]["seen"].value()
    organizer.post(page_of("round-boards", round), COLUMN | {"seen": seen})
    assert metrics_of(round) == ["accuracy", "error_rate"]


def test_another_column_than_was_looked_at_is_shown_first(
    draft: Competition, organizer: Client
) -> None:
    round = draft.current_round
    seen = organizer.post(page_of("round-boards", round), COLUMN).context["form"]["seen"].value()
    other = COLUMN | {"mechanism-ladder-steps": "10", "seen": seen}
    assert "What it costs" in text(organizer.post(page_of("round-boards", round), other))
    assert len(metrics_of(round)) == 1


def test_a_column_makes_the_guarantee_wider(world: World) -> None:
    draft = make_draft("large", world.organizer, rows=2000)
    round = draft.current_round
    labels = b"id,y,Usage\n" + b"".join(
        b"r%d,0.5,%s\n" % (row, b"Public" if row < 600 else b"Private") for row in range(2000)
    )
    scoring = organize.Scoring("mae", {}, "guard", {})
    organize.change_scoring(round.board, scoring, by=world.organizer)
    organize.install_solution(round, upload(labels, "solution.csv"), by=world.organizer)
    round = Competition.objects.get(slug="large").current_round
    ranking, column = organize.foresee_columns(round, scoring)
    assert ranking.before is not None
    assert ranking.after is not None
    assert ranking.before.half_width is not None
    assert ranking.after.half_width is not None
    assert ranking.after.half_width > ranking.before.half_width
    assert column.before is None


def test_a_column_is_removed_but_not_the_only_board(draft: Competition, organizer: Client) -> None:
    round = draft.current_round
    seen = organizer.post(page_of("round-boards", round), COLUMN).context["form"]["seen"].value()
    organizer.post(page_of("round-boards", round), COLUMN | {"seen": seen})
    organizer.post(page_of("round-board-remove", round, 1))
    assert metrics_of(round) == ["accuracy"]
    organizer.post(page_of("round-board-remove", round, 0))
    assert len(metrics_of(round)) == 1


def test_a_coming_round_on_new_rows_can_have_other_columns(later: Round, organizer: Client) -> None:
    seen = organizer.post(page_of("round-boards", later), COLUMN).context["form"]["seen"].value()
    organizer.post(page_of("round-boards", later), COLUMN | {"seen": seen})
    assert len(metrics_of(later)) == 2


def test_columns_of_an_open_round_are_fixed(world: World, organizer: Client) -> None:
    address = page_of("round-boards", world.round)
    assert "participants rely on it" in text(organizer.get(address))
    organizer.post(address, COLUMN)
    assert len(metrics_of(world.round)) == 1


# --- Practice -------------------------------------------------------------------------------------


def test_practice_is_opened_and_closed_by_a_button(world: World, organizer: Client) -> None:
    world.score(world.join(world.alice), predictions(wrong=range(10, 20)))
    ending.reveal(world.digits)
    address = page_of("round-practice", world.round)
    assert "Open practice" in text(organizer.get(page_of("round", world.round)))
    organizer.post(address, {"open": "yes"})
    assert Round.objects.get().takes_practice
    organizer.post(address, {"open": "no"})
    assert not Round.objects.get().takes_practice


def test_why_there_can_be_no_practice_is_said(world: World, organizer: Client) -> None:
    page = text(organizer.get(page_of("round", world.round)))
    assert "Practice begins after the final scores are revealed." in page


@pytest.mark.parametrize("name", ["round", "round-boards", "round-remove"])
def test_rounds_that_are_not_there_are_not_found(
    world: World, organizer: Client, name: str
) -> None:
    address = reverse(f"organize-{name}", args=["digits", 9])
    assert organizer.get(address).status_code == 404
