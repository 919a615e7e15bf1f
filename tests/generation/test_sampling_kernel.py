"""Sampling by the kernel: the same tokens as the plain path, but for random numbers that fall on a border."""

import pytest
import torch

from glasshouse.generation import sampling_kernel
from tests.needs import needs_cuda

OPTIONS = {  # temperature, top_k, top_p, min_p
    "all": (1.0, 0, 1.0, 0.0),
    "greedy": (0.0, 0, 1.0, 0.0),
    "cold": (0.01, 0, 1.0, 0.0),
    "top-k": (0.8, 50, 1.0, 0.0),
    "top-1": (0.8, 1, 1.0, 0.0),
    "top-k beyond the vocabulary": (0.8, 10**6, 1.0, 0.0),
    "top-p": (1.2, 0, 0.9, 0.0),
    "top-p of nearly all": (1.2, 0, 0.9999, 0.0),
    "min-p": (1.0, 0, 1.0, 0.05),
    "all filters": (0.9, 40, 0.8, 0.01),
}


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("vocabulary", "size"), [(50257, 50257), (500, 300), (1, 1), (200_000, 199_999)])
def test_the_kernel_equals_the_plain_path(vocabulary, size, dtype):
    """Every row has other options. In bfloat16 many logits are equal, so that ties decide what top-k and top-p keep."""
    generator = torch.Generator().manual_seed(0)
    rows = 20 * len(OPTIONS)
    logits = (3 * torch.randn(rows, vocabulary, generator=generator)).to(dtype)
    options = torch.tensor([row for row in OPTIONS.values() for _ in range(20)]).T.contiguous()
    state = torch.randint(0, 1000, (6, rows), generator=generator)
    state[2] = torch.randint(0, 2**62, (rows,), generator=generator)
    state[5] = torch.arange(rows) % 2
    results, plain_results = (torch.zeros(2, rows, dtype=torch.float64) for _ in range(2))
    results, new_state = results.cuda(), state.cuda()
    sampling_kernel.sample(logits.cuda(), new_state, options.cuda(), results, size, True, True, True)
    sampling_kernel.sample_plainly(logits, state, options, plain_results, size, True, True, True)
    results, new_state = results.cpu(), new_state.cpu()
    same = results[0] == plain_results[0]
    assert same.float().mean() >= 0.985
    torch.testing.assert_close(results[1][same], plain_results[1][same], atol=1e-4, rtol=1e-5)
    assert new_state[1:].equal(state[1:])
    assert new_state[0].equal(results[0].long())


@needs_cuda
def test_frequencies_are_those_of_the_distribution():
    logits = torch.tensor([2.0, 1.0, 0.5, -1.0, 3.0, 0.0], device="cuda").expand(20_000, -1).contiguous()
    state = torch.zeros(6, len(logits), dtype=torch.long, device="cuda")
    state[3] = torch.arange(len(logits))
    options = torch.tensor([[1.0, 4.0, 1.0, 0.0]], device="cuda").T.expand(-1, len(logits)).contiguous()
    results = torch.zeros(2, len(logits), dtype=torch.float64, device="cuda")
    sampling_kernel.sample(logits, state, options, results, 6, True, False, False)
    counts = results[0].long().bincount(minlength=6).cpu() / len(logits)
    kept = torch.tensor([2.0, 1.0, 0.5, -torch.inf, 3.0, -torch.inf])
    torch.testing.assert_close(counts, kept.softmax(0), atol=0.012, rtol=0)
