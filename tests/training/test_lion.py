"""Lion: its update is the paper's formula, written plainly."""

import torch

from tests.training.optimiser_battery import RATE, build, set_gradients, set_rate, small_model, training_spec, weights

BETA1, BETA2, DECAY = 0.8, 0.95, 0.2


def test_the_update_is_the_sign_of_an_average_and_decay():
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
