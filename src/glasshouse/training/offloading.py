"""The optimiser's state in the CPU's memory. It visits the GPU a chunk at a time, and the update is computed there.

While one chunk is updated, the next is fetched and the one before is stored. On a CPU nothing is moved.
"""

import weakref
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

# Bytes of parameters whose state visits the GPU together, unless a single parameter has more.
CHUNK = 256 * 2**20
# Chunks on the GPU at a time: one that is fetched, one that is updated, one that is stored.
IN_FLIGHT = 3
# The state of smaller parameters stays on the GPU: that of gains and biases.
SMALLEST = 2**20

Chunk = list[tuple[int, nn.Parameter]]  # (index of the parameter group, parameter)


class OffloadedState:
    """Takes the steps of an optimiser chunk by chunk. Between the steps its large tensors lie in page-locked memory."""

    def __init__(self, optimiser: torch.optim.Optimizer, chunk: int = CHUNK) -> None:
        self.optimiser = optimiser
        parameters = [(index, one) for index, group in enumerate(optimiser.param_groups) for one in group["params"]]
        self.chunks = [[parameters[i] for i in indices] for indices in _chunks([one.nbytes for _, one in parameters], chunk)]
        self.device = self.chunks[0][0][1].device
        self.is_cuda = self.device.type == "cuda"
        if self.is_cuda:
            self.fetching, self.storing = torch.cuda.Stream(self.device), torch.cuda.Stream(self.device)
        self.on_cpu: dict[tuple[nn.Parameter, str], Tensor] = {}
        weakref.finalize(self, _unlock_pages, self.on_cpu).atexit = False

    def step(self) -> None:
        if not self.is_cuda:
            for chunk in self.chunks:
                self._update(chunk)
            return
        stored: list[torch.cuda.Event] = []
        self._fetch(self.chunks[0])
        for chunk, following in pairwise([*self.chunks, []]):
            torch.cuda.current_stream(self.device).wait_stream(self.fetching)
            # Python runs ahead of the GPU. Without waiting, it would fetch all chunks at once.
            if len(stored) >= IN_FLIGHT - 1:
                stored[1 - IN_FLIGHT].synchronize()
            self._fetch(following)
            self._update(chunk)
            stored.append(self._store(chunk))
        # The next step, or a checkpoint, reads what was stored.
        stored[-1].synchronize()

    def take(self, parameter: nn.Parameter, key: str, tensor: Tensor) -> None:
        """Use a tensor of a checkpoint as state of a parameter."""
        if self.is_cuda and tensor.nbytes >= SMALLEST:
            self.optimiser.state[parameter][key] = self._on_cpu(parameter, key, tensor).copy_(tensor)
        else:
            self.optimiser.state[parameter][key] = tensor.to(self.device)

    def _update(self, chunk: Chunk) -> None:
        """A step of the optimiser that sees the parameters of the chunk only."""
        groups = self.optimiser.param_groups
        selected = {index: [parameter for of, parameter in chunk if of == index] for index, _ in chunk}
        self.optimiser.param_groups = [{**groups[index], "params": parameters} for index, parameters in selected.items()]
        try:
            self.optimiser.step()
        finally:
            self.optimiser.param_groups = groups

    def _fetch(self, chunk: Chunk) -> None:
        """Begin to copy the state of a chunk to the GPU."""
        updating = torch.cuda.current_stream(self.device)
        with torch.cuda.stream(self.fetching):
            for _, parameter in chunk:
                for key, tensor in self.optimiser.state[parameter].items():
                    if isinstance(tensor, Tensor) and tensor.device != self.device:
                        fetched = tensor.to(self.device, non_blocking=True)
                        fetched.record_stream(updating)
                        self.optimiser.state[parameter][key] = fetched

    def _store(self, chunk: Chunk) -> torch.cuda.Event:
        """Begin to copy the state of a chunk to the CPU. The event is when that is done."""
        self.storing.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.storing):
            for _, parameter in chunk:
                for key, tensor in self.optimiser.state[parameter].items():
                    if isinstance(tensor, Tensor) and tensor.nbytes >= SMALLEST:
                        tensor.record_stream(self.storing)
                        target = self._on_cpu(parameter, key, tensor)
                        self.optimiser.state[parameter][key] = target.copy_(tensor, non_blocking=True)
            return self.storing.record_event()

    def _on_cpu(self, parameter: nn.Parameter, key: str, tensor: Tensor) -> Tensor:
        """The page-locked tensor on the CPU that belongs to a tensor of state."""
        if (parameter, key) not in self.on_cpu:
            self.on_cpu[parameter, key] = _locked_pages(tensor)
        return self.on_cpu[parameter, key]


def bytes_on_gpu(sizes: Sequence[int], chunk: int = CHUNK) -> int:
    """The most bytes of AdamW's state on the GPU at a time. `sizes` are the bytes of the parameters, in float32."""
    chunks = [sum(sizes[index] for index in indices) for indices in _chunks(sizes, chunk)]
    return 2 * max(sum(chunks[first : first + IN_FLIGHT]) for first in range(len(chunks)))


def _chunks(sizes: Sequence[int], chunk: int) -> list[list[int]]:
    """Indices of consecutive sizes that sum to at most `chunk` bytes. A larger size is a chunk of its own."""
    chunks: list[list[int]] = [[]]
    for index, size in enumerate(sizes):
        if chunks[-1] and sum(sizes[other] for other in chunks[-1]) + size > chunk:
            chunks.append([])
        chunks[-1].append(index)
    return chunks


def _locked_pages(like: Tensor) -> Tensor:
    """An empty tensor on the CPU in page-locked memory, which `pin_memory` would round up to a power of two in size.

    If the system locks no more pages, copies are slower.
    """
    tensor = torch.empty(like.shape, dtype=like.dtype)
    torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)
    return tensor


def _unlock_pages(tensors: dict[tuple[nn.Parameter, str], Tensor]) -> None:
    for tensor in tensors.values():
        torch.cuda.cudart().cudaHostUnregister(tensor.data_ptr())
    tensors.clear()
