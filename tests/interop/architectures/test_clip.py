"""CLIP: configs of the first release."""

from glasshouse.interop.architectures import registry


def test_the_first_clip_configs_hold_each_encoder_twice():
    config = {"text_config": {"hidden_size": 64}, "text_config_dict": {"hidden_size": 32, "num_attention_heads": 2}}
    values = registry.by_name()["CLIPModel"].read_config(config)
    assert (values["width"], values["heads"]) == (32, 2)
