"""Models of `transformers` with random configs and weights, and comparisons of their outputs with those of our models."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glasshouse import models
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.parts.masks import Causal, Everything
from tests import needs

transformers = needs.package("transformers")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

TOLERANCE = 1e-4
VOCABULARY = 60
START, PADDING, END = 0, 1, 2  # random texts do not contain these
SEEDS = range(10)

ModelFactory = Callable[[random.Random], Any]


def random_width(heads: int, rng: random.Random, even: bool = False) -> int:
    return heads * rng.choice((4, 6, 8) if even else (3, 4, 5, 8))


def special_tokens(**more: Any) -> dict[str, Any]:
    return {"bos_token_id": START, "pad_token_id": PADDING, "eos_token_id": END, **more}


def gpt2(rng: random.Random) -> Any:
    heads = rng.choice((1, 2, 3, 5))
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=rng.choice((26, 40, 64)),
            n_embd=random_width(heads, rng),
            n_layer=rng.randint(1, 3),
            n_head=heads,
            n_inner=rng.choice((None, 17, 32)),
            activation_function=rng.choice(("gelu_new", "gelu_new", "gelu", "relu", "gelu_pytorch_tanh", "quick_gelu")),
            layer_norm_epsilon=rng.choice((1e-5, 1e-6, 1e-3)),
            tie_word_embeddings=rng.random() < 0.5,
            resid_pdrop=rng.choice((0.0, 0.1)),
            **special_tokens(),
        )
    )


def llama(rng: random.Random) -> Any:
    groups, heads_per_group = rng.choice(((1, 1), (1, 3), (2, 2), (3, 1), (1, 4), (3, 2)))
    heads = groups * heads_per_group
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            max_position_embeddings=rng.choice((32, 48, 200)),
            hidden_size=random_width(heads, rng, even=True),
            intermediate_size=rng.choice((20, 33)),
            num_hidden_layers=rng.randint(1, 3),
            num_attention_heads=heads,
            num_key_value_heads=groups,
            head_dim=rng.choice((None, None, 2, 10)),
            rms_norm_eps=rng.choice((1e-6, 1e-5, 1e-2)),
            rope_parameters={"rope_type": "default", "rope_theta": rng.choice((10000.0, 500.0, 1e6))},
            tie_word_embeddings=rng.random() < 0.5,
            **dict.fromkeys(("attention_bias", "mlp_bias"), rng.random() < 0.4),
            **special_tokens(),
        )
    )


def encoder(kind: str, config: Any, activations: tuple[str, ...], position_offset: int) -> ModelFactory:
    def create(rng: random.Random) -> Any:
        heads = rng.choice((1, 2, 3, 5))
        return getattr(transformers, kind)(
            config(
                vocab_size=VOCABULARY,
                max_position_embeddings=rng.choice((16, 40, 128)) + position_offset,
                hidden_size=random_width(heads, rng),
                intermediate_size=rng.choice((20, 33)),
                num_hidden_layers=rng.randint(1, 3),
                num_attention_heads=heads,
                type_vocab_size=rng.randint(1, 3),
                hidden_act=rng.choice(activations),
                layer_norm_eps=rng.choice((1e-12, 1e-5, 1e-3)),
                tie_word_embeddings=rng.random() < 0.5,
                attention_probs_dropout_prob=rng.choice((0.0, 0.1)),
                **special_tokens(),
            )
        )

    return create


def distilbert(rng: random.Random) -> Any:
    heads = rng.choice((1, 2, 3, 5))
    return transformers.DistilBertForSequenceClassification(
        transformers.DistilBertConfig(
            vocab_size=VOCABULARY,
            max_position_embeddings=rng.choice((16, 40)),
            dim=random_width(heads, rng),
            hidden_dim=rng.choice((20, 33)),
            n_layers=rng.randint(1, 3),
            n_heads=heads,
            activation=rng.choice(EVERY_ACTIVATION),
            num_labels=rng.randint(2, 4),
            pad_token_id=PADDING,
        )
    )


def bart(rng: random.Random) -> Any:
    heads, feed_forward = rng.choice((1, 2, 3)), rng.choice((20, 33))
    return transformers.BartForConditionalGeneration(
        transformers.BartConfig(
            vocab_size=VOCABULARY,
            max_position_embeddings=rng.choice((26, 64)),
            d_model=random_width(heads, rng),
            encoder_layers=rng.randint(1, 3),
            decoder_layers=rng.randint(1, 3),
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=feed_forward,
            decoder_ffn_dim=feed_forward,
            dropout=rng.choice((0.0, 0.1)),
            activation_function=rng.choice(("gelu", "relu", "gelu_new")),
            tie_word_embeddings=rng.random() < 0.5,
            forced_eos_token_id=None,
            **special_tokens(decoder_start_token_id=END),
        )
    )


def clip(rng: random.Random) -> Any:
    text_heads, vision_heads = rng.choice((1, 2, 3)), rng.choice((1, 2, 5))
    act, eps, patch = rng.choice(("quick_gelu", "gelu")), rng.choice((1e-5, 1e-3)), rng.choice((2, 3, 4))
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": random_width(text_heads, rng),
        "intermediate_size": rng.choice((20, 33)),
        "num_hidden_layers": rng.randint(1, 3),
        "num_attention_heads": text_heads,
        "max_position_embeddings": rng.choice((10, 40)),
        "hidden_act": act,
        "layer_norm_eps": eps,
        # In the first CLIP configs, 2 means that the largest id of a text is its end-of-text token.
        **special_tokens(eos_token_id=rng.choice((2, VOCABULARY - 1))),
    }
    vision = {
        "hidden_size": random_width(vision_heads, rng),
        "intermediate_size": rng.choice((16, 31)),
        "num_hidden_layers": rng.randint(1, 3),
        "num_attention_heads": vision_heads,
        "num_channels": rng.choice((1, 3)),
        "image_size": patch * rng.randint(1, 4),
        "patch_size": patch,
        "hidden_act": act,
        "layer_norm_eps": eps,
    }
    return transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=rng.choice((6, 16)))
    )


EVERY_ACTIVATION = ("gelu", "relu", "gelu_new")
FACTORIES: dict[str, ModelFactory] = {
    "GPT2LMHeadModel": gpt2,
    "LlamaForCausalLM": llama,
    "BertForMaskedLM": encoder("BertForMaskedLM", transformers.BertConfig, ("gelu",), 0),
    "BertModel": encoder("BertModel", transformers.BertConfig, EVERY_ACTIVATION, 0),
    "RobertaForMaskedLM": encoder("RobertaForMaskedLM", transformers.RobertaConfig, EVERY_ACTIVATION, 2),
    "RobertaModel": encoder("RobertaModel", transformers.RobertaConfig, EVERY_ACTIVATION, 2),
    "DistilBertForSequenceClassification": distilbert,
    "BartForConditionalGeneration": bart,
    "CLIPModel": clip,
}


def random_model(kind: str, seed: int) -> Any:
    """A model of `transformers` in which every weight is random, including those that usually start at zero or one."""
    rng = random.Random(f"{kind} {seed}")
    model = FACTORIES[kind](rng).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in {**dict(model.named_parameters()), **dict(model.named_buffers())}.items():
            if not tensor.is_floating_point() or name.endswith("inv_freq"):
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if tensor.dim() < 2 and "norm" in name.lower().replace("ln_", "norm") and name.endswith("weight"):
                tensor.copy_(1 + 0.3 * noise)
            else:
                tensor.copy_(noise / max(1, tensor[0].numel() if tensor.dim() else 1) ** 0.5)
        if kind.startswith("Bart") and not model.config.tie_word_embeddings:
            model.model.decoder.embed_tokens.weight.copy_(model.model.encoder.embed_tokens.weight)
    return model


def save_random_model(kind: str, seed: int, folder: Path) -> Any:
    model = random_model(kind, seed)
    model.save_pretrained(folder)
    return model


def seed_with(kind: str, tied: bool) -> int:
    """A seed whose random model has tied embeddings, or untied ones."""
    return next(seed for seed in SEEDS if random_model(kind, seed).config.tie_word_embeddings == tied)


def save_small_gpt2(folder: Path, **more: Any) -> Any:
    """Write a small GPT-2 into a directory."""
    settings = {"vocab_size": 20, "n_positions": 8, "n_embd": 8, "n_layer": 2, "n_head": 2, **special_tokens(), **more}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).eval()
    model.save_pretrained(folder)
    return model


def rewrite_tensors(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    """Replace the state dict of a model directory by a changed one."""
    path = folder / "model.safetensors"
    save_file({name: tensor.clone().contiguous() for name, tensor in change(load_file(path)).items()}, path)


def build_ours(imported: ImportedModel) -> Any:
    model = models.build(imported.model, imported.vocabulary, imported.context)
    model.load_state_dict(imported.tensors)
    return model.eval()


def random_texts(count: int, length: int, seed: int) -> Tensor:
    return torch.randint(3, VOCABULARY - 1, (count, length), generator=torch.Generator().manual_seed(seed))


def assert_same_logits(ours: Any, theirs: Any, length: int = 8) -> None:
    tokens = torch.arange(length)[None] % 20
    with torch.inference_mode():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=TOLERANCE, rtol=0)


def assert_same_outputs(ours: Any, theirs: Any, kind: str, seed: int) -> None:
    """Hidden states and logits are equal on texts of the maximum length and, if the model takes them, padded texts."""
    with torch.inference_mode():
        pairs = OUTPUTS.get(kind, encoder_outputs)(ours, theirs, seed)
    for our_output, their_output in pairs:
        torch.testing.assert_close(our_output, their_output, atol=TOLERANCE, rtol=0)


def decoder_outputs(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    tokens = random_texts(3, theirs.config.max_position_embeddings, seed)
    features = theirs.base_model(tokens).last_hidden_state
    return [(ours.features(tokens), features), (ours(tokens), theirs(tokens).logits)]


def encoder_outputs(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    longest = ours.position.table.num_embeddings
    lengths = torch.tensor([longest, 1, longest // 2, longest - 1])
    tokens, mask = random_texts(4, longest, seed), torch.arange(longest) < lengths[:, None]
    tokens = tokens.masked_fill(~mask, PADDING)
    random_segments = torch.randint(
        0, theirs.config.type_vocab_size, tokens.shape, generator=torch.Generator().manual_seed(seed)
    )
    pairs = []
    for segments in (random_segments, None):
        arguments = {"attention_mask": mask.long(), **({} if segments is None else {"token_type_ids": segments})}
        features = theirs.base_model(tokens, **arguments).last_hidden_state
        pairs.append((ours.features(tokens, lengths, segments)[mask], features[mask]))
        if hasattr(theirs(tokens, **arguments), "logits"):
            pairs.append((ours(tokens, lengths, segments)[mask], theirs(tokens, **arguments).logits[mask]))
    return pairs


def distilbert_outputs(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    longest = theirs.config.max_position_embeddings
    lengths = torch.tensor([longest, 1, longest // 2])
    tokens, mask = random_texts(3, longest, seed), torch.arange(longest) < lengths[:, None]
    tokens = tokens.masked_fill(~mask, PADDING)
    features = theirs.base_model(tokens, attention_mask=mask.long()).last_hidden_state
    logits = theirs(tokens, attention_mask=mask.long()).logits
    return [(ours.features(tokens, lengths)[mask], features[mask]), (ours(tokens, lengths), logits)]


def bart_outputs(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    longest = theirs.config.max_position_embeddings
    lengths = torch.tensor([longest, 1, longest // 2])
    source, target = random_texts(3, longest, seed), random_texts(3, longest, seed + 1)
    mask = torch.arange(longest) < lengths[:, None]
    source = source.masked_fill(~mask, PADDING)
    output = theirs(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target, output_hidden_states=True)
    decoder = ours.condition_on(source, lengths)
    return [
        (decoder.memory.states[mask], output.encoder_last_hidden_state[mask]),
        (decoder.features(target), output.decoder_hidden_states[-1]),
        (decoder(target), output.logits),
    ]


def clip_outputs(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    text, vision = theirs.config.text_config, theirs.config.vision_config
    length = text.max_position_embeddings
    lengths = torch.tensor([length, 2, length // 2])
    tokens = random_texts(3, length, seed)
    tokens[torch.arange(3), lengths - 1] = VOCABULARY - 1  # the end-of-text token, which is also the largest id
    for row, end in enumerate(lengths):
        tokens[row, end:] = PADDING
    pictures = torch.randn(
        4, vision.num_channels, vision.image_size, vision.image_size, generator=torch.Generator().manual_seed(seed)
    )
    text_output, vision_output = theirs.text_model(tokens), theirs.vision_model(pictures)
    return [
        (ours.text.hidden_states(tokens, Causal()), text_output.last_hidden_state),
        (ours.encode_text(tokens, lengths), text_output.pooler_output),
        (
            ours.image.hidden_states(pictures, Everything()),
            theirs.vision_model.post_layernorm(vision_output.last_hidden_state),
        ),
        (ours.encode_pictures(pictures), vision_output.pooler_output),
        (ours(tokens, pictures, lengths), theirs(input_ids=tokens, pixel_values=pictures).logits_per_text),
    ]


OUTPUTS: dict[str, Callable[[Any, Any, int], list[tuple[Tensor, Tensor]]]] = {
    "GPT2LMHeadModel": decoder_outputs,
    "LlamaForCausalLM": decoder_outputs,
    "DistilBertForSequenceClassification": distilbert_outputs,
    "BartForConditionalGeneration": bart_outputs,
    "CLIPModel": clip_outputs,
}
