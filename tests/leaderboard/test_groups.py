"""Rows in groups on the server: sealed whole, counted by their design, verified, revised."""

from __future__ import annotations

import math
from collections.abc import Callable
from io import StringIO

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger.entries import holdout_facts
from leaderboard.models import Holdout, Pause, Release, Rescore, Status, Submission
from leaderboard.organize.revisions import preview_revision, revise_solution
from leaderboard.tasks import score_submission
from research.experiments.groups import Flights
from scoring.errors import SolutionError
from scoring.guarantees.groups import Design, choose_designs, kish
from scoring.predictions import Column, Schema, Solution, Usage
from tests import ending
from tests.cast import (
    ROWS,
    World,
    active_holdout,
    ledger_of,
    predictions,
    set_board,
    solution,
    truth,
    upload,
)

# Groups of the rows: 4 Public pairs; Private ones of 1 to 5 rows, so that Hoeffding is narrower.
SIZES = (2, 2, 2, 2, 5, 4, 3, *[1] * 20)
GROUPS = [number for number, size in enumerate(SIZES) for _ in range(size)]


def grouped(
    usage: Callable[[int], str] = lambda row: "Public" if row < 8 else "Private",
    group: Callable[[int], object] = lambda row: GROUPS[row],
) -> ContentFile[bytes]:
    """Write the small competition's solution with groups."""
    lines = [f"r{row},{truth(row)},{usage(row)},g{group(row)}" for row in range(ROWS)]
    return upload(("id,label,Usage,Group\n" + "\n".join(lines) + "\n").encode(), "solution.csv")


@pytest.fixture
def holdout(world: World) -> Holdout:
    """The competition's solution, in groups; its board has few steps."""
    set_board(world.digits, mechanism_parameters={"steps": "6", "confidence": "0.95"})
    return organize.install_solution(world.round, grouped(), by=world.organizer)


def test_a_group_in_two_sets_is_refused_with_the_line(world: World) -> None:
    before = active_holdout(world.digits)
    torn = grouped(lambda row: "Public" if row < 9 else "Private")
    with pytest.raises(SolutionError) as caught:
        organize.install_solution(world.round, torn, by=world.organizer)
    assert str(caught.value) == (
        "Line 11, column `Group`: 'g4' is in Private here, and in Public in line 10."
    )
    assert active_holdout(world.digits) == before


def test_designs_of_all_sets_are_published_and_hashed(world: World, holdout: Holdout) -> None:
    sizes = np.array(SIZES[4:])
    assert holdout.effective_private_rows == 32 // 5
    assert holdout.effective_public_rows == 4
    assert holdout.designs.keys() == {"public", "private"}
    assert holdout.designs["private"]["sampling_rows"] == pytest.approx(kish(sizes), abs=1e-6)
    assert holdout_facts(holdout)["designs"] == holdout.designs


def test_facts_of_rows_without_groups_are_what_they_were(world: World) -> None:
    assert "designs" not in holdout_facts(active_holdout(world.digits))


def test_whiskers_and_guarantees_take_the_published_design(world: World, holdout: Holdout) -> None:
    design = Design(**holdout.designs["private"])
    assert design.bound == "hoeffding"
    world.score(world.join(world.alice), predictions(range(8, 12)))
    entry = Release.objects.get(holdout=holdout)
    assert entry.level is not None
    assert entry.length is not None
    budget = entry.length / 10**6
    ends = (entry.level / 6 - entry.tolerance, entry.level / 6 + entry.tolerance)
    assert entry.bound == "hoeffding"
    assert (entry.low, entry.high) == pytest.approx(design.interval(*ends, budget), abs=1e-6)
    reads = queries.scale(world.board)
    by_groups = queries.sampling_interval(reads, holdout, 0.25)
    holdout.designs = {}
    by_largest = queries.sampling_interval(reads, holdout, 0.25)
    assert by_groups is not None
    assert by_largest is not None
    assert by_groups.high - by_groups.low < by_largest.high - by_largest.low


def test_whiskers_of_flights_by_day_keep_their_promise(world: World) -> None:
    """100 groups, a design effect near 100: by the published design, 95 % whiskers cover 93 %."""
    generator, flights = np.random.default_rng(11), Flights(size=300, shared=0.33)
    reads, held, effects = queries.scale(world.board), 0, []
    for _ in range(40):
        sizes = flights.sizes(generator).astype(int)
        holdout = _sealed(np.repeat(np.arange(len(sizes)), sizes))
        effects.append(flights.effect(sizes))
        for loss in flights.losses(sizes, 10, generator) @ sizes / sizes.sum():
            released = round(float(loss) * 1000) / 1000
            found = queries.sampling_interval(reads, holdout, released)
            assert found is not None
            held += found.low <= 1 - flights.loss <= found.high
    assert np.mean(effects) == pytest.approx(100, rel=0.1)
    assert held / 400 >= 0.93


def test_whiskers_hold_where_all_rows_of_a_group_are_alike(world: World) -> None:
    """The worst case: by rows they would hold in 12 of 100; losses of 0 or 1, the same in a day."""
    generator = np.random.default_rng(5)
    reads, held, by_rows = queries.scale(world.board), 0, 0
    sizes = generator.integers(80, 120, 100)
    holdout = _sealed(np.repeat(np.arange(100), sizes))
    plain = Holdout(effective_private_rows=int(sizes.sum()))
    for _ in range(400):
        loss = float((generator.random(100) < 0.25) @ sizes / sizes.sum())
        for each in (holdout, plain):
            found = queries.sampling_interval(reads, each, loss)
            assert found is not None
            held += each is holdout and found.low <= 0.75 <= found.high
            by_rows += each is plain and found.low <= 0.75 <= found.high
    assert held / 400 >= 0.93
    assert by_rows / 400 < 0.5


def _sealed(groups: np.typing.NDArray[np.int64]) -> Holdout:
    """A holdout of Private rows in groups, not stored."""
    rows = len(groups)
    one = Solution(
        Schema("id", (Column("p", "number"),)),
        {"p": np.zeros(rows)},
        np.full(rows, Usage.PRIVATE, np.int8),
        "digest",
        groups=groups,
    )
    effective = one.effective_rows(Usage.PRIVATE)
    return Holdout(designs=choose_designs(one), effective_private_rows=effective)


def test_final_intervals_take_the_design_of_the_final_rows(world: World) -> None:
    set_board(world.digits, mechanism_parameters={"steps": "3", "confidence": "0.95"})
    sets = grouped(
        lambda row: "Public" if row < 8 else "Final" if row >= 20 else "Private",
        lambda row: row // 2 if row < 24 else 100 + row // 4,
    )
    holdout = organize.install_solution(world.round, sets, by=world.organizer)
    world.score(world.join(world.alice), predictions([30]))
    ending.reveal(world.digits)
    (row,) = queries.final_board(world.round, world.organizer).rows
    assert row.best.interval is not None
    # Half of beta is for the tests of pairs.
    low, high = Design(**holdout.designs["final"]).interval(0.05, 0.05, math.log(2 / 0.025))
    assert row.best.interval.low == pytest.approx(1 - high)
    assert row.best.interval.high == pytest.approx(1 - low)


def test_a_ledger_of_grouped_rows_is_verified(world: World, holdout: Holdout) -> None:
    team = world.join(world.alice)
    for wrong in (range(8, 20), range(8, 12)):
        world.score(team, predictions(wrong))
    out = StringIO()
    call_command("verify", "digits", stdout=out)
    assert "Verified." in out.getvalue()
    Holdout.objects.update(designs={"private": holdout.designs["private"] | {"bound": "kl"}})
    with pytest.raises(Exception, match="differs"):
        call_command("verify", "digits", stdout=out)


# --- Revisions ------------------------------------------------------------------------------------


@pytest.fixture
def answered(world: World, holdout: Holdout) -> Holdout:
    """The same after an answer."""
    world.score(world.join(world.alice), predictions(range(8, 12)))
    return holdout


def revise(world: World, file: ContentFile[bytes]) -> Holdout:
    return revise_solution(
        world.round, file, by=world.organizer, reason="Groups.", rescore=Rescore.BEST
    )


def score_all() -> None:
    """Workers score all that waits."""
    for key in Submission.objects.filter(status=Status.QUEUED).values_list("pk", flat=True):
        score_submission(submission_id=key)


def test_a_revision_s_groups_are_whole_too(world: World, answered: Holdout) -> None:
    torn = grouped(group=lambda row: row % 8)
    for check in (lambda: preview_revision(world.round, torn), lambda: revise(world, torn)):
        with pytest.raises(SolutionError, match="in Private here, and in Public"):
            check()


def test_a_revision_keeps_the_column(world: World, answered: Holdout) -> None:
    for check in (preview_revision, lambda _, file: revise(world, file)):
        with pytest.raises(Refused, match="Keep its column Group"):
            check(world.round, upload(solution(), "solution.csv"))


def test_a_revision_has_designs_of_its_own(world: World, answered: Holdout) -> None:
    revised = revise(world, grouped(group=lambda row: row // 2))
    assert revised.designs["private"]["bound"] == "kl"
    assert revised.effective_private_rows == 16


def test_no_row_is_held_back_whose_group_was_public(world: World, answered: Holdout) -> None:
    """Row 1 was Public with row 0; as a part of the group 9 it would tell of Private rows."""
    revise(
        world,
        grouped(
            lambda row: "Ignored" if row == 1 else "Public" if row < 8 else "Private",
            lambda row: GROUPS[9] if row == 1 else GROUPS[row],
        ),
    )
    score_all()
    assert ledger_of(world.digits).paused_for == Pause.MOVED_ROWS


def test_groups_may_change_within_a_set(world: World, answered: Holdout) -> None:
    revise(world, grouped(group=lambda row: row // 2))
    score_all()
    assert Release.objects.filter(holdout__version=3).exists()
    assert not ledger_of(world.digits).paused_for
