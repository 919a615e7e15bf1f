"""Collects every step of one text's way through a model, with its numbers, for the explorer page.

Axes: T time, D width, H heads, E head width, Q queries, K keys, G number of gates times state size, V outputs.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.inspection.capture import capture
from glasshouse.inspection.text_input import TextInput
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.connection import NoResidual, PostNorm
from glasshouse.parts.recurrence import Cell, GRUCell, LSTMCell, Recurrence
from glasshouse.results.exploration import Exploration, Step
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

# A page with more tokens could not be read.
MOST_TOKENS = 64
# Cell -> gate -> its formula and what it does.
GATES: dict[type[Cell], dict[str, tuple[str, str]]] = {
    LSTMCell: {
        "forget gate": (
            "f = sigmoid(W_f x_t + U_f h_(t-1) + b_f)",
            "The share of each value of the cell state that is kept.",
        ),
        "input gate": (
            "i = sigmoid(W_i x_t + U_i h_(t-1) + b_i)",
            "The share of each new value that is written to the cell state.",
        ),
        "new values": ("g = tanh(W_g x_t + U_g h_(t-1) + b_g)", "What this token would write to the cell state."),
        "output gate": (
            "o = sigmoid(W_o x_t + U_o h_(t-1) + b_o)",
            "The share of each value of the cell state that is passed on.",
        ),
    },
    GRUCell: {
        "reset gate": (
            "r = sigmoid(W_r x_t + U_r h_(t-1) + b_r)",
            "The share of the state so far that the new values depend on.",
        ),
        "update gate": ("z = sigmoid(W_z x_t + U_z h_(t-1) + b_z)", "The share of the state so far that is kept."),
        "new values": ("n = tanh(W_n x_t + b_n + r (U_n h_(t-1) + c_n))", "What this token would write to the state."),
    },
}
STATES = {LSTMCell: "h_t = o tanh(c_t)", GRUCell: "h_t = (1 - z) n + z h_(t-1)"}


@torch.inference_mode()
def explore(run: Run, text: str) -> Exploration:
    """The steps of a text through the stack that predicts: embeddings, every part of every layer, and the output."""
    opened, model = TextInput(run, text), run.model
    recurrent, stack = opened.recurrent, opened.stacks[-1]
    if len(stack.tokens) > MOST_TOKENS:
        raise GlasshouseError(
            f"the text has {len(stack.tokens)} tokens, too many to follow on a page; choose a text of at most {MOST_TOKENS}"
        )
    with capture(model, f"{stack.prefix}**") as seen:
        logits_RV = opened.forward()[0].float().cpu().numpy()
    steps = _Steps(model, seen)
    after: list[Step]
    if recurrent:
        recurrences: list[Any] = [model.get_submodule(name) for name in stack.outputs]
        inputs = [seen[name] for name in ("embedded", *stack.outputs)]
        layers = list(map(recurrent_steps, recurrences, inputs))
        after = steps.attention_over_states()
    else:
        layers = [steps.layer(name.removesuffix(".output")) for name in stack.outputs]
        after = steps.norm(f"{stack.prefix}final_norm", "Final norm", "The residual stream is normalised once more.")
    return Exploration(
        title=run.name,
        tokens=stack.tokens,
        ids=tuple(opened.ids),
        before=(_embedding_step(run, seen[f"{stack.prefix}embedded"]),),
        layers=tuple(map(tuple, layers)),
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
    return _step("Embedding", "x = E[token]" + (" + position" if added else ""), about, embedded)


class _Steps:
    """The steps of the parts of a model, from the activations of one text by the names of their probes."""

    def __init__(self, model: nn.Module, seen: dict[str, Tensor]) -> None:
        self.model, self.seen = model, seen

    def attention_over_states(self) -> list[Step]:
        """The attention of a recurrent model, if it has one."""
        steps = self._attention("attention")
        if steps:
            about = "The output of the attention is added to the states of the last layer."
            added = self.seen["states"] + self.seen["attention"]
            steps.append(_step("States plus attention", "x = h + attention", about, added))
        return steps

    def layer(self, name: str) -> list[Step]:
        steps = self._norm_before(f"{name}.attention_connection", "attention")
        steps += self._attention(f"{name}.attention")
        steps.append(self._residual(f"{name}.attention_connection", "attention", f"{name}.middle"))
        if f"{name}.crossed" in self.seen:
            steps += self._norm_before(f"{name}.cross_connection", "cross-attention")
            steps += self._attention(f"{name}.cross_attention.attention", f"{name}.cross_attention")
            steps.append(self._residual(f"{name}.cross_connection", "cross-attention", f"{name}.crossed"))
        steps += self._norm_before(f"{name}.feed_forward_connection", "feed-forward part")
        about = "Each token's vector is widened and passed through the activation; no token sees another here."
        formula = _formula(self.model.get_submodule(f"{name}.feed_forward"))
        steps.append(_step("Feed-forward: hidden", formula, about, self.seen[f"{name}.feed_forward.hidden"]))
        about = "The hidden values are projected back to the width of the stream."
        steps.append(_step("Feed-forward: output", "W_down hidden", about, self.seen[f"{name}.feed_forward"]))
        steps.append(self._residual(f"{name}.feed_forward_connection", "feed-forward part", f"{name}.output"))
        return steps

    def norm(self, name: str, title: str, about: str) -> list[Step]:
        """A norm, if it does anything."""
        norm = self.model.get_submodule(name)
        return [] if isinstance(norm, nn.Identity) else [_step(title, _formula(norm), about, self.seen[name])]

    def _norm_before(self, connection: str, part: str) -> list[Step]:
        if isinstance(self.model.get_submodule(connection), PostNorm):
            return []
        about = f"A copy of the residual stream is normalised for the {part}; the stream itself is not changed."
        return self.norm(f"{connection}.norm", f"Norm before the {part}", about)

    def _residual(self, connection: str, part: str, stream: str) -> Step:
        kind = self.model.get_submodule(connection)
        formula, about = f"x = x + {part}", f"The output of the {part} is added to the residual stream."
        if isinstance(kind, PostNorm):
            formula = f"x = norm(x + {part})"
            about = f"The output of the {part} is added to the stream, and the sum is normalised."
        elif isinstance(kind, NoResidual):
            formula, about = f"x = {part}", f"Without a residual connection, the output of the {part} replaces the stream."
        return _step(f"Residual stream after the {part}", formula, about, self.seen[stream])

    def _attention(self, name: str, cross: str = "") -> list[Step]:
        """The steps of an attention; `cross` is the name of the cross-attention that it belongs to, if any."""
        attention = self.model.get_submodule(name)
        if not isinstance(attention, Attention) or f"{name}.mixed" not in self.seen:
            return []
        rotated = ", rotated by its position" if attention.position.mechanism == "rotation" else ""
        bias = " + bias of the distance" if attention.position.mechanism == "bias" else ""
        source, tokens = (" of the source", " These are tokens of the source.") if cross else ("", "")
        weighted = f"{name}.weights" in self.seen and f"{name}.scores" in self.seen
        heads = "W_O [m of head 1, m of head 2, ...]"
        scale = f"√{attention.head_width}"
        rows = [
            ("queries", "Query", f"q = W_Q x{rotated}", "What this token looks for, in one head."),
            ("keys", "Keys", f"k = W_K x{source}", f"What each token offers to be found by.{tokens}"),
            ("values", "Values", f"v = W_V x{source}", "What each token passes on if it is attended to."),
            (
                "scores",
                "Scores",
                f"s = q · k / {scale}{bias}",
                "How well this token's query fits each key. The mask then hides keys that it may not see.",
            ),
            (
                "weights",
                "Attention weights",
                "w = softmax(s), over the keys that the mask allows",
                "The scores become shares that sum to 1.",
            ),
            (
                "mixed",
                "Mixed values",
                "m = Σ w v" if weighted else _formula(attention),
                "The values of all tokens, mixed by the weights of this head.",
            ),
        ]
        prefix = "Cross-attention: " if cross else ""
        steps = []
        for probe, title, formula, about in rows:
            if weighted or probe not in ("scores", "weights"):
                kind = "head-row" if probe in ("scores", "weights") else "head-vector"
                array = self.seen[f"{name}.{probe}"]
                steps.append(_step(f"{prefix}{title}", formula, about, array, kind, mask=probe == "weights"))
        about = "The heads are joined and projected to the width of the stream."
        return [*steps, _step(f"{prefix}Output of all heads", heads, about, self.seen[cross or name])]


def recurrent_steps(layer: Recurrence, x_1TD: Tensor) -> list[Step]:
    """The steps of a layer for its input: of the cell that reads forwards, then of the one that reads backwards, if any."""
    steps = _cell_steps(layer.forwards, x_1TD, "", ("before", "after"))
    if layer.backwards is not None:
        backwards = _cell_steps(layer.backwards, x_1TD.flip(1), "Backwards: ", ("after", "before"))
        steps += [replace(step, array=step.array[::-1]) for step in backwards]
    return steps


def _cell_steps(cell: Cell, x_1TD: Tensor, prefix: str, sides: tuple[str, str]) -> list[Step]:
    """The steps of a cell in the order in which it reads. `sides` of a token: where it has read, and where it reads next."""
    inputs_1TG = cell.input(x_1TD)
    zeros = x_1TD.new_zeros(1, cell.state)
    states, gates = [(zeros, zeros)], []
    for time in range(x_1TD.shape[1]):
        gates.append(cell.gate_values(inputs_1TG[:, time], states[-1]))
        states.append(cell.step(inputs_1TG[:, time], states[-1]))

    def step(title: str, formula: str, about: str, rows: list[Tensor]) -> Step:
        return _step(prefix + (title if prefix else title.capitalize()), formula, about, torch.cat(rows)[None])

    about = f"What the layer kept of the tokens {sides[0]} this one."
    steps = [step("state so far", "h_(t-1)", about, [state[0] for state in states[:-1]])]
    for name, (formula, about) in GATES.get(type(cell), {}).items():
        steps.append(step(name, formula, about, [row[name] for row in gates]))
    if isinstance(cell, LSTMCell):
        about = "What is kept of the cell state, plus what this token writes to it."
        steps.append(step("cell state", "c_t = f c_(t-1) + i g", about, [state[1] for state in states[1:]]))
    formula = STATES.get(type(cell)) or " ".join((type(cell).__doc__ or type(cell).__name__).split()).split(" (")[0]
    about = f"The output of the layer at this token, and the state that the token {sides[1]} it starts from."
    steps.append(step("state", formula, about, [state[0] for state in states[1:]]))
    return steps


def _output_step(text: TextInput, logits_RV: np.ndarray) -> Step:
    about = {
        "next": "The last vector is compared with every token's output vector. The softmax of these logits is the "
        "probability of the next token.",
        "own": "The vector at each position is compared with every token's output vector: what stands at this position?",
        "whole": "The vectors of all tokens are pooled, and the head gives one logit for each answer.",
    }[text.predicts]
    return Step("Prediction", "p = softmax(logits / temperature)", about, "output", logits_RV)


def _step(title: str, formula: str, about: str, activation: Tensor, kind: str = "vector", mask: bool = False) -> Step:
    """A step with the activations of the one text."""
    return Step(title, formula, about, kind, activation[0].float().cpu().numpy(), mask)


def _formula(module: nn.Module) -> str:
    """The formula of a part: the first sentence of its documentation."""
    text = " ".join((type(module).__doc__ or type(module).__name__).split())
    end = text.find(" (")
    sentence = text.split(". ")[0].rstrip(".")
    return text[:end] if 0 < end < len(sentence) and "=" not in sentence[:end] else sentence
