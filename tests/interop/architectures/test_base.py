"""Tensor names: prefixes, shared tensors and ignored tensors; and tables that list only what they must."""

import pytest
import torch
from safetensors.torch import load_file

from glasshouse.interop import huggingface
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.config_fields import field_definition, field_values, with_field_values
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec
from tests.interop.transformers_models import (
    assert_same_logits,
    assert_same_outputs,
    build_ours,
    random_model,
    rewrite_tensors,
    save_small_gpt2,
    seed_with,
)
from tests.refusals import refused


@pytest.mark.parametrize("architecture", registry.ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_a_table_lists_only_fields_that_the_model_has_and_that_differ_from_the_defaults(architecture):
    model = with_field_values(ModelSpec(), {name: allowed[0] for name, allowed in architecture.fixed_fields.items()})
    known = field_values(model, 2, 2)
    from_config = [config_field.spec_field for config_field in architecture.config_fields]
    listed = [*from_config, *architecture.fixed_fields, *architecture.unused_fields]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(known)
    defaults = [name for name, allowed in architecture.fixed_fields.items() if allowed == (field_definition(name).default,)]
    assert not [name for name in defaults if name != "kind"], "a default need not be listed"


def test_a_base_model_saved_without_its_head_has_a_tied_output(tmp_path):
    theirs = save_small_gpt2(tmp_path / "whole")
    theirs.transformer.save_pretrained(tmp_path / "base")
    assert "wte.weight" in load_file(tmp_path / "base/model.safetensors")
    assert_same_logits(build_ours(huggingface.read(tmp_path / "base")), theirs)
    bart = random_model("BartForConditionalGeneration", seed_with("BartForConditionalGeneration", tied=True))
    bart.model.save_pretrained(tmp_path / "bart")
    imported = huggingface.read(tmp_path / "bart")
    assert not imported.model.head.own["bias"]
    bart.final_logits_bias.zero_()
    assert_same_outputs(build_ours(imported), bart, "BartForConditionalGeneration", 0)


def test_precomputed_tables_and_tied_copies_are_ignored(tmp_path):
    theirs = save_small_gpt2(tmp_path)
    mask = {"transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8), "transformer.h.0.attn.masked_bias": torch.tensor(-1e4)}
    rewrite_tensors(tmp_path, lambda tensors: {**tensors, **mask, "lm_head.weight": tensors["transformer.wte.weight"]})
    assert_same_logits(build_ours(huggingface.read(tmp_path)), theirs)
    rewrite_tensors(tmp_path, lambda tensors: {n: t for n, t in tensors.items() if n != "transformer.wte.weight"})
    assert_same_logits(build_ours(huggingface.read(tmp_path)), theirs)


def test_a_tied_output_that_differs_is_refused(tmp_path):
    save_small_gpt2(tmp_path)
    rewrite_tensors(tmp_path, lambda tensors: {**tensors, "lm_head.weight": tensors["transformer.wte.weight"] + 1})
    with refused(CannotImport, "'transformer.wte.weight'", "'lm_head.weight'", "tie_word_embeddings"):
        huggingface.read(tmp_path)
