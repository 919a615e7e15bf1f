"""Number formats: the choice by timings, and training in bfloat16."""

import math

import pytest
import torch

from glasshouse.records import metric_log
from glasshouse.training import precision
from tests.training.small_runs import CPU, saved_weights, train_demo


def test_bf16_is_chosen_only_if_it_is_faster(monkeypatch):
    rates = {"fp32": 1.0, "bf16": 2.0}
    monkeypatch.setattr(precision, "matmul_flop_rate", lambda device, name, size, seconds: rates[name])
    assert precision.choose(CPU, {"fp32": 2.0, "bf16": 1.0}.__getitem__)[0] == "bf16"
    assert precision.choose(CPU, {"fp32": 1.1, "bf16": 1.0}.__getitem__)[0] == "fp32"
    rates["bf16"] = 0.01
    assert precision.choose(CPU, lambda name: pytest.fail("a step in bf16 would take minutes here"))[0] == "fp32"


def test_fp32_is_chosen_if_torch_has_no_kernel_for_bf16(monkeypatch):
    monkeypatch.setattr(precision, "matmul_flop_rate", lambda device, name, size, seconds: 1.0)

    def step_seconds(name):
        if name == "bf16":
            raise RuntimeError(message)
        return 1.0

    message = "pack_vnni2 is only supported when avx512 is supported"
    name, reason = precision.choose(CPU, step_seconds)
    assert name == "fp32"
    assert message in reason
    message = "shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match="multiplied"):
        precision.choose(CPU, step_seconds)


def test_bf16_trains_and_keeps_its_weights_in_fp32(text):
    run = train_demo(text, "training.precision=bf16", "training.steps=2", "model.layers=1", "evaluation.tokens=64")
    assert all(math.isfinite(loss) for loss in metric_log.column(run.metrics, "loss")[1])
    assert saved_weights(run)["embedding.weight"].dtype == torch.float32
