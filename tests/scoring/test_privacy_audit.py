"""Thresholdout's claims of privacy, audited exactly, and the same audit on what is known broken."""

import numpy as np
import pytest

from tests.scoring.audit import FORM_NAMES, ROUNDING, Audit, Variant, ratio_to_claim

REDRAWN = Variant(threshold="redrawn")
NO_THRESHOLD_NOISE = Variant(threshold="none")
REUSED = Variant(answer="comparison")
UNCAPPED = Variant(capped=False)


@pytest.mark.parametrize("form", FORM_NAMES)
def test_only_the_sum_of_the_two_noises_decides(form: str) -> None:
    generator, audit = np.random.default_rng(1), Audit(form)
    for units in (100, 130, 160, 200):
        for threshold, comparison in generator.integers(-150, 150, size=(40, 2)).tolist():
            together = audit.fires(units, threshold + comparison, 0)
            assert audit.fires(units, threshold, comparison) == together


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize("misses", [1, 10, 100, 1000])
def test_a_sound_form_costs_no_more_than_claimed(form: str, misses: int) -> None:
    assert ratio_to_claim(form, misses, corrections=5) <= 1 + ROUNDING


@pytest.mark.parametrize("form", FORM_NAMES)
def test_the_claim_of_a_form_is_tight(form: str) -> None:
    assert ratio_to_claim(form, misses=100) >= 0.95


@pytest.mark.parametrize("form", FORM_NAMES)
def test_the_claim_of_its_comparison_alone_is_tight(form: str) -> None:
    audit = Audit(form)
    scales = audit.params.scales
    claimed = audit.claimed * float(scales.comparison_cost / scales.cost)
    worst = audit.worst_ratio(misses=100, releases=False)
    assert 0.95 * claimed <= worst <= claimed * (1 + ROUNDING)


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize(
    ("variant", "misses", "corrections"),
    [(REDRAWN, 100, 1), (NO_THRESHOLD_NOISE, 100, 1), (REUSED, 100, 1), (UNCAPPED, 1, 5)],
    ids=["threshold redrawn", "no threshold noise", "comparison noise reused", "no cap"],
)
def test_a_broken_variant_is_caught(
    form: str, variant: Variant, misses: int, corrections: int
) -> None:
    assert ratio_to_claim(form, misses, variant, corrections) > 1.2


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize("variant", [REDRAWN, NO_THRESHOLD_NOISE, REUSED])
def test_a_broken_variant_costs_more_with_every_question(form: str, variant: Variant) -> None:
    costs = [ratio_to_claim(form, misses, variant) for misses in (10, 100, 1000)]
    assert costs[0] < costs[1] < costs[2]
    assert costs[2] > 3
