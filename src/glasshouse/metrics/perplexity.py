"""Perplexity and bits per byte, from summed or mean log-losses in nats."""

import math

# exp(700) is near the largest float; a loss beyond it means the model has failed, and infinity says so no better.
LARGEST = 700.0


def perplexity(loss: float) -> float:
    """exp(mean loss): the number of equally likely tokens that would be as hard to guess."""
    return math.exp(min(loss, LARGEST))


def bits_per_byte(nats: float, size: int) -> float:
    """Bits to encode each byte of the text: comparable between tokenizers, as perplexity is not."""
    return nats / math.log(2) / size
