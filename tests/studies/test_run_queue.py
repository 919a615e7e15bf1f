"""The queue of runs: which runs train together."""

from dataclasses import replace
from pathlib import Path

from glasshouse.records.run_folder import RunFolder
from glasshouse.studies import arms, run_queue
from glasshouse.studies.run_queue import QueuedRun


def test_runs_that_differ_only_in_seed_and_learning_rate_train_together() -> None:
    queue = [
        QueuedRun(
            RunFolder(Path(f"{v.folder}-{seed}")),
            "",
            replace(v.spec, training=replace(v.spec.training, seed=seed)),
            "",
            {},
            3,
        )
        for seed in range(4)
        for v in arms.expand(arms.parse(("demo-lm", "model.norm=layer,rms", "training.learning_rate=0.1,0.2")))
    ]
    queue = [replace(queued, arm=queued.spec.model.norm) for queued in queue]
    groups = run_queue._groups(queue)
    assert sorted(map(len, groups)) == [2, 2, 3, 3, 3, 3]
    assert all(len({queued.spec.model.norm for queued in group}) == 1 for group in groups)
    assert [len(group) for group in run_queue._groups([replace(queued, replicas=99) for queued in queue])] == [8, 8]
    alone = [replace(queued, replicas=1) for queued in queue]
    assert run_queue._groups(alone) == [[queued] for queued in alone], "one after another, in the order of the queue"


def test_arms_with_dropout_have_groups_of_their_own() -> None:
    """So that runs of one seed have the same dropout masks in all arms."""
    for dropout, sizes in (("0", [6]), ("0.1", [3, 3])):
        queue = [
            QueuedRun(
                RunFolder(Path(f"{v.folder}-{seed}")),
                "",
                replace(v.spec, training=replace(v.spec.training, seed=seed)),
                "",
                {},
                99,
                v.name,
            )
            for seed in range(3)
            for v in arms.expand(arms.parse(("demo-lm", f"model.dropout={dropout}", "training.learning_rate=0.1,0.2")))
        ]
        assert [len(group) for group in run_queue._groups(queue)] == sizes
