"""Embedding: vectors of texts in which the two texts of a pair are close (Reimers and Gurevych, Sentence-BERT, 2019).

Every source of a batch is scored against every target of the batch, so the targets of other pairs are its negative examples
(Henderson et al., Efficient Natural Language Response Suggestion, 2017). One encoder reads both texts.
Axes: N pairs, D width.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, LOSS, Metric, Metrics, share
from glasshouse.models.heads.pooled import PooledHead
from glasshouse.specs.declared import read_settings
from glasshouse.specs.spec import Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks import contrastive, padding
from glasshouse.tasks.base import Batch, Forward, Progress, QualityCurves, Scoring
from glasshouse.tasks.contrastive import PairTask, hits

MRR = Metric("mrr", "mean reciprocal rank", "{:.4f}", "higher", most=1.0)
# The two texts of a pair, as names of tensors in a batch.
SIDES = ("source", "target")


class Embed(PairTask):
    """Cross-entropy of choosing the target of a source among the targets of the batch, and the source of a target.

    The metrics are of the search for each source's target among all targets of a split. The best checkpoint has the highest
    mean reciprocal rank.
    """

    metrics = Metrics(
        [
            share("recall_at_1", "recall@1").mean_of(lambda scores: hits(scores.ranks, 1)),
            share("recall_at_10", "recall@10").mean_of(lambda scores: hits(scores.ranks, 10)),
            MRR.mean_of(lambda scores: (1 / (scores.ranks + 1.0)).double().numpy()),
            LOSS.mean_of(lambda scores: scores.loss),
            EXAMPLES.of(lambda scores: len(scores.loss)),
        ],
        headline=("recall_at_1", "recall_at_10", "mrr"),
    )
    criterion = "mrr"
    quality = QualityCurves("retrieval", {"recall@1": "validation.recall_at_1", "mean reciprocal rank": "validation.mrr"})
    head = "pooled"
    heads = (PooledHead,)
    needs = "one vector for a text; choose model.kind=encoder and model.head.kind=pooled"
    columns = ("target",)
    reads = ("training.group_by_length",)

    @dataclass(frozen=True)
    class Settings:
        temperature: float = setting(
            0.05,
            "the similarities of texts are divided by this before the softmax",
            minimum=1e-3,
            maximum=10**6,
            rare=True,
        )

    def __init__(self, context: int, rows: int, temperature: float, group_by_length: bool = False) -> None:
        super().__init__(context, rows)
        self.temperature, self.group_by_length = temperature, group_by_length

    @classmethod
    def from_spec(cls, spec: Spec) -> "Embed":
        contrastive.check_whole_batches(spec)
        training = spec.training
        settings = read_settings(cls.Settings, training.own)
        return cls(spec.data.context, training.batch, settings.temperature, training.group_by_length)

    def truncated(self, shard: Shard) -> int:
        """The number of pairs of which a text is truncated."""
        examples = np.arange(shard.documents)
        return int(np.any([padding.lengths_of(side, examples) > self.max_length for side in _sides(shard)], axis=0).sum())

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        """The number of tokens of both texts together."""
        if not self.group_by_length:
            return None
        examples = np.arange(shard.documents)
        return np.sum([padding.lengths_of(side, examples).clip(max=self.max_length) for side in _sides(shard)], axis=0)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch: Batch = {}
        for name, side in zip(SIDES, _sides(shard), strict=True):
            batch |= self._texts(name, side, examples)
            batch[f"{name}_ids"] = contrastive.text_ids(side.texts(examples))
        return batch

    def _texts(self, name: str, side: Shard, examples: np.ndarray) -> Batch:
        """One text of some pairs, truncated and padded."""
        before, after = (padding.repeated(tokens, len(examples)) for tokens in self.prefix_and_suffix)
        rows = padding.joined(before, padding.texts_of(side, examples, self.max_length), after)
        # A batch of empty texts has one column.
        tokens_NL = rows.tokens_NL if rows.tokens_NL.size else np.zeros((len(examples), 1), np.int64)
        lengths_N = rows.lengths_N.clip(min=1)
        return {f"{name}_tokens": torch.from_numpy(tokens_NL), f"{name}_lengths": torch.from_numpy(lengths_N)}

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        sources, targets = (
            F.normalize(model(batch[f"{side}_tokens"], lengths=batch[f"{side}_lengths"]).float(), dim=-1) for side in SIDES
        )
        same = contrastive.sharing(*((batch[f"{side}_ids"], batch[f"{side}_ids"]) for side in SIDES))
        return contrastive.symmetric_losses(self.similarities(model, sources, targets), same).sum()

    def batch_tokens(self, batch: int) -> int:
        return 2 * batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        return {
            name: tensor
            for side in SIDES
            for name, tensor in (
                (f"{side}_tokens", torch.zeros(rows, self.context, dtype=torch.int64)),
                (f"{side}_lengths", torch.full((rows,), self.context)),
                (f"{side}_ids", torch.arange(rows)),
            )
        }

    def ids(self, shard: Shard) -> tuple[Tensor, ...]:
        examples = np.arange(shard.documents)
        return tuple(contrastive.text_ids(side.texts(examples)) for side in _sides(shard))

    def similarities(self, model: object, first: Tensor, second: Tensor) -> Tensor:
        return first @ second.T / self.temperature

    def vectors(self, scoring: Scoring) -> tuple[Tensor, Tensor]:
        sources, targets = (self._vectors(scoring, side, half) for half, side in enumerate(_sides(scoring.shard)))
        return sources, targets

    def _vectors(self, scoring: Scoring, side: Shard, half: int) -> Tensor:
        """The vectors of one text of every pair. Texts of similar length are encoded together."""
        order = padding.lengths_of(side, np.arange(side.documents)).argsort(kind="stable")
        vectors = []
        for index in scoring.batches(order, partial(_progress_of_half, scoring.progress, half)):
            texts = scoring.on_device(self._texts("text", side, index))
            vectors.append(F.normalize(scoring.forward(texts["text_tokens"], lengths=texts["text_lengths"]).float(), dim=-1))
        return torch.cat(vectors)[torch.from_numpy(order.argsort()).to(vectors[0].device)]

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse features {run} --task presidents --limit 200"


def _progress_of_half(progress: Progress, half: int, share: float) -> None:
    progress((half + share) / 2)


def _sides(shard: Shard) -> tuple[Shard, Shard]:
    """The sources and the targets of a split."""
    return shard, shard.target
