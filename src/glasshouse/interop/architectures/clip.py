"""CLIP: texts and pictures in one space (Radford et al., Learning Transferable Visual Models, 2021).

A text's vector is that of its end mark. Here it is the last token's, so the lengths that our model is given end there.
"""

from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import ACTIVATIONS, PLAIN_NUMBERS, Config, Setting, dropouts, setting
from glasshouse.interop.architectures.weight_rows import attention, pair
from glasshouse.interop.weight_tables import WeightRow, for_each, row, shaped
from glasshouse.specs.spec import ModelSpec


def weights(model: ModelSpec) -> list[WeightRow]:
    return [
        row("text.embedding.weight", "text_model.embeddings.token_embedding.weight"),
        row("text.position.table.weight", "text_model.embeddings.position_embedding.weight"),
        *_blocks("text.blocks.{}", "text_model.encoder.layers.{}", model.layers, model.width),
        *pair("text.final_norm", "text_model.final_layer_norm"),
        row("image.embedding.first", "vision_model.embeddings.class_embedding", shaped((-1,), (1, -1))),
        row("image.embedding.projection.weight", "vision_model.embeddings.patch_embedding.weight"),
        row("image.position.table.weight", "vision_model.embeddings.position_embedding.weight"),
        *pair("image.embedding_norm", "vision_model.pre_layrnorm"),  # so it is spelt there
        *_blocks(
            "image.blocks.{}",
            "vision_model.encoder.layers.{}",
            model.own.get("image_layers") or model.layers,
            model.own.get("image_width") or model.width,
        ),
        *pair("image.final_norm", "vision_model.post_layernorm"),
        row("head.text.weight", "text_projection.weight"),
        row("head.image.weight", "visual_projection.weight"),
        row("head.scale", "logit_scale"),
    ]


def _blocks(ours: str, theirs: str, layers: int, width: int) -> list[WeightRow]:
    looks = f"{theirs}.self_attn"
    projections = (f"{looks}.q_proj", f"{looks}.k_proj", f"{looks}.v_proj")
    return for_each(
        layers,
        [
            *pair(f"{ours}.attention_connection.norm", f"{theirs}.layer_norm1"),
            *attention(f"{ours}.attention", projections, f"{looks}.out_proj", width),
            *pair(f"{ours}.feed_forward_connection.norm", f"{theirs}.layer_norm2"),
            *pair(f"{ours}.feed_forward.up", f"{theirs}.mlp.fc1"),
            *pair(f"{ours}.feed_forward.down", f"{theirs}.mlp.fc2"),
        ],
    )


def modern(config: Config) -> Config:
    """The first configs of CLIP say each side twice, and the second says how it is."""
    sides = {side: config.get(f"{side}_dict") or config.get(side) or {} for side in ("text_config", "vision_config")}
    return {**config, **sides}


def of_both(ours: str, name: str, default: object, **more: object) -> Setting:
    """One setting of ours for both sides."""
    return Setting(ours, (f"text_config.{name}", f"vision_config.{name}"), default, **more)  # type: ignore[arg-type]


CLIP = Architecture(
    names=("CLIPModel",),
    model_type="clip",
    settings=(
        setting("vocabulary", "text_config.vocab_size", 49408),
        setting("context", "text_config.max_position_embeddings", 77),
        setting("width", "text_config.hidden_size", 512),
        setting("layers", "text_config.num_hidden_layers", 12),
        setting("heads", "text_config.num_attention_heads", 8),
        setting("feed_forward", "text_config.intermediate_size", 2048),
        setting("image_width", "vision_config.hidden_size", 768),
        setting("image_layers", "vision_config.num_hidden_layers", 12),
        setting("image_heads", "vision_config.num_attention_heads", 12),
        setting("image_feed_forward", "vision_config.intermediate_size", 3072),
        setting("image_channels", "vision_config.num_channels", 3),
        setting("image_size", "vision_config.image_size", 224),
        setting("patch_size", "vision_config.patch_size", 32),
        setting("head.width", "projection_dim", 512),
        of_both("activation", "hidden_act", "quick_gelu", words=ACTIVATIONS),
        of_both("epsilon", "layer_norm_eps", 1e-5),
        dropouts("text_config.attention_dropout", "vision_config.attention_dropout", default=0.0),
    ),
    demands=(PLAIN_NUMBERS,),
    fixed={
        "kind": ("dual-encoder",),
        "head.kind": ("contrastive", ""),
        "head.pooling": ("last",),
        "causal": (True,),
        "position": ("learned",),
        "image_norm": (True,),
        "bias": (True,),
    },
    zeros={"bias": True},
    unused=frozenset({"tied"}),
    weights=weights,
    ignored=("*.embeddings.position_ids",),
    modern=modern,
    tokens="text_config.",
)
