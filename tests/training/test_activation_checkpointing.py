"""Activation checkpointing: the same losses and weights, with fewer saved tensors."""

import torch

from glasshouse.training import activation_checkpointing
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, demo_spec, saved_weights, train_demo

RECOMPUTED = "training.checkpoint_activations=true"


def test_a_run_with_recomputed_activations_equals_one_without(text):
    plain = train_demo(text, "model.dropout=0.1")
    recomputed = train_demo(text, "model.dropout=0.1", RECOMPUTED)
    weights = saved_weights(recomputed)
    assert set(weights) == set(saved_weights(plain))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in saved_weights(plain).items())
    assert [row.get("loss") for row in plain.metrics] == [row.get("loss") for row in recomputed.metrics]


def test_autograd_saves_less(text):
    counts = []
    for changes in ((), (RECOMPUTED,)):
        job = Job.prepare(demo_spec(text, "model.layers=4", *changes), CPU)
        engine = job.engine()
        storages: set[int] = set()

        def record(tensor, storages=storages):
            storages.add(tensor.untyped_storage().data_ptr())
            return tensor

        assert len(activation_checkpointing.blocks(engine.model)) == 4
        with torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor):
            engine.loss_sum(engine.model, engine.batch(0))
        counts.append(len(storages))
    assert counts[1] < counts[0] / 3
