"""Where the time of a training step goes: the share of each kind of computation. Knows no claim."""

import time
from collections.abc import Mapping, Sequence

import torch
from torch.profiler import ProfilerActivity, profile

from glasshouse.training import devices
from glasshouse.training.engine import Engine

# Kind -> what the name of an operator of torch or of a CUDA kernel contains. The first that fits counts.
ATTENTION, OPTIMISER, LOSS, PRODUCTS = "attention", "optimiser", "softmax and loss", "matrix products"
WORDS = {
    ATTENTION: ("scaled_dot_product", "flash", "fmha", "attention"),
    OPTIMISER: ("adam", "multi_tensor", "optimizer", "lpnorm", "linalg_vector_norm"),
    LOSS: ("softmax", "nll_loss", "cross_entropy", "crossentropy", "_sum", "_gradient", "loss_kernel"),
    PRODUCTS: ("mm", "gemm", "cutlass", "xmma", "nvjet"),
}
OTHER, IDLE = "everything else", "no kernel runs"
KINDS = (*WORDS, OTHER, IDLE)
WARM_UP, STEPS = 3, 5


def profile_steps(engine: Engine, words: Mapping[str, Sequence[str]] = WORDS, steps: int = STEPS) -> dict[str, float]:
    """Kind -> its share of the time of a step.

    On a GPU a share is that of the kernels, and the rest of the time no kernel runs. On a CPU the operators share all of it.
    """
    on_gpu = engine.device.type == "cuda"
    for step in range(WARM_UP):
        engine.step(step)
    devices.synchronise(engine.device)
    start = time.perf_counter()
    for step in range(steps):
        engine.step(step)
    devices.synchronise(engine.device)
    # Timed without the profiler, which slows down the launches of kernels.
    seconds = time.perf_counter() - start
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as profiler:
        for step in range(steps):
            engine.step(step)
        devices.synchronise(engine.device)
    spent = dict.fromkeys((*words, OTHER, IDLE), 0.0)
    for event in profiler.key_averages():
        if on_gpu and event.device_type == torch.autograd.DeviceType.CUDA:
            spent[kind_of(event.key, words)] += event.self_device_time_total / 1e6
        elif not on_gpu:
            spent[kind_of(event.key, words)] += event.self_cpu_time_total / 1e6
    total = max(seconds, sum(spent.values())) if on_gpu else sum(spent.values())
    if on_gpu:
        spent[IDLE] = total - sum(spent.values())
    return {kind: share / total for kind, share in spent.items()}


def kind_of(name: str, words: Mapping[str, Sequence[str]] = WORDS) -> str:
    """The kind of computation that an operator or a kernel belongs to."""
    return next((kind for kind, parts in words.items() if any(part in name.lower() for part in parts)), OTHER)
