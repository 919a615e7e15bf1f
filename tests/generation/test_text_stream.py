"""Streams of text: whole characters, stop strings, text held back, and the end-of-text token."""

import itertools

import torch

from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion, stream


class FixedTextModel:
    """A model that generates a fixed text, whatever the prompt."""

    def __init__(self, tokenizer, text):
        self.ids = [int(token) for token in tokenizer.encode(text)]
        self.vocabulary = tokenizer.vocabulary

    def eval(self):
        return self

    def parameters(self):
        yield torch.zeros(())

    def features(self, tokens, positions, cache):
        return torch.stack([torch.arange(tokens.shape[1])] * len(tokens))[..., None]

    def project(self, features):
        position = int(features[0, 0])
        logits = torch.zeros(len(features), self.vocabulary)
        logits[:, self.ids[position % len(self.ids)]] = 100.0
        return logits


def stream_text(tokenizer, text, stop=(), tokens=None):
    """The completion and its pieces when a model generates this text."""
    model = FixedTextModel(tokenizer, text)
    completion = Completion("", [tokenizer.end_of_text])
    options = {"tokens": tokens or len(model.ids), "context": 10**6, "stop": stop, "cached": False}
    pieces = [piece.text for piece in stream(model, tokenizer, [completion], Sampling(temperature=0), **options)]
    return completion, pieces


def test_a_stream_gives_whole_characters(tokenizer):
    completion, pieces = stream_text(tokenizer, "naïve 🌱 seedling")
    assert completion.text == "naïve 🌱 seedling" == "".join(pieces)
    assert all("\ufffd" not in piece for piece in pieces)


def test_a_text_ends_before_a_stop_string_even_across_tokens(tokenizer):
    text = "the state of the union"
    for start, length in itertools.product(range(1, 15), (1, 3, 6)):
        stop = text[start : start + length]
        completion, pieces = stream_text(tokenizer, text, stop=[stop, "never said"])
        assert completion.finish == "stop"
        assert completion.text == text[: text.index(stop)] == "".join(pieces)


def test_text_held_back_is_given_at_the_end(tokenizer):
    completion, _ = stream_text(tokenizer, "the state of", stop=["of the people"])
    assert completion.text == "the state of"
    assert completion.finish == "length"


def test_the_end_of_text_token_ends_a_text(tokenizer):
    completion, _ = stream_text(tokenizer, "that is all.<|endoftext|>more", tokens=50)
    assert (completion.text, completion.finish) == ("that is all.", "end")
