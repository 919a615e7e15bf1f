"""Regression: predict a number from a text, or from a pair of texts."""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, MEAN_LOSS, Metrics
from glasshouse.metrics.regression import MAE, R2, RMSE, SPEARMAN, PredictedNumbers
from glasshouse.models.heads.classifier import RegressorHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward, Scoring
from glasshouse.tasks.text_inputs import arguments
from glasshouse.tasks.whole_text_task import Prediction, WholeTextTask


@dataclass(frozen=True)
class NumberScores(PredictedNumbers):
    """The numbers in the unit of the data, and the loss of each text."""

    loss: np.ndarray


class Regress(WholeTextTask):
    """Squared error of numbers, standardised by the training split. All metrics but the loss are in the unit of the data."""

    metrics = Metrics([RMSE, MAE, R2, SPEARMAN, MEAN_LOSS, EXAMPLES], headline=("rmse", "r2"))
    criterion = "rmse"
    report_sections = ("regression", "words")
    head = "regressor"
    heads = (RegressorHead,)
    needs = "a number; choose model.kind=encoder, decoder or recurrent and model.head.kind=regressor"
    columns = ("value",)
    deviation: float

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        head = spec.model.head
        settings = settings_of(RegressorHead, head.own if head.kind in ("", self.head) else {})
        self.mean, self.deviation = settings.mean, settings.deviation or 1.0

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        return model if model.head.kind else self.with_head(model)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        model = super().complete_model(model, prepared)
        values = prepared.splits["train"].values.tolist()
        # Summed exactly, so that every machine gets the same.
        self.mean = math.fsum(values) / len(values)
        self.deviation = math.sqrt(math.fsum((value - self.mean) ** 2 for value in values) / len(values))
        if not self.deviation:
            raise DataError(f"all training texts have the value {self.mean:g}; regression needs rows with different values")
        return self.with_head(model, mean=self.mean, deviation=self.deviation)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        values = torch.from_numpy(self._standardised(shard.values[examples])).float()
        return {**self.inputs.batch(shard, examples), "values": values}

    @property
    def output_names(self) -> tuple[str, ...]:
        return ("value",)

    def answer(self, shard: Shard, example: int) -> float:
        return float(shard.values[example])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        output = model(batch["tokens"], **arguments(batch))[:, 0]
        return F.mse_loss(output.float(), batch["values"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "values": torch.zeros(rows)}

    def score(self, scoring: Scoring) -> NumberScores:
        return NumberScores(**self.score_texts(scoring, scoring.examples))

    def score_batch(self, shard: Shard, examples: np.ndarray, output: Tensor) -> dict[str, np.ndarray]:
        truth, prediction = shard.values[examples], self._in_unit(output)
        loss = (self._standardised(prediction) - self._standardised(truth)) ** 2
        return {"truth": truth, "prediction": prediction, "loss": loss}

    def describe(self, output: Tensor) -> list[Prediction]:
        return [{"value": value} for value in self._in_unit(output).tolist()]

    def _in_unit(self, output: Tensor) -> np.ndarray:
        return output[:, 0].double().cpu().numpy() * self.deviation + self.mean

    def _standardised(self, values: np.ndarray) -> np.ndarray:
        return (values - self.mean) / self.deviation
