"""Gradients of a run: norms equal those of autograd, and Jacobians those of finite differences."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import gradients
from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.example_batches import held_out_batches


def test_every_kind_has_gradients_at_initialisation_and_at_the_last_checkpoint(inspected):
    results = gradients.gradients(inspected, held_out_batches(inspected, None, 4))
    assert results[0].state == gradients.INITIAL
    assert results[-1].state.startswith("step")
    for one in results:
        assert all(np.isfinite(layer.norm) for layer in one.layers)
        assert len(one.depth) == 2 or inspected.name == "dual-encoder"
        for spread in (*one.depth, *one.time):
            assert spread.largest >= spread.median >= spread.smallest >= 0
        assert [spread.place for spread in one.time] == list(range(len(one.time)))


@pytest.mark.parametrize("inspected", ["no-norm"], indirect=True)
def test_a_jacobian_is_the_slope_of_the_state(inspected):
    tokens = torch.randint(0, 20, (1, 6), generator=torch.Generator().manual_seed(0))
    batch = {"inputs": tokens, "targets": tokens}
    model = inspected.model.double()
    try:
        depth, time = gradients._jacobians(model, batch)

        def state(change):
            def shifted(output):
                return output + change

            with torch.inference_mode(), edit(model, {"embedded": shifted}), capture(model, "blocks.1.output") as saved:
                model(tokens)
            return saved["blocks.1.output"][0, -1].clone()

        columns = []
        for index in range(16):
            change = torch.zeros(1, 6, 16, dtype=torch.float64)
            change[0, 3, index] = 1e-5
            columns.append((state(change) - state(-change)) / 2e-5)
        expected = np.linalg.svd(torch.stack(columns, 1).numpy(), compute_uv=False)
    finally:
        inspected.model.float()
    spread = next(spread for spread in time if spread.place == 2)
    assert (spread.largest, spread.smallest) == pytest.approx((expected.max(), expected.min()), rel=1e-4)
    assert depth[-1].largest == time[0].largest


def test_layers_are_named_by_their_stack():
    assert gradients.layer_of("decoder.blocks.1.attention.output.weight") == "decoder layer 2"
    assert gradients.layer_of("layers.0.forwards.input.weight") == "layer 1"
    assert gradients.layer_of("embedding.weight") == "embedding"


@pytest.mark.parametrize("inspected", ["recurrent"], indirect=True)
def test_a_figure_is_written(inspected, tmp_path):
    glasshouse.runs.gradients(inspected.folder.path, examples=2, output=tmp_path / "gradients.png", device="cpu")
    assert (tmp_path / "gradients.png").stat().st_size > 1000


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_new_models_differ_in_one_field_alone(inspected):
    plain, same, deeper = gradients.initial_gradients(inspected, "model.layers=2,2,6", held_out_batches(inspected, None, 2))
    [first, *_] = gradients.gradients(inspected, held_out_batches(inspected, None, 2))
    assert plain.layers == same.layers == first.layers, "the seed and the examples are those of the run"
    assert [one.state for one in (plain, deeper)] == ["layers=2", "layers=6"]
    assert len(deeper.depth) == 6


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_without_norms_and_residual_connections_gradients_vanish_with_depth(inspected):
    with_norm, without = (
        gradients.initial_gradients(inspected, f"model.connection={connection}", held_out_batches(inspected, None, 2))[0]
        for connection in ("pre-norm", "no-residual")
    )
    assert without.depth[-1].median < with_norm.depth[-1].median


def test_models_that_describe_pictures_have_gradients(describer):
    for one in gradients.gradients(describer, held_out_batches(describer, None, 2)):
        assert len(one.depth) == 2
        assert all(spread.largest > 0 for spread in one.depth)
