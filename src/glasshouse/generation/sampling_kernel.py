"""Sampling by one Triton kernel for CUDA: from logits to tokens, with the options of each row, without leaving the device.

Does what `SamplingRows.distribution` and `draw` do, without penalties. Those take some thirty launches and sort the
vocabulary; this kernel reads a row of logits a few times, from the second-level cache. It finds the smallest logit that
top-k or top-p keeps without sorting: four bits at a time, by counting the logits above fifteen thresholds. Sums are not in
the same order, so that a token may differ where a random number falls on the border between two.

Axes: B batch, V vocabulary.
"""

from importlib.util import find_spec

import torch
from torch import Tensor

from glasshouse.generation.sampling import LEAST_TEMPERATURE, Sampling, SamplingRows, draw

TRITON_INSTALLED = find_spec("triton") is not None
# Logits that a program holds at a time.
BLOCK = 8192
WARPS = 16

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _mixed_bits(state):  # type: ignore[no-untyped-def]
        """The last steps of SplitMix64; see `sampling.uniform_numbers`."""
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB
        return state ^ (state >> 31)

    @triton.jit
    def _uniform_number(seed, number, step):  # type: ignore[no-untyped-def]
        """A random number in [0, 1) in float64 from integers, the same as `sampling.uniform_numbers`."""
        gamma = tl.full((), 0x9E3779B97F4A7C15, tl.uint64)
        state = _mixed_bits((gamma ^ seed.to(tl.uint64)) + gamma)
        state = _mixed_bits((state ^ number.to(tl.uint64)) + gamma)
        state = _mixed_bits((state ^ step.to(tl.uint64)) + gamma)
        return (state >> 11).to(tl.float64) * 1.1102230246251565e-16

    @triton.jit
    def _scaled(logits, token, size, temperature):  # type: ignore[no-untyped-def]
        """Logits over the temperature; minus infinity beyond the vocabulary."""
        loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
        return tl.div_rn(loaded, temperature)

    @triton.jit
    def _ordered(values):  # type: ignore[no-untyped-def]
        """Unsigned integers in the order of the floating-point numbers."""
        bits = values.to(tl.int32, bitcast=True)
        flipped = tl.where(bits < 0, ~bits, bits ^ -2147483648)
        return flipped.to(tl.uint32, bitcast=True)

    @triton.jit
    def _threshold(  # type: ignore[no-untyped-def]
        logits, size, temperature, maximum, least, needed, COUNT: tl.constexpr, BLOCK: tl.constexpr
    ):
        """The largest ordered value t such that values from t on number `needed`, or weigh as much if not COUNT.

        Values below `least` do not count. If all of them together are too few, t is 0.
        """
        prefix = tl.full((), 0, tl.uint32)
        shift = tl.full((), 28, tl.int32)
        level = tl.arange(0, 16)
        exact = tl.full((), 0, tl.int1)
        while (shift >= 0) & (exact == 0):
            borders = prefix + (level.to(tl.uint32) << shift.to(tl.uint32))
            above = tl.zeros((16,), tl.float32)
            for start in range(0, size, BLOCK):
                token = start + tl.arange(0, BLOCK)
                scaled = _scaled(logits, token, size, temperature)
                values = _ordered(scaled)
                if COUNT:
                    amount = tl.where(token < size, 1.0, 0.0)
                else:
                    amount = tl.exp(scaled - maximum)
                amount = tl.where(values >= least, amount, 0.0)
                above += tl.sum(tl.where(values[None, :] >= borders[:, None], amount[None, :], 0.0), 1)
            # At level 0 the border is the prefix, which is known to be low enough.
            chosen = tl.max(tl.where((above >= needed) | (level == 0), level, 0), 0)
            prefix += chosen.to(tl.uint32) << shift.to(tl.uint32)
            if COUNT:
                exact = tl.sum(tl.where(level == chosen, above, 0.0), 0) == needed
            shift -= 4
        return prefix

    @triton.jit
    def _sample_kernel(  # type: ignore[no-untyped-def]
        logits,
        state,
        settings,
        results,
        row_stride,
        columns,
        size,
        LEAST_TEMPERATURE: tl.constexpr,
        TOP_K: tl.constexpr,
        TOP_P: tl.constexpr,
        MIN_P: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        row = tl.program_id(0)
        logits += row.to(tl.int64) * row_stride
        temperature = tl.load(settings + row)
        greedy = temperature < LEAST_TEMPERATURE
        # The largest logit and the first token that has it; the sum of exponentials for the log-probability.
        largest = tl.full((), float("-inf"), tl.float32)
        token_of_largest = tl.full((), 0, tl.int32)
        exp_sum = tl.full((), 0.0, tl.float32)
        for start in range(0, size, BLOCK):
            token = start + tl.arange(0, BLOCK)
            loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
            block_largest = tl.max(loaded, 0)
            if block_largest > largest:
                token_of_largest = tl.min(tl.where(loaded == block_largest, token, 2147483647), 0)
                exp_sum = exp_sum * tl.exp(largest - block_largest)
                largest = block_largest
            if largest > float("-inf"):
                exp_sum += tl.sum(tl.exp(loaded - largest), 0)
        chosen_token = token_of_largest
        if not greedy:
            maximum = tl.div_rn(largest, temperature)
            least = tl.full((), 1, tl.uint32)
            if TOP_K:
                top_k = tl.load(settings + columns + row)
                if (top_k > 0) & (top_k < size):
                    least = _threshold(logits, size, temperature, maximum, least, top_k, True, BLOCK)
            ties = tl.full((), 2147483647, tl.int32)  # how many values that equal `least` are kept
            if TOP_P:
                top_p = tl.load(settings + 2 * columns + row)
                if top_p < 1:
                    total = tl.full((), 0.0, tl.float32)
                    for start in range(0, size, BLOCK):
                        scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
                        total += tl.sum(tl.where(_ordered(scaled) >= least, tl.exp(scaled - maximum), 0.0), 0)
                    before = least
                    least = _threshold(logits, size, temperature, maximum, before, top_p * total, False, BLOCK)
                    least = tl.maximum(least, before)
                    # Of equal tokens at the border only the first ones are kept: as many as are needed.
                    above = tl.full((), 0.0, tl.float32)
                    weight = tl.full((), 0.0, tl.float32)
                    for start in range(0, size, BLOCK):
                        scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
                        values = _ordered(scaled)
                        weights = tl.exp(scaled - maximum)
                        above += tl.sum(tl.where(values > least, weights, 0.0), 0)
                        weight = tl.maximum(weight, tl.max(tl.where(values == least, weights, 0.0), 0))
                    needed = tl.ceil((top_p * total - above) / tl.maximum(weight, 1e-38))
                    ties = tl.minimum(tl.maximum(needed, 1.0), 2e9).to(tl.int32)
            lowest_weight = tl.full((), 0.0, tl.float32)
            if MIN_P:
                lowest_weight += tl.load(settings + 3 * columns + row)
            # Two passes over what is kept: its sum, and the first token at which the running sum exceeds the threshold.
            kept_sum = tl.full((), 0.0, tl.float64)
            tied = tl.full((), 0, tl.int32)
            for start in range(0, size, BLOCK):
                scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
                values = _ordered(scaled)
                weights = tl.exp(scaled - maximum)
                weights = tl.where((values >= least) & (weights >= lowest_weight), weights, 0.0)
                if TOP_P:
                    equal = (values == least).to(tl.int32)
                    weights = tl.where((equal == 1) & (tied + tl.cumsum(equal, 0) > ties), 0.0, weights)
                    tied += tl.sum(equal, 0)
                kept_sum += tl.sum(weights, 0).to(tl.float64)
            seed, number = tl.load(state + 2 * columns + row), tl.load(state + 3 * columns + row)
            step = tl.load(state + 4 * columns + row)
            threshold = _uniform_number(seed, number, step) * kept_sum
            running = tl.full((), 0.0, tl.float64)
            tied = tl.full((), 0, tl.int32)
            found = tl.full((), 0, tl.int1)
            for start in range(0, size, BLOCK):
                if found == 0:
                    token = start + tl.arange(0, BLOCK)
                    scaled = _scaled(logits, token, size, temperature)
                    values = _ordered(scaled)
                    weights = tl.exp(scaled - maximum)
                    weights = tl.where((values >= least) & (weights >= lowest_weight), weights, 0.0)
                    if TOP_P:
                        equal = (values == least).to(tl.int32)
                        weights = tl.where((equal == 1) & (tied + tl.cumsum(equal, 0) > ties), 0.0, weights)
                        tied += tl.sum(equal, 0)
                    block_sum = tl.sum(weights, 0).to(tl.float64)
                    if block_sum > 0:
                        # Rounding may leave the sum within the block a little short: then it is the last kept token.
                        chosen_token = tl.max(tl.where(weights > 0, token, -1), 0)
                    if running + block_sum > threshold:
                        sums = running + tl.cumsum(weights.to(tl.float64), 0)
                        first = tl.min(tl.where((sums > threshold) & (weights > 0), token, 2147483647), 0)
                        chosen_token = tl.minimum(first, chosen_token)
                        found = tl.full((), 1, tl.int1)
                    running += block_sum
        logit = tl.load(logits + chosen_token).to(tl.float32)
        tl.store(results + row, chosen_token.to(tl.float64))
        tl.store(results + columns + row, (logit - largest - tl.log(exp_sum)).to(tl.float64))
        # The input of the next step: the token, its position, and the number of the draw. Rows of padding stay in place.
        in_use = tl.load(state + 5 * columns + row)
        tl.store(state + row, chosen_token.to(tl.int64))
        tl.store(state + columns + row, tl.load(state + columns + row) + in_use)
        tl.store(state + 4 * columns + row, tl.load(state + 4 * columns + row) + in_use)


def usable(device: torch.device) -> bool:
    """Whether the kernel runs on this device."""
    return TRITON_INSTALLED and device.type == "cuda"


def sample(
    logits_BV: Tensor, state: Tensor, options: Tensor, results: Tensor, size: int, top_k: bool, top_p: bool, min_p: bool
) -> None:
    """Sample a token for each row and write the input of the next step.

    state: token, position, seed, number, step and 1 (0 for padding) of each row, in int64; it is advanced. options:
    temperature, top_k, top_p and min_p, in float32. results: the token and its log-probability, in float64. The first B
    columns of each are used. Tokens from `size` on are never sampled; `top_k`, `top_p` and `min_p` say which options any
    row uses.
    """
    _sample_kernel[(len(logits_BV),)](
        logits_BV,
        state,
        options,
        results,
        logits_BV.stride(0),
        state.shape[1],
        size,
        LEAST_TEMPERATURE=LEAST_TEMPERATURE,
        TOP_K=top_k,
        TOP_P=top_p,
        MIN_P=min_p,
        BLOCK=BLOCK,
        num_warps=WARPS,
    )


def sample_plainly(
    logits_BV: Tensor, state: Tensor, options: Tensor, results: Tensor, size: int, top_k: bool, top_p: bool, min_p: bool
) -> None:
    """The same by plain operations: what the kernel must compute."""
    rows = len(logits_BV)
    columns = zip(*options[:, :rows].tolist(), strict=True)
    options_of_rows = SamplingRows([Sampling(temperature=t, top_k=int(k), top_p=p, min_p=m) for t, k, p, m in columns])
    logits = logits_BV[:, :size].float().cpu()
    _, _, seeds, numbers, steps, in_use = state[:, :rows].cpu()
    tokens = draw(options_of_rows.distribution(logits), seeds, numbers, steps)
    results[0, :rows] = tokens.to(results)
    results[1, :rows] = logits.log_softmax(-1).gather(-1, tokens[:, None])[:, 0].to(results)
    state[0, :rows] = tokens.to(state)
    state[1, :rows] += in_use.to(state)
    state[4, :rows] += in_use.to(state)
