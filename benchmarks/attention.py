"""What each attention costs as a sequence grows: time and peak memory of a forward and backward pass, beside dot products.

The slope is that of log time in log n over the last doublings: 2 is quadratic, 1 linear. Give --device cuda for a GPU, where
bfloat16 is used. The peer is torch's own `nn.MultiheadAttention` in the same run.
"""

import sys
from pathlib import Path

sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).parent]  # `tokenizers` is a package

import argparse
import math
import statistics
import time

import torch
from torch import nn

from glasshouse import parts

WIDTH, HEADS, WINDOW, RANK, FEATURES = 256, 4, 128, 64, 64


def kinds(length):
    """Every attention of one width, and torch's own."""
    return {
        "nn.MultiheadAttention": nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
        "dot-product": parts.MultiHeadAttention(WIDTH, HEADS),
        "dot-product, ALiBi": parts.MultiHeadAttention(WIDTH, HEADS, position=parts.Alibi(HEADS)),
        "grouped-query": parts.GroupedQueryAttention(WIDTH, HEADS, key_value_heads=1),
        "additive": parts.AdditiveAttention(WIDTH, HEADS),
        "local-window": parts.LocalAttention(WIDTH, HEADS, WINDOW),
        "linformer": parts.LinformerAttention(WIDTH, HEADS, length, RANK),
        "performer": parts.PerformerAttention(WIDTH, HEADS, FEATURES),
    }


def seconds_and_bytes(attention, length, device, mask):
    """The median time of a pass and the most memory it held (known on a GPU only)."""
    x = torch.randn(1, length, WIDTH, device=device, requires_grad=True)
    positions = torch.arange(length, device=device)

    def once():
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            if isinstance(attention, nn.MultiheadAttention):
                output = attention(x, x, x, need_weights=False)[0]
            else:
                output = attention(x, mask, positions)
        output.float().square().mean().backward()

    def synchronise():
        if device == "cuda":
            torch.cuda.synchronize()

    once()
    synchronise()
    before = torch.cuda.memory_allocated() if device == "cuda" else 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = []
    while len(times) < 5 or (sum(times) < 0.3 and len(times) < 50):
        start = time.perf_counter()
        once()
        synchronise()
        times.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
    return statistics.median(times), peak


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--longest", type=int, default=0, help="the longest sequence; by default what suits the device")
    given = arguments.parse_args()
    longest = given.longest or (16384 if given.device == "cuda" else 2048)
    lengths = [longest >> shift for shift in range(5, -1, -1)]
    print(f"width {WIDTH}, {HEADS} heads, window {WINDOW}, rank {RANK}, {FEATURES} features, no mask, on {given.device}")
    print(f"{'':24}" + "".join(f"{f'n = {length}':>18}" for length in lengths) + f"{'slope':>8}")
    reference = {}
    for name in kinds(8):
        row, times = "", []
        for length in lengths:
            if name == "additive" and length > longest // 4:
                row += f"{'-':>18}"
                continue
            attention = kinds(length)[name].to(given.device)
            took, held = seconds_and_bytes(attention, length, given.device, parts.Everything())
            times.append(took)
            if name == "dot-product":
                reference[length] = took
            beside = f" x{took / reference[length]:.2f}" if name != "dot-product" and length in reference else ""
            row += f"{took * 1e3:9.2f} ms{beside:>6}" if not held else f"{took * 1e3:6.2f}ms {held / 2**20:5.0f}MB"
        slope = math.log(times[-1] / times[-3]) / math.log(4)
        print(f"{name:24}{row}{slope:8.2f}", flush=True)


if __name__ == "__main__":
    main()
