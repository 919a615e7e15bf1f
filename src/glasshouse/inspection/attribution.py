"""What a prediction drew on: a score for each input token, by gradients.

Axes: N points on the path, T time, D width.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glasshouse.formatting import visible
from glasshouse.inspection.capture import edit
from glasshouse.inspection.text_input import Prediction, TextInput, token_texts

# Integrated gradients take more points until their sum is this close to the difference of the logits, as a share of it.
TOLERANCE = 0.001
FIRST_POINTS, MOST_POINTS = 32, 1024
# Points per forward pass, which bounds the memory.
BATCH = 16


@dataclass(frozen=True)
class Attribution:
    """A score per token. Those of integrated gradients sum to `logit - baseline`, up to `gap`."""

    method: str
    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    prediction: Prediction
    baseline: float | None = None  # the logit of the baseline text
    baseline_token: str = ""
    points: int = 0

    def rows(self) -> list[tuple[str, float]]:
        """(token, score), in the order of the text."""
        return list(zip(map(visible, self.tokens), self.scores, strict=True))

    def summary(self) -> str:
        """What the scores sum to."""
        total = f"sum {sum(self.scores):.4f}"
        if self.baseline is None:
            return total
        baseline = f"the logit minus {self.baseline:.4f}, that of a text of {self.baseline_token} tokens"
        return f"{total}: {baseline} ({self.points} points, gap {self.gap:.1e})"

    @property
    def gap(self) -> float:
        """The sum of the scores minus the difference that they explain; 0 for a method without a baseline."""
        return 0.0 if self.baseline is None else sum(self.scores) - (self.prediction.logit - self.baseline)


def gradient_x_input(text: TextInput, prediction: Prediction) -> Attribution:
    """The embedding of each token times the gradient of the logit: a first-order estimate of what the token adds."""
    embeddings = _embeddings(text)
    zeros = [torch.zeros_like(rows) for rows in embeddings]
    scores = _path_gradients(text, prediction, zeros, embeddings, torch.ones(1), torch.ones(1))
    scores = scores + text.token_evidence(prediction)
    return Attribution("gradient x input", text.tokens, tuple(scores.tolist()), prediction)


def integrated_gradients(text: TextInput, prediction: Prediction) -> Attribution:
    """Gradients averaged on the straight path from a baseline to the text's embeddings (Sundararajan et al. 2017).

    The baseline is a text of as many mask tokens, or of end-of-text tokens if the tokenizer has no mask. Zero embeddings are
    no baseline here: models with RMS norms and without biases jump at zero, and no sum over points sees the jump.
    The integral is a Gauss-Legendre sum. The number of points doubles until the scores add up to the difference of logits.
    """
    tokenizer = text.run.tokenizer
    candidates = (tokenizer.mask, tokenizer.end_of_text, tokenizer.document_start, 0)
    token = next(token for token in candidates if token is not None)
    start, end = _embeddings(text, token), _embeddings(text)
    with torch.inference_mode(), _replay(text, start):
        baseline = float(text.forward()[0, prediction.row, prediction.output])
    # The baseline text has no n-grams of the wide part.
    evidence = text.token_evidence(prediction)
    baseline -= float(evidence.sum())
    name = token_texts(text.run, [token])[0]
    points = FIRST_POINTS
    while True:
        nodes, weights = np.polynomial.legendre.leggauss(points)
        path, shares = (torch.tensor(values, dtype=torch.float32) for values in ((nodes + 1) / 2, weights / 2))
        scores = tuple((_path_gradients(text, prediction, start, end, path, shares) + evidence).tolist())
        result = Attribution("integrated gradients", text.tokens, scores, prediction, baseline, name, points)
        if points >= MOST_POINTS or abs(result.gap) <= TOLERANCE * max(abs(prediction.logit - baseline), 0.1):
            return result
        points *= 2


METHODS: dict[str, Callable[[TextInput, Prediction], Attribution]] = {
    "integrated-gradients": integrated_gradients,
    "gradient-x-input": gradient_x_input,
}


@torch.no_grad()
def _embeddings(text: TextInput, token: int | None = None) -> list[Tensor]:
    """The embeddings (T, D) of each sequence that the model embeds; with `token`, of as many of this token instead."""
    embedding = text.model.get_submodule(text.embedding)
    sequences = [ids for ids in (text.source, text.ids) if ids]
    rows = [ids if token is None else [token] * len(ids) for ids in sequences]
    return [embedding(torch.tensor([ids], device=text.run.device))[0] for ids in rows]


def _replay(text: TextInput, sequences: list[Tensor]) -> AbstractContextManager[None]:
    """The embedding gives these rows, one sequence per call."""
    calls = iter(sequences)
    return edit(text.model, {text.embedding: lambda output: next(calls).expand_as(output)})


def _path_gradients(
    text: TextInput, prediction: Prediction, start: list[Tensor], end: list[Tensor], path_N: Tensor, shares_N: Tensor
) -> Tensor:
    """One score per token: the weighted sum of the gradients at points of the path, times its length in each dimension."""
    total = [torch.zeros_like(rows) for rows in end]
    for begin in range(0, len(path_N), BATCH):
        points, shares = (values[begin : begin + BATCH].to(text.run.device)[:, None, None] for values in (path_N, shares_N))
        leaves = [(first + points * (last - first)).requires_grad_() for first, last in zip(start, end, strict=True)]
        with torch.enable_grad(), _replay(text, leaves):
            logits = text.forward(len(points))[:, prediction.row, prediction.output].float()
            gradients = torch.autograd.grad(logits.sum(), leaves)
        total = [before + (shares * gradient).sum(0) for before, gradient in zip(total, gradients, strict=True)]
    differences = [last - first for first, last in zip(start, end, strict=True)]
    scores = [(gradient * change).sum(-1) for gradient, change in zip(total, differences, strict=True)]
    return torch.cat(scores).float().cpu()
