"""A small exploration with known numbers: three tokens, two layers, two heads."""

import numpy as np

from glasshouse.results.exploration import Exploration, Step


def exploration() -> Exploration:
    generator = np.random.default_rng(0)
    embedding = Step("Embedding", "x = E[token]", "A table.", "vector", generator.normal(size=(3, 9)))
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    layers = tuple(
        (
            Step("Query", "q = W_Q x", "What it looks for.", "head-vector", generator.normal(size=(2, 3, 4))),
            Step("Attention weights", "softmax(s)", "Shares.", "head-row", np.stack([weights, weights]), mask=True),
        )
        for _ in range(2)
    )
    output = Step("Prediction", "softmax(logits)", "What comes next.", "output", np.array([[0, 1.0], [1, 0], [2, 0]]))
    return Exploration("a run", ("<s>", "the", "mat"), (0, 5, 7), (embedding,), layers, (output,), 2, ("sat", "ran"), "next")
