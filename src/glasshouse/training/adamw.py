"""AdamW: Adam with decoupled weight decay (Loshchilov and Hutter 2019), of one model and of replicas.

The update of a number w with gradient g, in step t of its parameter:

    m <- m + (1 - beta1) (g - m),  v <- v + (1 - beta2) (g^2 - v)
    w <- w - rate decay w - rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon)

`AdamWKernel` computes it in one launch for all tensors and replicas: on CUDA, if Triton can build it and all parameters are
contiguous and in float32. Elsewhere, and for what Muon leaves to AdamW, `fused` computes it by torch's kernel, for one
replica after another. torch's class needs as long to list small tensors as its kernel to update them, and imports
`torch._dynamo`. The state has torch's names everywhere. Axes: R replicas, S steps.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.parts.triton_installed import TRITON_INSTALLED, can_build
from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.spec import Spec, TrainingSpec
from glasshouse.training import schedules, sharded_tensors
from glasshouse.training.optimisers import LocalGroup, Optimiser, parameter_groups, rate_factors, state_of

EPSILON = 1e-8
# torch's names of the moving averages of the gradient and of its square.
MOMENTS = "exp_avg", "exp_avg_sq"
# Numbers that a program of the kernel updates. torch's gives 65,536 to one, so that a model of a million parameters occupies
# 14 of an H200's 132 multiprocessors.
BLOCK, WARPS = 1024, 4
# Bytes that a thread loads at a time, if all addresses are multiples of it.
VECTOR = 16

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


class AdamW(Optimiser):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in one kernel. Only matrices decay."""

    @classmethod
    def build(cls, model: nn.Module, training: TrainingSpec) -> Optimiser:
        """The update of `torch.optim.AdamW(fused=True)`, with the same state, in one launch if that is possible."""
        parameters = [sharded_tensors.local(parameter) for parameter in model.parameters()]
        kind = OneLaunchAdamW if kernel_is_usable(parameters) else AdamW
        return kind(parameter_groups(model, training), training)

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> Tensors:
        step = torch.zeros((), device=parameter.device)
        return {**{key: torch.zeros_like(parameter) for key in MOMENTS}, "step": step}

    def update(self, group: LocalGroup, rate: Tensor) -> None:
        tensors, steps = (group.weights, group.gradients, *(group.state[key] for key in MOMENTS)), group.state["step"]
        torch._foreach_add_(steps, 1.0)
        betas = self.beta1, self.beta2
        fused(tensors, steps, rate, group.settings["weight_decay"], betas, None, self.found_inf)


class OneLaunchAdamW(AdamW):
    """The same in one launch of `AdamWKernel`. As torch's fused optimisers do, it divides gradients by `grad_scale`."""

    reads_grad_scale = True

    def __init__(self, groups: list[dict[str, Any]], training: TrainingSpec) -> None:
        super().__init__(groups, training)
        device = groups[0]["lr"].device
        self.kernel = AdamWKernel((self.beta1, self.beta2))
        self.one, self.zero = torch.ones(1, device=device), torch.zeros(1, device=device)
        self.decays = {decay: torch.full((1,), decay, device=device) for decay in (one["weight_decay"] for one in groups)}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        updates = []
        for group in self.groups_with_gradients():
            rate, decays = group.settings["lr"], self.decays[group.settings["weight_decay"]]
            state = (group.state[key] for key in (*MOMENTS, "step"))
            for weights, gradient, first, second, step in zip(group.weights, group.gradients, *state, strict=True):
                updates.append(Update(weights, gradient.contiguous(), first, second, step, rate, decays))
        if not updates:
            return
        scale = self.one if self.grad_scale is None else self.grad_scale
        skipped = self.zero if self.found_inf is None else self.found_inf
        torch._foreach_add_([update.steps for update in updates], 1.0)
        self.kernel(updates, scale, skipped)


class StackedAdamW:
    """AdamW of R replicas, each with its own learning rate and weight decay. A CUDA graph can record a step."""

    def __init__(self, model: nn.Module, weights: Tensors, specs: Sequence[Spec], steps: int) -> None:
        """`model` is one replica; `weights` are the stacked parameters (R, ...) of all, which are updated in place."""
        self.weights, training = weights, specs[0].training
        self.betas = training.beta1, training.beta2
        device = next(iter(weights.values())).device
        # Replicas with the same peak learning rate share one schedule.
        peaks = {spec.training.learning_rate: spec.training for spec in specs}
        tables = {peak: [schedules.rate(one, step, steps) for step in range(steps)] for peak, one in peaks.items()}
        self.table_SR = np.array([tables[spec.training.learning_rate] for spec in specs]).T
        self.rates_SR = torch.tensor(self.table_SR, dtype=torch.float32, device=device)
        self.decays = [spec.training.weight_decay for spec in specs]
        # (whether weight decay applies, factor of the learning rate) -> parameters. A stacked matrix has three axes.
        self.groups: dict[tuple[bool, float], list[str]] = {}
        factors = rate_factors(model, training)
        for name, tensor in weights.items():
            self.groups.setdefault((tensor.dim() > 2, factors[name]), []).append(name)
        self.moments = {key: {name: torch.zeros_like(tensor) for name, tensor in weights.items()} for key in MOMENTS}
        # Parameters that are unfrozen later have taken fewer steps.
        self.steps_taken = {name: torch.zeros((), device=device) for name in weights}
        self.kernel = AdamWKernel(self.betas, len(specs)) if kernel_is_usable([*weights.values()]) else None
        self.decays_R = torch.tensor(self.decays, device=device)
        self.no_decay_R = torch.zeros_like(self.decays_R)

    @torch.no_grad()
    def step(self, gradients: Tensors, step: Tensor, factor_R: Tensor, inactive_R: Tensor) -> None:
        """Update the weights that have gradients, with these times `factor_R`, but for those of inactive replicas."""
        torch._foreach_add_([self.steps_taken[name] for name in gradients], 1.0)
        # Indexing with a tensor would wait for the device; `index_select` does not.
        rate_R = self.rates_SR.index_select(0, step.view(1))[0]
        scale_R, skipped_R = 1 / factor_R, inactive_R.float()
        updates: list[Update] = []
        for (decays, lr_factor), group in self.groups.items():
            group_rate_R = rate_R * lr_factor
            names = [name for name in group if name in gradients]
            first, second = self.moments.values()
            tensors = [(self.weights[name], gradients[name].contiguous(), first[name], second[name]) for name in names]
            steps = [self.steps_taken[name] for name in names]
            if self.kernel:
                decays_R = self.decays_R if decays else self.no_decay_R
                updates += [Update(*own, taken, group_rate_R, decays_R) for own, taken in zip(tensors, steps, strict=True)]
                continue
            slices = [[tensor.unbind() for tensor in stack] for stack in zip(*tensors, strict=True)]
            settings = zip(group_rate_R.unbind(), self.decays, scale_R.unbind(), skipped_R.unbind(), strict=True)
            for replica, (rate, decay, scale, skipped) in enumerate(settings if names else ()):
                own = [[stacked[replica] for stacked in stack] for stack in slices]
                fused(own, steps, rate, decay if decays else 0.0, self.betas, scale, skipped)
        if self.kernel:
            self.kernel(updates, scale_R, skipped_R)

    def rates(self, step: int) -> tuple[float, ...]:
        return tuple(self.table_SR[step].tolist())

    def state(self, replica: int) -> Tensors:
        """One replica's optimiser state as `PARAMETER/KEY` -> tensor, in the format of `optimisers.state`."""
        moments = {f"{name}/{key}": own[replica] for key, tensors in self.moments.items() for name, own in tensors.items()}
        return moments | {f"{name}/step": steps.clone() for name, steps in self.steps_taken.items()}

    def restore(self, replica: int, tensors: Tensors) -> None:
        """Restore what `state` returned. A run that trained alone has no state of parameters that were still frozen."""
        for name, steps in self.steps_taken.items():
            own = {key: moments[name][replica] for key, moments in self.moments.items()} | {"step": steps}
            for key, tensor in state_of(name, tensors, own).items():
                own[key].copy_(tensor)


def fused(
    tensors: Sequence[list[Tensor]],
    steps: list[Tensor],
    rate: Tensor,
    decay: float,
    betas: tuple[float, float],
    scale: Tensor | None,
    skipped: Tensor | None,
) -> None:
    """The update of a list of tensors. `tensors` are weights, gradients, first and second moments; gradients are divided by
    `scale`, and nothing changes if `skipped` is not 0."""
    settings: dict[str, Any] = {"lr": rate, "beta1": betas[0], "beta2": betas[1], "weight_decay": decay, "eps": EPSILON}
    kinds = {"amsgrad": False, "maximize": False}
    weights, gradients, first, second = tensors
    torch._fused_adamw_(
        weights, gradients, first, second, [], steps, **settings, **kinds, grad_scale=scale, found_inf=skipped
    )


class Update(NamedTuple):
    """A tensor of all replicas (R, ...), or of a single model, and what its update needs. All are float32 on one device.

    The kernel reads their addresses in this order.
    """

    weights: Tensor
    gradients: Tensor
    first_moments: Tensor
    second_moments: Tensor
    # The steps taken, this one included: one number.
    steps: Tensor
    # The learning rate and the weight decay of each replica (R), or one number each.
    rates: Tensor
    decays: Tensor


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
        assert all(tensor.is_contiguous() for update in updates for tensor in update[:4])
        addresses = [[tensor.data_ptr() for tensor in update] for update in updates]
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


def kernel_is_usable(parameters: Sequence[Tensor]) -> bool:
    formats = all(one.is_cuda and one.dtype == torch.float32 and one.is_contiguous() for one in parameters)
    return formats and _kernel_works()


@cache
def _kernel_works() -> bool:
    def update_one_number() -> None:
        one = torch.ones(1, device="cuda")
        AdamWKernel((0.9, 0.99))([Update(*one.expand(7, 1).clone())], one, one)

    return can_build(update_one_number)
