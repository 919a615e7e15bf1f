"""Regression: predict a number from a text, or from a pair of texts."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics import regression
from glasshouse.metrics.metric import EXAMPLES, LOSS, MAE, R2, RMSE, SPEARMAN, Metrics
from glasshouse.models.heads.regressor import RegressorHead
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, HeadSpec, ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward, QualityCurves
from glasshouse.tasks.text_inputs import TextInputs, arguments
from glasshouse.tasks.whole_text_task import WholeTextTask


class Regress(WholeTextTask):
    """Squared error of standardised numbers. The best checkpoint has the lowest RMSE.

    Numbers are standardised with the mean and the standard deviation of the training split. The head keeps both, and all
    metrics except the loss are in the unit of the data.
    """

    metrics = Metrics([RMSE, MAE, R2, SPEARMAN, LOSS, EXAMPLES], headline=("rmse", "r2"))
    criterion = "rmse"
    quality = QualityCurves(RMSE.title, {"validation": "validation.rmse"})
    report_sections = ("regression", "words")
    head = "regressor"
    columns = ("value",)
    item_metrics = ("mae", "loss")

    def __init__(self, inputs: TextInputs, mean: float = 0.0, deviation: float = 1.0) -> None:
        super().__init__(inputs)
        self.mean, self.deviation = mean, deviation

    @classmethod
    def from_spec(cls, spec: Spec) -> "Regress":
        inputs, head = TextInputs.from_spec(spec), spec.model.head
        if head.kind not in ("", cls.head):
            return cls(inputs)
        settings = settings_of(RegressorHead, head.own)
        return cls(inputs, settings.mean, settings.deviation or 1.0)

    def draft_model(self, model: ModelSpec) -> ModelSpec:
        return model if model.head.kind else replace(model, head=HeadSpec(self.head, model.head.own))

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(getattr(model, "head", None), RegressorHead):
            raise SpecError(
                f"needs a predicted number, which model.kind={kind!r} with this head does not provide; choose "
                "model.kind=encoder, decoder or recurrent and model.head.kind=regressor",
                "task",
                "regress",
            )

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        self.check_training_texts(prepared)
        self.mean, self.deviation = _mean_and_deviation(prepared.splits["train"].values.tolist())
        if not self.deviation:
            raise DataError(f"all training texts have the value {self.mean:g}; regression needs rows with different values")
        scale = {"mean": self.mean, "deviation": self.deviation}
        return replace(model, head=HeadSpec(self.head, {**model.head.own, **scale}))

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        values = torch.from_numpy(self._standardised(shard.values[examples])).float()
        return {**self.inputs.batch(shard, examples), "values": values}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["values"]),), batches["values"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        output = model(batch["tokens"], **arguments(batch))[:, 0]
        return F.mse_loss(output.float(), batch["values"], reduction="sum")

    def largest_batch(self, rows: int) -> Batch:
        return {**self.inputs.largest_batch(rows), "values": torch.zeros(rows)}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        predictions = self.predictions(model, shard, np.arange(shard.documents), settings.batch, progress, forward)
        return {
            "loss": float(self._squared_errors(shard, predictions).mean()),
            **regression.scores(shard.values, predictions),
        }

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        predictions = self.predictions(model, shard, np.arange(shard.documents), settings.batch, progress)
        return {"mae": np.abs(predictions - shard.values), "loss": self._squared_errors(shard, predictions)}

    def predictions(
        self,
        model: nn.Module,
        shard: Shard,
        examples: np.ndarray,
        batch: int,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> np.ndarray:
        """The predicted numbers of some examples of a split, in the unit of the data."""
        rows = [np.zeros(0)]
        for index, output in self.outputs(model, shard, examples, batch, forward):
            rows.append(self._in_unit(output))
            progress((index[-1] + 1) / shard.documents)
        return np.concatenate(rows)

    def describe(self, output: Tensor) -> list[dict[str, Any]]:
        """{"value": the number in the unit of the data}."""
        return [{"value": value} for value in self._in_unit(output).tolist()]

    def _in_unit(self, output: Tensor) -> np.ndarray:
        return output[:, 0].double().cpu().numpy() * self.deviation + self.mean

    def _standardised(self, values: np.ndarray) -> np.ndarray:
        return (values - self.mean) / self.deviation

    def _squared_errors(self, shard: Shard, predictions: np.ndarray) -> np.ndarray:
        """The squared error of each standardised number."""
        return (self._standardised(predictions) - self._standardised(shard.values)) ** 2


def _mean_and_deviation(values: list[float]) -> tuple[float, float]:
    """The mean and the standard deviation, summed exactly, so that every machine gets the same."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
