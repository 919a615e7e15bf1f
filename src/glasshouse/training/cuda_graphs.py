"""CUDA graphs: a step or a forward pass is recorded once and replayed. A small model spends most of its time launching
kernels, and a replay launches all of them in one call.

Recording runs the function and records its kernels without executing them. So a recorded function takes everything that
changes between steps as tensors, updates its state in place, and never waits for the device. On other devices, and if CUDA
graphs are turned off, the function is called directly.
"""

import weakref
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import count

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.specs.spec import TrainingSpec
from glasshouse.tasks.base import IGNORED, Batch

# A step: takes a batch and the numbers of the step, both on the device, and returns one tensor.
Step = Callable[[Batch, Tensor], Tensor]

# Steps of each shape before one is recorded. They allocate the optimiser's state and the libraries' workspaces.
WARMUP_STEPS = 2
# Steps that the CPU may queue ahead of the device, so that the device never waits for the next batch.
STAGING_BUFFERS = 8
# Forward passes of each shape before one is recorded; recording takes about as long as this many.
MIN_CALLS = 16
# The maximum number of recorded shapes. Each recording keeps the memory of its output.
MAX_SHAPES = 8
# Texts are padded to a multiple of this many tokens, so that few shapes occur.
PADDING_MULTIPLE = 16


class GraphedStep:
    """A step that is recorded once for every shape of its batch, and replayed from then on."""

    def __init__(self, step: Step, device: torch.device, training: TrainingSpec) -> None:
        # `step` is a method of the engine that owns this object. The weak reference lets the engine's memory be freed.
        self._step, self.device = weakref.WeakMethod(step), device
        self.enabled = device.type == "cuda" and training.cuda_graph
        self.calls: Counter[Hashable] = Counter()
        self.replays: dict[Hashable, Callable[[Batch, Tensor], Tensor]] = {}
        if self.enabled:
            self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()

    def _run_step(self, batch: Batch, numbers: Tensor) -> Tensor:
        step = self._step()
        assert step is not None
        return step(batch, numbers)

    def __call__(self, batch: Batch, numbers: Tensor, kind: Hashable = None) -> Tensor:
        """Take one step. `kind` distinguishes different computations on batches of the same shapes."""
        if not self.enabled:
            return self._run_step(to_device(batch, self.device), numbers.to(self.device))
        key = (kind, *((name, tensor.shape, tensor.dtype) for name, tensor in batch.items()))
        if key in self.replays:
            return self.replays[key](batch, numbers)
        self.calls[key] += 1
        if self.calls[key] > WARMUP_STEPS:
            self.replays[key] = self._record(batch, numbers)
            return self.replays[key](batch, numbers)
        # Warm-up steps use the stream of the recording, because a backward pass runs on the stream of its forward pass.
        current = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            result = self._run_step(to_device(batch, self.device), numbers.to(self.device))
        current.wait_stream(self.stream)
        return result

    def _record(self, batch: Batch, numbers: Tensor) -> Callable[[Batch, Tensor], Tensor]:
        input_batch, input_numbers = to_device(batch, self.device), numbers.to(self.device)
        graph = torch.cuda.CUDAGraph()
        # Graphs share one memory pool. This is safe because a result is copied before another graph runs.
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            result = self._run_step(input_batch, input_numbers)

        buffers = [_StagingBuffer(batch, numbers) for _ in range(STAGING_BUFFERS)]
        counter = count()

        def replay(batch: Batch, numbers: Tensor) -> Tensor:
            buffers[next(counter) % STAGING_BUFFERS].send(batch, numbers, input_batch, input_numbers)
            graph.replay()
            return result.clone()

        return replay


class GraphedForward:
    """A model's forward pass in evaluations, recorded and replayed. The weights may change in place between calls."""

    def __init__(self, model: nn.Module, device: torch.device, training: TrainingSpec) -> None:
        self.model, self.enabled = model, device.type == "cuda" and training.cuda_graph
        self.calls: Counter[Hashable] = Counter()
        self.replays: dict[Hashable, Callable[[list[Tensor]], Tensor]] = {}

    def __call__(self, *positional: Tensor, **named: Tensor) -> Tensor:
        inputs = [*positional, *named.values()]
        # A task of another package may pass values that are not tensors. A recording would fix their first values.
        plain = torch.is_grad_enabled() or self.model.training or not all(isinstance(value, Tensor) for value in inputs)
        if plain or not self.enabled:
            return self.model(*positional, **named)
        modes = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda")
        key = (modes, *named, *((tensor.shape, tensor.dtype) for tensor in inputs))
        self.calls[key] += 1
        frequent = self.calls[key] > MIN_CALLS and (key in self.replays or len(self.replays) < MAX_SHAPES)
        if not frequent:
            return self.model(*positional, **named)
        if key not in self.replays:
            self.replays[key] = self._record([tensor.clone() for tensor in inputs], [*named])
        return self.replays[key](inputs)

    def _record(self, recorded_inputs: list[Tensor], names: list[str]) -> Callable[[list[Tensor]], Tensor]:
        """`recorded_inputs` are the tensors that the recording reads: positional ones, then one for each of `names`."""
        positional_count = len(recorded_inputs) - len(names)
        named = dict(zip(names, recorded_inputs[positional_count:], strict=True))
        graph = torch.cuda.CUDAGraph()
        # Without autocast's cache the weights are converted within the graph. Cached copies would never be updated.
        autocast = torch.autocast(
            "cuda", torch.get_autocast_dtype("cuda"), enabled=torch.is_autocast_enabled("cuda"), cache_enabled=False
        )
        with autocast, torch.cuda.graph(graph, capture_error_mode="thread_local"):
            output = self.model(*recorded_inputs[:positional_count], **named)

        def replay(inputs: list[Tensor]) -> Tensor:
            for recorded, tensor in zip(recorded_inputs, inputs, strict=True):
                recorded.copy_(tensor)
            graph.replay()
            return output.clone()

        return replay


class _StagingBuffer:
    """Pinned memory that the device copies from asynchronously. It is overwritten only after that copy has finished."""

    def __init__(self, batch: Batch, numbers: Tensor) -> None:
        self.batch = {name: torch.empty_like(tensor, pin_memory=True) for name, tensor in batch.items()}
        self.numbers = torch.empty_like(numbers, pin_memory=True)
        self.copied = torch.cuda.Event()

    def send(self, batch: Batch, numbers: Tensor, input_batch: Batch, input_numbers: Tensor) -> None:
        self.copied.synchronize()
        for name, tensor in batch.items():
            input_batch[name].copy_(self.batch[name].copy_(tensor), non_blocking=True)
        input_numbers.copy_(self.numbers.copy_(numbers), non_blocking=True)
        self.copied.record()


def pad_to_multiple(batch: Batch, largest: Batch) -> Batch:
    """The batch with its texts, an axis that is longer in `largest`, padded to a multiple of PADDING_MULTIPLE tokens."""
    padded = {}
    for name, tensor in batch.items():
        length = target = tensor.shape[-1]
        if name in largest and tensor.dim() > 1:
            target = min(-(-length // PADDING_MULTIPLE) * PADDING_MULTIPLE, largest[name].shape[-1])
        filler = IGNORED if name == "targets" else 0
        padded[name] = F.pad(tensor, (0, target - length), value=filler) if target > length else tensor
    return padded


def to_device(batch: Batch, device: torch.device) -> Batch:
    return {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
