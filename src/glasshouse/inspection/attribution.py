"""What a prediction drew on: a score for each input token, by gradients, and a part of the logit for each head and layer.

Direct attribution (Elhage et al. 2021): the residual stream is a sum, and so is the logit, once the scale of every norm on
the way, and every gate in the head of the model, is held at its value for this text. The parts add up to the logit exactly.

Axes: N points on the path, B batch, H heads, T time, D width, E head width.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.formatting import visible
from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.text_input import Prediction, TextInput, token_texts
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.heads.pooling import ContrastiveHead
from glasshouse.parts.normalisation import BatchNorm, LayerNorm, RMSNorm
from glasshouse.specs.errors import GlasshouseError

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


# The name of the features that the head of the model reads, among the tensors that a logit is divided between.
FEATURES = "features"


@dataclass(frozen=True)
class Component:
    """One part of the logit: what wrote it, in which layer (0 outside of layers) and head (0 outside of heads)."""

    title: str
    value: float
    layer: int = 0
    head: int = 0


@dataclass(frozen=True)
class DirectAttribution:
    """The parts of a logit, in the order of the forward pass. They sum to the logit."""

    prediction: Prediction
    components: tuple[Component, ...]

    def rows(self) -> list[tuple[str, float]]:
        return [(component.title, component.value) for component in self.components]

    def summary(self) -> str:
        """What the parts sum to."""
        return f"sum {sum(component.value for component in self.components):.4f}: the logit"


@dataclass(frozen=True)
class _Writer:
    """A module that writes into the residual stream, and the attention whose heads it joins, if any."""

    title: str
    probe: str
    layer: int = 0
    attention: str = ""


def direct_attribution(text: TextInput, prediction: Prediction) -> DirectAttribution:
    """The contribution of the embeddings, of every head and feed-forward part, of biases, and of the head of the model."""
    writers = _writers(text)
    leaves: dict[str, Tensor] = {}

    def leaf(name: str, output: Tensor) -> Tensor:
        leaves[name] = output.detach().requires_grad_()
        return leaves[name]

    with (
        torch.enable_grad(),
        capture(text.model, *(f"{writer.attention}.mixed" for writer in writers if writer.attention)) as captured,
        edit(text.model, {writer.probe: partial(leaf, writer.probe) for writer in writers}),
        _norms_with_constant_scale(text) as biases,
        _linear_head(text) as features,
    ):
        logit = text.forward()[0, prediction.row, prediction.output].float()
        wanted = {**leaves, **biases, FEATURES: features[0]}
        found = torch.autograd.grad(logit, list(wanted.values()), allow_unused=True, materialize_grads=True)
    gradients = dict(zip(wanted, found, strict=True))
    parts = {name: float((tensor.detach() * gradients[name]).sum()) for name, tensor in wanted.items()}
    components: list[Component] = []
    for writer in writers:
        if writer.attention:
            mixed = captured[f"{writer.attention}.mixed"].detach()
            components += _of_heads(text.model, writer, mixed, gradients[writer.probe])
        else:
            components.append(Component(writer.title, parts[writer.probe], writer.layer))
    components.append(Component("biases of norms", sum(parts[name] for name in biases)))
    of_wide_part = float(text.token_evidence(prediction).sum())
    if of_wide_part:
        components.append(Component("wide part", of_wide_part))
    components.append(Component("biases of the head", float(logit.detach()) - parts[FEATURES] - of_wide_part))
    return DirectAttribution(prediction, tuple(components))


def _of_heads(model: nn.Module, writer: _Writer, mixed_BHTE: Tensor, gradient_BTD: Tensor) -> list[Component]:
    attention: Any = model.get_submodule(writer.attention)
    weight_DHE = attention.output.weight.detach().unflatten(1, (attention.heads, -1))
    values_H = torch.einsum("btd,dhe,bhte->h", gradient_BTD, weight_DHE, mixed_BHTE)
    heads = [
        Component(f"{writer.title}, head {head + 1}", float(value), writer.layer, head + 1)
        for head, value in enumerate(values_H)
    ]
    if attention.output.bias is None:
        return heads
    bias = float((gradient_BTD * attention.output.bias.detach()).sum())
    return [*heads, Component(f"{writer.title}, bias", bias, writer.layer)]


def _writers(text: TextInput) -> list[_Writer]:
    """What writes into the residual stream that the head reads."""
    if text.recurrent:
        attention = "attention" if hasattr(text.model.attention, "mixed") else ""
        return [_Writer("recurrent layers", "states"), _Writer("attention", "attention", 0, attention)]
    stack = text.stacks[-1]
    writers = [_Writer("embedding", f"{stack.prefix}embedded")]
    for layer, output in enumerate(stack.outputs, 1):
        block = output.removesuffix(".output")
        parts: Any = text.model.get_submodule(block)
        attention = f"{block}.attention" if hasattr(parts.attention, "mixed") else ""
        writers.append(_Writer(f"layer {layer}, attention", f"{block}.attention", layer, attention))
        if parts.cross_attention is not None:
            name = f"{block}.cross_attention"
            writers.append(_Writer(f"layer {layer}, cross-attention", name, layer, f"{name}.attention"))
        writers.append(_Writer(f"layer {layer}, feed-forward", f"{block}.feed_forward", layer))
    return writers


@contextmanager
def _linear_head(text: TextInput) -> Iterator[list[Tensor]]:
    """The head of the model becomes linear: its gates and scales are constants. Yields the features that it reads."""
    features: list[Tensor] = []

    def linear(head: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
        features.append(arguments[0])
        if isinstance(head, ContrastiveHead):
            texts, images = head.text(arguments[0]), F.normalize(head.image(arguments[1]), dim=-1)
            return head.scale.exp() * texts / texts.detach().norm(dim=-1, keepdim=True) @ images.T
        if isinstance(head, MaskedTokenHead):
            hidden = head.transform(arguments[0])
            gate = torch.special.ndtr(hidden.detach())  # gelu(x) = x times the normal distribution function at x
            scaled, bias = _linear(head.norm, hidden * gate)
            weight = arguments[1] if head.weight is None else head.weight
            return F.linear(scaled if bias is None else scaled + bias, weight, head.bias)
        if isinstance(head, NextTokenHead) and head.softcap:
            logits = F.linear(arguments[0], head.matrix(arguments[1]), head.bias)
            return logits * torch.where(logits.detach() == 0, 1.0, output.detach() / logits.detach())
        return output  # a linear head, or one with ReLU, whose gates are constants in any backward pass

    with text.model.head.register_forward_hook(linear):
        yield features


@contextmanager
def _norms_with_constant_scale(text: TextInput) -> Iterator[dict[str, Tensor]]:
    """Norms of the residual stream become linear: the scale of each token is a constant. Yields their biases by name."""
    biases: dict[str, Tensor] = {}
    prefix = text.stacks[-1].prefix
    on_the_way = ("attention_connection.norm", "cross_connection.norm", "feed_forward_connection.norm")

    def linear(name: str, norm: nn.Module, arguments: tuple[Tensor, ...], _: Tensor) -> Tensor:
        scaled, bias = _linear(norm, arguments[0])
        if bias is None:
            return scaled
        biases[name] = bias.detach().expand_as(scaled).clone().requires_grad_()
        return scaled + biases[name]

    with ExitStack() as hooks:
        for name, norm in text.model.named_modules():
            if name == f"{prefix}final_norm" or (name.startswith(f"{prefix}blocks.") and name.endswith(on_the_way)):
                hooks.enter_context(norm.register_forward_hook(partial(linear, name)))
        yield biases


def _linear(norm: nn.Module, x_BTD: Tensor) -> tuple[Tensor, Tensor | None]:
    """(the norm of x with a constant scale, its bias)."""
    if isinstance(norm, LayerNorm):
        centred = x_BTD - x_BTD.mean(-1, keepdim=True)
        scale = (centred.detach().square().mean(-1, keepdim=True) + norm.eps).rsqrt()
        return centred * scale * norm.weight.detach(), norm.bias
    if isinstance(norm, RMSNorm):
        scale = (x_BTD.detach().square().mean(-1, keepdim=True) + (norm.eps or 0.0)).rsqrt()
        return x_BTD * scale * norm.weight.detach(), None
    if isinstance(norm, BatchNorm):
        inner: Any = norm.inner
        gain = inner.weight.detach() * (inner.running_var + inner.eps).rsqrt()
        return x_BTD * gain, inner.bias - inner.running_mean * gain
    if isinstance(norm, nn.Identity):
        return x_BTD, None
    raise GlasshouseError(
        f"direct attribution does not know the norm {type(norm).__name__}; use another method, such as integrated-gradients"
    )
