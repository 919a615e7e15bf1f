"""Collects every step of one text's way through a model, with its numbers, for the explorer page.

Axes: T time, D width, H heads, E head width, Q queries, K keys, V outputs.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.inspection import recurrent_steps
from glasshouse.inspection.capture import capture
from glasshouse.inspection.text_input import Stack, TextInput
from glasshouse.models.recurrent import Recurrent
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.connection import PostNorm
from glasshouse.results.exploration import Exploration, Step
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# A page with more tokens could not be read.
MOST_TOKENS = 64


@torch.inference_mode()
def explore(run: Run, text: str) -> Exploration:
    """The steps of a text through the stack that predicts: embeddings, every part of every layer, and the output."""
    opened = TextInput(run, text)
    recurrent = isinstance(run.model, Recurrent)
    stack = Stack("", opened.tokens, len(run.model.layers)) if isinstance(run.model, Recurrent) else opened.stacks[-1]
    if len(stack.tokens) > MOST_TOKENS:
        raise GlasshouseError(
            f"the text has {len(stack.tokens)} tokens, too many to follow on a page; choose a text of at most {MOST_TOKENS}"
        )
    with capture(run.model, f"{stack.prefix}**") as seen:
        logits_RV = opened.forward()[0].float().cpu().numpy()
    one_layer, end = (_recurrent_layer, _attention_over_states) if recurrent else (_layer, _final_norm)
    after = end(run.model, stack, seen)
    return Exploration(
        title=run.name,
        tokens=stack.tokens,
        ids=tuple(opened.ids),
        before=(_embedding_step(run, seen[f"{stack.prefix}embedded"]),),
        layers=tuple(one_layer(run.model, stack, index, seen) for index in range(stack.blocks)),
        after=(*after, _output_step(opened, logits_RV)),
        heads=1 if recurrent and not after else run.spec.model.heads,
        outputs=tuple(opened.output_name(output) for output in range(logits_RV.shape[1])),
        predicts=opened.predicts,
        sources=opened.stacks[0].tokens if len(opened.stacks) > 1 else (),
    )


def _embedding_step(run: Run, embedded: Tensor) -> Step:
    position = run.spec.model.position
    about = f"Each token is looked up in a table of {run.vocabulary:,} vectors."
    added = position in ("learned", "sinusoidal", "one-hot")
    if added:
        about += f" The positional encoding ({position}) is added."
    elif position != "none":
        about += f" Positions ({position}) act in the attention."
    return Step("Embedding", "x = E[token]" + (" + position" if added else ""), about, *_vector(embedded))


def _recurrent_layer(model: nn.Module, stack: Stack, index: int, seen: dict[str, Tensor]) -> tuple[Step, ...]:
    layer: Any = model.get_submodule(f"layers.{index}")
    return recurrent_steps.layer_steps(layer, seen[f"layers.{index - 1}" if index else "embedded"])


def _attention_over_states(model: nn.Module, stack: Stack, seen: dict[str, Tensor]) -> list[Step]:
    """The attention of a recurrent model, if it has one."""
    steps = _attention(model.get_submodule("attention"), "attention", seen, "")
    if steps:
        added = _numbers(seen["states"] + seen["attention"])[0]
        about = "The output of the attention is added to the states of the last layer."
        steps.append(Step("States plus attention", "x = h + attention", about, "vector", added))
    return steps


def _final_norm(model: nn.Module, stack: Stack, seen: dict[str, Tensor]) -> list[Step]:
    name = f"{stack.prefix}final_norm"
    norm = model.get_submodule(name)
    if _does_nothing(norm):
        return []
    return [Step("Final norm", _formula(norm), "The residual stream is normalised once more.", *_vector(seen[name]))]


def _layer(model: nn.Module, stack: Stack, index: int, seen: dict[str, Tensor]) -> tuple[Step, ...]:
    name = f"{stack.prefix}blocks.{index}"
    block: Any = model.get_submodule(name)
    steps = _branch(block.attention_connection, f"{name}.attention_connection", "attention", seen)
    steps += _attention(block.attention, f"{name}.attention", seen, "")
    steps.append(_residual(block.attention_connection, "attention", seen[f"{name}.middle"]))
    if block.cross_attention is not None:
        steps += _branch(block.cross_connection, f"{name}.cross_connection", "cross-attention", seen)
        steps += _attention(block.cross_attention.attention, f"{name}.cross_attention.attention", seen, "Cross-attention: ")
        steps.append(_residual(block.cross_connection, "cross-attention", seen[f"{name}.crossed"]))
    steps += _branch(block.feed_forward_connection, f"{name}.feed_forward_connection", "feed-forward part", seen)
    hidden = "Each token's vector is widened and passed through the activation; no token sees another here."
    steps.append(
        Step("Feed-forward: hidden", _formula(block.feed_forward), hidden, *_vector(seen[f"{name}.feed_forward.hidden"]))
    )
    back = "The hidden values are projected back to the width of the stream."
    steps.append(Step("Feed-forward: output", "W_down hidden", back, *_vector(seen[f"{name}.feed_forward"])))
    steps.append(_residual(block.feed_forward_connection, "feed-forward part", seen[f"{name}.output"]))
    return tuple(steps)


def _branch(connection: nn.Module, name: str, part: str, seen: dict[str, Tensor]) -> list[Step]:
    """The norm before a part, if there is one."""
    norm: Any = connection.norm
    if isinstance(connection, PostNorm) or _does_nothing(norm):
        return []
    about = f"A copy of the residual stream is normalised for the {part}; the stream itself is not changed."
    return [Step(f"Norm before the {part}", _formula(norm), about, *_vector(seen[f"{name}.norm"]))]


def _attention(attention: nn.Module, name: str, seen: dict[str, Tensor], prefix: str) -> list[Step]:
    if not isinstance(attention, Attention) or f"{name}.mixed" not in seen:
        return []
    cross = bool(prefix)
    steps = [
        Step(
            f"{prefix}Query",
            "q = W_Q x" + (", rotated by its position" if attention.position.mechanism == "rotation" else ""),
            "What this token looks for, in one head.",
            "head-vector",
            _numbers(seen[f"{name}.queries"])[0],
        ),
        Step(
            f"{prefix}Keys",
            "k = W_K x" + (" of the source" if cross else ""),
            "What each token offers to be found by." + (" These are tokens of the source." if cross else ""),
            "head-vector",
            _numbers(seen[f"{name}.keys"])[0],
        ),
        Step(
            f"{prefix}Values",
            "v = W_V x" + (" of the source" if cross else ""),
            "What each token passes on if it is attended to.",
            "head-vector",
            _numbers(seen[f"{name}.values"])[0],
        ),
    ]
    if f"{name}.weights" in seen and f"{name}.scores" in seen:
        bias = " + bias of the distance" if attention.position.mechanism == "bias" else ""
        steps += [
            Step(
                f"{prefix}Scores",
                f"s = q · k / √{attention.head_width}{bias}",
                "How well this token's query fits each key. The mask then hides keys that it may not see.",
                "head-row",
                _numbers(seen[f"{name}.scores"])[0],
            ),
            Step(
                f"{prefix}Attention weights",
                "w = softmax(s), over the keys that the mask allows",
                "The scores become shares that sum to 1.",
                "head-row",
                _numbers(seen[f"{name}.weights"])[0],
                mask=True,
            ),
        ]
    steps += [
        Step(
            f"{prefix}Mixed values",
            "m = Σ w v" if len(steps) > 3 else _formula(attention),
            "The values of all tokens, mixed by the weights of this head.",
            "head-vector",
            _numbers(seen[f"{name}.mixed"])[0],
        ),
        Step(
            f"{prefix}Output of all heads",
            "W_O [m of head 1, m of head 2, ...]",
            "The heads are joined and projected to the width of the stream.",
            *_vector(seen[name.removesuffix(".attention") if cross else name]),
        ),
    ]
    return steps


def _residual(connection: nn.Module, part: str, stream: Tensor) -> Step:
    if isinstance(connection, PostNorm):
        formula = f"x = norm(x + {part})"
        about = f"The output of the {part} is added to the stream, and the sum is normalised."
    elif type(connection).__name__ == "NoResidual":
        formula, about = f"x = {part}", f"Without a residual connection, the output of the {part} replaces the stream."
    else:
        formula, about = f"x = x + {part}", f"The output of the {part} is added to the residual stream."
    return Step(f"Residual stream after the {part}", formula, about, *_vector(stream))


def _output_step(text: TextInput, logits_RV: np.ndarray) -> Step:
    about = {
        "next": "The last vector is compared with every token's output vector. The softmax of these logits is the "
        "probability of the next token.",
        "own": "The vector at each position is compared with every token's output vector: what stands at this position?",
        "whole": "The vectors of all tokens are pooled, and the head gives one logit for each answer.",
    }[text.predicts]
    return Step("Prediction", "p = softmax(logits / temperature)", about, "output", logits_RV)


def _vector(activation: Tensor) -> tuple[str, np.ndarray]:
    return "vector", _numbers(activation)[0]


def _numbers(activation: Tensor) -> np.ndarray:
    return activation.float().cpu().numpy()


def _does_nothing(module: nn.Module) -> bool:
    return isinstance(module, nn.Identity)


def _formula(module: nn.Module) -> str:
    """The formula of a part: the first sentence of its documentation."""
    text = " ".join((type(module).__doc__ or type(module).__name__).split())
    end = text.find(" (")
    sentence = text.split(". ")[0].rstrip(".")
    return text[:end] if 0 < end < len(sentence) and "=" not in sentence[:end] else sentence
