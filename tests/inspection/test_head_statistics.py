"""Statistics of heads over data, on attention weights that are known."""

import math

import pytest
import torch

from glasshouse.inspection import head_statistics as statistics
from glasshouse.inspection.capture import edit
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

WITHOUT_WEIGHTS = ("performer",)


def previous_token(weights):
    """Every query looks at the token before it; the first at itself."""
    places = torch.arange(weights.shape[-1])
    changed = torch.zeros_like(weights)
    changed[..., places, (places - 1).clamp(min=0)] = 1
    return changed


def test_every_head_of_every_kind_has_finite_statistics(inspected):
    if inspected.name in WITHOUT_WEIGHTS:
        with refused(GlasshouseError, "performer"):
            statistics.head_statistics(inspected, held_out_batches(inspected, None, 0))
        return
    rows = statistics.head_statistics(inspected, held_out_batches(inspected, None, 8))
    assert {row.head for row in rows} == set(range(1, inspected.spec.model.heads + 1))
    for row in rows:
        shares = (row.itself, row.previous, row.first, row.separators, row.largest)
        assert all(0 <= share <= 1 + 1e-6 for share in shares)
        assert row.entropy >= 0
        assert row.distance >= 0
        assert row.rank >= 1
        assert row.kind
        assert list(row.energy) == sorted(row.energy)
        assert row.energy[-1] == pytest.approx(1, abs=1e-5)
        assert list(row.singular_values) == sorted(row.singular_values, reverse=True)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_a_head_that_looks_at_the_previous_token_is_recognised(inspected):
    with edit(inspected.model, {"blocks.0.attention.weights": previous_token}):
        rows = statistics.head_statistics(inspected, held_out_batches(inspected, None, 8))
    first = rows[0]
    assert first.kind == "previous token"
    assert first.previous == pytest.approx(1)
    assert first.distance == pytest.approx(1)
    assert first.entropy == pytest.approx(0, abs=1e-6)
    assert first.positional == pytest.approx(1, abs=1e-6)
    assert not math.isnan(first.induction)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_a_map_of_rank_one_has_one_singular_value(inspected):
    with edit(inspected.model, {"blocks.1.attention.weights": lambda weights: torch.full_like(weights, 1 / 24)}):
        last = statistics.head_statistics(inspected, held_out_batches(inspected, None, 8))[-1]
    assert last.rank == 1
    assert last.energy == pytest.approx([1.0] * 24, abs=1e-5)
    assert last.singular_values == pytest.approx([1.0] + [0.0] * 23, abs=1e-5)
    assert last.entropy == pytest.approx(math.log(24), abs=1e-4)


def test_a_run_that_describes_pictures_is_refused(describer):
    with refused(GlasshouseError, "describer"):
        statistics.head_statistics(describer, [])
