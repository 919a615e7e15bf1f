"""Several processes take the steps of one run: the losses are those of one process, whatever the number of processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import metric_log
from glasshouse.records.run_folder import RunFolder
from tests.training.small_runs import DEMO, SMALL_MODEL, newest_checkpoint

ROOT = Path(__file__).parents[2]
STEPS = ("training.steps=50", "evaluation.every=25")
DECODER = ("demo-lm", *DEMO, *STEPS, "model.dropout=0")
# Name -> words of `glasshouse train`.
CASES = {
    "plain": DECODER,
    "sharded": (*DECODER, "training.parallel=shard"),
    "accumulated": (*DECODER, "training.gradient_accumulation=2", "training.clip=0.05"),
    "averaged": (*DECODER, "training.ema=0.9", "training.parallel=shard", "training.gradient_accumulation=2"),
    "recomputed": (*DECODER, "training.checkpoint_activations=true", "training.parallel=shard"),
    "translator": (
        "piglatin-encoder-decoder",
        *SMALL_MODEL,
        "model.dropout=0",
        "training.epochs=0",
        "training.steps=12",
        "evaluation.every=6",
        "training.parallel=shard",
    ),
    "classifier": (
        "arithmetic-finetune",
        *SMALL_MODEL,
        "training.start_from=",
        "training.class_weights=[balanced]",
        "model.dropout=0",
        "training.epochs=0",
        "training.steps=12",
        "evaluation.every=6",
    ),
    "value-residual": (
        *DECODER,
        "model.value_residual=true",
        "training.parallel=shard",
        "training.checkpoint_activations=true",
    ),
    "growing": (
        *DECODER,
        "training.batch_warmup=0.5",
        "training.window_warmup=0.8",
        "training.parallel=shard",
    ),
    "muon": (*DECODER, "training.optimiser=muon", "training.parallel=shard"),
    "lion": (*DECODER, "training.optimiser=lion", "training.parallel=shard", "training.learning_rate=1e-4"),
    "sgd": (*DECODER, "training.optimiser=sgd", "training.parallel=shard"),
    "patient": (*DECODER, "training.patience=1", "training.learning_rate=0", "evaluation.every=5"),
    "diverged": (*DECODER, "training.learning_rate=1e30", "training.clip=0"),
}
ALONE = ("training.parallel=auto", "training.processes=1")


def in_processes(count: int, cases: dict[str, tuple[str, ...]]) -> str:
    """Train runs in one call of `torchrun`; returns its output."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    done = subprocess.run(
        [*command, "-m", "tests.training.parallel_script", json.dumps(cases)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def logged(run: RunFolder, metric: str = "loss") -> list[float]:
    return metric_log.column(metric_log.read(run.metrics_file), metric)[1]


def check_equal(run: RunFolder, reference: RunFolder, tolerance: float = 1e-5) -> None:
    """Losses, gradient norms, evaluations and weights are equal within a tolerance."""
    for metric in ("loss", "gradient_norm", "validation.loss"):
        assert logged(run, metric) == pytest.approx(logged(reference, metric), abs=tolerance, rel=10 * tolerance), metric
    saved, expected = newest_checkpoint(run), newest_checkpoint(reference)
    assert saved.step == expected.step
    squares = expected.groups["optimiser"]
    for group, tensors in expected.groups.items():
        assert set(saved.groups[group]) == set(tensors)
        for name, tensor in tensors.items():
            assert saved.groups[group][name].shape == tensor.shape
            difference = (saved.groups[group][name] - tensor).abs()
            if group != "optimiser" and f"{name}/exp_avg_sq" in squares:
                # The gradient of a key's bias is 0 but for rounding, and Adam makes steps of full size of it.
                difference = difference[squares[f"{name}/exp_avg_sq"] > 1e-12]
            assert difference.max() <= 50 * tolerance if difference.numel() else True, (group, name)


def reference_of(name: str, words: tuple[str, ...]) -> RunFolder:
    recipe, *overrides = words
    return glasshouse.train(recipe, *overrides, *ALONE, name=f"{name}-alone", device="cpu").folder


def test_two_processes_have_the_losses_of_one(text, runs):
    words = (*DECODER, f"data.files={text}", "training.steps=12", "evaluation.every=6")
    in_processes(2, {"two": words})
    run = RunFolder(runs / "two")
    check_equal(run, reference_of("two", words))
    assert run.spec().training.processes == 2
    assert run.facts()["parallel"] == "replicate"
    assert run.facts()["status"] == "done"


@pytest.mark.slow
def test_every_kind_of_run_has_the_losses_of_one_process(runs):
    said = in_processes(2, CASES)
    for name in [name for name in CASES if name not in ("patient", "diverged")]:
        check_equal(RunFolder(runs / name), reference_of(name, CASES[name]))
    assert RunFolder(runs / "sharded").facts()["parallel"] == "shard"
    assert RunFolder(runs / "patient").facts()["stopped"] == 10
    failed = RunFolder(runs / "diverged")
    assert "diverged: training-failed" in said
    assert failed.facts()["status"] == "failed"
    assert (failed.failure / "failure.json").exists()


@pytest.mark.slow
def test_four_processes_and_checkpoints_that_do_not_depend_on_their_number(runs):
    cases = {"four": DECODER, "stopped": (*DECODER, "stop=10"), "shared": (*DECODER, "training.parallel=shard", "stop=10")}
    said = in_processes(4, cases)
    assert said.count("stopped and saved after step 11 of 50") == 2
    reference = reference_of("four", DECODER)
    check_equal(RunFolder(runs / "four"), reference)
    glasshouse.resume("stopped", "cpu", processes=1)
    check_equal(RunFolder(runs / "stopped"), reference)
    glasshouse.resume("shared", "cpu", processes=2)
    check_equal(RunFolder(runs / "shared"), reference)


@pytest.mark.slow
def test_several_seeds_are_trained_one_after_another_by_all_processes(runs):
    words = ("demo-lm", *DEMO, "training.steps=8", "model.dropout=0", "training.replicas=4")
    in_processes(2, {"spread": words})
    together = glasshouse.runs.train_replicas(words[0], *words[1:], name="alone", device="cpu")
    for run in together:
        spread = RunFolder(runs / run.name.replace("alone", "spread"))
        assert logged(spread) == pytest.approx(logged(run.folder), abs=1e-5)
        assert (spread.facts()["together"], spread.facts()["parallel"]) == (["."], "replicate")
