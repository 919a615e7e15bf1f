"""Attention over short texts, softmax(Q K^T / sqrt(E)) V within each text, and rotary positions, with their gradients.

torch's fused kernel takes most of its time to start where a text has few tokens. Here a row of work is one head of one text,
and the tokens of all texts follow each other in memory, with or without padding between them.

Axes: B batch, H heads, T time, E head width.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glasshouse.cpu_kernels.row_kernel import RowKernel, exp, floats, inlined_sums, integers, own_rows


class AttentionFunction(torch.autograd.Function):
    """Queries, keys and values (B, H, T, E) -> mixed values (B, H, T, E).

    `bounds` are the first token of each text and the end of the last, counted through all rows. A row may hold several
    texts. No text is longer than `longest`.
    """

    @staticmethod
    def forward(
        context: Any, queries: Tensor, keys: Tensor, values: Tensor, bounds: Tensor, longest: int, causal: bool
    ) -> Tensor:
        queries, keys, values = (_tokens_first(x) for x in (queries, keys, values))
        batch, heads, tokens, width = queries.shape
        output, log_sums = _empty_like(queries), queries.new_empty(batch, tokens, heads)
        weights = queries.new_empty(torch.get_num_threads(), longest)
        strides = queries.stride(2), keys.stride(2), values.stride(2)
        tensors = (queries, keys, values, output, log_sums, weights)
        attend(heads * (len(bounds) - 1), longest * longest, bounds, heads, width, longest, causal, *strides, *tensors)
        context.save_for_backward(queries, keys, values, bounds, output, log_sums)
        context.longest, context.causal = longest, causal
        return output

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, bounds, output, log_sums = context.saved_tensors
        heads, width = queries.shape[1], queries.shape[3]
        longest, gradient = context.longest, _tokens_first(gradient)
        results = [_empty_like(x) for x in (queries, keys, values)]
        # The attention weights of one head, and the gradients of its scores.
        work = queries.new_empty(torch.get_num_threads(), 2, longest, longest)
        strides = queries.stride(2), keys.stride(2), values.stride(2), gradient.stride(2)
        numbers = (heads, width, longest, context.causal, *strides)
        tensors = (queries, keys, values, gradient, output, log_sums, work, *results)
        differentiate(heads * (len(bounds) - 1), longest * longest, bounds, *numbers, *tensors)
        return (*results, None, None, None)


def _tokens_first(x_BHTE: Tensor) -> Tensor:
    """The tensor as it is if the features of all heads of a token follow each other in memory, else such a copy."""
    _, _, tokens, width = x_BHTE.shape
    by_batch, by_head, by_token, by_feature = x_BHTE.stride()
    if by_feature == 1 and by_head == width and (by_batch == tokens * by_token or len(x_BHTE) == 1):
        return x_BHTE
    return x_BHTE.transpose(1, 2).contiguous().transpose(1, 2)


def _empty_like(x_BHTE: Tensor) -> Tensor:
    batch, heads, tokens, width = x_BHTE.shape
    return x_BHTE.new_empty(batch, tokens, heads, width).transpose(1, 2)


@inlined_sums
def dots(result, row, arguments, entry, first, stride, scale):
    """result[i] = scale * row . rows[i], where rows[i] is in the tensor `entry` and begins at `first` + i `stride`."""
    width, count = len(row), len(result)
    blocks = count // 4
    for block in range(blocks):
        i = 4 * block
        a = floats(arguments, entry, first + i * stride, width)
        b = floats(arguments, entry, first + (i + 1) * stride, width)
        c = floats(arguments, entry, first + (i + 2) * stride, width)
        d = floats(arguments, entry, first + (i + 3) * stride, width)
        by_a, by_b, by_c, by_d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for e in range(width):
            by_a += row[e] * a[e]
            by_b += row[e] * b[e]
            by_c += row[e] * c[e]
            by_d += row[e] * d[e]
        result[i], result[i + 1] = scale * by_a, scale * by_b
        result[i + 2], result[i + 3] = scale * by_c, scale * by_d
    for i in range(4 * blocks, count):
        a = floats(arguments, entry, first + i * stride, width)
        by_a = np.float32(0.0)
        for e in range(width):
            by_a += row[e] * a[e]
        result[i] = scale * by_a


@inlined_sums
def weighted_sum(result, weights, arguments, entry, first, stride):
    """result = sum of weights[i] * rows[i], where rows[i] is in the tensor `entry` and begins at `first` + i `stride`."""
    width, count = len(result), len(weights)
    blocks = count // 4
    for e in range(width):
        result[e] = np.float32(0.0)
    for block in range(blocks):
        i = 4 * block
        a = floats(arguments, entry, first + i * stride, width)
        b = floats(arguments, entry, first + (i + 1) * stride, width)
        c = floats(arguments, entry, first + (i + 2) * stride, width)
        d = floats(arguments, entry, first + (i + 3) * stride, width)
        by_a, by_b, by_c, by_d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for e in range(width):
            result[e] += by_a * a[e] + by_b * b[e] + by_c * c[e] + by_d * d[e]
    for i in range(4 * blocks, count):
        a = floats(arguments, entry, first + i * stride, width)
        by_a = weights[i]
        for e in range(width):
            result[e] += by_a * a[e]


@RowKernel
def attend(address):
    first, last, thread, arguments = own_rows(address)
    heads, width, longest, causal = arguments[1], arguments[2], arguments[3], arguments[4]
    query_stride, key_stride, value_stride = arguments[5], arguments[6], arguments[7]
    scale = np.float32(1.0) / np.sqrt(np.float32(width))
    for row in range(first, last):
        text, head = row // heads, row % heads
        bounds = integers(arguments, 0, text + 2)
        begin, length = bounds[text], bounds[text + 1] - bounds[text]
        for i in range(length):
            count = i + 1 if causal else length
            weights = floats(arguments, 13, thread * longest, count)
            query = floats(arguments, 8, (begin + i) * query_stride + head * width, width)
            dots(weights, query, arguments, 9, begin * key_stride + head * width, key_stride, scale)
            highest, total = weights[0], np.float32(0.0)
            for j in range(count):
                highest = weights[j] if weights[j] > highest else highest
            for j in range(count):
                weights[j] = exp(weights[j] - highest)
            for j in range(count):
                total += weights[j]
            for j in range(count):
                weights[j] /= total
            place = (begin + i) * heads + head
            output = floats(arguments, 11, place * width, width)
            weighted_sum(output, weights, arguments, 10, begin * value_stride + head * width, value_stride)
            floats(arguments, 12, place, 1)[0] = highest + np.log(total)


@RowKernel
def differentiate(address):
    first, last, thread, arguments = own_rows(address)
    heads, width, longest, causal = arguments[1], arguments[2], arguments[3], arguments[4]
    query_stride, key_stride, value_stride, gradient_stride = arguments[5], arguments[6], arguments[7], arguments[8]
    scale = np.float32(1.0) / np.sqrt(np.float32(width))
    square = longest * longest
    for row in range(first, last):
        text, head = row // heads, row % heads
        bounds = integers(arguments, 0, text + 2)
        begin, length = bounds[text], bounds[text + 1] - bounds[text]
        queries, keys = begin * query_stride + head * width, begin * key_stride + head * width
        values, gradients = begin * value_stride + head * width, begin * gradient_stride + head * width
        for i in range(length):
            count = i + 1 if causal else length
            weights = floats(arguments, 15, 2 * thread * square + i * longest, count)
            by_score = floats(arguments, 15, (2 * thread + 1) * square + i * longest, count)
            place = (begin + i) * heads + head
            query = floats(arguments, 9, queries + i * query_stride, width)
            gradient = floats(arguments, 12, gradients + i * gradient_stride, width)
            output = floats(arguments, 13, place * width, width)
            log_sum, mean = floats(arguments, 14, place, 1)[0], np.float32(0.0)
            for e in range(width):
                mean += gradient[e] * output[e]
            dots(weights, query, arguments, 10, keys, key_stride, scale)
            dots(by_score, gradient, arguments, 11, values, value_stride, np.float32(1.0))
            for j in range(count):
                weights[j] = exp(weights[j] - log_sum)
            for j in range(count):
                by_score[j] = scale * weights[j] * (by_score[j] - mean)
            by_query = floats(arguments, 16, place * width, width)
            weighted_sum(by_query, by_score, arguments, 10, keys, key_stride)
        for j in range(length):
            start = j if causal else 0
            first_weight = 2 * thread * square + start * longest + j
            weights = floats(arguments, 15, first_weight, (length - start) * longest)[::longest]
            by_score = floats(arguments, 15, first_weight + square, (length - start) * longest)[::longest]
            place = (begin + j) * heads + head
            by_key = floats(arguments, 17, place * width, width)
            by_value = floats(arguments, 18, place * width, width)
            weighted_sum(by_key, by_score, arguments, 9, queries + start * query_stride, query_stride)
            weighted_sum(by_value, weights, arguments, 12, gradients + start * gradient_stride, gradient_stride)


class RotationFunction(torch.autograd.Function):
    """Rotary positions: the features (i, i + E/2) of each head, rotated. The gradient is the rotation back."""

    @staticmethod
    def forward(context: Any, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        context.save_for_backward(cosine, sine)
        return _rotated(x, cosine, sine)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        cosine, sine = context.saved_tensors
        return _rotated(gradient, cosine, -sine), None, None


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    if x.stride(-1) != 1:
        x = x.contiguous()
    batch, heads, tokens, width = x.shape
    output = x.new_empty(batch, tokens, heads, width)
    strides = x.stride()[:3]
    rotate(batch * tokens, heads * width, x, cosine, sine, output, tokens, heads, width, *strides)
    return output.transpose(1, 2)


@RowKernel
def rotate(address):
    """A row is a token of the batch."""
    first, last, _, arguments = own_rows(address)
    tokens, heads, width = arguments[4], arguments[5], arguments[6]
    half = width // 2
    for row in range(first, last):
        time = row % tokens
        cosine, sine = floats(arguments, 1, time * half, half), floats(arguments, 2, time * half, half)
        start = row // tokens * arguments[7] + time * arguments[9]
        for head in range(heads):
            x = floats(arguments, 0, start + head * arguments[8], width)
            output = floats(arguments, 3, (row * heads + head) * width, width)
            for i in range(half):
                a, b = x[i], x[half + i]
                output[i] = a * cosine[i] - b * sine[i]
                output[half + i] = b * cosine[i] + a * sine[i]
