"""Matching texts and pictures by contrastive learning (Radford et al., CLIP, 2021).

Every text of a batch is scored against every picture of the batch. All pictures with the same caption count as correct.
Axes: N texts, M pictures, S pixels per side, C channels.
"""

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, MEAN_LOSS, Metrics, share
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Scoring
from glasshouse.tasks.contrastive import PairTask, hits, sharing, symmetric_losses, text_ids


def normalise_pictures(pictures_MSSC: np.ndarray) -> Tensor:
    """Convert pictures from bytes to the model's input: (M, C, S, S), values from -1 to 1."""
    return torch.from_numpy(np.array(pictures_MSSC)).permute(0, 3, 1, 2).float() / 127.5 - 1


class Match(PairTask):
    """Symmetric cross-entropy of choosing the picture for a text and the text for a picture."""

    metrics = Metrics(
        [
            share("retrieval_1", "text-to-image recall@1").mean_of(lambda scores: hits(scores.ranks, 1)),
            share("retrieval_5", "text-to-image recall@5").mean_of(lambda scores: hits(scores.ranks, 5)),
            share("picture_to_text_1", "image-to-text recall@1").mean_of(lambda scores: hits(scores.ranks_back, 1)),
            share("picture_to_text_5", "image-to-text recall@5").mean_of(lambda scores: hits(scores.ranks_back, 5)),
            share("recall_1", "recall@1 both ways").mean_of(
                lambda scores: (hits(scores.ranks, 1) + hits(scores.ranks_back, 1)) / 2
            ),
            MEAN_LOSS,
            EXAMPLES,
        ],
        headline=("retrieval_1", "picture_to_text_1"),
    )
    criterion = "recall_1"
    quality = QualityCurves(
        "recall@1", {"text to image": "validation.retrieval_1", "image to text": "validation.picture_to_text_1"}
    )
    columns = ("picture",)
    use = "prompt {run}"
    reads = "texts and pictures"
    needs = "scores of texts against pictures; choose model.kind=dual-encoder"

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.size = settings_of(DualEncoder, spec.model.own).image_size

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model = super().complete_model(model, prepared)
        check_size(model, prepared.splits["train"].pictures.shape[1])
        return model

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        return {
            **self.inputs.batch(shard, examples),
            "pictures": normalise_pictures(shard.pictures[examples]),
            "captions": text_ids(shard.texts(examples)),
        }

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        scores, captions = model(batch["tokens"], batch["pictures"], lengths=batch["lengths"]).float(), batch["captions"]
        return symmetric_losses(scores, sharing((captions, captions))).mean() * len(scores)

    def largest_batch(self, rows: int) -> Batch:
        return {
            **self.inputs.largest_batch(rows),
            "pictures": torch.zeros(rows, 3, self.size, self.size),
            "captions": torch.zeros(rows, dtype=torch.int64),
        }

    def similarities(self, model: object, first: Tensor, second: Tensor) -> Tensor:
        return cast(DualEncoder, model).head.scale.exp().float() * first @ second.T

    def vectors(self, scoring: Scoring) -> tuple[Tensor, Tensor]:
        model, vectors = cast(DualEncoder, scoring.model), []
        for index in scoring.batches(np.arange(scoring.shard.documents)):
            batch = scoring.on_device(self.batch(scoring.shard, 0, index * 0, index))
            text = model.head.text(model.encode_text(batch["tokens"], batch["lengths"]))
            picture = model.head.image(model.encode_pictures(batch["pictures"]))
            vectors.append((nn.functional.normalize(text.float(), dim=-1), nn.functional.normalize(picture.float(), dim=-1)))
        texts, pictures = zip(*vectors, strict=True)
        return torch.cat(texts), torch.cat(pictures)


def check_size(model: ModelSpec, size: int) -> None:
    """Refuse pictures whose size or channels differ from the model's."""
    settings = settings_of(catalogue.find("model", model.kind), model.own)
    if size != (expected := settings.image_size):
        reason = f"is not the {size} pixels of a picture's side; choose it, or data.picture_size={expected}"
        raise SpecError(reason, "model.image_size", expected)
    if settings.image_channels != 3:
        raise SpecError("is not the 3 channels of a picture; choose 3", "model.image_channels", settings.image_channels)
