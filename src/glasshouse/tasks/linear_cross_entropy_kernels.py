"""Triton kernels of `linear_cross_entropy` for CUDA. Logits are computed tile by tile and never stored.

Each program multiplies the features of some predictions with the vectors of some tokens. Products are in bfloat16, sums in
float32. Axes: R replicas, N predictions, D width, V vocabulary; a tile has `ROWS` predictions and `TOKENS` tokens.
"""

import torch
from torch import Tensor

from glasshouse.parts.triton_installed import TRITON_INSTALLED
from glasshouse.tasks.base import IGNORED

ROWS = 128
TOKENS = 128

if TRITON_INSTALLED:
    import triton
    import triton.language as tl

    @triton.jit
    def _load_rows(matrix, row, column, count: tl.constexpr, width: tl.constexpr):
        """Some rows of a matrix (count, width); 0 beyond its ends."""
        inside = (row[:, None] < count) & (column[None, :] < width)
        return tl.load(matrix + row[:, None] * width + column[None, :], mask=inside, other=0.0)

    @triton.jit
    def _scored_targets(targets, row, rows: tl.constexpr, IGNORED: tl.constexpr):
        """(which targets are not IGNORED, the targets with 0 in place of IGNORED)."""
        target = tl.load(targets + row, mask=row < rows, other=IGNORED)
        return target != IGNORED, tl.where(target == IGNORED, 0, target)

    @triton.jit
    def _loss_kernel(
        features,
        matrix,
        bias,
        targets,
        losses,
        log_sums,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        TILE_WIDTH: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        row, depth = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, TILE_WIDTH)
        scored, index = _scored_targets(targets + replica * rows, row, rows, IGNORED)
        feature_rows = _load_rows(features + replica * rows * width, row, depth, rows, width)
        maximum = tl.full((ROWS,), -1e38, tl.float32)
        exp_sum = tl.zeros((ROWS,), tl.float32)
        logit_sum = tl.zeros((ROWS,), tl.float32)
        target_logit = tl.zeros((ROWS,), tl.float32)
        for first in range(0, size, TOKENS):
            token = first + tl.arange(0, TOKENS)
            vectors = _load_rows(matrix + replica * size * width, token, depth, size, width)
            logits = tl.dot(feature_rows, tl.trans(vectors))
            if bias is not None:
                logits += tl.load(bias + replica * size + token, mask=token < size, other=0.0)[None, :]
            target_logit += tl.sum(tl.where(token[None, :] == index[:, None], logits, 0.0), 1)
            if smoothing > 0:
                logit_sum += tl.sum(tl.where(token[None, :] < size, logits, 0.0), 1)
            logits = tl.where(token[None, :] < size, logits, float("-inf"))
            new_maximum = tl.maximum(maximum, tl.max(logits, 1))
            exp_sum = exp_sum * tl.exp(maximum - new_maximum) + tl.sum(tl.exp(logits - new_maximum[:, None]), 1)
            maximum = new_maximum
        log_sum = maximum + tl.log(exp_sum)
        loss = log_sum - target_logit
        if smoothing > 0:
            loss = loss - smoothing * (logit_sum / size - target_logit)
        # A target outside the vocabulary makes the loss NaN.
        loss = tl.where((index >= 0) & (index < size), loss, float("nan"))
        tl.store(losses + replica * rows + row, tl.where(scored, loss, 0.0), mask=row < rows)
        tl.store(log_sums + replica * rows + row, log_sum, mask=row < rows)

    @triton.jit
    def _feature_gradient_kernel(
        features,
        matrix,
        bias,
        targets,
        log_sums,
        gradients,
        output,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        TILE_WIDTH: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        row, depth = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, TILE_WIDTH)
        scored, index = _scored_targets(targets + replica * rows, row, rows, IGNORED)
        feature_rows = _load_rows(features + replica * rows * width, row, depth, rows, width)
        log_sum = tl.load(log_sums + replica * rows + row, mask=row < rows, other=0.0)
        factor = tl.where(scored, tl.load(gradients + replica), 0.0)
        total = tl.zeros((ROWS, TILE_WIDTH), tl.float32)
        for first in range(0, size, TOKENS):
            token = first + tl.arange(0, TOKENS)
            vectors = _load_rows(matrix + replica * size * width, token, depth, size, width)
            logits = tl.dot(feature_rows, tl.trans(vectors))
            if bias is not None:
                logits += tl.load(bias + replica * size + token, mask=token < size, other=0.0)[None, :]
            target_probability = tl.where(token[None, :] == index[:, None], 1.0 - smoothing, 0.0) + smoothing / size
            # Beyond the last token the vectors are 0, so nothing is added there.
            logit_gradient = (tl.exp(logits - log_sum[:, None]) - target_probability) * factor[:, None]
            total += tl.dot(logit_gradient.to(vectors.dtype), vectors)
        inside = (row[:, None] < rows) & (depth[None, :] < width)
        tl.store(output + replica * rows * width + row[:, None] * width + depth[None, :], total, mask=inside)

    @triton.jit
    def _matrix_gradient_kernel(
        features,
        matrix,
        bias,
        targets,
        log_sums,
        gradients,
        output,
        bias_output,
        rows: tl.constexpr,
        width: tl.constexpr,
        size: tl.constexpr,
        smoothing: tl.constexpr,
        IGNORED: tl.constexpr,
        ROWS: tl.constexpr,
        TOKENS: tl.constexpr,
        TILE_WIDTH: tl.constexpr,
    ):
        replica = tl.program_id(1).to(tl.int64)
        token, depth = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS), tl.arange(0, TILE_WIDTH)
        vectors = _load_rows(matrix + replica * size * width, token, depth, size, width)
        gradient = tl.load(gradients + replica)
        total = tl.zeros((TOKENS, TILE_WIDTH), tl.float32)
        bias_total = tl.zeros((TOKENS,), tl.float32)
        for first in range(0, rows, ROWS):
            row = first + tl.arange(0, ROWS)
            scored, index = _scored_targets(targets + replica * rows, row, rows, IGNORED)
            feature_rows = _load_rows(features + replica * rows * width, row, depth, rows, width)
            log_sum = tl.load(log_sums + replica * rows + row, mask=row < rows, other=0.0)
            logits = tl.dot(vectors, tl.trans(feature_rows))
            if bias is not None:
                logits += tl.load(bias + replica * size + token, mask=token < size, other=0.0)[:, None]
            target_probability = tl.where(token[:, None] == index[None, :], 1.0 - smoothing, 0.0) + smoothing / size
            factor = tl.where(scored, gradient, 0.0)
            logit_gradient = (tl.exp(logits - log_sum[None, :]) - target_probability) * factor[None, :]
            total += tl.dot(logit_gradient.to(feature_rows.dtype), feature_rows)
            if bias is not None:
                bias_total += tl.sum(logit_gradient, 1)
        inside = (token[:, None] < size) & (depth[None, :] < width)
        tl.store(output + replica * size * width + token[:, None] * width + depth[None, :], total, mask=inside)
        if bias is not None:
            tl.store(bias_output + replica * size + token, bias_total, mask=token < size)


def losses(
    features: Tensor, matrix: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """(R, N, D), (R, V, D), (R, V), (R, N) -> the loss of each prediction and the log-sum-exp of its logits, (R, N)."""
    results, log_sums = (torch.empty(targets.shape, device=targets.device) for _ in range(2))
    (replicas, rows, width), size = features.shape, matrix.shape[1]
    grid = -(-rows // ROWS), replicas
    shapes = rows, width, size, smoothing, IGNORED, ROWS, TOKENS, _tile_width(width)
    _loss_kernel[grid](features, matrix, bias, targets, results, log_sums, *shapes, num_warps=8)
    return results, log_sums


def gradients(
    features: Tensor,
    matrix: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    log_sums: Tensor,
    gradient_R: Tensor,
    smoothing: float,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients with respect to features, matrix and bias, in float32; `gradient_R` is that of the summed losses."""
    (replicas, rows, width), size = features.shape, matrix.shape[1]
    by_features, by_matrix = (torch.empty(tensor.shape, device=tensor.device) for tensor in (features, matrix))
    by_bias = None if bias is None else torch.empty_like(bias)
    shapes = rows, width, size, smoothing, IGNORED, ROWS, TOKENS, _tile_width(width)
    inputs = features, matrix, bias, targets, log_sums, gradient_R
    _feature_gradient_kernel[-(-rows // ROWS), replicas](*inputs, by_features, *shapes, num_warps=8)
    _matrix_gradient_kernel[-(-size // TOKENS), replicas](*inputs, by_matrix, by_bias, *shapes, num_warps=8)
    return by_features, by_matrix, by_bias


def _tile_width(width: int) -> int:
    """The width of a tile: a power of two, and at least the 16 that `tl.dot` requires."""
    return max(16, 1 << (width - 1).bit_length())
