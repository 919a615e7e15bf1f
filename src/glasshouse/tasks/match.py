"""Matching texts and pictures by contrastive learning (Radford et al., CLIP, 2021).

Every text of a batch is scored against every picture of the batch. All pictures with the same caption count as correct.
Axes: N texts, M pictures, S pixels per side, C channels.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, LOSS, Metric, Metrics
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks import contrastive
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Task
from glasshouse.tasks.classify import padded
from glasshouse.tasks.contrastive import retrieval_ranks, symmetric_losses, text_ids
from glasshouse.tokenizers import Tokenizer

# k of recall@k: a retrieval is correct if a correct candidate is among the first k.
RECALL_AT = (1, 5)
TEXT_TO_IMAGE_1 = Metric("retrieval_1", "text-to-image recall@1", "{:.2%}", "higher", most=1.0)
TEXT_TO_IMAGE_5 = Metric("retrieval_5", "text-to-image recall@5", "{:.2%}", "higher", most=1.0)
IMAGE_TO_TEXT_1 = Metric("picture_to_text_1", "image-to-text recall@1", "{:.2%}", "higher", most=1.0)
IMAGE_TO_TEXT_5 = Metric("picture_to_text_5", "image-to-text recall@5", "{:.2%}", "higher", most=1.0)
RECALL_1 = Metric("recall_1", "recall@1 both ways", "{:.2%}", "higher", most=1.0)


def normalise_pictures(pictures_MSSC: np.ndarray) -> Tensor:
    """Convert pictures from bytes to the model's input: (M, C, S, S), values from -1 to 1."""
    return torch.from_numpy(np.array(pictures_MSSC)).permute(0, 3, 1, 2).float() / 127.5 - 1


def symmetric_loss(scores_NN: Tensor, captions: Tensor) -> Tensor:
    """The mean of the symmetric losses over the pairs. Equal captions are the same."""
    return symmetric_losses(scores_NN, captions[:, None] == captions[None]).mean()


class Match(Task):
    """Symmetric cross-entropy of choosing the picture for a text and the text for a picture.

    The best checkpoint has the highest recall@1, averaged over both directions.
    """

    metrics = Metrics(
        [TEXT_TO_IMAGE_1, TEXT_TO_IMAGE_5, IMAGE_TO_TEXT_1, IMAGE_TO_TEXT_5, RECALL_1, LOSS, EXAMPLES],
        headline=("retrieval_1", "picture_to_text_1"),
    )
    criterion = "recall_1"
    quality = QualityCurves(
        "recall@1",
        {"text to image": "validation.retrieval_1", "image to text": "validation.picture_to_text_1"},
    )
    columns = ("picture",)
    item_metrics = ("loss", "retrieval_1", "retrieval_5", "picture_to_text_1", "picture_to_text_5", "recall_1")
    items = "pairs"

    def __init__(self, context: int, size: int, rows: int) -> None:
        self.context, self.size, self.rows = context, size, rows
        self.prefix_and_suffix: tuple[list[int], list[int]] = ([], [])

    @classmethod
    def from_spec(cls, spec: Spec) -> "Match":
        contrastive.check_whole_batches(spec)
        return cls(spec.data.context, settings_of(DualEncoder, spec.model.own).image_size, spec.training.batch)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(model, DualEncoder):
            raise SpecError(
                f"scores texts against pictures, which model.kind={kind!r} cannot do; choose model.kind=dual-encoder",
                "task",
                "match",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.prefix_and_suffix = tokenizer.prefix_and_suffix

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        train = prepared.splits["train"]
        if train.documents < 2:
            raise DataError(
                f"the training split has {train.documents} pictures, but matching needs at least two; use more rows"
            )
        check_size(model, train.pictures.shape[1])
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        texts = shard.texts(examples)
        return {
            **padded(texts, self.prefix_and_suffix, self.context),
            "pictures": normalise_pictures(shard.pictures[examples]),
            "captions": text_ids(texts),
        }

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["captions"]),), batches["captions"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        scores = model(batch["tokens"], batch["pictures"], lengths=batch["lengths"]).float()
        return symmetric_loss(scores, batch["captions"]) * len(scores)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        return {
            "tokens": torch.zeros(rows, self.context, dtype=torch.int64),
            "lengths": torch.full((rows,), self.context),
            "pictures": torch.zeros(rows, 3, self.size, self.size),
            "captions": torch.zeros(rows, dtype=torch.int64),
        }

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * rows

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
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
        values = self._score_pairs(model, shard, settings, progress)
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
        self, model: nn.Module, shard: Shard, settings: EvaluationSpec, progress: Callable[[float], None]
    ) -> dict[str, np.ndarray]:
        """Metric -> one value per pair: retrieval in both directions over the whole split, and the loss.

        The loss uses groups of the training batch size, so that it is comparable to the training loss.
        """
        assert isinstance(model, DualEncoder)
        captions = text_ids([shard.document(index).tolist() for index in range(shard.documents)])
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                texts, pictures = self._vectors(model, shard, settings.batch, progress)
                scale = model.head.scale.exp().float()
                parts = torch.arange(shard.documents).chunk(max(1, round(shard.documents / self.rows)))
                losses = [
                    symmetric_losses(
                        scale * texts[part] @ pictures[part].T,
                        (captions[part, None] == captions[None, part]).to(texts.device),
                    )
                    for part in parts
                ]
        finally:
            model.train(was_training)
        values = {"loss": torch.cat(losses).double().cpu().numpy()}
        for name, ranks in (
            ("retrieval", retrieval_ranks(texts, pictures, captions)),
            ("picture_to_text", retrieval_ranks(pictures, texts, captions)),
        ):
            values |= {f"{name}_{k}": (ranks < k).double().numpy() for k in RECALL_AT}
        return {**values, "recall_1": (values["retrieval_1"] + values["picture_to_text_1"]) / 2}

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse prompt {run}"

    def _vectors(
        self, model: DualEncoder, shard: Shard, rows: int, progress: Callable[[float], None]
    ) -> tuple[Tensor, Tensor]:
        """The normalised vectors of all texts and of all pictures of a split, in their shared space."""
        device = next(model.parameters()).device
        vectors: list[tuple[Tensor, Tensor]] = []
        for begin in range(0, shard.documents, rows):
            index = np.arange(begin, min(begin + rows, shard.documents))
            batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
            text = model.head.text(model.encode_text(batch["tokens"], batch["lengths"]))
            picture = model.head.image(model.encode_pictures(batch["pictures"]))
            vectors.append((nn.functional.normalize(text.float(), dim=-1), nn.functional.normalize(picture.float(), dim=-1)))
            progress((index[-1] + 1) / shard.documents)
        texts, pictures = zip(*vectors, strict=True)
        return torch.cat(texts), torch.cat(pictures)

    def truncated(self, shard: Shard) -> int:
        max_length = self.context - sum(map(len, self.prefix_and_suffix))
        return int((np.diff(shard.starts) - (shard.separator is not None) > max_length).sum()) if shard.documents else 0


def check_size(model: ModelSpec, size: int) -> None:
    """Refuse pictures whose size or channels differ from the model's."""
    settings = settings_of(catalogue.find("model", model.kind), model.own)
    if size != settings.image_size:
        raise SpecError(
            f"the pictures have {size} pixels per side, but model.image_size={settings.image_size}; "
            f"choose model.image_size={size} or data.picture_size={settings.image_size}"
        )
    if settings.image_channels != 3:
        raise SpecError(
            f"model.image_channels={settings.image_channels}, but pictures have 3 channels (red, green, blue); choose 3"
        )
