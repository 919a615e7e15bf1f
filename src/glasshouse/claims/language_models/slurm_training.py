"""Claim: the training job runs as a batch script on a Slurm cluster, where it is watched and cancelled."""

import shutil
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import torch

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import zero
from glasshouse.launching import cluster_settings, job_folder, job_status, slurm, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import ClusterSettings
from glasshouse.launching.job_status import JobStatus
from glasshouse.records import checkpoint, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs.errors import LaunchError, RunError
from glasshouse.studies import study_values
from glasshouse.training import loop

STEPS = 400
METRIC = "test.loss"
# On a CPU the same steps give the same bits, whatever has started them.
DEVICE = "cpu"
# Small, so that most of the time is that of the queue.
RECIPE = (
    "demo-lm",
    "model.layers=1",
    "model.width=32",
    "data.context=32",
    "training.batch=4",
    "training.precision=fp32",
    "training.threads=1",
    f"training.steps={STEPS}",
    f"evaluation.every={STEPS}",
)
DIRECT, BATCH, CONTINUED = "direct", "batch", "continued"
IN_WORDS = {BATCH: "a batch job", CONTINUED: "a batch job that was cancelled and continued"}
POLL_SECONDS = 0.2
# So often a job is started that ends before it could be cancelled; then it counts as one that cannot be.
ATTEMPTS = 3
# So long a cancelled job may stay in the queue and save.
CANCEL_SECONDS = 300


class SlurmTraining(Claim):
    """Trains each seed directly, in a batch job, and in a job that is cancelled half way and continued by another."""

    group = GROUPS[7]
    statement = (
        "The training job runs as a batch script on a Slurm cluster, where it is watched and cancelled, and it trains the "
        "same model as without Slurm."
    )
    source = "course work on large language models"
    reported = "the training job as a batch script; watched and cancelled"
    why = (
        "A batch script only starts the command. But a job has another environment, and cancelling it may lose steps, or "
        "leave a run that cannot go on."
    )
    procedure = (
        f"Each seed trains a small decoder on the State of the Union addresses for {STEPS:,} steps on one CPU thread, three "
        "times: directly; in a batch job; and in a batch job that is watched, cancelled when it shows half of the steps, "
        "and continued by a second job. The test loss and every weight at the end must be those of the direct run. The job "
        "must show its steps while it runs, and after it was cancelled it must be out of the queue, with a checkpoint "
        "before the last step."
    )
    would_change = "A GPU, whose sums are not always added in the same order, or nodes with different processors."
    data = PUBLIC_TEXT
    programs = ("sbatch", "squeue", "scancel", "sinfo")
    looks = (4,)
    studies = (
        StudyPlan(
            "runs",
            ("decoder",),
            metric=METRIC,
            recipes={"decoder": RECIPE},
            quick=split_scores.QUICK,
        ),
    )
    quantities: ClassVar = {
        **{
            f"loss/{kind}": Quantity(f"test loss of {words} less that of the direct run", METRIC, "nats per token")
            for kind, words in IN_WORDS.items()
        },
        **{
            f"weights/{kind}": Quantity(f"weights of {words} that differ from the direct run", "count", "weights")
            for kind, words in IN_WORDS.items()
        },
        "unseen": Quantity("jobs that showed no step while they ran", "count", "jobs"),
        "uncancelled": Quantity("cancelled jobs that stayed in the queue or took all steps", "count", "jobs"),
        "step": Quantity("step at which the cancelled job has saved", "count", "steps"),
    }
    parts = (
        *(zero(f"loss/{kind}", name=f"{words} has the same test loss") for kind, words in IN_WORDS.items()),
        *(zero(f"weights/{kind}", name=f"{words} has the same weights") for kind, words in IN_WORDS.items()),
        zero("unseen", name="the job is watched"),
        zero("uncancelled", name="the job is cancelled"),
    )

    def obstacle(self, device: str, quick: bool) -> str:
        try:
            slurm.partitions()
        except LaunchError as silent:
            return str(silent)
        return ""

    def measure(self, bench: Bench) -> Measurements:
        slurm.check(_settings())
        seeds = range(bench.first_seed, bench.first_seed + bench.seeds)
        in_batch, continued, direct = ([_run(bench, kind, seed) for seed in seeds] for kind in (BATCH, CONTINUED, DIRECT))
        for run in in_batch:
            _submit(run)
        for run in direct:
            loop.train(run, DEVICE)
        cancelled = {}
        for seed, run in zip(seeds, continued, strict=True):
            cancelled[seed] = bench.cached(f"cancelled-{seed}", lambda seed=seed: _cancel_half_way(bench, seed))  # type: ignore[misc]
            _submit(run)
        _wait_until_done([*in_batch, *continued])
        series: dict[str, dict[int, float]] = {key: {} for key in self.quantities}
        for seed, *runs, expected in zip(seeds, in_batch, continued, direct, strict=True):
            values = dict(cancelled[seed])
            for kind, run in zip(IN_WORDS, runs, strict=True):
                values |= {f"{what}/{kind}": value for what, value in _differences(run, expected).items()}
            for key, value in values.items():
                series[key][seed] = value
        parameters = sum(weights.numel() for weights in _weights(direct[0]).values())
        facts = (("model", f"{parameters:,} parameters, {STEPS:,} steps"),)
        return Measurements({key: Series(values) for key, values in series.items()}, facts)


def _settings() -> ClusterSettings:
    """The settings of the cluster file, for a job on one CPU."""
    return cluster_settings.load(gpus_per_node=0).for_single_process()


def _run(bench: Bench, kind: str, seed: int) -> RunFolder:
    """The run of a seed that is trained in this way. It is created if it does not exist."""
    path = bench.folder / "runs" / f"{kind}-{seed}"
    if path.exists():
        return RunFolder(path)
    recipe, *overrides = bench.words("runs")
    return run_folder.create_at(path, resolve_spec.spec_of(recipe, *overrides, f"training.seed={seed}"), recipe)


def _submit(run: RunFolder) -> None:
    """Submit a job that trains a run to its end, unless the run has ended or its job is in the queue."""
    if run.recorded_status() == Status.DONE or _jobs(run):
        return
    path = str(run.path.absolute())
    name = f"claim-slurm-{run.name}"
    submission.submit(JobRequest(name, job_folder.RUN, path, ["resume", path, "--device", DEVICE]), _settings())


def _jobs(run: RunFolder) -> list[JobStatus]:
    """The jobs of a run that have not ended."""
    return [status for status in job_status.read_all() if status.work == str(run.path.absolute()) and status.active]


def _cancel_half_way(bench: Bench, seed: int) -> dict[str, float]:
    """Watch the job of a run, cancel it when it shows half of the steps, and say what was seen."""
    seen = False
    for attempt in range(ATTEMPTS):
        run = _run(bench, CONTINUED, seed)
        if attempt:
            shutil.rmtree(run.path)  # the job has ended before it could be cancelled
            run = _run(bench, CONTINUED, seed)
        _submit(run)
        while (jobs := _jobs(run)) and (step := _shown_step(jobs[0])) < STEPS // 2:
            seen = seen or step > 0
            time.sleep(POLL_SECONDS)
        if jobs:
            seen = True
            slurm.cancel(job.id for job in jobs)
            gone = _wait(lambda run=run: not _jobs(run) and run.status() != Status.TRAINING)  # type: ignore[misc]
            saved = max(checkpoint.steps(run.checkpoints), default=0)
            if run.recorded_status() != Status.DONE:
                return {"unseen": 0.0, "uncancelled": float(not gone or not 0 < saved < STEPS), "step": float(saved)}
        elif run.recorded_status() != Status.DONE:
            raise _failed(run)
    return {"unseen": float(not seen), "uncancelled": 1.0, "step": float(STEPS)}


def _shown_step(job: JobStatus) -> int:
    """The step that the list of jobs shows: 12 of "step 12 of 1,000, 3 s left"; 0 before the first."""
    words = job.progress.split()
    return int(words[1].replace(",", "")) if words[:1] == ["step"] else 0


def _wait(condition: Callable[[], bool]) -> bool:
    """Wait until the condition holds, and say whether it did in time."""
    end = time.monotonic() + CANCEL_SECONDS
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return holds


def _wait_until_done(runs: Sequence[RunFolder]) -> None:
    """Wait until the jobs of all runs have ended. A run that has not reached its end is an error."""
    with progress_bar.bar("waiting for jobs") as show:
        for number, run in enumerate(runs):
            while _jobs(run):
                show(number / len(runs))
                time.sleep(5 * POLL_SECONDS)
            if run.recorded_status() != Status.DONE:
                raise _failed(run)


def _failed(run: RunFolder) -> RunError:
    errors = [status.error for status in job_status.read_all() if status.work == str(run.path.absolute()) and status.error]
    reason = errors[-1].removeprefix("glasshouse: ") if errors else "look at its log with: glasshouse jobs"
    return RunError(f"the job of {run.name} has ended before its run: {reason}; correct this and repeat the command")


def _weights(run: RunFolder) -> dict[str, torch.Tensor]:
    return dict(Run(run, DEVICE).model.state_dict())


def _differences(run: RunFolder, expected: RunFolder) -> dict[str, float]:
    """How far the test loss of a run is from the expected one, and how many weights differ."""
    losses = [study_values.final_value(one, METRIC) for one in (run, expected)]
    weights, others = _weights(run), _weights(expected)
    differing = sum(int((weights[name] != others[name]).sum()) for name in others)
    return {"loss": float(losses[0] or 0.0) - float(losses[1] or 0.0), "weights": float(differing)}
