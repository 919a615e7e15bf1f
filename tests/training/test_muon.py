"""Muon: its matrices, its iteration, its scales, and equality with torch's Muon and AdamW."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from glasshouse import models
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.specs.spec_files import model_spec
from glasshouse.training import muon
from tests.refusals import refused
from tests.training.optimiser_battery import RATE, build, check, set_gradients, set_rate, small_model, training_spec, weights

DECAY = 0.2
QUINTIC = (muon.QUINTIC,) * 5
# The pieces of one projection matrix of the small model: queries, keys and values.
PIECES = 3


def test_muon_updates_the_matrices_of_blocks_and_adamw_the_rest():
    model = small_model()
    names = {parameter: name for name, parameter in model.named_parameters()}
    matrices = {names[parameter]: rows for parameter, rows in muon.hidden_matrices(model).items()}
    assert {name for name in matrices if name.startswith("blocks.1.")} == {
        f"blocks.1.{name}.weight"
        for name in ("attention.projection", "attention.output", "feed_forward.up", "feed_forward.down")
    }
    assert all(name.startswith("blocks.") for name in matrices)
    assert matrices["blocks.0.attention.projection.weight"] == [8, 8, 8]


def test_tables_of_positions_in_blocks_are_no_matrices():
    model = models.build(model_spec(width=8, layers=1, heads=2, position="relative"), 11, 6)
    tables = [one for name, one in model.named_parameters() if "position" in name and one.dim() >= 2]
    assert tables
    assert not any(table in muon.hidden_matrices(model) for table in tables)


@pytest.mark.parametrize("kind", ["encoder", "encoder-decoder", "picture-decoder", "recurrent"])
def test_every_kind_of_model_can_be_trained(kind):
    parts = {"attention": "none", "position": "none"} if kind == "recurrent" else {"position": "sinusoidal"}
    model = models.build(model_spec(kind=kind, width=8, layers=1, heads=2, **parts), 11, 40)
    before = weights(model)
    optimiser = build(model, training_spec("muon"))
    set_rate(optimiser)
    set_gradients(model, 0)
    optimiser.step()
    assert all(not torch.equal(tensor, before[name]) for name, tensor in weights(model).items())
    assert bool(muon.hidden_matrices(model)) == (kind != "recurrent")


@pytest.mark.parametrize("nesterov", [True, False])
def test_the_update_is_that_of_torch_for_each_matrix(nesterov):
    """torch's Muon computes in bfloat16, one matrix at a time; ours in float32 here, all matrices of a shape at once."""
    model, reference = small_model(), small_model()
    optimiser = build(model, training_spec("muon", nesterov=nesterov, weight_decay=DECAY))
    set_rate(optimiser)
    names = {parameter: name for name, parameter in reference.named_parameters()}
    pieces = {
        names[parameter]: [torch.nn.Parameter(piece.clone()) for piece in parameter.detach().split(rows)]
        for parameter, rows in muon.hidden_matrices(reference).items()
    }
    assert len(pieces["blocks.0.attention.projection.weight"]) == PIECES
    theirs = torch.optim.Muon(
        [piece for split in pieces.values() for piece in split],
        lr=RATE,
        weight_decay=DECAY,
        nesterov=nesterov,
        adjust_lr_fn="match_rms_adamw",
    )
    others = {name: one for name, one in reference.named_parameters() if name not in pieces}
    adamw = torch.optim.AdamW(
        [
            {"params": [one for one in others.values() if one.dim() >= 2], "weight_decay": DECAY},
            {"params": [one for one in others.values() if one.dim() < 2], "weight_decay": 0.0},
        ],
        lr=RATE,
        betas=(0.9, 0.99),
    )
    for step in range(3):
        set_gradients(model, step)
        set_gradients(reference, step)
        gradients = {name: one.grad for name, one in reference.named_parameters()}
        for name, split in pieces.items():
            for piece, gradient in zip(split, gradients[name].split([len(one) for one in split]), strict=True):
                piece.grad = gradient.clone()
        optimiser.step()
        theirs.step()
        adamw.step()
    ours = weights(model)
    for name, split in pieces.items():
        torch.testing.assert_close(ours[name], torch.cat([one.detach() for one in split]), rtol=0, atol=0.01)
    torch.testing.assert_close({name: ours[name] for name in others}, {name: one.detach() for name, one in others.items()})


def test_matrices_of_one_shape_and_their_transposes_share_a_call(monkeypatch):
    calls = []
    iterate = muon.newton_schulz

    def counted(stack, polynomials):
        calls.append(tuple(stack.shape))
        return iterate(stack, polynomials)

    monkeypatch.setattr(muon, "newton_schulz", counted)
    model = small_model()
    optimiser = build(model, training_spec("muon"))
    set_rate(optimiser)
    set_gradients(model, 0)
    optimiser.step()
    # Per block: queries, keys, values and output are 8 x 8; the feed-forward matrices are 12 x 8 and 8 x 12.
    assert sorted(calls) == [(4, 8, 12), (8, 8, 8)]


def test_a_batch_equals_each_matrix_alone_and_singular_values_are_about_one():
    torch.manual_seed(0)
    matrices = [torch.randn(6, 4), torch.randn(4, 6), torch.randn(5, 5)]
    alone = [matrix.clone() for matrix in matrices]
    muon.orthogonalise_all(matrices, QUINTIC)
    for together, matrix in zip(matrices, alone, strict=True):
        left, _, right = torch.linalg.svd(matrix, full_matrices=False)
        muon.orthogonalise_all([matrix], QUINTIC)
        torch.testing.assert_close(together, matrix)
        scale = 0.2 * max(matrix.shape) ** 0.5
        assert (torch.linalg.svdvals(matrix) / scale - 1).abs().max() < 0.5
        assert torch.nn.functional.cosine_similarity(matrix.flatten(), (left @ right).flatten(), dim=0) > 0.97


def test_an_update_that_matches_adamws_has_its_root_mean_square():
    torch.manual_seed(0)
    for rows, columns in ((32, 32), (64, 16), (16, 64)):
        matrix = torch.randn(rows, columns)
        muon.orthogonalise_all([matrix], QUINTIC)
        assert matrix.square().mean().sqrt().item() == pytest.approx(0.2, rel=0.2)


def test_a_matrix_of_zeros_stays_zero():
    matrix = torch.zeros(3, 4)
    muon.orthogonalise_all([matrix], QUINTIC)
    assert torch.equal(matrix, torch.zeros(3, 4))


def with_singular_values(values: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Matrices (2, rows, columns) with these singular values, which Frobenius norm 1 leaves as they are."""
    generator = torch.Generator().manual_seed(0)
    left = torch.linalg.qr(torch.randn(2, rows, rows, dtype=torch.float64, generator=generator))[0]
    right = torch.linalg.qr(torch.randn(2, columns, rows, dtype=torch.float64, generator=generator))[0]
    return (left * (values / values.norm())) @ right.mT


@pytest.mark.parametrize("polynomials", [QUINTIC, *muon.MINIMAX.values()])
def test_polynomials_of_the_gram_matrix_equal_the_steps(polynomials):
    wide = with_singular_values(torch.logspace(-7, 0, 20, dtype=torch.float64), 20, 30)
    x = wide
    for a, b, c in polynomials:
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    torch.testing.assert_close(muon.newton_schulz(wide.float(), polynomials), x.float(), rtol=0, atol=2e-3)


@pytest.mark.parametrize(("steps", "lowest"), [(3, 0.01), (4, 0.003), (5, 0.001)])
def test_minimax_polynomials_deviate_least_from_one(steps, lowest):
    """Linear programming over a grid finds the same coefficients."""
    highest, deviation, smallest = 1.0, 0.0, math.log10(4 * lowest)
    for polynomial in muon.MINIMAX[steps]:
        values = np.geomspace(lowest, highest, 1000)
        powers = np.stack([values, values**3, values**5], 1)
        limits = np.block([[powers, -np.ones((1000, 1))], [-powers, -np.ones((1000, 1))]])
        bounds = np.repeat([1.0, -1.0], 1000)
        best = linprog([0, 0, 0, 1], limits, bounds, bounds=(None, None)).x
        np.testing.assert_allclose(polynomial, best[:3], rtol=2e-3)
        deviation = best[3]
        lowest, highest = 1 - deviation, 1 + deviation
    # Divided by their norm, which is below 4, the singular values are in the first range.
    matrices = with_singular_values(torch.logspace(smallest, 0, 16, dtype=torch.float64), 16, 16).float()
    values = torch.linalg.svdvals(muon.newton_schulz(matrices, muon.MINIMAX[steps]))
    assert (values - 1).abs().max() < deviation + 0.01


def test_minimax_polynomials_exist_for_some_numbers_of_steps():
    check(training_spec("muon", newton_schulz="minimax", newton_schulz_steps=4))
    with refused(SpecError, "newton_schulz_steps=7"):
        check(training_spec("muon", newton_schulz="minimax", newton_schulz_steps=7))


def test_a_model_without_blocks_is_trained_by_adamw():
    model = models.build(ModelSpec(kind="encoder", width=8, layers=0, heads=2, position="none"), 11, 6)
    assert not muon.hidden_matrices(model)
