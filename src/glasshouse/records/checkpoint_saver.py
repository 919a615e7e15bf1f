"""Write checkpoints in a thread, while training goes on. One checkpoint is written at a time."""

import threading
from collections.abc import Callable
from pathlib import Path

from glasshouse.records import checkpoint
from glasshouse.records.checkpoint import Checkpoint


class CheckpointSaver:
    """Saves a copy of each checkpoint. An error of the thread is raised by the next call."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def save(self, checkpoints: Path, saved: Checkpoint, keep: set[int]) -> None:
        """Copy a checkpoint and begin to write it; then delete those that are neither in `keep` nor among the latest."""
        self.wait()
        # The next step changes the tensors in place.
        groups = {
            group: {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
            for group, tensors in saved.groups.items()
        }
        copied = Checkpoint(saved.step, groups, dict(saved.values))

        def write() -> None:
            checkpoint.save(checkpoints, copied)
            checkpoint.prune(checkpoints, keep)

        self._thread = threading.Thread(target=self._run, args=(write,), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the checkpoint is written; raises the error that writing it had."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            self._error = error
