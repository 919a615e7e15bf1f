"""The predicted cost of a cluster: its memory, its choice of parallelism, its warnings, and models that do not fit here."""

from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.launching.cluster_hardware import ClusterHardware
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.training import cluster_prediction, cost_plan
from glasshouse.training.cluster_prediction import ClusterPlan, make
from glasshouse.training.communication_model import WeightCounts
from tests.refusals import refused

H200 = ClusterHardware()
SMALL = (
    "data.files=none",
    "data.vocabulary=300",
    "data.context=32",
    "model.width=32",
    "model.layers=2",
    "training.batch=16",
)


def spec_of(*changes: str) -> Spec:
    return glasshouse.runs.spec_of("language-model", *SMALL, *changes)


def plan(*changes: str, nodes: int = 2, gpus: int = 4, hardware: ClusterHardware = H200) -> ClusterPlan:
    return make(spec_of(*changes), nodes, gpus, hardware)


def test_one_gpu_has_no_communication() -> None:
    found = plan(nodes=1, gpus=1)
    assert list(found.plans) == [found.chosen] == ["single"]
    assert found.best.communication_seconds == 0
    assert found.best.step_seconds[0] == found.best.step_seconds[1] == pytest.approx(found.best.compute_seconds)
    assert not [text for text in found.assumptions if "links" in text]


def test_the_shards_sum_to_the_whole() -> None:
    found = plan()
    for purpose in ("weights", "optimiser"):
        whole, share = (found.plans[kind].memory[purpose] for kind in ("replicate", "shard"))
        assert whole <= share * found.gpus < whole + found.gpus
    assert found.plans["shard"].memory["activations"] == found.plans["replicate"].memory["activations"]
    assert found.plans["replicate"].memory["weights"] == 4 * found.parameters


def test_the_figures_fit_together() -> None:
    found = plan("training.steps=100", hardware=replace(H200, price_per_gpu_hour=2.0))
    assert (found.gpus, found.batch, found.rows, found.tokens) == (8, 16, 2, 16 * 32)
    for option in found.plans.values():
        assert option.seconds is not None
        assert option.cost is not None
        for step, rate, hours, seconds, cost in zip(
            option.step_seconds,
            option.tokens_per_second,
            option.gpu_hours_per_billion_tokens,
            option.seconds,
            option.cost,
            strict=True,
        ):
            assert rate == pytest.approx(found.tokens / step)
            assert hours == pytest.approx(1e9 / rate * 8 / 3600)
            assert seconds == pytest.approx(100 * step)
            assert cost == pytest.approx(2.0 * 8 * seconds / 3600)
    assert found.achieved_flops == pytest.approx(989e12 * 0.45)
    assert found.facts()["plans"]["shard"]["step_seconds"] == found.plans["shard"].step_seconds


def test_a_plan_without_steps_or_price_has_no_total() -> None:
    found = plan("training.steps=0", "training.epochs=2")
    assert found.best.seconds is None
    assert found.best.cost is None


def test_weights_that_do_not_fit_are_sharded() -> None:
    assert plan().chosen == "replicate"
    whole = sum(plan().plans["replicate"].memory.values())
    small = replace(H200, gpu_memory_gb=whole / 2e9)
    assert plan(hardware=small).chosen == "shard"
    forced = plan("training.parallel=replicate", hardware=small)
    assert forced.chosen == "replicate"
    assert not forced.best.fits
    assert "training.parallel=shard" in forced.warnings[0]


def test_the_memory_is_that_of_training() -> None:
    """The purposes that `choose_parallelism` adds up are the same numbers."""
    found = plan("training.precision=fp32")
    job = cluster_prediction._job_without_data(cluster_prediction.spec_on(spec_of("training.precision=fp32"), 8))
    expected = cost_plan.training_memory(job, "fp32")
    assert {purpose: found.plans["replicate"].memory[purpose] for purpose in expected} == expected


def test_a_batch_that_cannot_be_divided() -> None:
    found = plan("training.batch=4")
    assert (found.batch, found.rows) == (8, 1)
    assert "training.batch=4" in found.warnings[0]
    assert "training.batch=8" in found.warnings[0]
    found = plan("training.batch=18", "training.gradient_accumulation=2")
    assert (found.batch, found.rows, found.micro_batches) == (32, 2, 2)
    assert "training.batch=18" in found.warnings[0]
    assert "training.batch=32" in found.warnings[0]
    assert not [text for text in plan().warnings if "divided" in text]


def test_dominating_communication_is_named_with_a_remedy() -> None:
    slow = replace(H200, network_gb_per_second=0.1)
    [warning] = [text for text in plan(hardware=slow).warnings if "communication" in text]
    assert "training.batch=" in warning
    assert not [text for text in plan(nodes=1, gpus=1).warnings if "communication" in text]


def test_the_other_parallelism_is_named_if_it_is_faster() -> None:
    """FSDP2 in bfloat16 sends six bytes for a weight, DDP eight."""
    slow = replace(H200, network_gb_per_second=0.1, node_latency_us=0.0, network_latency_us=0.0)
    assert [text for text in plan(hardware=slow).warnings if "training.parallel=shard" in text]
    assert not [text for text in plan("training.parallel=shard", hardware=slow).warnings if "training.parallel" in text]


def test_a_measured_step_replaces_the_assumed_speed() -> None:
    found = make(spec_of(), 1, 1, H200, step_seconds=0.25)
    assert found.measured
    assert found.best.step_seconds == pytest.approx((0.25, 0.25))
    assert "measured" in found.assumptions[0]
    measured = cluster_prediction.measured_step_seconds(
        glasshouse.runs.spec_of("demo-lm", *SMALL[1:], "data.source=state-of-the-union", "training.precision=fp32"),
        4,
        torch.device("cpu"),
    )
    assert measured is not None
    assert measured > 0


def test_recomputed_activations_cost_time() -> None:
    plain, recomputed = plan(nodes=1, gpus=1), plan("training.checkpoint_activations=true", nodes=1, gpus=1)
    assert recomputed.step_flops == plain.step_flops
    assert recomputed.best.compute_seconds > plain.best.compute_seconds
    assert recomputed.achieved_flops == pytest.approx(plain.achieved_flops * 3 / 4)


def test_frozen_weights_are_not_sent() -> None:
    everything, adapters = plan(), plan("training.lora_rank=2")
    assert adapters.plans["replicate"].communication_seconds < everything.plans["replicate"].communication_seconds


def test_what_is_gathered() -> None:
    weights = WeightCounts((10, 20), 5, (10, 20), 5)
    assert cluster_prediction.gathered_bytes(weights, 2, 1) == 2 * (5 + 40 + 5 + 40)
    assert cluster_prediction.gathered_bytes(weights, 2, 8) == 2 * (5 + 40 + 35)


def test_a_large_model_is_predicted_without_memory() -> None:
    large = ("data.context=2048", "data.vocabulary=128256", "model.width=4096", "model.layers=32", "model.heads=32")
    shape = (*large, "model.feed_forward=14336", "model.tied=false", "training.batch=64")
    found = plan(*shape, "training.checkpoint_activations=true", nodes=8, gpus=8)
    assert 8e9 < found.parameters < 9e9
    assert found.chosen == "shard"
    assert found.best.fits
    assert found.plans["replicate"].memory["optimiser"] == 8 * found.parameters


def test_the_weights_are_those_of_the_model() -> None:
    weights = cluster_prediction.weights_of(spec_of())
    assert len(weights.blocks) == 2
    assert weights.total == weights.trained == plan().parameters


def test_what_cannot_be_trained_is_refused() -> None:
    with refused(SpecError, "training.replicas=2"):
        plan("training.replicas=2")
    with refused(SpecError, "training.processes=8"):
        plan("training.freeze=gradual", "training.start_from=")


def test_steps_that_grow_are_counted_as_whole_ones() -> None:
    whole, growing = plan(nodes=1, gpus=2), plan("training.batch_warmup=0.5", "training.window_warmup=0.5", nodes=1, gpus=2)
    assert growing.step_flops == whole.step_flops
    assert any("warm-up" in text for text in growing.assumptions)
    assert not any("warm-up" in text for text in whole.assumptions)
    assert plan("training.batch_warmup=0.5", nodes=1, gpus=8).batch == 32
