"""What carries on over a correction, and what is written off after a loss."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import pytest

from scoring.guarantees.ledger import ln_beta_of_question
from scoring.mechanisms import books
from scoring.mechanisms.base import HoldoutState, TeamState

HEAD = HoldoutState(asked=9, answered=4, log_alphabets=5.5, firings=4, budget_left=7)
NO = None


def test_a_correction_forgets_nothing_and_has_noise_of_its_own() -> None:
    after = books.carry_on(HEAD)
    assert (after.asked, after.answered, after.firings) == (10, 5, 5)
    assert (after.log_alphabets, after.budget_left) == (5.5, 7)


def test_a_team_keeps_its_share_and_not_its_levels() -> None:
    assert books.carry_team(TeamState(best=3, last=4, share_left=2)) == TeamState(share_left=2)
    assert books.carry_team(TeamState(best=3, last=4)) == TeamState()


def test_what_is_written_off_is_spent_as_far_as_there_was_something() -> None:
    after = books.write_off(HEAD, 3, alphabet=1)
    assert (after.asked, after.answered, after.firings, after.budget_left) == (12, 7, 7, 4)
    assert after.log_alphabets == pytest.approx(5.5 + 3 * math.log(2))
    assert books.write_off(HEAD, 99, alphabet=1).budget_left == 0
    assert books.write_off_team(TeamState(best=1, last=1, share_left=2), 3).share_left == 0
    assert books.write_off_team(TeamState(best=1, last=1), 3) == TeamState(best=1, last=1)


def test_nothing_lost_is_nothing_written_off() -> None:
    assert books.write_off(HEAD, 0, alphabet=5) == HEAD


def answers(questions: int, alphabet: int) -> Iterator[tuple[int | None, ...]]:
    """Every way in which so many questions can be answered: a no, or a yes of some value."""
    return itertools.product((NO, *range(alphabet)), repeat=questions)


def counted(head: HoldoutState, given: tuple[int | None, ...], alphabet: int) -> HoldoutState:
    for answer in given:
        head = books.count_question(head, yes=answer is not NO, alphabet=alphabet)
    return head


def most_questions_for_their_share(lost: int, alphabet: int, kept: bool) -> float:
    """Over all histories of two answers, `lost` ones that nobody can read, and up to two more: how
    many histories meet in one head, against the number that the union bound gives that head."""
    found = Counter[HoldoutState]()
    for later in range(3):
        for history in answers(2 + lost + later, alphabet):
            head = counted(HoldoutState(), history[:2], alphabet)
            if kept:
                head = counted(head, (0,) * lost, alphabet)
            else:
                head = books.write_off(head, lost, alphabet)
            found[counted(head, history[2 + lost :], alphabet)] += 1
    shares = (
        histories * math.exp(-head.log_alphabets) / math.comb(head.asked, head.answered)
        for head, histories in found.items()
    )
    return max(shares)


@pytest.mark.parametrize("alphabet", [1, 2, 3])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_histories_with_a_lost_part_are_no_more_than_the_union_bound_counts(
    lost: int, alphabet: int
) -> None:
    assert most_questions_for_their_share(lost, alphabet, kept=False) <= 1 + 1e-12


def test_counting_lost_answers_as_plain_yeses_would_count_too_few() -> None:
    assert most_questions_for_their_share(3, 1, kept=True) > 1


@pytest.mark.parametrize("alphabet", [1, 21, 101])
def test_a_written_off_ledger_is_no_better_than_any_that_was_lost(alphabet: int) -> None:
    """Not needed for the argument, but what people expect where few answers were given before."""
    start = HoldoutState(asked=300, answered=20, log_alphabets=20 * math.log(alphabet), firings=20)
    written_off = books.write_off(start, 30, alphabet)
    for yeses in range(31):
        real = counted(start, (0,) * yeses + (NO,) * (30 - yeses), alphabet)
        assert ln_beta(written_off) <= ln_beta(real) + 1e-9


def ln_beta(head: HoldoutState) -> float:
    return ln_beta_of_question(head.asked + 1, head.answered, head.log_alphabets, math.log(0.05))
