"""Llama: grouped-query attention, and the rotary base in older configs."""

from glasshouse.interop import huggingface
from glasshouse.interop.architectures import registry
from tests.interop.transformers_models import transformers


def test_llama_has_grouped_queries_if_heads_share_keys(tmp_path):
    for name, groups, attention in (("shared", 2, "grouped-query"), ("separate", 4, "dot-product")):
        config = transformers.LlamaConfig(
            vocab_size=20,
            hidden_size=16,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=groups,
        )
        transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / name)
        model = huggingface.read(tmp_path / name).model
        assert (model.attention, model.head_width) == (attention, 0)


def test_older_llama_configs_have_the_rotary_base_at_the_top_level():
    llama = registry.by_name()["LlamaForCausalLM"]
    assert llama.read_config({"rope_theta": 500.0, "rope_scaling": None})["rotary_base"] == 500.0
    assert llama.read_config({"rope_theta": 500.0, "rope_scaling": {"rope_type": "default"}})["rotary_base"] == 500.0
    assert llama.read_config({"rope_scaling": {"type": "default", "rope_theta": 7.0}})["rotary_base"] == 7.0
