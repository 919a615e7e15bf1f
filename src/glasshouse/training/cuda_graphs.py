"""A step recorded as a CUDA graph and replayed: a small model spends its time launching kernels, and a replay launches all.

Recording runs the function and notes the kernels without executing them. So a function that is to be recorded takes whatever
changes from step to step as tensors, keeps its state in tensors that it changes in place, and never waits for the device.
On other devices, and where recording is not wanted, the function is simply called.
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

# A step: of a batch and the numbers that belong to it, on the device; what it gives is one tensor.
Step = Callable[[Batch, Tensor], Tensor]

# Steps of each shape that are taken before one is recorded: they make the optimiser's memory and the libraries' workspaces.
WARM = 2
# Steps that may be sent ahead of the one that the device is at, so that it never waits for the next batches to be ordered.
SLOTS = 8
# Answers of each shape that a model gives before one is recorded, for so many take about as long as recording; and how many
# shapes are recorded, since each keeps the memory of its answer.
OFTEN = 16
SHAPES = 8
# Texts are padded to a multiple of so many tokens, so that few shapes are met.
GRAIN = 16


class Recorded:
    """A step that is recorded for every shape it meets, and replayed from then on."""

    def __init__(self, step: Step, device: torch.device, training: TrainingSpec) -> None:
        # The method of an engine that owns this: it must not keep its owner, and the owner's memory, alive.
        self._step, self.device = weakref.WeakMethod(step), device
        self.wanted = device.type == "cuda" and training.cuda_graph and not training.compile
        self.met: Counter[Hashable] = Counter()
        self.replays: dict[Hashable, Callable[[Batch, Tensor], Tensor]] = {}
        if self.wanted:
            self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()

    def _take(self, batch: Batch, numbers: Tensor) -> Tensor:
        step = self._step()
        assert step is not None
        return step(batch, numbers)

    def __call__(self, batch: Batch, numbers: Tensor, kind: Hashable = None) -> Tensor:
        """One step. `kind` says what else, besides the shapes, makes it a different program."""
        if not self.wanted:
            return self._take(moved(batch, self.device), numbers.to(self.device))
        key = (kind, *((name, tensor.shape, tensor.dtype) for name, tensor in batch.items()))
        if key in self.replays:
            return self.replays[key](batch, numbers)
        self.met[key] += 1
        if self.met[key] > WARM:
            self.replays[key] = self._record(batch, numbers)
            return self.replays[key](batch, numbers)
        # On the stream of the recording, which a backward pass remembers.
        now = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            taken = self._take(moved(batch, self.device), numbers.to(self.device))
        now.wait_stream(self.stream)
        return taken

    def _record(self, batch: Batch, numbers: Tensor) -> Callable[[Batch, Tensor], Tensor]:
        fed, fed_numbers = moved(batch, self.device), numbers.to(self.device)
        graph = torch.cuda.CUDAGraph()
        # Graphs share their memory: each is done with it, and what it gave is copied, before another runs.
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            taken = self._take(fed, fed_numbers)

        slots = [_Slot(batch, numbers) for _ in range(SLOTS)]
        turns = count()

        def replay(batch: Batch, numbers: Tensor) -> Tensor:
            slots[next(turns) % SLOTS].send(batch, numbers, fed, fed_numbers)
            graph.replay()
            return taken.clone()

        return replay


class RecordedForward:
    """A model's forward pass for evaluation, recorded and replayed too. The weights may change in place meanwhile."""

    def __init__(self, model: nn.Module, device: torch.device, training: TrainingSpec) -> None:
        self.model, self.wanted = model, device.type == "cuda" and training.cuda_graph and not training.compile
        self.met: Counter[Hashable] = Counter()
        self.replays: dict[Hashable, Callable[[list[Tensor]], Tensor]] = {}

    def __call__(self, *given: Tensor, **named: Tensor) -> Tensor:
        asked = [*given, *named.values()]
        # Another package's task may give what is no tensor, which a recording would keep as it is now.
        plain = torch.is_grad_enabled() or self.model.training or not all(isinstance(each, Tensor) for each in asked)
        if plain or not self.wanted:
            return self.model(*given, **named)
        modes = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda")
        key = (modes, *named, *((tensor.shape, tensor.dtype) for tensor in asked))
        self.met[key] += 1
        often = self.met[key] > OFTEN and (key in self.replays or len(self.replays) < SHAPES)
        if not often:
            return self.model(*given, **named)
        if key not in self.replays:
            self.replays[key] = self._record([tensor.clone() for tensor in asked], [*named])
        return self.replays[key](asked)

    def _record(self, fed: list[Tensor], names: list[str]) -> Callable[[list[Tensor]], Tensor]:
        """`fed` is what the recording reads: what has no name, then what has one of these."""
        places = len(fed) - len(names)
        named = dict(zip(names, fed[places:], strict=True))
        graph = torch.cuda.CUDAGraph()
        # Weights in another format are made within: those that were kept outside would stay as they are now.
        half = torch.autocast(
            "cuda", torch.get_autocast_dtype("cuda"), enabled=torch.is_autocast_enabled("cuda"), cache_enabled=False
        )
        with half, torch.cuda.graph(graph, capture_error_mode="thread_local"):
            answer = self.model(*fed[:places], **named)

        def replay(asked: list[Tensor]) -> Tensor:
            for own, tensor in zip(fed, asked, strict=True):
                own.copy_(tensor)
            graph.replay()
            return answer.clone()

        return replay


class _Slot:
    """Memory that a device copies from without anybody waiting; it is written to again when that copy is over."""

    def __init__(self, batch: Batch, numbers: Tensor) -> None:
        self.batch = {name: torch.empty_like(tensor, pin_memory=True) for name, tensor in batch.items()}
        self.numbers = torch.empty_like(numbers, pin_memory=True)
        self.sent = torch.cuda.Event()

    def send(self, batch: Batch, numbers: Tensor, fed: Batch, fed_numbers: Tensor) -> None:
        self.sent.synchronize()
        for name, tensor in batch.items():
            fed[name].copy_(self.batch[name].copy_(tensor), non_blocking=True)
        fed_numbers.copy_(self.numbers.copy_(numbers), non_blocking=True)
        self.sent.record()


def steady(batch: Batch, widest: Batch) -> Batch:
    """The batch with its texts padded to a multiple of GRAIN tokens, but not beyond the widest there are.

    The last axis of a tensor whose `widest` is longer holds a text's tokens.
    """
    found = {}
    for name, tensor in batch.items():
        long = tensor.shape[-1]
        room = min(-(-long // GRAIN) * GRAIN, widest[name].shape[-1]) if name in widest and tensor.dim() > 1 else long
        found[name] = F.pad(tensor, (0, room - long), value=IGNORED if name == "targets" else 0) if room > long else tensor
    return found


def moved(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device."""
    return {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
