"""The unrolled network: its formulas on numbers worked out by hand, and its graph."""

import math

import pytest
import torch

from glasshouse.claims.recurrent.unrolled_network import (
    Weights,
    draw_graph,
    hand_written_gradients,
    output_gradient,
    run_forward,
    state_gradient,
)

TWO = torch.tensor([[2.0]], dtype=torch.float64)
# h_1 = 3, h_2 = 2 * 3 + 3 = 9; o = (h, 0).
WEIGHTS = Weights(TWO, torch.tensor([[3.0]], dtype=torch.float64), torch.tensor([[1.0], [0.0]], dtype=torch.float64))
INPUTS = torch.ones(2, 1, dtype=torch.float64)
TARGETS = torch.tensor([[1.0, 0.0], [0.25, 0.75]], dtype=torch.float64)


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_the_forward_pass_begins_at_zero_and_carries_the_state():
    forward = run_forward(WEIGHTS, INPUTS, TARGETS)
    assert [float(state) for state in forward.states] == [0.0, 3.0, 9.0]
    assert forward.predictions[0].tolist() == pytest.approx([sigmoid(3), 1 - sigmoid(3)])
    expected = -0.25 * math.log(sigmoid(9)) - 0.75 * math.log(sigmoid(-9))
    assert [float(loss) for loss in forward.losses] == pytest.approx([-math.log(sigmoid(3)), expected])


def test_the_gradient_by_a_state_has_a_power_of_the_matrix():
    error = output_gradient(torch.tensor([0.75, 0.25]).double(), torch.tensor([0.5, 0.5]).double())
    assert error.tolist() == [0.25, -0.25]
    assert [float(state_gradient(WEIGHTS, error, distance)) for distance in range(4)] == [0.25, 0.5, 1.0, 2.0]


def test_the_hand_written_backward_pass_adds_the_uses_of_each_matrix():
    gradients = hand_written_gradients(WEIGHTS, run_forward(WEIGHTS, INPUTS, TARGETS), INPUTS, TARGETS)
    first, second = sigmoid(3) - 1, sigmoid(9) - 0.25  # dJ_t/do_t, first entry
    assert float(gradients.hh) == pytest.approx(second * 3.0)  # h_0 = 0 adds nothing
    assert float(gradients.hx) == pytest.approx(second + (first + 2 * second))
    assert gradients.yh.flatten().tolist() == pytest.approx([3 * first + 9 * second, -3 * first - 9 * second])


def test_the_graph_has_the_shared_weights_at_every_step():
    graph = draw_graph(3)
    names = [node.name for node in graph.nodes]
    assert len(set(names)) == len(names)
    assert {"h_0", "h_1", "h_2", "h_3", "z_3", "o_3", "ŷ_3", "J_3", "J"} <= set(names)
    places = {(node.column, node.row) for node in graph.nodes}
    assert len(places) == len(names), "no two nodes at one place"
    assert all({edge.source, edge.target} <= set(names) for edge in graph.edges)
    forward = [(edge.source, edge.target) for edge in graph.edges if not edge.backward]
    assert [edge for edge in forward if edge[1] == "z_2"] == [("x_2", "z_2"), ("h_1", "z_2")]
    for matrix in ("W_hh", "W_hx", "W_yh"):
        assert sum(edge.shared == matrix and not edge.backward for edge in graph.edges) == 3
    # A gradient follows a forward arrow back; from J_3 to h_1 it passes W_hh twice.
    back = [edge for edge in graph.edges if edge.backward]
    assert all((edge.target, edge.source) in forward for edge in back)
    assert [(edge.source, edge.target) for edge in back if edge.shared == "W_hh"] == [("z_2", "h_1"), ("z_3", "h_2")]
