"""Write checkpoints in a thread, while training goes on. One checkpoint is written at a time.

The thread writes a copy. If there is no memory for a copy, training waits instead.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from glasshouse.records import checkpoint, machine
from glasshouse.records.checkpoint import Checkpoint

# The share of the available memory that a copy may take.
COPY_SHARE = 0.5


class CheckpointSaver:
    """Saves a copy of each checkpoint. An error of the thread is raised by the next call."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def save(self, checkpoints: Path, saved: Checkpoint, keep: set[int]) -> None:
        """Copy a checkpoint and begin to write it; then delete those that are neither in `keep` nor among the latest."""
        self.wait()

        def write(written: Checkpoint) -> None:
            checkpoint.save(checkpoints, written)
            checkpoint.prune(checkpoints, keep)

        size = sum(tensor.nbytes for tensors in saved.groups.values() for tensor in tensors.values())
        if size > machine.available_memory() * COPY_SHARE:
            write(saved)
            return
        # The next step changes the tensors in place.
        groups = {
            group: {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
            for group, tensors in saved.groups.items()
        }
        copied = Checkpoint(saved.step, groups, dict(saved.values))
        self._thread = threading.Thread(target=self._run, args=(lambda: write(copied),), name="checkpoint")
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
