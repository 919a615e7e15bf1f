"""Networks that are trained together: each is trained as it would be alone, by the formulas of torch."""

import math
from functools import partial

import pytest
import torch

from glasshouse.claims.recurrent.stacked_networks import (
    Network,
    StackedNetworks,
    Tagger,
    mean_by,
    parameter_count,
)
from glasshouse.parts.recurrence import GRUCell

CPU = torch.device("cpu")


def draw(generator, scale=1.0):
    return scale * torch.randn(4, 5, 3, generator=generator), torch.randn(4, 5, 2, generator=generator)


def loss(outputs, targets):
    return (outputs - targets).square().mean()


def both_ways():
    return Tagger(GRUCell(3, 4), 2, GRUCell(3, 4))


def trained_alone(seed, rate, clip, optimiser, steps):
    """The weights after some steps of one network, by torch's optimiser and clipping."""
    torch.manual_seed(seed)
    model, generator = both_ways(), torch.Generator().manual_seed(seed)
    update = optimiser(model.parameters(), lr=rate)
    for _ in range(steps):
        inputs, targets = draw(generator)
        update.zero_grad()
        loss(model(inputs), targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
        update.step()
    return dict(model.named_parameters())


@pytest.mark.parametrize(("adam", "optimiser"), [(True, torch.optim.Adam), (False, torch.optim.SGD)])
def test_each_network_is_trained_as_if_alone(adam, optimiser):
    members = [
        Network(1, both_ways, draw, 0.1),
        Network(1, both_ways, draw, 0.02, clip=0.05),
        Network(2, both_ways, draw, 0.1),
    ]
    networks = StackedNetworks(members, loss, CPU)
    history = networks.train(4, adam)
    assert history.losses.shape == history.gradient_norms.shape == (4, 3)
    for index, member in enumerate(members):
        expected = trained_alone(member.seed, member.rate, member.clip, optimiser, 4)
        for name, weight in networks.weights.items():
            torch.testing.assert_close(weight[index], expected[name].detach(), rtol=1e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_examples_and_the_norm_is_that_before_clipping():
    networks = StackedNetworks([Network(1, both_ways, draw, 0.1, clip) for clip in (0.0, 0.01)], loss, CPU)
    assert len(networks.streams) == 1
    history = networks.train(2, adam=False)
    assert history.gradient_norms[0, 0] == history.gradient_norms[0, 1] > 0.01
    assert history.losses[0, 0] == history.losses[0, 1]
    assert history.losses[1, 0] != history.losses[1, 1]
    other = partial(draw, scale=2.0)
    assert (
        len(StackedNetworks([Network(1, both_ways, draw, 0.1), Network(1, both_ways, other, 0.1)], loss, CPU).streams) == 2
    )


def test_networks_whose_weights_are_not_finite_are_found_and_do_not_disturb_the_others():
    networks = StackedNetworks([Network(1, both_ways, draw, rate) for rate in (0.01, math.inf)], loss, CPU)
    networks.train(2, adam=False)
    assert networks.not_finite() == [False, True]
    scores = networks.score(loss, 2)
    assert math.isfinite(scores[0])
    assert math.isnan(scores[1])


def test_the_backward_cell_sees_the_future_only_and_the_forward_cell_the_past():
    torch.manual_seed(0)
    model = Tagger(GRUCell(3, 4), 2)
    inputs = torch.randn(1, 5, 3)
    changed = inputs.clone()
    changed[:, 3] += 1
    assert torch.equal(model(inputs)[:, :3], model(changed)[:, :3])
    bidirectional = both_ways()
    assert not torch.equal(bidirectional(inputs)[:, 0], bidirectional(changed)[:, 0])


def test_parameters_are_those_of_one_network():
    networks = StackedNetworks([Network(seed, both_ways, draw, 0.1) for seed in range(3)], loss, CPU)
    assert parameter_count(networks) == sum(tensor.numel() for tensor in both_ways().parameters())


def test_means_are_taken_by_name():
    assert mean_by(["a", "b", "a"], [1.0, 5.0, 2.0]) == {"a": 1.5, "b": 5.0}
