"""Activation patching of every kind of model."""

import numpy as np
import pytest

import glasshouse
from glasshouse.inspection.activation_patching import patch
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused

from .inspected_runs import TEXTS


def test_the_last_state_at_the_prediction_restores_all_and_other_tokens_nothing(inspected):
    clean, corrupt = TEXTS[inspected.name]
    result = patch(inspected, clean, corrupt)
    assert all(np.isfinite(one.restored).all() for one in result.maps)
    assert all(one.restored.shape == (len(one.rows), len(one.columns)) for one in result.maps)
    if inspected.name in ("classifier", "dual-encoder", "recurrent"):
        return  # these pool the tokens, or add attention after the last state
    stream = [one for one in result.maps if one.title.startswith("residual stream")][-1]
    expected = np.zeros(len(stream.columns))
    expected[result.clean.row] = 1.0
    np.testing.assert_allclose(stream.restored[-1], expected, atol=1e-3)


def test_only_tokens_that_differ_can_restore_anything_at_the_embedding(inspected):
    clean, corrupt = TEXTS[inspected.name]
    result = patch(inspected, clean, corrupt)
    embedding = result.maps[0].restored[0]
    differ = np.array([left != right for left, right in zip(*result.tokens, strict=True)])[: len(embedding)]
    np.testing.assert_allclose(embedding[~differ], 0, atol=1e-3)
    assert np.abs(embedding[differ]).max() > 1e-3


def test_texts_of_unequal_lengths_and_equal_texts_are_refused(inspected):
    clean, _ = TEXTS[inspected.name]
    longer = {"dual-encoder": "a red circle left of a star", "classifier": "good warm day good"}.get(
        inspected.name, clean + "ab"
    )
    with refused(GlasshouseError):
        patch(inspected, clean, longer)
    with refused(GlasshouseError):
        patch(inspected, clean, clean)


@pytest.mark.parametrize("inspected", ["rms-rotary", "encoder-decoder"], indirect=True)
@pytest.mark.parametrize("suffix", [".svg", *needs.slow(".png")])
def test_heat_maps_are_written(inspected, tmp_path, suffix):
    clean, corrupt = TEXTS[inspected.name]
    glasshouse.patch(inspected.folder.path, clean, corrupt, output=tmp_path / f"maps{suffix}", device="cpu")
    assert (tmp_path / f"maps{suffix}").stat().st_size > 1000
