"""Loggers: TensorBoard receives every metric, and a missing package is named."""

import sys

import pytest

from glasshouse.records import metric_log
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training import loggers
from tests import needs
from tests.refusals import refused
from tests.training.small_runs import train_demo


def test_tensorboard_receives_every_metric(text):
    needs.package("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train_demo(text, "training.loggers=[tensorboard]")
    events = EventAccumulator(str(run.folder.path / "tensorboard")).Reload()
    for name in ("loss", "validation.perplexity", "learning_rate"):
        steps, values = metric_log.column(run.metrics, name)
        scalars = events.Scalars(name)
        assert [scalar.step for scalar in scalars] == steps
        assert [scalar.value for scalar in scalars] == pytest.approx(values, rel=1e-5)


@pytest.mark.parametrize(
    ("package", "logger"),
    [
        ("torch.utils.tensorboard", loggers.TensorBoard),
        ("wandb", loggers.WeightsAndBiases),
        ("mlflow", loggers.MLflow),
    ],
)
def test_a_missing_package_is_named(package, logger, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # importing it raises ImportError
    with refused(GlasshouseError, package.rpartition(".")[2]):
        logger(tmp_path, {})
