"""LoRA adapters: they start without effect, merge into their matrices, and disappear from an opened run."""

import torch
from torch import nn

from glasshouse import models
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import HeadSpec, ModelSpec, TrainingSpec
from glasshouse.training import lora
from tests.refusals import refused
from tests.training.small_runs import fine_tune, saved_weights


def test_adapters_start_without_effect_and_merge_into_their_matrices():
    spec = ModelSpec(kind="encoder", width=16, layers=2, heads=2, head=HeadSpec("classifier", own={"classes": 3}))
    plain, adapted = (models.build(spec, 20, 8, seed=4).eval() for _ in range(2))
    lora.attach(adapted, TrainingSpec(lora_rank=2, lora_targets=("projection", "up")))
    tokens = torch.randint(0, 20, (3, 8), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(adapted(tokens), plain(tokens))
    generator = torch.Generator().manual_seed(2)
    for name, parameter in adapted.named_parameters():
        if lora.ADAPTER in name:
            nn.init.normal_(parameter, generator=generator)
    with_adapters = adapted(tokens)
    assert not torch.allclose(with_adapters, plain(tokens))
    lora.merge(adapted)
    assert adapted.state_dict().keys() == plain.state_dict().keys()
    torch.testing.assert_close(adapted(tokens), with_adapters, rtol=1e-4, atol=1e-5)


def test_a_target_that_no_matrix_has_is_refused():
    model = models.build(ModelSpec(kind="encoder", width=16, layers=1, heads=2), 20, 8)
    with refused(SpecError, "'query'"):
        lora.attach(model, TrainingSpec(lora_rank=2, lora_targets=("query",)))


def test_a_run_with_adapters_opens_as_a_plain_run_and_can_be_started_from(pretrained, rows):
    run = fine_tune(rows, "training.lora_rank=2", "training.learning_rate=0.05", name="adapted")
    before, saved, opened = pretrained.model.state_dict(), saved_weights(run, 8), run.model.state_dict()
    matrix = "blocks.0.attention.projection"
    assert torch.equal(saved[f"{matrix}.parametrizations.weight.original"], before[f"{matrix}.weight"]), "frozen"
    assert not torch.equal(opened[f"{matrix}.weight"], before[f"{matrix}.weight"]), "merged"
    assert not any("parametrizations" in name for name in opened)
    again = fine_tune(rows, "training.start_from=adapted", "training.learning_rate=0")
    torch.testing.assert_close(again.model.state_dict()[f"{matrix}.weight"], opened[f"{matrix}.weight"])
