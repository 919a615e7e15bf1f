"""Tagging tasks: targets worked out by hand, and what each target depends on."""

import pytest
import torch
import torch.nn.functional as F

from glasshouse.claims.recurrent import tagging_tasks
from glasshouse.claims.recurrent.tagging_tasks import (
    INPUTS,
    KEYS,
    NO_TARGET,
    draw_hidden,
    draw_lookup,
    filtered_states,
    latest_values,
    tagging_accuracy,
    tagging_loss,
)


def generator():
    return torch.Generator().manual_seed(0)


def test_the_target_is_the_latest_earlier_value_of_the_key():
    keys = torch.tensor([[0, 1, 0, 0, 1]])
    values = torch.tensor([[3, 2, 1, 0, 3]])
    assert latest_values(keys, values).tolist() == [[NO_TARGET, NO_TARGET, 3, 1, 2]]


@pytest.mark.parametrize("keys", [1, 2, 4])
def test_the_future_task_is_the_past_task_read_backwards(keys):
    inputs, targets = draw_lookup(generator(), keys)
    backwards, next_values = draw_lookup(generator(), keys, future=True)
    assert torch.equal(inputs, backwards)
    assert inputs.shape == (32, 16, INPUTS)
    assert inputs.sum(-1).unique().tolist() == [2.0], "one key and one value"
    assert int(inputs[..., :KEYS].argmax(-1).max()) == keys - 1
    key_of, value_of = inputs[0, :, :KEYS].argmax(-1), inputs[0, :, KEYS:].argmax(-1)
    for time in range(16):
        earlier = [other for other in range(time) if key_of[other] == key_of[time]]
        later = [other for other in range(time + 1, 16) if key_of[other] == key_of[time]]
        assert targets[0, time] == (value_of[earlier[-1]] if earlier else NO_TARGET)
        assert next_values[0, time] == (value_of[later[0]] if later else NO_TARGET)


def test_a_hidden_state_stays_often_and_is_shown_with_errors():
    inputs, hidden = draw_hidden(generator(), batch=2000)
    assert inputs[..., :KEYS].abs().sum() == 0
    assert float((hidden[:, 1:] == hidden[:, :-1]).float().mean()) == pytest.approx(0.9 + 0.1 / 4, abs=0.01)
    assert float((inputs[..., KEYS:].argmax(-1) == hidden).float().mean()) == pytest.approx(0.5 + 0.5 / 4, abs=0.01)


def test_the_filter_follows_from_bayes_rule_and_uses_the_past_only():
    seen = torch.tensor([[0, 1, 1]])
    first = torch.tensor([0.625, 0.125, 0.125, 0.125], dtype=torch.float64)
    second = (0.025 + 0.9 * first) * torch.tensor([0.125, 0.625, 0.125, 0.125], dtype=torch.float64)
    states = filtered_states(seen)[0]
    torch.testing.assert_close(states[0], first)
    torch.testing.assert_close(states[1], second / second.sum())
    changed = filtered_states(torch.tensor([[0, 1, 3]]))[0]
    assert torch.equal(states[:2], changed[:2])
    assert not torch.equal(states[2], changed[2])


def test_the_filtered_target_is_the_best_guess_from_the_past():
    inputs, hidden = draw_hidden(generator(), batch=2000)
    same_inputs, best = draw_hidden(generator(), filtered=True, batch=2000)
    assert torch.equal(inputs, same_inputs)
    seen = inputs[..., KEYS:].argmax(-1)
    assert float((best == hidden).float().mean()) > float((seen == hidden).float().mean()) + 0.05
    assert torch.equal(best[:, 0], seen[:, 0])


def test_loss_and_accuracy_leave_out_positions_without_a_target():
    outputs = F.one_hot(torch.tensor([[0, 1, 2]]), 4).float()
    targets = torch.tensor([[0, 3, NO_TARGET]])
    assert float(tagging_accuracy(outputs, targets)) == 0.5
    expected = F.cross_entropy(outputs[0, :2], targets[0, :2])
    assert float(tagging_loss(outputs, targets)) == pytest.approx(float(expected))


def test_all_tasks_have_inputs_of_one_size():
    draws = [draw_lookup(generator(), 2), draw_hidden(generator())]
    assert {inputs.shape for inputs, _ in draws} == {(32, 16, tagging_tasks.KEYS + tagging_tasks.VALUES)}
