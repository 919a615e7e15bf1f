"""Adafactor: its update is the paper's formula with relative step sizes."""

import torch

from tests.training.optimiser_battery import RATE, build, set_gradients, set_rate, small_model, training_spec, weights

DECAY = 0.2


def test_the_update_divides_by_a_rank_one_estimate_of_the_squares():
    model = small_model()
    optimiser = build(model, training_spec("adafactor", weight_decay=DECAY))
    set_rate(optimiser)
    expected = weights(model)
    squares = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    for step in range(4):
        set_gradients(model, step)
        kept = 1 - (step + 1) ** -0.8
        for name, parameter in model.named_parameters():
            before = expected[name]
            # The row and column means of a moving average are moving averages of the row and column means.
            squares[name] = kept * squares[name] + (1 - kept) * parameter.grad**2
            estimate = squares[name]
            if parameter.dim() >= 2:
                estimate = estimate.mean(1, keepdim=True) @ estimate.mean(0, keepdim=True) / estimate.mean()
            update = parameter.grad / estimate.sqrt()
            update = update / update.square().mean().sqrt().clamp(min=1.0)
            size = before.square().mean().sqrt().clamp(min=1e-3)
            decay = DECAY if parameter.dim() >= 2 else 0.0
            expected[name] = before - RATE * decay * before - min(RATE, (step + 1) ** -0.5) * size * update
        optimiser.step()
    torch.testing.assert_close(weights(model), expected, rtol=1e-4, atol=1e-5)
