"""SGD and Lion: the update of each is its paper's formula, written plainly."""

import pytest
import torch

from tests.training.optimiser_battery import RATE, build, set_gradients, set_rate, small_model, training_spec, weights

DECAY = 0.2
BETA1, BETA2 = 0.8, 0.95


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.9, True), (0.9, False), (0.0, True), (0.0, False)])
def test_sgd_steps_along_the_momentum(momentum, nesterov):
    model = small_model()
    optimiser = build(model, training_spec("sgd", momentum=momentum, nesterov=nesterov, weight_decay=DECAY))
    set_rate(optimiser)
    expected = weights(model)
    velocity = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    for step in range(4):
        set_gradients(model, step)
        for name, parameter in model.named_parameters():
            gradient = parameter.grad + (DECAY * expected[name] if parameter.dim() >= 2 else 0.0)
            velocity[name] = momentum * velocity[name] + gradient
            direction = gradient + momentum * velocity[name] if nesterov else velocity[name]
            expected[name] = expected[name] - RATE * direction
        optimiser.step()
    torch.testing.assert_close(weights(model), expected)


def test_lion_steps_by_the_sign_of_an_average_and_decay():
    model = small_model()
    optimiser = build(model, training_spec("lion", beta1=BETA1, beta2=BETA2, weight_decay=DECAY))
    set_rate(optimiser)
    expected = weights(model)
    average = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    for step in range(4):
        set_gradients(model, step)
        for name, parameter in model.named_parameters():
            direction = torch.sign(BETA1 * average[name] + (1 - BETA1) * parameter.grad)
            decay = DECAY if parameter.dim() >= 2 else 0.0
            expected[name] = expected[name] - RATE * (direction + decay * expected[name])
            average[name] = BETA2 * average[name] + (1 - BETA2) * parameter.grad
        optimiser.step()
    torch.testing.assert_close(weights(model), expected)
