"""Each attack works on the board it was made for, and not on ours."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from research.bounds.blum_hardt import boosting_loss
from research.experiments import (
    boosting,
    correlated,
    drain,
    log_loss,
    pair_flip,
    svt,
    threshold_hunt,
)
from research.experiments.boards import PlainBoard, QuickNoise, breaks
from research.experiments.results import Result
from scoring.mechanisms.base import Answer
from scoring.noise import COMPARISON, THRESHOLD, SeededNoise

RUNS = 30


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_quantity(result: Result) -> dict[str, float]:
    return {line.quantity: line.mean for line in result.comparisons}


@pytest.fixture(scope="module")
def boosted() -> boosting.Losses:
    return boosting.play(RUNS, rng(), rows=1000, submissions=200)


def test_boosting_follows_its_theory_on_a_plain_board(boosted: boosting.Losses) -> None:
    losses = boosted.board_rows["plain"][:, -1]
    error = losses.std() / math.sqrt(RUNS)
    assert abs(losses.mean() - boosting_loss(1000, 200)) < 4 * error


@pytest.mark.parametrize("board", ["Ladder, step 1/63", "Thresholdout"])
def test_boosting_gains_little_on_our_boards(boosted: boosting.Losses, board: str) -> None:
    gain, ours = (0.5 - boosted.board_rows[name][:, -1].mean() for name in ("plain", board))
    assert gain > 0.07
    assert ours < gain / 2
    assert boosted.books[board].asked == RUNS * 200
    assert boosted.books[board].broken == 0


def test_boosting_learns_nothing_about_fresh_rows(boosted: boosting.Losses) -> None:
    for losses in boosted.fresh_rows.values():
        assert abs(losses.mean() - 0.5) < 4 * 0.5 / math.sqrt(2000 * RUNS)


def test_boosting_at_full_size_agrees_with_known_means() -> None:
    result = boosting.run(10, 2)
    assert result.largest_z is not None
    assert result.largest_z < 4


def test_pair_flips_walk_the_parameter_free_ladder_down() -> None:
    small = pair_flip.Scenario(200, 200, 100, 2)
    result = pair_flip.run(RUNS, 5, scenarios=(small, pair_flip.Scenario(400, 1200, 60, 6)))
    assert result.largest_z is not None
    assert result.largest_z < 4
    ends = {row[0]: row[1] for row in result.tables[0].rows}
    assert ends["plain"] == ends["rounded to 5 decimals"] == ends["parameter-free Ladder"]
    assert isinstance(ends["plain"], float)
    assert ends["plain"] < 0.3
    for board in ("Ladder, step 1/63", "Ladder, step 1/20", "Thresholdout"):
        end = ends[board]
        assert isinstance(end, float)
        assert end > 0.44
    assert all(row[4] == 0 for row in result.tables[0].rows)


def test_a_flip_of_rows_that_are_not_the_boards_changes_nothing_on_it() -> None:
    scenario = pair_flip.Scenario(10, 40, 5, 2)
    begin = pair_flip.start(scenario, rng())
    assert np.count_nonzero(begin.on_board) == 10
    elsewhere = np.flatnonzero(~begin.on_board)
    hidden = pair_flip.Start(begin.wrong, begin.on_board, elsewhere)
    outcome = pair_flip.attack(scenario, hidden, pair_flip.AcceptsFree())
    assert len(set(outcome.curve.tolist())) == 1
    assert outcome.updates == 0


@pytest.mark.parametrize(("budget", "t"), [(1000, 10), (100, 8)])
def test_the_hunter_beats_the_printed_bound_as_integrated(budget: int, t: int) -> None:
    hunt = threshold_hunt.best_hunt(budget, t)
    runs = 1000
    share = threshold_hunt.simulate(hunt, runs, rng()) / runs
    chance = hunt.chance()
    assert abs(share - chance) < 4 * math.sqrt(chance * (1 - chance) / runs)
    assert share > threshold_hunt.printed_bound(t) + 4 * math.sqrt(0.25 / runs)
    assert chance <= threshold_hunt.corrected_bound(budget, t)


@pytest.mark.parametrize("t", [20, 40, 60, 80])
def test_the_corrected_bound_holds_against_the_hunter(t: int) -> None:
    hunt = threshold_hunt.best_hunt(1000, t)
    assert hunt.chance() <= threshold_hunt.corrected_bound(1000, t)


def test_our_certificates_count_the_hunter_in() -> None:
    hunt = threshold_hunt.best_hunt(100, 8)
    outcomes = [threshold_hunt.product_hunt(hunt, rng(seed)) for seed in range(20)]
    assert any(outcome.won for outcome in outcomes)
    assert all(outcome.error <= outcome.tolerance for outcome in outcomes if outcome.won)


def test_the_sound_mechanism_keeps_its_claim_and_attains_it() -> None:
    ratios = [svt.worst_ratio(svt.ln_persistent, m) for m in (1, 10, 200)]
    assert max(ratios) <= svt.BOUND * (1 + 1e-6)
    assert ratios[-1] > svt.BOUND * 0.999


@pytest.mark.parametrize("name", [name for name in svt.VARIANTS if name != "sound"])
def test_every_broken_variant_gives_away_more_and_more(name: str) -> None:
    ten, hundred = (svt.VARIANTS[name](m) for m in (10, 100))
    assert ten > 2 * svt.BOUND
    assert hundred > 8 * ten


def test_our_thresholdout_follows_the_integrated_law() -> None:
    runs = 1000
    hits, chance = svt.product_frequency(runs, rng())
    assert abs(hits / runs - chance) < 4 * math.sqrt(chance / runs)


def test_counting_rows_of_groups_breaks_intervals_and_counting_groups_does_not() -> None:
    result = correlated.run(8, 5, correlated.Grouped(rows=2000, attributes=2000))
    assert result.largest_z is not None
    assert result.largest_z < 4
    shares = by_quantity(result)
    rows, groups = (
        next(mean for name, mean in shares.items() if what in name)
        for what in ("for n rows (", "for n/g groups")
    )
    assert rows > 0.15
    assert groups < 0.05
    assert shares["plain, k=500: reported"] > 0.65


def test_ungrouped_rows_have_the_ordinary_scatter() -> None:
    setting = correlated.Grouped(size=1, shared=0.0)
    assert setting.inflation == 1
    assert setting.accuracy_sd == pytest.approx(0.005)


def test_a_memoriser_empties_one_pot_but_not_the_others_shares() -> None:
    result = by_quantity(drain.run(4, 5))
    assert result["one pot: of the last round"] == 0
    assert result["a share each: of the last round"] > 0.8
    assert result["a share each: corrections the memoriser took"] == drain.Contest().share
    assert result["a share each: error of honest scores at the end"] < 0.04
    assert result["one pot: error of honest scores at the end"] > 0.05


def test_unclipped_log_losses_give_labels_away_and_ours_do_not() -> None:
    result = by_quantity(log_loss.run(3, 5))
    assert result["plain, unclipped: labels known"] == 1
    assert result["rounded to 5 decimals, unclipped: labels known"] == 1
    assert result["rounded to 2 decimals, unclipped: labels known"] > 0.85
    for name, share in result.items():
        if "clipped" in name and "unclipped" not in name:
            assert share < 0.53


def test_decoding_inverts_the_log_loss() -> None:
    labels = rng().integers(0, 2, 50, dtype=np.int8)
    log_odds = np.zeros(50)
    log_odds[:12] = log_loss.LARGEST / 2.0 ** np.arange(11, -1, -1)
    shown = log_loss.loss(log_odds, labels)
    decoded = log_loss.decode(shown, np.arange(12), log_odds)
    assert decoded.tolist() == labels[:12].tolist()


@pytest.mark.parametrize("scale", [0.8, 12.5])
def test_quick_noise_has_the_law_of_the_exact_noise(scale: float) -> None:
    exact_scale = Fraction(scale)
    quick, exact = QuickNoise(rng(1)), SeededNoise(rng(2))
    samples = np.array(
        [[noise.laplace(exact_scale, COMPARISON, 0) for noise in (quick, exact)]
         for _ in range(4000)]
    )  # fmt: skip
    for values in (np.abs(samples), np.sign(samples), samples == 0):
        means, sds = values.mean(axis=0), values.std(axis=0)
        assert abs(means[0] - means[1]) <= 4 * math.hypot(*sds) / math.sqrt(4000)


def test_quick_noise_keeps_a_threshold_until_the_next_firing() -> None:
    noise = QuickNoise(rng())
    draws = [noise.laplace(Fraction(1000), THRESHOLD, index) for index in (0, 0, 1, 0)]
    assert draws[0] == draws[1] == draws[3] != draws[2]


def test_rounding_boards_round() -> None:
    assert PlainBoard(2).show(np.array([0.1234, 0.5])).tolist() == [0.12, 0.5]
    assert PlainBoard().show(np.array([0.1234])).tolist() == [0.1234]


@pytest.mark.parametrize(
    ("kind", "truth", "broken"),
    [
        ("improved", 0.5, False),
        ("improved", 0.65, True),
        ("corrected", 0.35, True),
        ("confirmed", 0.45, False),
        ("not_improved", 0.9, False),
        ("not_improved", 0.3, True),
        ("pass", 0.3, False),
        ("pass", 0.9, True),
        ("exhausted", 0.0, False),
    ],
)
def test_a_certificate_is_held_against_the_truth(kind: str, truth: float, broken: bool) -> None:
    answer = Answer(kind, 50, None, 100, 0.05, 0.05, 1)
    assert breaks(answer, truth) is broken


@pytest.mark.parametrize(
    "play",
    [
        lambda seed: boosting.run(2, seed, rows=100, submissions=20),
        lambda seed: pair_flip.run(2, seed, scenarios=(pair_flip.Scenario(100, 100, 20, 2),)),
        lambda seed: drain.run(2, seed, drain.Contest(rounds=4)),
        lambda seed: log_loss.run(2, seed, rows=20),
        lambda seed: correlated.run(1, seed, correlated.Grouped(rows=200, attributes=200)),
    ],
    ids=["boosting", "pair_flip", "drain", "log_loss", "correlated"],
)
def test_the_seed_decides_everything(play: Callable[[int], Result]) -> None:
    assert play(3).to_json() == play(3).to_json()
    assert play(3).to_json() != play(4).to_json()
