"""The queue of runs: which runs train together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from glasshouse.launching.submission import Submission
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.studies import arms, run_queue
from glasshouse.studies.run_queue import QueuedRun


def queue_of(*words: str, seeds: int, replicas: int) -> list[QueuedRun]:
    """The runs of a study, seed by seed."""
    return [
        QueuedRun(
            RunFolder(Path(f"{variant.folder}-{seed}")),
            "",
            replace(variant.spec, training=replace(variant.spec.training, seed=seed)),
            "",
            {},
            replicas,
            variant.name,
        )
        for seed in range(seeds)
        for variant in arms.expand(arms.parse(words))
    ]


def test_runs_that_differ_only_in_seed_and_learning_rate_train_together() -> None:
    words = ("demo-lm", "model.norm=layer,rms", "training.learning_rate=0.1,0.2")
    groups = run_queue._groups(queue_of(*words, seeds=4, replicas=3))
    assert sorted(map(len, groups)) == [2, 2, 3, 3, 3, 3]
    assert all(len({queued.spec.model.norm for queued in group}) == 1 for group in groups)
    assert [len(group) for group in run_queue._groups(queue_of(*words, seeds=4, replicas=99))] == [8, 8]
    alone = queue_of(*words, seeds=4, replicas=1)
    assert run_queue._groups(alone) == [[queued] for queued in alone], "one after another, in the order of the queue"


def test_arms_with_dropout_have_groups_of_their_own() -> None:
    """So that runs of one seed have the same dropout masks in all arms."""
    for dropout, sizes in (("0", [6]), ("0.1", [3, 3])):
        words = ("demo-lm", f"model.dropout={dropout}", "training.learning_rate=0.1,0.2")
        assert [len(group) for group in run_queue._groups(queue_of(*words, seeds=3, replicas=99))] == sizes


def test_a_run_that_branches_is_in_the_task_of_its_source() -> None:
    first, second, third, _ = queue_of("demo-lm", "model.norm=layer,rms", seeds=2, replicas=1)
    branch = replace(second, branch_of=first.run)
    assert run_queue._tasks([[first], [branch], [third]]) == [[[first], [branch]], [[third]]]


def test_runs_may_be_trained_elsewhere(tmp_path: Path) -> None:
    submitted = Submission()

    class Handing(run_queue.Place):
        tasks: ClassVar[list[run_queue.RunTask]] = []

        def train(self, folder: Path, tasks: Sequence[run_queue.RunTask]) -> Submission:
            self.tasks.extend(tasks)
            return submitted

    queue = queue_of("demo-lm", "model.norm=layer,rms", seeds=2, replicas=2)
    assert run_queue.run_all(queue, Handing("cpu"), tmp_path, "a study") is submitted
    assert Handing.tasks == [[queue[::2]], [queue[1::2]]]
    assert not queue[0].run.path.exists(), "a folder is created when its task is written"
    written = [run_queue.write_task(task) for task in Handing.tasks]
    assert [entry["run"] for entry in written[1][0]] == [str(queued.run.path.absolute()) for queued in queue[1::2]]
    assert queue[3].run.spec() == queue[3].spec


def test_what_a_kill_left_of_a_checkpoint_of_an_ended_run_is_deleted(tmp_path: Path) -> None:
    first, _ = queue_of("demo-lm", "model.norm=layer,rms", seeds=1, replicas=1)
    queued = replace(first, run=RunFolder(tmp_path / "run"))
    run_queue._create(queued)
    queued.run.record(status=Status.DONE)
    left = queued.run.checkpoints / ".step-00000004.host.99999999.tmp"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_bytes(b"half")
    run_queue.run_all([queued], run_queue.Place("cpu"), tmp_path, "a study")
    assert not left.exists()
