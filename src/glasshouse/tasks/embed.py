"""Embedding: vectors of texts in which the two texts of a pair are close (Reimers and Gurevych, Sentence-BERT, 2019).

Every source of a batch is scored against every target of the batch, so the targets of other pairs are its negative examples
(Henderson et al., Efficient Natural Language Response Suggestion, 2017). One encoder reads both texts.
Axes: N pairs, D width.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, MEAN_LOSS, Metric, Metrics, share
from glasshouse.models.heads.pooling import PooledHead
from glasshouse.records import progress_bar
from glasshouse.specs.declared import read_settings
from glasshouse.specs.spec import Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks import contrastive
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Scoring
from glasshouse.tasks.contrastive import PairTask, hits
from glasshouse.tasks.text_inputs import GroupByLength, lengths_of

MRR = Metric("mrr", "mean reciprocal rank", "{:.4f}", "higher", most=1.0)
# The two texts of a pair, as names of tensors in a batch.
SIDES = ("source", "target")


class Embed(PairTask):
    """Cross-entropy of choosing the target of a source among the targets of the batch, and the source of a target."""

    metrics = Metrics(
        [
            share("recall_at_1", "recall@1").mean_of(lambda scores: hits(scores.ranks, 1)),
            share("recall_at_10", "recall@10").mean_of(lambda scores: hits(scores.ranks, 10)),
            MRR.mean_of(lambda scores: (1 / (scores.ranks + 1.0)).double().numpy()),
            MEAN_LOSS,
            EXAMPLES,
        ],
        headline=("recall_at_1", "recall_at_10", "mrr"),
    )
    criterion = "mrr"
    quality = QualityCurves("retrieval", {"recall@1": "validation.recall_at_1", "mean reciprocal rank": "validation.mrr"})
    head = "pooled"
    heads = (PooledHead,)
    needs = "one vector for a text; choose model.kind=encoder and model.head.kind=pooled"
    columns = ("target",)
    use = "features {run} --task presidents --limit 200"

    @dataclass(frozen=True)
    class Settings(GroupByLength):
        temperature: float = setting(
            0.05, "the similarities of texts are divided by this before the softmax", minimum=1e-3, maximum=10**6, rare=True
        )

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        settings = read_settings(Embed.Settings, spec.training.own)
        self.temperature, self.group_by_length = settings.temperature, settings.group_by_length

    def texts(self, shard: Shard) -> tuple[Shard, ...]:
        return shard, shard.target

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        return self.lengths(shard).clip(max=self.inputs.max_length).sum(0) if self.group_by_length else None

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch: Batch = {}
        for name, side in zip(SIDES, self.texts(shard), strict=True):
            batch |= {f"{name}_{key}": tensor for key, tensor in self.inputs.batch(side, examples).items()}
            batch[f"{name}_ids"] = contrastive.text_ids(side.texts(examples))
        return batch

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
            f"{side}_{name}": tensor
            for side in SIDES
            for name, tensor in {**self.inputs.largest_batch(rows), "ids": torch.arange(rows)}.items()
        }

    def similarities(self, model: object, first: Tensor, second: Tensor) -> Tensor:
        return first @ second.T / self.temperature

    def vectors(self, scoring: Scoring) -> tuple[Tensor, Tensor]:
        sources, targets = (self._vectors(scoring, side, half) for half, side in enumerate(self.texts(scoring.shard)))
        return sources, targets

    def _vectors(self, scoring: Scoring, side: Shard, half: int) -> Tensor:
        """The vectors of one text of every pair. Texts of similar length are encoded together."""
        order = lengths_of(side, np.arange(side.documents)).argsort(kind="stable")
        vectors = []
        for index in scoring.batches(order, progress_bar.part(scoring.progress, half, 2)):
            texts = scoring.on_device(self.inputs.batch(side, index))
            vectors.append(F.normalize(scoring.forward(texts["tokens"], lengths=texts["lengths"]).float(), dim=-1))
        return torch.cat(vectors)[torch.from_numpy(order.argsort()).to(vectors[0].device)]
