"""Description: from a picture and `[END] caption`, the model predicts `caption [END]`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import BeamOptions, Hypothesis
from glasshouse.models.base import Model
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward
from glasshouse.tasks.match import check_size, normalise_pictures
from glasshouse.tasks.text_inputs import Rows, repeated
from glasshouse.tasks.written_text import WrittenTextTask


class Describe(WrittenTextTask):
    """Description of a picture by a model that reads it."""

    reads = "picture"
    needs = "the caption of a picture; choose model.kind=picture-encoder-decoder or picture-decoder"
    columns = ("picture",)
    use = "describe {run}"

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        settings = settings_of(catalogue.find("model", spec.model.kind, "model.kind"), spec.model.own)
        # A kind of model without pictures is refused by `check_model`.
        self.size, self.channels = getattr(settings, "image_size", 1), getattr(settings, "image_channels", 1)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model = super().complete_model(model, prepared)
        check_size(model, prepared.splits["train"].pictures.shape[1])
        return model

    def example_lengths(self, shard: Shard) -> np.ndarray:
        return np.diff(shard.starts)

    def prompts_and_conditions(self, shard: Shard, examples: np.ndarray) -> tuple[tuple[Rows, ...], Batch]:
        return (repeated([self.end], len(examples)),), {"pictures": normalise_pictures(shard.pictures[examples])}

    def logits(self, model: Forward, batch: Batch) -> Tensor:
        return model(batch["pictures"], batch["inputs"])

    def largest_batch(self, rows: int) -> Batch:
        return {"pictures": torch.zeros(rows, self.channels, self.size, self.size), **super().largest_batch(rows)}

    def references(self, shard: Shard) -> list[str]:
        return [self.tokenizer.decode(tokens) for tokens in shard.texts(np.arange(shard.documents))]

    @torch.inference_mode()
    def describe_pictures(self, model: Model, pictures_BSSC: np.ndarray, settings: EvaluationSpec) -> list[str]:
        return [self.best_text(found) for found in self.search(model, pictures_BSSC, self.beam_options(settings))]

    def search_batch(self, model: Model, shard: Shard, examples: np.ndarray, options: BeamOptions) -> list[list[Hypothesis]]:
        return self.search(model, shard.pictures[examples], options)

    def search(self, model: Any, pictures_BSSC: np.ndarray, options: BeamOptions) -> list[list[Hypothesis]]:
        conditioned = model.condition_on(normalise_pictures(pictures_BSSC).to(next(model.parameters()).device))
        return self.search_from(conditioned, [[self.end]] * len(pictures_BSSC), options)
