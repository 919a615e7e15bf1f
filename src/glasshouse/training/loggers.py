"""Loggers: further destinations of metrics besides `metrics.jsonl`. One interface and three common services."""

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from glasshouse.specs.errors import MissingExtra


class Logger(ABC):
    """Receives every row of metrics of the run in a folder."""

    @abstractmethod
    def __init__(self, folder: Path, spec: dict[str, Any]) -> None: ...

    @abstractmethod
    def log(self, step: int, values: dict[str, float]) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class TensorBoard(Logger):
    """TensorBoard event files in the run folder's `tensorboard/`; view them with `tensorboard --logdir runs`."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self.writer = _imported("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases(Logger):
    """A run of the same name in Weights & Biases. The project comes from the settings of `wandb`."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self.run = _imported("wandb", "wandb").init(name=folder.name, dir=str(folder), config=spec)

    def log(self, step: int, values: dict[str, float]) -> None:
        self.run.log(values, step=step)

    def close(self) -> None:
        self.run.finish()


class MLflow(Logger):
    """A run of the same name in MLflow. The tracking address comes from the settings of `mlflow`."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self.mlflow = _imported("mlflow", "mlflow")
        self.mlflow.start_run(run_name=folder.name)
        tables = {section: table for section, table in spec.items() if isinstance(table, dict)}
        fields = {f"{name}.{field}": value for name, table in tables.items() for field, value in table.items()}
        self.mlflow.log_params(fields)

    def log(self, step: int, values: dict[str, float]) -> None:
        self.mlflow.log_metrics(values, step=step)

    def close(self) -> None:
        self.mlflow.end_run()


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(package, f"training.loggers=[{package}]") from None
