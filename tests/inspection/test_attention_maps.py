"""Attention maps of a translator: cross-attention, self-attention, and the map of a decoder-only translator."""

import numpy as np
import torch

from glasshouse.inspection import run_report
from glasshouse.inspection.attention_maps import attention_map, translation_map
from glasshouse.inspection.capture import capture
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
        translation_map(letter_translator, "abca", "encoder"),
        translation_map(letter_translator, "abca", attention="decoder"),
    )
    assert encoder.tokens == (*"abca", END)
    assert encoder.weights.shape == (1, 2, 5, 5)
    assert encoder.weights[..., 0, 1:].min() > 0
    assert decoder.tokens[0] == END
    assert decoder.sources is None
    assert not np.triu(decoder.weights, 1).any()
    for self_attention in (encoder, decoder):
        np.testing.assert_allclose(self_attention.weights.sum(-1), 1, atol=1e-5)
    with refused("bad-option"):
        attention_map(letter_translator, "abca", attention="middle")
    with refused("empty-text"):
        attention_map(letter_translator, "")


def test_a_decoder_only_translator_has_a_square_map_of_source_and_target():
    run = train_translator("decoder")
    attention = attention_map(run, "abca")
    assert attention.tokens[:6] == (END, *"abca", "<|translate|>")
    assert "".join(attention.tokens[6:]) == run.translate(["abca"])[0][0].text
    assert attention.sources is None
    assert attention.weights.shape == (2, 2, len(attention.tokens), len(attention.tokens))
    np.testing.assert_allclose(attention.weights.sum(-1), 1, atol=1e-5)
    with refused("bad-option"):
        attention_map(run, "abca", attention="cross")
    report = run_report.collect(run)
    assert report.attention is not None
    assert report.attention.sources is None
