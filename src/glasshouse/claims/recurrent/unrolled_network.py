"""A linear recurrent network, unrolled: its forward pass, its gradients by hand, and its drawn computation graph.

z_t = W_hh h_(t-1) + W_hx x_t, h_t = z_t, o_t = W_yh h_t, y^_t = softmax(o_t), J_t = -sum(y_t log y^_t), J = sum of all J_t.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from glasshouse.results.claim import GraphEdge, GraphFigure, GraphNode


@dataclass(frozen=True)
class Weights:
    """The three matrices, which every step shares."""

    hh: Tensor
    hx: Tensor
    yh: Tensor


@dataclass(frozen=True)
class ForwardPass:
    """What the forward pass computes. Lists begin with step 1, except the states, which begin with h_0 = 0."""

    states: list[Tensor]
    predictions: list[Tensor]
    losses: list[Tensor]


def run_forward(weights: Weights, inputs: Tensor, targets: Tensor) -> ForwardPass:
    """Run the network over the rows of `inputs`. The states keep their gradients in autograd's graph."""
    states, predictions, losses = [torch.zeros(len(weights.hh), dtype=inputs.dtype)], [], []
    for x, y in zip(inputs, targets, strict=True):
        states.append(weights.hh @ states[-1] + weights.hx @ x)
        scores = weights.yh @ states[-1]
        predictions.append(scores.softmax(-1))
        losses.append(-(y * scores.log_softmax(-1)).sum())
    return ForwardPass(states, predictions, losses)


def output_gradient(prediction: Tensor, target: Tensor) -> Tensor:
    """dJ_t / do_t = y^_t - y_t, for a target that sums to 1."""
    return prediction - target


def state_gradient(weights: Weights, error: Tensor, distance: int) -> Tensor:
    """dJ_t / dh_i = (W_hh^T)^(t - i) W_yh^T (y^_t - y_t), with `error` = y^_t - y_t and `distance` = t - i."""
    return torch.linalg.matrix_power(weights.hh.T, distance) @ weights.yh.T @ error


def hand_written_gradients(weights: Weights, forward: ForwardPass, inputs: Tensor, targets: Tensor) -> Weights:
    """dJ / dW of all three matrices by backpropagation through time, without autograd."""
    gradients = Weights(*(torch.zeros_like(matrix) for matrix in (weights.hh, weights.hx, weights.yh)))
    later = torch.zeros_like(forward.states[0])  # dJ_(t+1) + ... + dJ_n, differentiated by h_t
    for index in reversed(range(len(inputs))):
        error = output_gradient(forward.predictions[index], targets[index])
        gradient = weights.yh.T @ error + later
        gradients.yh.add_(torch.outer(error, forward.states[index + 1]))
        gradients.hh.add_(torch.outer(gradient, forward.states[index]))
        gradients.hx.add_(torch.outer(gradient, inputs[index]))
        later = weights.hh.T @ gradient
    return gradients


def draw_graph(steps: int) -> GraphFigure:
    """The computation graph of `steps` steps. The states stand in one row, the outputs and losses above them."""
    nodes = [GraphNode("h_0", 0, 1, "input"), GraphNode("J", steps + 1, 5, "loss")]
    edges = []
    for t in range(1, steps + 1):
        at_z, at_h = 2 * t - 1, 2 * t
        x, z, h, o, prediction, target, loss = (f"{name}_{t}" for name in ("x", "z", "h", "o", "ŷ", "y", "J"))
        nodes += [GraphNode(x, at_z, 0, "input"), GraphNode(target, at_z, 4, "input"), GraphNode(loss, at_h, 4, "loss")]
        nodes += [GraphNode(name, column, row) for name, column, row in ((z, at_z, 1), (h, at_h, 1), (o, at_h, 2))]
        nodes.append(GraphNode(prediction, at_h, 3))
        before = f"h_{t - 1}"
        edges += [GraphEdge(x, z, "W_hx", "W_hx"), GraphEdge(before, z, "W_hh", "W_hh"), GraphEdge(z, h)]
        edges += [GraphEdge(h, o, "W_yh", "W_yh"), GraphEdge(o, prediction), GraphEdge(prediction, loss)]
        edges += [GraphEdge(target, loss), GraphEdge(loss, "J")]
        edges += [GraphEdge("J", loss, backward=True), GraphEdge(loss, prediction, backward=True)]
        edges += [GraphEdge(prediction, o, f"{prediction}−{target}", backward=True)]
        edges += [GraphEdge(o, h, "W_yhᵀ", "W_yh", backward=True), GraphEdge(h, z, backward=True)]
        if t > 1:
            edges.append(GraphEdge(z, before, "W_hhᵀ", "W_hh", backward=True))
    caption = (
        "Solid arrows: the forward pass. Dashed arrows: gradients, each with its factor.",
        "One colour is one matrix, shared by all steps: its gradient is a sum over the steps.",
        f"The path from J_{steps} back to h_1 passes W_hhᵀ {steps - 1} times: a power.",
    )
    return GraphFigure("graph", tuple(nodes), tuple(edges), caption)
