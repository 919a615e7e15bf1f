"""Tensors that are unknown, missing or of a wrong shape are refused with their names."""

import pytest
import torch

from glasshouse.interop import huggingface
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .transformers_models import rewrite_tensors, save_random_model, save_small_gpt2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: {**t, "transformer.h.2.ln_1.bias": torch.zeros(8)}, (GlasshouseError, "'transformer.h.2.ln_1.bias'")),
        (
            lambda t: {n: v for n, v in t.items() if n != "transformer.h.1.ln_2.bias"},
            (GlasshouseError, "'transformer.h.1.ln_2.bias'"),
        ),
        (lambda t: {**t, "transformer.wpe.weight": torch.zeros(9, 8)}, (GlasshouseError, "'transformer.wpe.weight'")),
        (
            lambda t: {**t, "transformer.h.0.mlp.c_fc.weight": torch.zeros(32)},
            (GlasshouseError, "'transformer.h.0.mlp.c_fc.weight'"),
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(change, reason, tmp_path):
    save_small_gpt2(tmp_path)
    rewrite_tensors(tmp_path, change)
    with refused(*reason):
        huggingface.read(tmp_path)


@pytest.mark.parametrize("part", [lambda t: t[:-1], lambda t: t[:, :-1], lambda t: t[0, 0]])
def test_a_projection_of_a_wrong_size_is_named(part, tmp_path):
    save_random_model("BertModel", 0, tmp_path)
    name = "encoder.layer.0.attention.self.key.weight"
    rewrite_tensors(tmp_path, lambda tensors: {**tensors, name: part(tensors[name])})
    with refused(GlasshouseError, f"{name}"):
        huggingface.read(tmp_path)
