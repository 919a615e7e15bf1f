"""CLIP: text and image encoders with one embedding space (Radford et al., Learning Transferable Visual Models, 2021).

CLIP represents a text by the vector of its end-of-text token. Our model takes the last token within the given lengths, so a
length must end at the end-of-text token.
"""

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, Config, ConfigField
from glasshouse.interop.weight_mapping import Names, Theirs, reshape, within

LAYER: Names = {
    "attention_connection.norm": "layer_norm1",
    "attention.projection": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.output": "self_attn.out_proj",
    "feed_forward_connection.norm": "layer_norm2",
    "feed_forward.up": "mlp.fc1",
    "feed_forward.down": "mlp.fc2",
}


def upgrade_config(config: Config) -> Config:
    """The first CLIP configs hold each encoder twice (`text_config`, `text_config_dict`); the second one is valid."""
    encoders = {name: config.get(f"{name}_dict") or config.get(name) or {} for name in ("text_config", "vision_config")}
    return {**config, **encoders}


def both_encoders(key: str) -> tuple[str, ...]:
    return (f"text_config.{key}", f"vision_config.{key}")


CLIP = Architecture(
    names=("CLIPModel",),
    model_type="clip",
    config_fields=(
        ConfigField("vocabulary", "text_config.vocab_size", 49408),
        ConfigField("context", "text_config.max_position_embeddings", 77),
        ConfigField("width", "text_config.hidden_size", 512),
        ConfigField("layers", "text_config.num_hidden_layers", 12),
        ConfigField("heads", "text_config.num_attention_heads", 8),
        ConfigField("feed_forward", "text_config.intermediate_size", 2048),
        ConfigField("image_width", "vision_config.hidden_size", 768),
        ConfigField("image_layers", "vision_config.num_hidden_layers", 12),
        ConfigField("image_heads", "vision_config.num_attention_heads", 12),
        ConfigField("image_feed_forward", "vision_config.intermediate_size", 3072),
        ConfigField("image_channels", "vision_config.num_channels", 3),
        ConfigField("image_size", "vision_config.image_size", 224),
        ConfigField("patch_size", "vision_config.patch_size", 32),
        ConfigField("head.width", "projection_dim", 512),
        ConfigField("activation", both_encoders("hidden_act"), "quick_gelu", value_names=ACTIVATIONS),
        ConfigField("epsilon", both_encoders("layer_norm_eps"), 1e-5),
        ConfigField("dropout", both_encoders("attention_dropout"), 0.0, value_if_unequal=0.0),
    ),
    fixed_fields={
        "kind": ("dual-encoder",),
        "head.kind": ("contrastive", ""),
        "head.pooling": ("last",),
        "causal": (True,),
        "position": ("learned",),
        "image_norm": (True,),
        "bias": (True,),
    },
    zero_filled_fields={"bias": True},
    unused_fields=frozenset({"tied"}),
    weights={
        "text.embedding": "text_model.embeddings.token_embedding",
        "text.position.table": "text_model.embeddings.position_embedding",
        **within("text.blocks.{}.", "text_model.encoder.layers.{}.", LAYER),
        "text.final_norm": "text_model.final_layer_norm",
        "image.embedding.first": Theirs("vision_model.embeddings.class_embedding", reshape((-1,), (1, -1))),
        "image.embedding.projection": "vision_model.embeddings.patch_embedding",
        "image.position.table": "vision_model.embeddings.position_embedding",
        "image.embedding_norm": "vision_model.pre_layrnorm",  # the spelling of the original
        **within("image.blocks.{}.", "vision_model.encoder.layers.{}.", LAYER),
        "image.final_norm": "vision_model.post_layernorm",
        "head.text": "text_projection",
        "head.image": "visual_projection",
        "head.scale": "logit_scale",
    },
    ignored_tensors=("*.embeddings.position_ids",),
    upgrade_config=upgrade_config,
    token_id_prefix="text_config.",
)
