"""Sampling by one Triton kernel for CUDA: from logits to tokens, with the options of each row, without leaving the device.

Does what `SamplingRows.distribution` and `draw` do, without penalties. Those take some thirty launches and sort the
vocabulary; this kernel reads a row of logits a few times, from the second-level cache. The tokens that top-k or top-p can
keep are few: they are copied, and the rest happens among them. The smallest logit to keep is found without sorting: four
bits at a time, by counting the logits above fifteen borders. Sums are not in the same order, so that a token may differ
where a random number falls on the border between two.

Axes: B batch, V vocabulary.
"""

import torch
from torch import Tensor

from glasshouse.generation.sampling import LEAST_TEMPERATURE, SamplingRows, draw
from glasshouse.generation.sampling_options import Sampling
from glasshouse.parts.triton_installed import TRITON_INSTALLED

WARPS = 8

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    # Logits that a program holds at a time.
    BLOCK = tl.constexpr(4096)
    # The logits of a row are in so many groups, which bound the k-th largest logit. If top-k is at most BOUND, and at most
    # CANDIDATES logits reach the bound, the others are not looked at again. Top-p alone takes the bound of the largest k.
    GROUPS = tl.constexpr(512)
    BOUND = tl.constexpr(256)
    CANDIDATES = tl.constexpr(1024)
    # So few candidates are compared in a quarter of the time. Top-k of 50 usually has 50 to 70.
    FEW = tl.constexpr(128)
    COLD = tl.constexpr(LEAST_TEMPERATURE)

    @triton.jit
    def _mixed_bits(state):
        """The last steps of SplitMix64; see `sampling.uniform_numbers`."""
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB
        return state ^ (state >> 31)

    @triton.jit
    def _uniform_number(seed, number, step):
        """A random number in [0, 1) in float64 from integers, the same as `sampling.uniform_numbers`."""
        gamma = tl.full((), 0x9E3779B97F4A7C15, tl.uint64)
        state = _mixed_bits((gamma ^ seed.to(tl.uint64)) + gamma)
        state = _mixed_bits((state ^ number.to(tl.uint64)) + gamma)
        state = _mixed_bits((state ^ step.to(tl.uint64)) + gamma)
        return (state >> 11).to(tl.float64) * 1.1102230246251565e-16

    @triton.jit
    def _scaled(logits, token, size, temperature):
        """Logits over the temperature; minus infinity beyond the vocabulary."""
        loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
        return tl.div_rn(loaded, temperature)

    @triton.jit
    def _ordered(values):
        """Unsigned integers in the order of the floating-point numbers."""
        bits = values.to(tl.int32, bitcast=True)
        flipped = tl.where(bits < 0, ~bits, bits ^ -2147483648)
        return flipped.to(tl.uint32, bitcast=True)

    @triton.jit
    def _threshold_of_vector(values, amounts, needed, STEPS: tl.constexpr = 8):
        """The largest t such that the amounts of values from t on reach `needed`, or 0. Only its first 4 STEPS bits."""
        prefix = tl.full((), 0, tl.uint32)
        level = tl.arange(0, 16)
        for step in range(STEPS):
            bits = 28 - 4 * step
            borders = prefix + (level << bits).to(tl.uint32, bitcast=True)
            above = tl.sum(tl.where(values[None, :] >= borders[:, None], amounts[None, :], 0.0), 1)
            # Border 0 is the prefix, which is known to be low enough.
            chosen = tl.max(tl.where((above >= needed) | (level == 0), level, 0), 0)
            prefix += (chosen << bits).to(tl.uint32, bitcast=True)
        return prefix

    @triton.jit
    def _threshold(logits, size, temperature, maximum, least, needed, COUNT: tl.constexpr):
        """The same over all logits. Those below `least` do not count. The amounts are 1, or weights if not COUNT."""
        prefix = tl.full((), 0, tl.uint32)
        level = tl.arange(0, 16)
        for step in range(8):
            bits = 28 - 4 * step
            borders = prefix + (level << bits).to(tl.uint32, bitcast=True)
            above = tl.zeros((16,), tl.float32)
            for start in range(0, size, BLOCK):
                token = start + tl.arange(0, BLOCK)
                scaled = _scaled(logits, token, size, temperature)
                values = _ordered(scaled)
                if COUNT:
                    amounts = tl.where(token < size, 1.0, 0.0)
                else:
                    amounts = tl.exp(scaled - maximum)
                amounts = tl.where(values >= least, amounts, 0.0)
                above += tl.sum(tl.where(values[None, :] >= borders[:, None], amounts[None, :], 0.0), 1)
            chosen = tl.max(tl.where((above >= needed) | (level == 0), level, 0), 0)
            prefix += (chosen << bits).to(tl.uint32, bitcast=True)
        return prefix

    @triton.jit
    def _draw_candidate(
        scratch,
        count,
        maximum,
        total,
        uniform,
        top_k,
        top_p,
        lowest_weight,
        TOP_K: tl.constexpr,
        TOP_P: tl.constexpr,
        MIN_P: tl.constexpr,
        SIZE: tl.constexpr,
    ):
        """A token among the candidates, at most SIZE, and whether they were enough for top-p."""
        place = tl.arange(0, SIZE)
        scaled = tl.load(scratch + place, mask=place < count, other=float("-inf"))
        token = tl.load(scratch + CANDIDATES + place, mask=place < count, other=0.0).to(tl.int32)
        values = tl.where(place < count, _ordered(scaled), 0)
        weights = tl.where(place < count, tl.exp(scaled - maximum), 0.0)
        if TOP_K:  # noqa: SIM102
            if top_k > 0:
                ones = tl.where(place < count, 1.0, 0.0)
                weights = tl.where(values >= _threshold_of_vector(values, ones, top_k), weights, 0.0)
                total = tl.sum(weights, 0)
        enough = tl.full((), 1, tl.int1)
        if TOP_P:  # noqa: SIM102
            if top_p < 1:
                needed = top_p * total
                enough = tl.sum(weights, 0) >= needed
                least = _threshold_of_vector(values, weights, needed)
                # Of equal tokens at the border only the first ones are kept: as many as are needed.
                above = tl.sum(tl.where(values > least, weights, 0.0), 0)
                equal = (values == least) & (weights > 0)
                before = tl.cumsum(tl.where(equal, weights, 0.0), 0) - weights
                weights = tl.where((values > least) | (equal & (above + before < needed)), weights, 0.0)
        if MIN_P:
            weights = tl.where(weights >= lowest_weight, weights, 0.0)
        sums = tl.cumsum(weights.to(tl.float64), 0)
        threshold = uniform * tl.max(sums, 0)
        first = tl.min(tl.where((sums > threshold) & (weights > 0), token, 2147483647), 0)
        return tl.minimum(first, tl.max(tl.where(weights > 0, token, -1), 0)), enough

    @triton.jit(do_not_specialize=["columns", "size"])
    def _sample_kernel(
        logits,
        state,
        settings,
        results,
        scratch,
        row_stride,
        columns,
        size,
        TOP_K: tl.constexpr,
        TOP_P: tl.constexpr,
        MIN_P: tl.constexpr,
    ):
        row = tl.program_id(0)
        logits += row.to(tl.int64) * row_stride
        scratch += row.to(tl.int64) * CANDIDATES * 2
        temperature = tl.load(settings + row)
        greedy = temperature < COLD
        top_k = tl.load(settings + columns + row)
        top_p = tl.load(settings + 2 * columns + row)
        lowest_weight = tl.load(settings + 3 * columns + row)
        seed, number = tl.load(state + 2 * columns + row), tl.load(state + 3 * columns + row)
        uniform = _uniform_number(seed, number, tl.load(state + 4 * columns + row))
        # Nothing is reduced in a pass over the logits but at its end: the threads of a program would wait for each other.
        lanes = tl.arange(0, BLOCK)
        lane_largest = tl.full((BLOCK,), float("-inf"), tl.float32)
        for start in range(0, size, BLOCK):
            token = start + lanes
            loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
            lane_largest = tl.maximum(lane_largest, loaded)
        largest = tl.max(lane_largest, 0)
        # The first token that has the largest logit; the sum of exponentials for the log-probability.
        lane_first = tl.full((BLOCK,), 2147483647, tl.int32)
        lane_exp_sum = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, size, BLOCK):
            token = start + lanes
            loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
            lane_first = tl.minimum(lane_first, tl.where(loaded == largest, token, 2147483647))
            lane_exp_sum += tl.exp(loaded - largest)
        token_of_largest = tl.min(lane_first, 0)
        exp_sum = tl.sum(lane_exp_sum, 0)
        chosen_token = token_of_largest
        chosen = greedy
        maximum = tl.div_rn(largest, tl.where(greedy, 1.0, temperature))
        if TOP_K or TOP_P:
            # Few logits matter. The k-th largest of the groups' largest logits is no larger than the k-th largest logit, so
            # that the tokens from there on include all that can be kept. They are copied, in their order.
            wanted = tl.where(top_k > 0, top_k, BOUND * 1.0)
            filtered = ((top_k > 0) & (top_k < size)) | (top_p < 1)
            if filtered & (wanted <= BOUND) & (size > GROUPS) & (chosen == 0):
                groups = tl.max(tl.reshape(lane_largest, (GROUPS, BLOCK // GROUPS)), 1)
                bound = _threshold_of_vector(_ordered(groups), tl.full((GROUPS,), 1.0, tl.float32), wanted, 4)
                count = tl.full((), 0, tl.int32)
                lane_total = tl.zeros((BLOCK,), tl.float32)
                for start in range(0, size, BLOCK):
                    token = start + lanes
                    loaded = tl.load(logits + token, mask=token < size, other=float("-inf")).to(tl.float32)
                    scaled = tl.div_rn(loaded, temperature)
                    if TOP_P:
                        lane_total += tl.exp(scaled - maximum)
                    # A logit a little below the bound may be the same number after the division.
                    candidate = ((_ordered(loaded) + 4 >= bound) & (token < size)).to(tl.int32)
                    found = tl.sum(candidate, 0)
                    if found > 0:
                        place = count + tl.cumsum(candidate, 0) - 1
                        inside = (candidate == 1) & (place < CANDIDATES)
                        tl.store(scratch + place, scaled, mask=inside)
                        tl.store(scratch + CANDIDATES + place, token.to(tl.float32), mask=inside)
                        count += found
                total = tl.sum(lane_total, 0)
                tl.debug_barrier()
                if count <= FEW:
                    chosen_token, chosen = _draw_candidate(
                        scratch, count, maximum, total, uniform, top_k, top_p, lowest_weight, TOP_K, TOP_P, MIN_P, FEW
                    )
                elif count <= CANDIDATES:
                    chosen_token, chosen = _draw_candidate(
                        scratch, count, maximum, total, uniform, top_k, top_p, lowest_weight, TOP_K, TOP_P, MIN_P, CANDIDATES
                    )
        if chosen == 0:
            # All logits matter, or too many.
            least = tl.full((), 1, tl.uint32)
            ties = tl.full((), 2147483647, tl.int32)  # how many values that equal `least` are kept
            if TOP_K:  # noqa: SIM102
                if (top_k > 0) & (top_k < size):
                    least = _threshold(logits, size, temperature, maximum, least, top_k, True)
            if TOP_P:  # noqa: SIM102
                if top_p < 1:
                    kept_total = tl.full((), 0.0, tl.float32)
                    for start in range(0, size, BLOCK):
                        scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
                        kept_total += tl.sum(tl.where(_ordered(scaled) >= least, tl.exp(scaled - maximum), 0.0), 0)
                    before_p = least
                    least = _threshold(logits, size, temperature, maximum, before_p, top_p * kept_total, False)
                    least = tl.maximum(least, before_p)
                    heavier = tl.full((), 0.0, tl.float32)
                    weight = tl.full((), 0.0, tl.float32)
                    for start in range(0, size, BLOCK):
                        scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
                        values = _ordered(scaled)
                        weights = tl.exp(scaled - maximum)
                        heavier += tl.sum(tl.where(values > least, weights, 0.0), 0)
                        weight = tl.maximum(weight, tl.max(tl.where(values == least, weights, 0.0), 0))
                    tied_needed = tl.ceil((top_p * kept_total - heavier) / tl.maximum(weight, 1e-38))
                    ties = tl.minimum(tl.maximum(tied_needed, 1.0), 2e9).to(tl.int32)
            # Two passes over what is kept: its sum, and the first token at which the running sum exceeds the threshold.
            kept_sum = tl.full((), 0.0, tl.float64)
            tied = tl.full((), 0, tl.int32)
            for start in range(0, size, BLOCK):
                weights, equal_count = _kept_weights(
                    logits, start, size, temperature, maximum, least, lowest_weight, tied, ties, TOP_P, MIN_P
                )
                tied += equal_count
                kept_sum += tl.sum(weights, 0).to(tl.float64)
            draw_at = uniform * kept_sum
            running = tl.full((), 0.0, tl.float64)
            tied = tl.full((), 0, tl.int32)
            drawn = tl.full((), 0, tl.int1)
            for start in range(0, size, BLOCK):
                if drawn == 0:
                    token = start + tl.arange(0, BLOCK)
                    weights, equal_count = _kept_weights(
                        logits, start, size, temperature, maximum, least, lowest_weight, tied, ties, TOP_P, MIN_P
                    )
                    tied += equal_count
                    block_sum = tl.sum(weights, 0).to(tl.float64)
                    if block_sum > 0:
                        # Rounding may leave the sum within the block a little short: then it is the last kept token.
                        chosen_token = tl.max(tl.where(weights > 0, token, -1), 0)
                    if running + block_sum > draw_at:
                        sums = running + tl.cumsum(weights.to(tl.float64), 0)
                        first = tl.min(tl.where((sums > draw_at) & (weights > 0), token, 2147483647), 0)
                        chosen_token = tl.minimum(first, chosen_token)
                        drawn = tl.full((), 1, tl.int1)
                    running += block_sum
        logit = tl.load(logits + chosen_token).to(tl.float32)
        tl.store(results + row, chosen_token.to(tl.float64))
        tl.store(results + columns + row, (logit - largest - tl.log(exp_sum)).to(tl.float64))
        # The input of the next step: the token, its position, and the number of the draw. Rows of padding stay in place.
        in_use = tl.load(state + 5 * columns + row)
        tl.store(state + row, chosen_token.to(tl.int64))
        tl.store(state + columns + row, tl.load(state + columns + row) + in_use)
        tl.store(state + 4 * columns + row, tl.load(state + 4 * columns + row) + in_use)

    @triton.jit
    def _kept_weights(
        logits, start, size, temperature, maximum, least, lowest_weight, tied, ties, TOP_P: tl.constexpr, MIN_P: tl.constexpr
    ):
        """The weights of a block of tokens, 0 for those that are not kept; and how many of its values equal `least`."""
        scaled = _scaled(logits, start + tl.arange(0, BLOCK), size, temperature)
        values = _ordered(scaled)
        weights = tl.where(values >= least, tl.exp(scaled - maximum), 0.0)
        if MIN_P:
            weights = tl.where(weights >= lowest_weight, weights, 0.0)
        equal_count = tl.full((), 0, tl.int32)
        if TOP_P:
            equal = (values == least).to(tl.int32)
            weights = tl.where((equal == 1) & (tied + tl.cumsum(equal, 0) > ties), 0.0, weights)
            equal_count += tl.sum(equal, 0)
        return weights, equal_count


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
    scratch = torch.empty(len(logits_BV), 2, CANDIDATES.value, device=logits_BV.device) if top_k or top_p else results
    _sample_kernel[(len(logits_BV),)](
        logits_BV,
        state,
        options,
        results,
        scratch,
        logits_BV.stride(0),
        state.shape[1],
        size,
        TOP_K=top_k,
        TOP_P=top_p,
        MIN_P=min_p,
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
