"""Data parallelism: how one step is spread over processes. Every process takes its rows of the batch.

The batch, the loss and the update are those of a single process. Each rank divides the sum of its losses by the number of
predictions in the whole batch, and the gradients of all ranks are added. Only dropout differs: every rank has its own masks.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from glasshouse.tasks.base import Batch
from glasshouse.training import process_group
from glasshouse.training.activation_checkpointing import blocks

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule

SINGLE, REPLICATE, SHARD = "single", "replicate", "shard"

Result = TypeVar("Result")
LossSum = Callable[[nn.Module, Batch], Tensor]


class Parallelism:
    """What an engine needs to know of the other processes: here there are none. Subclasses are for several."""

    rank, size = 0, 1

    def own_rows(self, batch: Batch) -> Batch:
        rows = len(next(iter(batch.values()))) // self.size
        return {name: tensor[self.rank * rows : (self.rank + 1) * rows] for name, tensor in batch.items()}

    def synchronised(self, loss_sum: LossSum, model: nn.Module) -> LossSum:
        """The loss, whose backward pass adds the gradients of all processes."""
        return loss_sum

    def accumulating(self) -> AbstractContextManager[None]:
        """Within the block gradients are added up in this process, and not sent to the others."""
        return nullcontext()

    def total(self, value: Tensor) -> Tensor:
        return value

    def from_main(self, compute: Callable[[], Result]) -> Result:
        """The result of rank 0, as JSON allows it."""
        return compute()

    def agreed_signal(self, received: int | None) -> int | None:
        """The signal that some process received, in all processes."""
        return received


class LossModule(nn.Module):
    """A model and its loss as one module from a batch to a number, which is what torch can wrap."""

    def __init__(self, model: nn.Module, loss_sum: LossSum) -> None:
        super().__init__()
        self.model, self.loss_sum = model, loss_sum

    def forward(self, work: Batch | Callable[[], Any]) -> Any:
        """The loss of a batch, or the result of a function that uses the model."""
        return self.loss_sum(self.model, work) if isinstance(work, dict) else work()


class _SeveralProcesses(Parallelism):
    def __init__(self) -> None:
        self.rank, self.size = process_group.rank(), process_group.size()

    def total(self, value: Tensor) -> Tensor:
        torch.distributed.all_reduce(value)
        return value

    def agreed_signal(self, received: int | None) -> int | None:
        found = torch.tensor([received or 0])
        torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
        return int(found) or None


class ReplicatedWeights(_SeveralProcesses):
    """Every process holds all weights (torch's DistributedDataParallel). Rank 0 evaluates."""

    wrapped: DistributedDataParallel | None = None

    def synchronised(self, loss_sum: LossSum, model: nn.Module) -> LossSum:
        # Gradients are views of the buckets that are sent, so that they are stored once.
        self.wrapped = wrapped = DistributedDataParallel(LossModule(model, loss_sum), gradient_as_bucket_view=True)
        return lambda _, batch: wrapped(batch)

    def accumulating(self) -> AbstractContextManager[None]:
        assert self.wrapped is not None
        return self.wrapped.no_sync()

    def from_main(self, compute: Callable[[], Result]) -> Result:
        result: Result = process_group.broadcast(compute() if self.rank == 0 else None)
        return result


class ShardedWeights(_SeveralProcesses):
    """Every process holds a share of the weights, gradients and optimiser state (torch's FSDP2). All processes evaluate.

    A block's weights are gathered before it computes and freed afterwards.
    """

    root: "FSDPModule | None" = None

    def __init__(self, number_format: str) -> None:
        super().__init__()
        self.dtype = torch.bfloat16 if number_format == "bf16" else None
        self.cross_blocks: list[FSDPModule] = []

    def synchronised(self, loss_sum: LossSum, model: nn.Module) -> LossSum:
        # Importing this takes half as long as importing torch.
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(param_dtype=self.dtype, reduce_dtype=self.dtype)
        sharded = [(fully_shard(block, mp_policy=policy), block.cross_attention) for block in blocks(model)]
        # Translation computes the keys and values of the source outside the forward pass of these blocks.
        self.cross_blocks = [block for block, cross_attention in sharded if cross_attention is not None]
        root = LossModule(model, loss_sum)
        self.root = fully_shard(root, mp_policy=policy)
        return lambda _, batch: root(batch)

    @contextmanager
    def accumulating(self) -> Iterator[None]:
        assert self.root is not None
        self.root.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.root.set_requires_gradient_sync(True)

    def from_main(self, compute: Callable[[], Result]) -> Result:
        assert self.root is not None
        for block in self.cross_blocks:
            block.set_reshard_after_forward(False)
            block.unshard()
        # Within its forward pass the root has gathered the weights that belong to no block.
        result: Result = self.root(compute)  # type: ignore[operator]
        for block in self.cross_blocks:
            block.set_reshard_after_forward(True)
            block.reshard()
        self.root.reshard()
        broadcast: Result = process_group.broadcast(result if self.rank == 0 else None)
        return broadcast


def connect(kind: str, number_format: str) -> Parallelism:
    """The parallelism of this process: "single", "replicate" or "shard"."""
    if kind == SINGLE:
        return Parallelism()
    process_group.join()
    return ReplicatedWeights() if kind == REPLICATE else ShardedWeights(number_format)
