"""The encoder-decoder: generation with a cache, and a model built by hand from parts."""

import pytest
import torch
from torch import nn

from glasshouse import models, parts
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from tests.generation.small_models import continue_greedily
from tests.models.small_models import CONTEXT, build, tokens
from tests.refusals import refused


@pytest.mark.parametrize("attention", ["dot-product", "grouped-query", "additive", "performer"])
def test_an_encoder_decoder_continues_from_its_cache(attention):
    model = build(kind="encoder-decoder", attention=attention, position="sinusoidal")
    decoder = model.condition_on(tokens(3, 8), torch.tensor([8, 3, 5]))
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10]]
    cached, uncached = (continue_greedily(decoder, prompts, 20, CONTEXT, cached) for cached in (True, False))
    assert cached == uncached


def test_parts_build_an_encoder_decoder_by_hand():
    width, heads = 16, 2

    def connection():
        return parts.PostNorm(parts.LayerNorm(width))

    block = parts.Block(
        attention=parts.MultiHeadAttention(width, heads),
        cross_attention=parts.CrossAttention(parts.AdditiveAttention(width, heads)),
        feed_forward=parts.ReLU(width, 32),
        attention_connection=connection(),
        cross_connection=connection(),
        feed_forward_connection=connection(),
    )
    encoder_block = parts.Block(parts.MultiHeadAttention(width, heads), parts.ReLU(width, 32), connection(), connection())
    model = models.EncoderDecoder(
        embedding=nn.Embedding(29, width),
        encoder=models.TransformerStack(None, [encoder_block], position=parts.Sinusoidal(width)),
        decoder=models.TransformerStack(None, [block], position=parts.Sinusoidal(width)),
        head=models.NextTokenHead(Sizes(width, vocabulary=29)),
    )
    assert model(tokens(2, 5), tokens(2, 7)).shape == (2, 7, 29)
    ignorant = models.TransformerStack(None, [encoder_block], position=parts.Sinusoidal(width))
    with refused(SpecError):
        models.EncoderDecoder(model.embedding, model.encoder, ignorant, model.head)
