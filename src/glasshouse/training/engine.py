"""The engine: one model taking one step. It knows the task, the optimiser and the device; the loop knows when to do what.

Everything random in a step (which examples, which activations are dropped) follows from (seed, step). There is no random
state to save, and a resumed run goes on as if it had never stopped.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glasshouse.data import batches
from glasshouse.data.batches import Order
from glasshouse.data.shards import Shard
from glasshouse.records.checkpoint import Checkpoint, Tensors
from glasshouse.specs import catalogue
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Batch, Task
from glasshouse.training import cuda_graphs, optimisers, precision, schedules
from glasshouse.training.freezing import UnfreezingSchedule


@dataclass(frozen=True)
class StepResult:
    """One step's outcome, still on the device, so that nobody waits for it: an entry for each model that took it."""

    losses: Tensor
    gradient_norms: Tensor
    learning_rates: tuple[float, ...]


class Engine:
    """A model, what is asked of it, and the means to improve it."""

    def __init__(self, spec: Spec, steps: int, task: Task, model: nn.Module, train: Shard, device: torch.device) -> None:
        self.spec, self.steps, self.task, self.train, self.device = spec, steps, task, train, device
        self.model = model.to(device).train()
        self.thaw = UnfreezingSchedule(self.model, spec.training, steps)
        # The loss is compiled with the model, so that the logits need not be written out for it in float32.
        self.loss_sum = torch.compile(task.loss_sum) if spec.training.compile else task.loss_sum
        self.optimiser = catalogue.find("optimiser", spec.training.optimiser).build(self.model, spec.training)
        # The running mean of the weights, where one is wanted: what is measured and kept for use.
        self.average = {name: tensor.clone() for name, tensor in self.model.state_dict().items()} if self._memory else None
        self.order = Order(spec.training.seed, spec.training.batch, task.example_count(train), task.example_lengths(train))
        # On an accelerator a check would wait for the device, so a bad step latches there: the fused optimiser skips
        # every update from then on, and the loop reads the latch now and then.
        self.first_bad = torch.full((), -1.0, device=device)
        if device.type == "cuda":
            self.optimiser.found_inf = torch.zeros((), device=device)
            self.optimiser.grad_scale = None
        self.recorded = cuda_graphs.Recorded(self._improve, device, spec.training)
        self.forward = cuda_graphs.RecordedForward(self.model, device, spec.training)
        # An optimiser of another package may hold its rate as a plain number, which a recording would keep for good.
        self.recorded.wanted &= all(isinstance(group["lr"], Tensor) for group in self.optimiser.param_groups)

    @property
    def members(self) -> list["Engine"]:
        """The models that take a step: this one."""
        return [self]

    def batch(self, step: int) -> Batch:
        """The batch of a step, on the CPU."""
        return self.task.batch(self.train, self.spec.training.seed, *self.order(step))

    def step(self, step: int) -> StepResult:
        """One optimiser step. Where the loss or its gradient is not finite the weights stay as they were, for good."""
        training = self.spec.training
        self.thaw.apply(step)
        learning_rate = schedules.rate(training, step, self.steps)
        for group in self.optimiser.param_groups:
            if not isinstance(group["lr"], Tensor):
                group["lr"] = learning_rate * group.get("pace", 1.0)
        batch = self.batch(step)
        numbers = torch.tensor([step, learning_rate, mean_pace(self._memory, step), self.task.prediction_count(batch)])
        if self.recorded.wanted:
            batch = cuda_graphs.steady(batch, self.task.largest_batch(1))
        self._seed(step)
        loss, norm = self.recorded(batch, numbers, self.thaw.now)
        return StepResult(loss[None], norm[None], (learning_rate,))

    def _improve(self, batch: Batch, numbers: Tensor) -> Tensor:
        """The step on the device: (loss, gradient norm)."""
        step, learning_rate, pace, count = numbers
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].copy_(learning_rate * group.get("pace", 1.0))
        loss = self._gradients(batch, count)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.spec.training.clip or float("inf"))
        if self._sound(step, loss, norm):
            self.optimiser.step()
            if self.average is not None:
                remember(self.average, self.model.state_dict(), pace)
        return torch.stack([loss, norm])

    @property
    def _memory(self) -> float:
        return self.spec.training.ema

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The model with the mean weights in place of its own, where there is a mean."""
        if self.average is None:
            yield
            return
        own = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(self.average)
        try:
            yield
        finally:
            self.model.load_state_dict(own)

    def gradients(self, step: int, batch: Batch) -> Tensor:
        """The mean loss of a batch, its gradients left in the parameters."""
        self._seed(step)
        return self._gradients(cuda_graphs.moved(batch, self.device), torch.tensor(float(self.task.prediction_count(batch))))

    def _seed(self, step: int) -> None:
        """What is random in a step follows from the seed and the step."""
        torch.manual_seed(batches.seed_of(self.spec.training.seed, step))

    def _gradients(self, batch: Batch, count: Tensor) -> Tensor:
        training = self.spec.training
        self.optimiser.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for part in _parts(batch, training.gradient_accumulation):
            with precision.context(training.precision, self.device):
                loss = self.loss_sum(self.model, part) / count
            loss.backward()
            total += loss.detach()
        return total

    def failures(self) -> list[int]:
        """The first step that was not finite, or -1. Waits for the device."""
        return [int(self.first_bad.item())]

    def _sound(self, step: Tensor, loss: Tensor, norm: Tensor) -> bool:
        """Latch a step that was not finite; whether the optimiser may be asked to move."""
        latch(self.first_bad, step, loss, norm)
        if self.device.type == "cuda":
            self.optimiser.found_inf.copy_(self.first_bad >= 0)
            return True
        return bool(self.first_bad < 0)

    def evaluate(
        self, shard: Shard, final: bool = False, progress: Callable[[float], None] = lambda share: None
    ) -> dict[str, float]:
        """The task's metrics on a split."""
        with self._averaged(), precision.context(self.spec.training.precision, self.device):
            return self.task.evaluate(self.model, shard, self.spec.evaluation, final, progress, self.forward)

    def groups(self) -> dict[str, Tensors]:
        """All tensors that a later process needs to go on."""
        found = {"model": dict(self.model.state_dict()), "optimiser": optimisers.state(self.optimiser, self.model)}
        return found if self.average is None else {**found, "average": self.average}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        load_weights(self.model, checkpoint.groups["model"], f"the checkpoint step-{checkpoint.step:08d}")
        optimisers.restore(self.optimiser, self.model, checkpoint.groups["optimiser"])
        if self.average is not None:
            for name, tensor in checkpoint.groups["average"].items():
                self.average[name].copy_(tensor)

    def use(self, weights: Tensors, where: str) -> None:
        """Measure these weights from now on; training cannot go on afterwards."""
        load_weights(self.model, weights, where)
        self.average = None


def mean_pace(memory: float, step: int) -> float:
    """How far a running mean moves towards the weights; further at first, so that the initial ones are soon forgotten."""
    return 1 - min(memory, (1 + step) / (10 + step))


def latch(first_bad: Tensor, step: Tensor, loss: Tensor, norm: Tensor) -> None:
    """Note the step, where its loss or gradient is not finite and no earlier one is noted; of one model or of many."""
    good = loss.isfinite() & norm.isfinite()
    first_bad.copy_(torch.where(good | (first_bad >= 0), first_bad, step))


@torch.no_grad()
def remember(mean: Tensors, own: Tensors, pace: Tensor) -> None:
    """Move a running mean of weights towards them."""
    for name, tensor in own.items():
        if tensor.is_floating_point():
            mean[name].lerp_(tensor, pace)
        else:
            mean[name].copy_(tensor)


def load_weights(model: nn.Module, tensors: Tensors, where: str) -> None:
    """Load named weights, naming what does not fit."""
    own = model.state_dict()
    for name, tensor in tensors.items():
        if name not in own:
            raise RunError("unknown-tensor", f"{where} has a tensor {name!r} that the model of its spec does not have")
        if tensor.shape != own[name].shape:
            raise RunError(
                "wrong-tensor-shape",
                f"{where}: {name!r} has shape {tuple(tensor.shape)}, the model's {tuple(own[name].shape)}",
            )
    if missing := sorted(set(own) - set(tensors)):
        raise RunError("missing-tensor", f"{where} lacks the tensor {missing[0]!r}")
    model.load_state_dict(tensors)


def _parts(batch: Batch, count: int) -> list[Batch]:
    """The batch in so many equal parts."""
    pieces = {name: tensor.chunk(count) for name, tensor in batch.items()}
    return [{name: piece[i] for name, piece in pieces.items()} for i in range(count)]
