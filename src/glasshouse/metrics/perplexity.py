"""Perplexity and bits per byte, from losses in nats."""

import math

# The exponent is limited, because exp overflows soon after. A loss this large means that the model has failed.
LARGEST = 700.0


def perplexity(loss: float) -> float:
    """exp(mean loss): the number of equally likely tokens that would be as hard to predict."""
    return math.exp(min(loss, LARGEST))


def bits_per_byte(nats: float, size: int) -> float:
    """Bits to encode one byte of the text, from the summed loss. Unlike perplexity it is comparable between tokenizers."""
    return nats / math.log(2) / size
