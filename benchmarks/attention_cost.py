"""What each attention costs as a sequence grows: time and peak memory of a forward and backward pass.

    python benchmarks/attention_cost.py                  # on a CPU
    python benchmarks/attention_cost.py --device cuda    # in bfloat16, with longer sequences and peak memory
    python benchmarks/attention_cost.py --smoke          # does it run? A few seconds

The slope is that of log time against log length over the last two doublings: 2 is quadratic, 1 linear. The peer is torch's
own `nn.MultiheadAttention` in the same run.
"""

import argparse
import math
import statistics
import time
from unittest import mock

import torch
from torch import nn

from glasshouse import parts
from glasshouse.parts import Mask
from glasshouse.parts.attention import distance_bias_kernel
from glasshouse.parts.attention.distance_bias_kernel import LEAST_LENGTH

WIDTH, HEADS, WINDOW, RANK, FEATURES = 256, 4, 128, 64, 64
# The bias as a matrix of n by n for each head, instead of inside the kernel (on CUDA, from 1,024 tokens).
MATRIX = "matrix"


def attentions(length: int) -> dict[str, nn.Module]:
    """Every attention of one width, and torch's own."""
    return {
        "nn.MultiheadAttention": nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
        "dot-product": parts.MultiHeadAttention(WIDTH, HEADS),
        "ALiBi": parts.MultiHeadAttention(WIDTH, HEADS, position=parts.Alibi(HEADS)),
        f"ALiBi, {MATRIX}": parts.MultiHeadAttention(WIDTH, HEADS, position=parts.Alibi(HEADS)),
        "relative": parts.MultiHeadAttention(WIDTH, HEADS, position=parts.RelativeBias(length, HEADS)),
        f"relative, {MATRIX}": parts.MultiHeadAttention(WIDTH, HEADS, position=parts.RelativeBias(length, HEADS)),
        "grouped-query": parts.GroupedQueryAttention(WIDTH, HEADS, key_value_heads=1),
        "additive": parts.AdditiveAttention(WIDTH, HEADS),
        "local-window": parts.LocalAttention(WIDTH, HEADS, WINDOW),
        "linformer": parts.LinformerAttention(WIDTH, HEADS, length, RANK),
        "performer": parts.PerformerAttention(WIDTH, HEADS, FEATURES),
    }


def seconds_and_bytes(attention: nn.Module, length: int, device: str, mask: Mask, least: float) -> tuple[float, int]:
    """The median time of a forward and backward pass, and its peak memory (0 where the device does not count it)."""
    x = torch.randn(1, length, WIDTH, device=device, requires_grad=True)
    positions = torch.arange(length, device=device)

    def once() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            if isinstance(attention, nn.MultiheadAttention):
                output = attention(x, x, x, need_weights=False)[0]
            else:
                output = attention(x, mask, positions)
        output.float().square().mean().backward()

    def synchronise() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    once()
    synchronise()
    before = torch.cuda.memory_allocated() if device == "cuda" else 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < least and len(times) < 50):
        start = time.perf_counter()
        once()
        synchronise()
        times.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
    return statistics.median(times), peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--longest", type=int, default=0, help="the longest sequence; by default what suits the device")
    parser.add_argument("--smoke", action="store_true", help="short sequences for a few seconds: does the benchmark run?")
    options = parser.parse_args()
    longest = 32 if options.smoke else options.longest or (16384 if options.device == "cuda" else 2048)
    lengths = [longest >> shift for shift in range(2 if options.smoke else 5, -1, -1)]
    print(f"width {WIDTH}, {HEADS} heads, window {WINDOW}, rank {RANK}, {FEATURES} features, no mask, on {options.device}")
    print(f"{'':24}" + "".join(f"{f'n = {length}':>18}" for length in lengths) + f"{'slope':>8}")
    reference: dict[int, float] = {}
    for name in attentions(8):
        row, times = "", []
        for length in lengths:
            if name == "additive" and length > longest // 4 and not options.smoke:
                row += f"{'-':>18}"
                continue
            attention = attentions(length)[name].to(options.device)
            least = 0.0 if options.smoke else 0.3
            with mock.patch.object(distance_bias_kernel, "LEAST_LENGTH", math.inf if MATRIX in name else LEAST_LENGTH):
                seconds, peak = seconds_and_bytes(attention, length, options.device, parts.Everything(), least)
            times.append(seconds)
            if name == "dot-product":
                reference[length] = seconds
            ratio = f" x{seconds / reference[length]:.2f}" if name != "dot-product" and length in reference else ""
            row += f"{seconds * 1e3:9.2f} ms{ratio:>6}" if not peak else f"{seconds * 1e3:6.2f}ms {peak / 2**20:5.0f}MB"
        slope = math.log(times[-1] / times[-3]) / math.log(4)
        print(f"{name:24}{row}{slope:8.2f}", flush=True)


if __name__ == "__main__":
    main()
