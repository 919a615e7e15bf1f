"""config.json: defaults equal those of `transformers`, and values that change the computation are refused."""

import json

import pytest
import torch

from glasshouse.interop import huggingface
from glasshouse.interop.architectures import registry
from glasshouse.specs.errors import CannotImport, GlasshouseError
from tests.interop.transformers_models import transformers
from tests.refusals import refused


@pytest.mark.parametrize("name", registry.by_name())
def test_a_missing_key_has_the_default_of_transformers(name):
    config = getattr(transformers, name).config_class().to_dict()
    if name == "CLIPModel":
        assert config["text_config"]["hidden_act"] == "quick_gelu"
    architecture = registry.by_name()[name]
    assert architecture.read_config({}) == architecture.read_config(config)


LLAMA_SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        (
            "GPT2LMHeadModel",
            {"scale_attn_by_inverse_layer_idx": True},
            (CannotImport, "scale_attn_by_inverse_layer_idx=True"),
        ),
        ("GPT2LMHeadModel", {"scale_attn_weights": False}, (CannotImport, "scale_attn_weights=False")),
        ("GPT2LMHeadModel", {"add_cross_attention": True}, (CannotImport, "add_cross_attention=True")),
        (
            "GPT2LMHeadModel",
            {"activation_function": "silu"},
            (CannotImport, "activation_function='silu'", "gelu_new"),
        ),
        ("GPT2LMHeadModel", {"n_embd": "wide"}, (GlasshouseError, "n_embd='wide'")),
        ("GPT2LMHeadModel", {"n_layer": 0}, (CannotImport, "model.layers=0", "'decoder'")),
        ("GPT2LMHeadModel", {"n_layer": 900}, (CannotImport, "900", "config.json", "50")),
        ("GPT2LMHeadModel", {"n_layer": 10**9}, (CannotImport, "1000000000", "config.json")),
        ("GPT2LMHeadModel", {"n_embd": 10**30}, (GlasshouseError, "n_embd=", "config.json")),
        ("GPT2LMHeadModel", {"n_inner": 10**30}, (GlasshouseError, "n_inner=", "config.json")),
        ("GPT2LMHeadModel", {"n_head": 5}, (CannotImport, "model.heads=5", "model.width=768")),
        ("GPT2LMHeadModel", {"quantization_config": {"bits": 4}}, (CannotImport, "quantization_config=")),
        (
            "LlamaForCausalLM",
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            (CannotImport, "rope_scaling=", "'linear'"),
        ),
        (
            "LlamaForCausalLM",
            {"rope_parameters": LLAMA_SCALING},
            (CannotImport, "rope_parameters.rope_type='llama3'", "'default'"),
        ),
        ("LlamaForCausalLM", {"sliding_window": 8}, (CannotImport, "sliding_window=8")),
        ("LlamaForCausalLM", {"attention_bias": True}, (CannotImport, "attention_bias=True", "mlp_bias=False")),
        ("LlamaForCausalLM", {"hidden_act": "gelu"}, (CannotImport, "hidden_act='gelu'")),
        ("LlamaForCausalLM", {"head_dim": 5}, (CannotImport,)),
        ("BertForMaskedLM", {"hidden_act": "relu"}, (CannotImport, "hidden_act='relu'")),
        (
            "BertModel",
            {"position_embedding_type": "relative_key"},
            (CannotImport, "position_embedding_type='relative_key'", "'absolute'"),
        ),
        ("BertModel", {"is_decoder": True}, (CannotImport, "is_decoder=True")),
        ("RobertaModel", {"pad_token_id": 0}, (CannotImport, "pad_token_id=0")),
        ("BartForConditionalGeneration", {"scale_embedding": True}, (CannotImport, "scale_embedding=True")),
        (
            "BartForConditionalGeneration",
            {"encoder_ffn_dim": 8},
            (CannotImport, "encoder_ffn_dim=8", "decoder_ffn_dim=4096"),
        ),
        (
            "BartForConditionalGeneration",
            {"decoder_attention_heads": 8},
            (CannotImport, "encoder_attention_heads=16", "decoder_attention"),
        ),
        ("BartForConditionalGeneration", {"normalize_before": True}, (CannotImport, "normalize_before=True")),
        (
            "CLIPModel",
            {"text_config": {"hidden_act": "gelu"}},
            (CannotImport, "text_config.hidden_act='gelu'", "vision_config.hidden_act"),
        ),
        ("CLIPModel", {"vision_config": {"image_size": [8, 8]}}, (GlasshouseError, "vision_config.image_size=")),
        (
            "CLIPModel",
            {"vision_config": {"image_size": 50}},
            (CannotImport, "model.patch_size=32", "model.image_size=50"),
        ),
    ],
)
def test_values_that_change_the_computation_are_refused(name, change, reason, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": [name], **change}))
    # Enough tensors and numbers for a model of the usual sizes; on the meta device they need no memory.
    tensors = {str(number): torch.empty(2**24, device="meta") for number in range(50)}
    monkeypatch.setattr(huggingface, "_read_tensors", lambda _: tensors)
    with refused(*reason):
        huggingface.read(tmp_path)
