"""Contrastive learning: losses and ranks of pairs whose members are scored against all other members of the batch.

Two pairs may share a member. What is right for one is then right for the other, so it is no negative example.
Axes: N pairs.
"""

import torch
from torch import Tensor

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec

# Queries that are scored against all candidates of a split in one matrix product.
BLOCK = 1024


def check_whole_batches(spec: Spec) -> None:
    """Refuse settings that split a batch."""
    for field in ("gradient_accumulation", "processes"):
        if (parts := getattr(spec.training, field)) > 1:
            raise SpecError(
                f"training.{field}={parts} is impossible with task={spec.task!r}: every member of a pair is scored against "
                "every other of its batch, so the losses of its parts do not add up to that of the batch; choose 1"
            )


def symmetric_losses(scores_NN: Tensor, same_NN: Tensor) -> Tensor:
    """For each pair, the mean of both directions' cross-entropies (N). The target probability is split evenly among the
    pairs that are the same."""
    same = same_NN.float()
    targets = same / same.sum(1, keepdim=True)
    forth, back = (-(targets * scores.log_softmax(1)).sum(1) for scores in (scores_NN, scores_NN.T))
    return (forth + back) / 2


def retrieval_ranks(queries: Tensor, candidates: Tensor, *ids: Tensor) -> Tensor:
    """For each query, the number of incorrect candidates that score at least as high as the best correct one.

    Each of `ids` has an integer per pair. A candidate is correct if its pair shares one of them with the query's pair.
    """
    ranks = []
    for begin in range(0, len(queries), BLOCK):
        block = slice(begin, begin + BLOCK)
        scores = queries[block] @ candidates.T
        same = sharing(*((each[block], each) for each in ids)).to(scores.device)
        best = scores.masked_fill(~same, -torch.inf).amax(1, keepdim=True)
        ranks.append(((scores >= best) & ~same).sum(1).cpu())
    return torch.cat(ranks)


def sharing(*ids: tuple[Tensor, Tensor]) -> Tensor:
    """Whether each of some pairs (rows) shares an id with each of others (columns)."""
    return torch.stack([rows[:, None] == columns[None] for rows, columns in ids]).any(0)


def text_ids(texts: list[list[int]]) -> Tensor:
    """An integer for each text; equal texts have equal integers."""
    ids: dict[tuple[int, ...], int] = {}
    return torch.tensor([ids.setdefault(tuple(text), len(ids)) for text in texts])
