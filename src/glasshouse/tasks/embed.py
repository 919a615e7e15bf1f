"""Embedding: vectors of texts in which the two texts of a pair are close (Reimers and Gurevych, Sentence-BERT, 2019).

Every source of a batch is scored against every target of the batch, so the targets of other pairs are its negative examples
(Henderson et al., Efficient Natural Language Response Suggestion, 2017). One encoder reads both texts.
Axes: N pairs, D width.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, LOSS, Metric, Metrics
from glasshouse.models.heads.pooled import PooledHead
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks import contrastive, padding
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Task
from glasshouse.tokenizers import Tokenizer

# k of recall@k: a retrieval is correct if a correct target is among the first k.
RECALL_AT = (1, 10)
RECALL_1 = Metric("recall_at_1", "recall@1", "{:.2%}", "higher", most=1.0)
RECALL_10 = Metric("recall_at_10", "recall@10", "{:.2%}", "higher", most=1.0)
MRR = Metric("mrr", "mean reciprocal rank", "{:.4f}", "higher", most=1.0)
# The two texts of a pair, as names of tensors in a batch.
SIDES = ("source", "target")


class Embed(Task):
    """Cross-entropy of choosing the target of a source among the targets of the batch, and the source of a target.

    The metrics are of the search for each source's target among all targets of a split. The best checkpoint has the highest
    mean reciprocal rank.
    """

    metrics = Metrics([RECALL_1, RECALL_10, MRR, LOSS, EXAMPLES], headline=("recall_at_1", "recall_at_10", "mrr"))
    criterion = "mrr"
    quality = QualityCurves("retrieval", {"recall@1": "validation.recall_at_1", "mean reciprocal rank": "validation.mrr"})
    head = "pooled"
    columns = ("target",)
    reads = ("training.group_by_length",)
    item_metrics = ("recall_at_1", "recall_at_10", "mrr", "loss")
    items = "pairs"

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
        self.context, self.rows, self.temperature, self.group_by_length = context, rows, temperature, group_by_length
        self.prefix_and_suffix: tuple[list[int], list[int]] = ([], [])

    @classmethod
    def from_spec(cls, spec: Spec) -> "Embed":
        contrastive.check_whole_batches(spec)
        training = spec.training
        settings = read_settings(cls.Settings, training.own)
        return cls(spec.data.context, training.batch, settings.temperature, training.group_by_length)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), PooledHead):
            raise SpecError(
                f"needs one vector for a text, which model.kind={kind!r} with this head does not provide; choose "
                "model.kind=encoder and model.head.kind=pooled",
                "task",
                "embed",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.prefix_and_suffix = tokenizer.prefix_and_suffix

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if (pairs := prepared.splits["train"].documents) < 2:
            raise DataError(f"the training split has {pairs} pairs, but a comparison needs two; use more rows")
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    @property
    def _max_length(self) -> int:
        """The maximum length of a text in tokens, without special tokens."""
        return self.context - sum(map(len, self.prefix_and_suffix))

    def truncated(self, shard: Shard) -> int:
        """The number of pairs of which a text is truncated."""
        examples = np.arange(shard.documents)
        return int(np.any([padding.lengths_of(side, examples) > self._max_length for side in _sides(shard)], axis=0).sum())

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray | None:
        """The number of tokens of both texts together."""
        if not self.group_by_length:
            return None
        examples = np.arange(shard.documents)
        return np.sum([padding.lengths_of(side, examples).clip(max=self._max_length) for side in _sides(shard)], axis=0)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        batch: Batch = {}
        for name, side in zip(SIDES, _sides(shard), strict=True):
            batch |= self._texts(name, side, examples)
            batch[f"{name}_ids"] = contrastive.text_ids(side.texts(examples))
        return batch

    def _texts(self, name: str, side: Shard, examples: np.ndarray) -> Batch:
        """One text of some pairs, truncated and padded."""
        before, after = (padding.repeated(tokens, len(examples)) for tokens in self.prefix_and_suffix)
        rows = padding.joined(before, padding.texts_of(side, examples, self._max_length), after)
        # A batch of empty texts has one column.
        tokens_NL = rows.tokens_NL if rows.tokens_NL.size else np.zeros((len(examples), 1), np.int64)
        lengths_N = rows.lengths_N.clip(min=1)
        return {f"{name}_tokens": torch.from_numpy(tokens_NL), f"{name}_lengths": torch.from_numpy(lengths_N)}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["source_ids"]),), batches["source_ids"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        sources, targets = (
            F.normalize(model(batch[f"{side}_tokens"], lengths=batch[f"{side}_lengths"]).float(), dim=-1) for side in SIDES
        )
        same = contrastive.sharing(*((batch[f"{side}_ids"], batch[f"{side}_ids"]) for side in SIDES))
        return contrastive.symmetric_losses(sources @ targets.T / self.temperature, same).sum()

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

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * rows

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (2 * splits[split].documents * self.context for split in ("validation", "test"))
        return (rounds + 1) * validation + test

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        values = self._score_pairs(model, shard, settings, progress, forward)
        return {**{name: float(value.mean()) for name, value in values.items()}, "examples": float(shard.documents)}

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        return self._score_pairs(model, shard, settings, progress)

    def _score_pairs(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None],
        forward: Forward | None = None,
    ) -> dict[str, np.ndarray]:
        """Metric -> one value per pair. The loss uses groups of the training batch size, as in training."""
        examples, was_training, device = np.arange(shard.documents), model.training, next(model.parameters()).device
        ids = [contrastive.text_ids(side.texts(examples)) for side in _sides(shard)]
        model.eval()
        try:
            with torch.inference_mode():
                sources, targets = (
                    self._vectors(forward or model, device, side, settings.batch, partial(_share_of_half, progress, half))
                    for half, side in enumerate(_sides(shard))
                )
                losses = []
                for part in torch.arange(shard.documents).chunk(max(1, round(shard.documents / self.rows))):
                    same = contrastive.sharing(*((each[part], each[part]) for each in ids)).to(sources.device)
                    scores = sources[part] @ targets[part].T / self.temperature
                    losses.append(contrastive.symmetric_losses(scores, same))
                ranks = contrastive.retrieval_ranks(sources, targets, *ids)
        finally:
            model.train(was_training)
        recalls = {f"recall_at_{k}": (ranks < k).double().numpy() for k in RECALL_AT}
        return {**recalls, "mrr": (1 / (ranks + 1.0)).double().numpy(), "loss": torch.cat(losses).double().cpu().numpy()}

    def _vectors(
        self, forward: Forward, device: torch.device, side: Shard, rows: int, progress: Callable[[float], None]
    ) -> Tensor:
        """The normalised vectors (N, D) of one text of every pair. Texts of similar length are encoded together."""
        order = padding.lengths_of(side, np.arange(side.documents)).argsort(kind="stable")
        vectors = []
        for begin in range(0, len(order), rows):
            texts = self._texts("text", side, order[begin : begin + rows])
            tokens, lengths = (texts[name].to(device) for name in ("text_tokens", "text_lengths"))
            vectors.append(F.normalize(forward(tokens, lengths=lengths).float(), dim=-1))
            progress(min((begin + rows) / len(order), 1.0))
        return torch.cat(vectors)[torch.from_numpy(order.argsort()).to(vectors[0].device)]

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse features {run} --task presidents --limit 200"


def _share_of_half(progress: Callable[[float], None], half: int, share: float) -> None:
    progress((half + share) / 2)


def _sides(shard: Shard) -> tuple[Shard, Shard]:
    """The sources and the targets of a split."""
    return shard, shard.target
