"""Attention maps: cross-attention and self-attention of translators, and those that transformers computes."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import run_report
from glasshouse.inspection.attention_maps import attention_map
from glasshouse.inspection.capture import capture
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused

from .letter_translation import END, train_translator


def test_a_cross_map_has_a_row_for_each_generated_token_and_a_column_for_each_source_token(letter_translator):
    attention = attention_map(letter_translator, "abca")
    assert attention.sources == (*"abca", END)
    translation = letter_translator.translate(["abca"])[0][0].text
    assert "".join(attention.tokens).removesuffix(END) == translation
    assert attention.weights.shape == (2, 2, len(attention.tokens), 5)
    np.testing.assert_allclose(attention.weights.sum(-1), 1, atol=1e-5)
    assert attention_map(letter_translator, letter_translator.tokenizer.encode("abca")).sources == attention.sources


def test_a_row_has_the_weights_from_which_its_token_was_generated(letter_translator):
    attention = attention_map(letter_translator, "abca")
    source = torch.tensor([[*letter_translator.tokenizer.encode("abca"), letter_translator.task.end]])
    ids = [
        letter_translator.task.end if token == END else int(letter_translator.tokenizer.encode(token)[0])
        for token in attention.tokens
    ]
    decoder_tokens = torch.tensor([[letter_translator.task.end, *ids[:-1]]])
    with (
        torch.inference_mode(),
        capture(letter_translator.model, "decoder.blocks.1.cross_attention.attention.weights") as activations,
    ):
        logits = letter_translator.model(source, decoder_tokens)
        np.testing.assert_allclose(attention.weights[1], next(iter(activations.values()))[0].numpy(), atol=1e-6)
    assert logits[0, :, : letter_translator.tokenizer.vocabulary].argmax(-1).tolist() == ids


def test_self_attention_is_square_and_that_of_the_decoder_is_causal(letter_translator):
    encoder, decoder = (
        attention_map(letter_translator, "abca", "encoder"),
        attention_map(letter_translator, "abca", attention="decoder"),
    )
    assert encoder.tokens == (*"abca", END)
    assert encoder.weights.shape == (1, 2, 5, 5)
    assert encoder.weights[..., 0, 1:].min() > 0
    assert decoder.tokens[0] == END
    assert decoder.sources is None
    assert not np.triu(decoder.weights, 1).any()
    for self_attention in (encoder, decoder):
        np.testing.assert_allclose(self_attention.weights.sum(-1), 1, atol=1e-5)
    with refused(GlasshouseError):
        attention_map(letter_translator, "abca", attention="middle")
    with refused(GlasshouseError):
        attention_map(letter_translator, "")


def test_a_decoder_only_translator_has_a_square_map_of_source_and_target():
    run = train_translator("decoder")
    attention = attention_map(run, "abca")
    assert attention.tokens[:6] == (END, *"abca", "<|translate|>")
    assert "".join(attention.tokens[6:]) == run.translate(["abca"])[0][0].text
    assert attention.sources is None
    assert attention.weights.shape == (2, 2, len(attention.tokens), len(attention.tokens))
    np.testing.assert_allclose(attention.weights.sum(-1), 1, atol=1e-5)
    with refused(GlasshouseError):
        attention_map(run, "abca", attention="cross")
    report = run_report.collect(run)
    assert report.attention is not None
    assert report.attention.sources is None


@pytest.mark.slow
def test_transformers_computes_the_same_maps_and_states(tmp_path):
    """A model in the shape of GPT-2, exported and opened by transformers, with its plain attention."""
    transformers = needs.package("transformers")
    (tmp_path / "text.txt").write_text("the cat sat on the mat and the dog ran after the cat. " * 80)
    run = glasshouse.train(
        "gpt-2",
        name="shape",
        device="cpu",
        data={"files": [str(tmp_path / "text.txt")], "source": "", "vocabulary": 270, "context": 32},
        model={"width": 32, "layers": 3, "heads": 4, "feed_forward": 64, "dropout": 0.0},
        training={"steps": 4, "epochs": 0.0, "batch": 4, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
        evaluation={"every": 4},
    )
    glasshouse.export(run.folder.path, "huggingface", tmp_path / "exported")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "exported", attn_implementation="eager").eval()
    text = "the cat sat on the dog"
    ids = torch.tensor([run.tokenizer.encode(text).tolist()])
    with torch.inference_mode(), capture(run.model, "blocks.*.output") as ours:
        run.model(ids)
        outputs = theirs(ids, output_attentions=True, output_hidden_states=True)
    weights = np.stack([layer[0].numpy() for layer in outputs.attentions])
    np.testing.assert_allclose(attention_map(run, text).weights, weights, atol=1e-5)
    for mine, state in zip(list(ours.values())[:-1], outputs.hidden_states[1:-1], strict=True):
        torch.testing.assert_close(mine, state, atol=1e-4, rtol=1e-4)
