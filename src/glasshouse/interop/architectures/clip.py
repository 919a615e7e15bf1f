"""CLIP: text and image encoders with one embedding space (Radford et al., Learning Transferable Visual Models, 2021).

CLIP represents a text by the vector of its end-of-text token. Our model takes the last token within the given lengths, so a
length must end at the end-of-text token.
"""

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import (
    ACTIVATIONS,
    NOT_QUANTISED,
    Config,
    ConfigField,
    config_field,
    dropout_field,
)
from glasshouse.interop.architectures.layer_mappings import attention_layer, weight_and_bias
from glasshouse.interop.weight_mapping import WeightMapping, for_each_layer, one_to_one, reshape
from glasshouse.specs.spec import ModelSpec


def weight_mappings(model: ModelSpec) -> list[WeightMapping]:
    return [
        one_to_one("text.embedding.weight", "text_model.embeddings.token_embedding.weight"),
        one_to_one("text.position.table.weight", "text_model.embeddings.position_embedding.weight"),
        *_blocks("text.blocks.{}", "text_model.encoder.layers.{}", model.layers, model.width),
        *weight_and_bias("text.final_norm", "text_model.final_layer_norm"),
        one_to_one("image.embedding.first", "vision_model.embeddings.class_embedding", reshape((-1,), (1, -1))),
        one_to_one("image.embedding.projection.weight", "vision_model.embeddings.patch_embedding.weight"),
        one_to_one("image.position.table.weight", "vision_model.embeddings.position_embedding.weight"),
        *weight_and_bias("image.embedding_norm", "vision_model.pre_layrnorm"),  # the spelling of the original
        *_blocks(
            "image.blocks.{}",
            "vision_model.encoder.layers.{}",
            model.own.get("image_layers") or model.layers,
            model.own.get("image_width") or model.width,
        ),
        *weight_and_bias("image.final_norm", "vision_model.post_layernorm"),
        one_to_one("head.text.weight", "text_projection.weight"),
        one_to_one("head.image.weight", "visual_projection.weight"),
        one_to_one("head.scale", "logit_scale"),
    ]


def _blocks(ours: str, theirs: str, layers: int, width: int) -> list[WeightMapping]:
    attention = f"{theirs}.self_attn"
    projections = (f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj")
    return for_each_layer(
        layers,
        [
            *weight_and_bias(f"{ours}.attention_connection.norm", f"{theirs}.layer_norm1"),
            *attention_layer(f"{ours}.attention", projections, f"{attention}.out_proj", width),
            *weight_and_bias(f"{ours}.feed_forward_connection.norm", f"{theirs}.layer_norm2"),
            *weight_and_bias(f"{ours}.feed_forward.up", f"{theirs}.mlp.fc1"),
            *weight_and_bias(f"{ours}.feed_forward.down", f"{theirs}.mlp.fc2"),
        ],
    )


def upgrade_config(config: Config) -> Config:
    """The first CLIP configs hold each encoder twice (`text_config`, `text_config_dict`); the second one is valid."""
    encoders = {name: config.get(f"{name}_dict") or config.get(name) or {} for name in ("text_config", "vision_config")}
    return {**config, **encoders}


def both_encoders(spec_field: str, key: str, default: object, **options: object) -> ConfigField:
    """A spec field that holds for the text encoder and the image encoder."""
    keys = (f"text_config.{key}", f"vision_config.{key}")
    return ConfigField(spec_field, keys, default, **options)  # type: ignore[arg-type]


CLIP = Architecture(
    names=("CLIPModel",),
    model_type="clip",
    config_fields=(
        config_field("vocabulary", "text_config.vocab_size", 49408),
        config_field("context", "text_config.max_position_embeddings", 77),
        config_field("width", "text_config.hidden_size", 512),
        config_field("layers", "text_config.num_hidden_layers", 12),
        config_field("heads", "text_config.num_attention_heads", 8),
        config_field("feed_forward", "text_config.intermediate_size", 2048),
        config_field("image_width", "vision_config.hidden_size", 768),
        config_field("image_layers", "vision_config.num_hidden_layers", 12),
        config_field("image_heads", "vision_config.num_attention_heads", 12),
        config_field("image_feed_forward", "vision_config.intermediate_size", 3072),
        config_field("image_channels", "vision_config.num_channels", 3),
        config_field("image_size", "vision_config.image_size", 224),
        config_field("patch_size", "vision_config.patch_size", 32),
        config_field("head.width", "projection_dim", 512),
        both_encoders("activation", "hidden_act", "quick_gelu", value_names=ACTIVATIONS),
        both_encoders("epsilon", "layer_norm_eps", 1e-5),
        dropout_field("text_config.attention_dropout", "vision_config.attention_dropout", default=0.0),
    ),
    config_constraints=(NOT_QUANTISED,),
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
    weight_mappings=weight_mappings,
    ignored_tensors=("*.embeddings.position_ids",),
    upgrade_config=upgrade_config,
    token_id_prefix="text_config.",
)
