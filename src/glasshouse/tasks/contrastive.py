"""Contrastive learning: losses and ranks of pairs whose members are scored against all other members of the batch.

Two pairs may share a member. What is right for one is then right for the other, so it is no negative example.
Axes: N pairs, D width.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tasks.base import Scoring, Task
from glasshouse.tasks.text_inputs import TextInputs, lengths_of
from glasshouse.tokenizers import Tokenizer

# Queries that are scored against all candidates of a split in one matrix product.
BLOCK = 1024


@dataclass(frozen=True)
class PairScores:
    """The loss of each pair, the vectors (N, D) by which its members are found, and the `ids` of `retrieval_ranks`."""

    loss: np.ndarray
    first: Tensor
    second: Tensor
    ids: tuple[Tensor, ...]

    @cached_property
    def ranks(self) -> Tensor:
        return retrieval_ranks(self.first, self.second, *self.ids)

    @cached_property
    def ranks_back(self) -> Tensor:
        return retrieval_ranks(self.second, self.first, *self.ids)


def hits(ranks: Tensor, k: int) -> np.ndarray:
    return (ranks < k).double().numpy()


class PairTask(Task):
    """A task that scores each member of a pair against the others. The metrics are of searches in a whole split.

    The loss of an evaluation uses groups of the training batch size, so that it is comparable to the training loss.
    """

    items = "pairs"

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.rows, self.inputs = spec.training.batch, TextInputs(self.context)

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        for field in ("gradient_accumulation", "processes"):
            if (parts := getattr(spec.training, field)) > 1:
                reason = f"is impossible with task={spec.task!r}, which scores every pair of a batch against the others"
                raise SpecError(f"{reason}; choose 1", f"training.{field}", parts)

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.inputs.set_tokenizer(tokenizer)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if (pairs := prepared.splits["train"].documents) < 2:
            raise DataError(f"the training split has {pairs} pairs, but a comparison needs two; use more rows")
        return super().complete_model(model, prepared)

    def lengths(self, shard: Shard) -> np.ndarray:
        """The lengths of the texts of every pair (1 or 2, N)."""
        return np.array([lengths_of(side, np.arange(shard.documents)) for side in self.texts(shard)])

    def truncated(self, shard: Shard) -> int:
        return int((self.lengths(shard) > self.inputs.max_length).any(0).sum())

    def texts(self, shard: Shard) -> tuple[Shard, ...]:
        """The members of the pairs that are texts."""
        return (shard,)

    @abstractmethod
    def vectors(self, scoring: Scoring) -> tuple[Tensor, Tensor]:
        """The normalised vectors (N, D) of all first members and of all second ones."""

    @abstractmethod
    def similarities(self, model: object, first: Tensor, second: Tensor) -> Tensor:
        """The score of every pair of a first and a second vector, as in the training loss."""

    def score(self, scoring: Scoring) -> PairScores:
        count, texts = scoring.shard.documents, self.texts(scoring.shard)
        ids = tuple(text_ids(side.texts(np.arange(count))) for side in texts)
        first, second = self.vectors(scoring)
        losses = []
        for part in torch.arange(count).chunk(max(1, round(count / self.rows))):
            same = sharing(*((each[part], each[part]) for each in ids)).to(first.device)
            losses.append(symmetric_losses(self.similarities(scoring.model, first[part], second[part]), same))
        return PairScores(torch.cat(losses).double().cpu().numpy(), first, second, ids)


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
