"""AdamW on CUDA as one launch for all tensors of a model, or of many replicas.

torch's fused kernel gives 65,536 numbers to a program, so that a model of a million parameters occupies 14 of an H200's 132
multiprocessors. Here a program updates 1,024. It finds its tensors by their addresses in a table. Axes: R replicas.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED, can_build

BLOCK, WARPS = 1024, 4
# Bytes that a thread loads at a time, if all addresses are multiples of it.
VECTOR = 16
EPSILON = 1e-8

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _address(entry, ALIGNED: tl.constexpr):  # type: ignore[no-untyped-def]
        """The numbers whose address is in an entry of the table."""
        pointer = tl.load(entry).to(tl.pointer_type(tl.float32))
        return tl.multiple_of(pointer, 16) if ALIGNED else pointer

    @triton.jit
    def _adamw_kernel(  # type: ignore[no-untyped-def]
        table,
        blocks,
        scales,
        skipped,
        log_beta1,
        log_beta2,
        rest1,
        rest2,
        epsilon,
        COLUMNS: tl.constexpr,
        BLOCK: tl.constexpr,
        ALIGNED: tl.constexpr,
    ):
        """A block of a tensor, of one replica. `rest1` and `rest2` are 1 - beta1 and 1 - beta2."""
        replica = tl.program_id(1).to(tl.int64)
        if tl.load(skipped + replica) == 0:
            row = table + tl.load(blocks + 2 * tl.program_id(0)) * COLUMNS
            size = tl.load(row + 7)
            if ALIGNED:
                size = tl.multiple_of(size, 4)
            within = tl.load(blocks + 2 * tl.program_id(0) + 1) * BLOCK + tl.arange(0, BLOCK)
            inside = within < size
            place = replica * size + within
            weights, gradients = _address(row, ALIGNED) + place, _address(row + 1, ALIGNED) + place
            first, second = _address(row + 2, ALIGNED) + place, _address(row + 3, ALIGNED) + place
            steps = tl.load(_address(row + 4, False)).to(tl.float64)
            rate, decay = tl.load(_address(row + 5, False) + replica), tl.load(_address(row + 6, False) + replica)
            correction1 = (1.0 - tl.exp(steps * log_beta1)).to(tl.float32)
            correction2 = tl.sqrt(1.0 - tl.exp(steps * log_beta2)).to(tl.float32)
            gradient = tl.load(gradients, mask=inside, other=0.0) / tl.load(scales + replica)
            weight = tl.load(weights, mask=inside, other=0.0)
            m = tl.load(first, mask=inside, other=0.0)
            v = tl.load(second, mask=inside, other=0.0)
            m += rest1 * (gradient - m)
            v += rest2 * (gradient * gradient - v)
            weight -= rate * decay * weight
            weight -= rate / correction1 * m / (tl.sqrt(v) / correction2 + epsilon)
            tl.store(weights, weight, mask=inside)
            tl.store(first, m, mask=inside)
            tl.store(second, v, mask=inside)


@dataclass(frozen=True)
class Update:
    """A tensor of all replicas (R, ...), or of a single model, and what its update needs. All are float32 on one device."""

    weights: Tensor
    gradients: Tensor
    first_moments: Tensor
    second_moments: Tensor
    # The steps taken, this one included: one number.
    steps: Tensor
    # The learning rate and the weight decay of each replica (R), or one number each.
    rates: Tensor
    decays: Tensor

    def addresses(self) -> list[int]:
        large = self.weights, self.gradients, self.first_moments, self.second_moments
        assert all(tensor.is_contiguous() for tensor in large)
        return [tensor.data_ptr() for tensor in (*large, self.steps, self.rates, self.decays)]


class AdamWKernel:
    """Launches the kernel, also while a CUDA graph is recorded, and keeps the tables that recorded launches copy."""

    def __init__(self, betas: tuple[float, float], replicas: int = 1) -> None:
        self.betas, self.replicas = betas, replicas
        self.blocks: dict[tuple[int, ...], Tensor] = {}
        # Page-locked memory cannot be had while a graph is recorded. An earlier step allocates it.
        self.spare: Tensor | None = None
        self.recorded: list[Tensor] = []

    def __call__(self, updates: Sequence[Update], scales: Tensor, skipped: Tensor) -> None:
        """Update the tensors with their gradients over the scales (R), except those of skipped replicas (R, not 0)."""
        updates = [update for update in updates if update.weights.numel()]
        if not updates:
            return
        sizes = tuple(update.weights.numel() // self.replicas for update in updates)
        addresses = [update.addresses() for update in updates]
        rows = [[*row, size] for row, size in zip(addresses, sizes, strict=True)]
        device = scales.device
        table = self._table(torch.tensor(rows), device)
        if sizes not in self.blocks:
            places = [(tensor, block) for tensor, size in enumerate(sizes) for block in range(-(-size // BLOCK))]
            self.blocks[sizes] = torch.tensor(places, device=device)
        aligned = all(size % 4 == 0 for size in sizes) and all(one % VECTOR == 0 for row in addresses for one in row[:4])
        kernel: Any = _adamw_kernel
        kernel[(len(self.blocks[sizes]), self.replicas)](
            table,
            self.blocks[sizes],
            scales,
            skipped,
            *(math.log(beta) if beta else -math.inf for beta in self.betas),
            *(1 - beta for beta in self.betas),
            EPSILON,
            COLUMNS=table.shape[1],
            BLOCK=BLOCK,
            ALIGNED=aligned,
            num_warps=WARPS,
        )

    def _table(self, rows: Tensor, device: torch.device) -> Tensor:
        """The table on the device. A recorded copy reads its page-locked memory at every replay."""
        if device.type != "cuda":
            return rows
        if torch.cuda.is_current_stream_capturing():
            assert self.spare is not None
            assert self.spare.shape == rows.shape
            self.recorded.append(self.spare.copy_(rows))
            self.spare = None
            return self.recorded[-1].to(device, non_blocking=True)
        if self.spare is None or self.spare.shape != rows.shape:
            self.spare = torch.empty_like(rows, pin_memory=True)
        return rows.pin_memory().to(device, non_blocking=True)


def usable(parameters: Sequence[Tensor]) -> bool:
    """Whether the kernel can update these parameters."""
    formats = all(one.is_cuda and one.dtype == torch.float32 and one.is_contiguous() for one in parameters)
    return formats and _kernel_works()


@cache
def _kernel_works() -> bool:
    def update_one_number() -> None:
        one = torch.ones(1, device="cuda")
        AdamWKernel((0.9, 0.99))([Update(*one.expand(7, 1).clone())], one, one)

    return can_build(update_one_number)
