"""AdamW: the update of torch's, on a CPU and in one launch, for a model and for replicas, launched and recorded."""

import pytest
import torch

from glasshouse.training import optimisers
from glasshouse.training.adamw import AdamWKernel, OneLaunchAdamW, Update
from tests.needs import needs_cuda
from tests.training.optimiser_battery import RATE, build, set_gradients, set_rate, small_model, training_spec

BETAS = 0.9, 0.95
# More numbers than a program updates; numbers that no vector load fits; one number.
SHAPES = [(33, 64), (7,), (3, 1), (1,)]
ALIGNED = [(33, 64), (8,)]


def random_gradients(model, step):
    generator = torch.Generator("cuda").manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator, device="cuda")


@needs_cuda
@pytest.mark.parametrize("clipped", [False, True])
def test_a_models_update_is_that_of_torch(clipped):
    training = training_spec("adamw", weight_decay=0.1)
    own, reference = small_model().cuda(), small_model().cuda()
    groups, betas = optimisers.parameter_groups(reference, training), (training.beta1, training.beta2)
    pairs = [
        (own, build(own, training)),
        (reference, torch.optim.AdamW(groups, betas=betas, fused=True, capturable=True)),
    ]
    assert isinstance(pairs[0][1], OneLaunchAdamW)
    for step in range(5):
        for model, optimiser in pairs:
            random_gradients(model, step)
            if clipped:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            for group in optimiser.param_groups:
                group["lr"].fill_(RATE)
            optimiser.step()
    for ours, theirs in zip(own.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
    states = [optimisers.state(optimiser, model) for model, optimiser in pairs]
    assert states[0].keys() == states[1].keys()
    for name in states[0]:
        torch.testing.assert_close(states[0][name], states[1][name], rtol=1e-5, atol=1e-8)


@needs_cuda
def test_nothing_changes_once_a_step_was_not_finite():
    model = small_model().cuda()
    optimiser = build(model, training_spec("adamw"))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimiser.found_inf = torch.ones((), device="cuda")
    random_gradients(model, 0)
    next(model.parameters()).grad.fill_(torch.nan)
    optimiser.step()
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def stacked(shapes, replicas):
    torch.manual_seed(0)
    return [torch.randn(replicas, *shape, device="cuda") for shape in shapes]


@needs_cuda
@pytest.mark.parametrize("shapes", [SHAPES, ALIGNED])
def test_each_replica_has_its_own_rate_decay_and_scale(shapes):
    replicas, steps = 3, torch.zeros((), device="cuda")
    weights, alone = stacked(shapes, replicas), stacked(shapes, replicas)
    first, second = ([torch.zeros_like(tensor) for tensor in weights] for _ in range(2))
    rates, decays, scales = (
        torch.tensor(values, device="cuda") for values in ([1e-2, 2e-2, 3e-2], [0.1, 0, 0.2], [1, 0.5, 2])
    )
    skipped = torch.tensor([0.0, 0.0, 1.0], device="cuda")
    kernel = AdamWKernel(BETAS, replicas)
    references = []
    for replica in range(replicas):
        parameters = [torch.nn.Parameter(tensor[replica].clone()) for tensor in alone]
        settings = {"lr": rates[replica].clone(), "betas": BETAS, "weight_decay": decays[replica].item(), "fused": True}
        references.append((parameters, torch.optim.AdamW(parameters, **settings)))
    for step in range(4):
        torch.manual_seed(step)
        gradients = [torch.randn_like(tensor) for tensor in weights]
        steps += 1
        tensors = zip(weights, gradients, first, second, strict=True)
        kernel([Update(*one, steps, rates, decays) for one in tensors], scales, skipped)
        for replica, (parameters, optimiser) in enumerate(references):
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient[replica] / scales[replica]
            if not skipped[replica]:
                optimiser.step()
    for replica, (parameters, _) in enumerate(references):
        for ours, theirs in zip(weights, parameters, strict=True):
            torch.testing.assert_close(ours[replica], theirs.detach(), rtol=1e-5, atol=1e-7)


@needs_cuda
def test_recorded_steps_of_two_shapes_equal_launched_ones():
    """Each recording keeps its own table, also after other steps have made new ones."""
    weights, launched = stacked(ALIGNED, 1), stacked(ALIGNED, 1)
    gradients = [torch.randn_like(tensor) for tensor in weights]
    rates, decays, one, none = (torch.full((1,), value, device="cuda") for value in (0.01, 0.1, 1.0, 0.0))

    def updates(tensors, moments, steps, count):
        return [Update(tensors[i], gradients[i], moments[i], moments[i + 2], steps, rates, decays) for i in range(count)]

    state = {
        name: ([torch.zeros_like(tensor) for tensor in (*weights, *weights)], torch.ones((), device="cuda"))
        for name in ("recorded", "launched")
    }
    kernels = {name: AdamWKernel(BETAS) for name in state}
    graphs = []
    with torch.cuda.stream(torch.cuda.Stream()):
        for count in (1, 2):
            kernels["recorded"](updates(weights, *state["recorded"], count), one, none)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kernels["recorded"](updates(weights, *state["recorded"], count), one, none)
            graphs.append(graph)
        for graph in (*graphs, *graphs):
            graph.replay()
    torch.cuda.synchronize()
    for count in (1, 2, 1, 2, 1, 2):
        kernels["launched"](updates(launched, *state["launched"], count), one, none)
    for recorded, reference in zip(weights, launched, strict=True):
        assert torch.equal(recorded, reference)


def test_adamw_on_a_cpu_is_torchs_fused_one():
    listed, reference = small_model(), small_model()
    training = training_spec("adamw", weight_decay=0.1)
    groups = optimisers.parameter_groups(reference, training)
    pairs = [
        (listed, build(listed, training)),
        (reference, torch.optim.AdamW(groups, betas=(training.beta1, training.beta2), fused=True)),
    ]
    for step in range(3):
        for model, optimiser in pairs:
            set_rate(optimiser)
            set_gradients(model, step)
            optimiser.step()
            optimiser.zero_grad()
    assert all(torch.equal(own, other) for own, other in zip(listed.parameters(), reference.parameters(), strict=True))
    states = [optimisers.state(optimiser, model) for model, optimiser in pairs]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
