"""The processes of a `torchrun` job: which of them this is, and what they tell each other. Knows no training.

Rank 0 runs the command. The other ranks follow it: they wait for messages, which are JSON as bytes in tensors, so that
nothing is unpickled.
"""

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed

from glasshouse.specs.errors import Interrupted, RunError, SpecError
from glasshouse.specs.spec import TrainingSpec


class LostProcess(RunError):
    """Another process has ended, so that this one cannot go on."""


# Ranks wait while rank 0 prepares data or evaluates. A rank that dies is noticed at once, because its connection ends.
PATIENCE = timedelta(days=7)
END: dict[str, Any] = {"task": "end"}
# Whether this process is between two messages, so that the other ranks wait for the next one.
_between_messages = True


def rank() -> int:
    """The rank of this process; 0 if it is the only one."""
    return int(os.environ.get("RANK", "0")) if size() > 1 else 0


def size() -> int:
    """The number of processes that work together; 1 without `torchrun`."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def local_size() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if size() > 1 else 1


def is_rank() -> bool:
    """Whether `torchrun` has started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def count_for(training: TrainingSpec) -> int:
    """The number of processes that take the steps of a run: what `torchrun` has started, or else what the spec asks for."""
    return size() if is_rank() else training.processes


def local_device(device: torch.device) -> torch.device:
    """The GPU of this rank, if the device is a GPU without a number."""
    if device.type != "cuda" or device.index is not None or size() == 1:
        return device
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def join() -> None:
    if torch.distributed.is_initialized():
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.distributed.init_process_group(backend, timeout=PATIENCE)
    atexit.register(_leave)


def _leave() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def release() -> None:
    """Rank 0 is done, and the other ranks may end. If they are in the middle of a step, their connection ends instead."""
    if size() > 1 and rank() == 0 and _between_messages:
        join()
        broadcast(END)


@contextmanager
def working() -> Iterator[None]:
    """Within the block the ranks take steps together. If the block fails, they cannot be reached by messages any more."""
    global _between_messages
    _between_messages = False
    try:
        yield
    except Interrupted:
        # All ranks have agreed to stop, and wait for the next message.
        _between_messages = True
        raise
    _between_messages = True


def broadcast(message: Any) -> Any:
    """The message of rank 0, in all ranks."""
    data = json.dumps(message).encode() if rank() == 0 else b""
    length = torch.tensor([len(data)])
    torch.distributed.broadcast(length, 0)
    content = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(int(length), dtype=torch.uint8)
    torch.distributed.broadcast(content, 0)
    return json.loads(bytes(content.tolist()))


@contextmanager
def explain_lost_rank(run: str) -> Iterator[None]:
    """Say in one sentence that another process of the run has ended, instead of a connection's error."""
    try:
        yield
    except RuntimeError as error:
        lost = isinstance(error, torch.distributed.DistError) or any(
            word in str(error) for word in ("gloo", "Connection closed", "Connection reset", "NCCL")
        )
        if size() == 1 or not lost:
            raise
        what = f"another process of {run} has ended, so this one cannot go on; the last checkpoint is saved"
        raise LostProcess(f"{what}; continue with: glasshouse resume {run}") from None


def check_count(processes: int, device: torch.device) -> None:
    """Refuse more processes than this machine has GPUs or cores."""
    have, what = (torch.cuda.device_count(), "GPUs") if device.type == "cuda" else (os.cpu_count() or 1, "CPU cores")
    if processes > have:
        remedy = f"choose at most {have}, or use several machines with torchrun"
        raise SpecError(f"is more than the {have} {what} here; {remedy}", "training.processes", processes)
