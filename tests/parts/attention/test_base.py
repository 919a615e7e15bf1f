"""Value residuals: later attentions mix the first one's values into their own; the paths of a step agree."""

import pytest
import torch

from glasshouse import models, parts
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_files import model_spec
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, demo_spec

SMALL = {"width": 16, "layers": 3, "heads": 2}


def test_the_first_attention_is_unchanged_and_later_ones_mix_its_values():
    torch.manual_seed(0)
    plain = parts.MultiHeadAttention(width=8, heads=2)
    mixing = parts.MultiHeadAttention(width=8, heads=2, value_residual=True)
    mixing.load_state_dict(plain.state_dict(), strict=False)
    x = torch.randn(2, 5, 8)
    first: list[torch.Tensor] = []
    torch.testing.assert_close(mixing(x, parts.Causal(), first_values=first), plain(x, parts.Causal()))
    later = torch.randn(2, 5, 8)
    with torch.no_grad():
        mixing.value_shares.copy_(torch.tensor([0.6, 1.0]))
    values = [plain.projection(one)[..., 16:] for one in (later, x)]
    queries, keys = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in plain.projection(later)[..., :16].chunk(2, -1))
    mixed = (0.3 * values[0] + 0.5 * values[1]).unflatten(-1, (2, 4)).transpose(1, 2)
    weights = (queries @ keys.mT / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)
    expected = plain.output((weights @ mixed).transpose(1, 2).flatten(2))
    torch.testing.assert_close(mixing(later, parts.Causal(), first_values=first), expected)


def test_a_model_has_two_weights_for_each_block_and_a_gradient_through_the_first_values():
    model = models.build(model_spec(**SMALL, value_residual=True), 29, 12)
    plain = models.build(model_spec(**SMALL), 29, 12)
    added = {name for name, _ in model.named_parameters()} - {name for name, _ in plain.named_parameters()}
    assert added == {f"blocks.{block}.attention.value_shares" for block in range(3)}
    tokens = torch.randint(0, 29, (2, 12))
    assert not torch.equal(model(tokens), plain(tokens))
    model(tokens).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The state of our union is strong, and we will keep it so for all who come after us.\n" * 60)
    return path


def test_blocks_that_are_computed_again_have_the_same_gradients(text):
    gradients = []
    for changes in ((), ("training.checkpoint_activations=true",)):
        engine = Job.prepare(demo_spec(text, "model.value_residual=true", *changes), CPU).engine()
        engine.gradients(0, engine.batch(0))
        gradients.append({name: parameter.grad for name, parameter in engine.model.named_parameters()})
    torch.testing.assert_close(*gradients)


def test_heads_that_share_values_with_later_blocks_cannot_be_removed():
    spec = model_spec(**SMALL, value_residual=True, pruned_heads=("blocks.0.attention.1",))
    with refused(SpecError, "blocks.0.attention", "model.value_residual=false"):
        models.build(spec, 29, 12)


def test_cross_attention_has_no_first_values():
    with refused(SpecError, "model.kind='encoder-decoder'"):
        models.check(model_spec(**SMALL, kind="encoder-decoder", value_residual=True), 12)
