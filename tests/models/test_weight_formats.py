"""Each number format generates. Weights of 8 bits give almost the same logits, and rows do not depend on each other."""

import copy

import pytest
import torch

import glasshouse
from glasshouse import models
from glasshouse.models import weight_formats
from glasshouse.models.weight_formats import FORMATS, Int8Linear, can_have_int8_weights, with_int8_weights
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import ModelSpec
from tests.refusals import refused

VOCABULARY, CONTEXT = 60, 16


def build(**settings):
    torch.manual_seed(0)
    return models.build(ModelSpec(width=32, layers=2, **settings), VOCABULARY, CONTEXT).eval()


@pytest.mark.parametrize(
    "settings",
    [{}, {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True, "tied": False}],
    ids=["llama", "gpt-2"],
)
@torch.inference_mode()
def test_logits_are_almost_the_same(settings):
    model = build(**settings)
    assert can_have_int8_weights(model)
    smaller = with_int8_weights(copy.deepcopy(model))
    assert not [module for module in smaller.blocks.modules() if isinstance(module, torch.nn.Linear)]
    tokens = torch.randint(0, VOCABULARY, (5, CONTEXT))
    exact, rounded = model(tokens).log_softmax(-1), smaller(tokens).log_softmax(-1)
    assert not torch.equal(exact, rounded)
    assert (exact.exp() * (exact - rounded)).sum(-1).mean() < 0.01


@torch.inference_mode()
def test_a_matrix_of_8_bits():
    torch.manual_seed(0)
    weight, bias, x = (
        torch.randn(7, 40),
        torch.randn(7),
        torch.randn(3, 5, 40) * torch.tensor([1e-3, 1.0, 1e3])[:, None, None],
    )
    expected = torch.nn.functional.linear(x, weight, bias)
    assert ((Int8Linear(weight, bias)(x) - expected).norm(dim=(1, 2)) < 0.03 * expected.norm(dim=(1, 2))).all()
    layer = Int8Linear(weight, bias)
    assert torch.equal(layer(x[1:2]), layer(x)[1:2]), "a row does not depend on the others"
    zeros = Int8Linear(torch.zeros(7, 40), None)(torch.zeros(1, 40))
    assert torch.equal(zeros, torch.zeros(1, 7))


def test_other_models_cannot_have_them():
    encoder = models.build(ModelSpec(kind="encoder", width=32, layers=1), VOCABULARY, CONTEXT)
    assert not can_have_int8_weights(encoder)


@pytest.fixture
def run(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the log. " * 30)
    sizes = ("data.vocabulary=270", "data.context=16", "model.width=16", "model.layers=1", "model.heads=2")
    fixed = ("training.steps=2", "training.threads=1", "training.precision=fp32")
    return glasshouse.train("language-model", f"data.files={text}", *sizes, *fixed, name="small", device="cpu")


def test_every_format_generates(run):
    whole = run.sample("the cat", tokens=6, temperature=0)[0]
    for name in FORMATS:
        opened = glasshouse.open_run("small", device="cpu", dtype=name)
        assert opened.dtype == name
        [completion] = opened.sample("the cat", tokens=6, temperature=0)
        assert len(completion.choices) == 6
        assert completion.choices[0].log_probability == pytest.approx(whole.choices[0].log_probability, abs=0.3)


def test_what_cannot_be_is_refused(run):
    with refused(GlasshouseError, "float16", "int8"):
        glasshouse.open_run("small", device="cpu", dtype="float16")
    with refused(GlasshouseError, "for a CPU", "bfloat16"):
        weight_formats.check("int8", torch.device("cuda"))
    encoder = models.build(ModelSpec(kind="encoder", width=16, layers=1), 9, 8)
    with refused(GlasshouseError, "decoders", "reader"):
        weight_formats.convert(encoder, "int8", "reader")
