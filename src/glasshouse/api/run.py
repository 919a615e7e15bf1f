"""A run to hold: what the functions of Glasshouse do with a run are its methods too."""

from os import PathLike
from typing import Any

from glasshouse.api import exchange, experiments, inspection, pictures, pruning, replays, reports
from glasshouse.inspection.pruning import Pruned
from glasshouse.runs import run as open_runs


class Run(open_runs.Run):
    """One trained (or partly trained) model and everything in its run folder.

    `run.sample("Once")`, `run.evaluate()`, `run.look("a text")`: every function that takes a run is a method of it. The
    weights are loaded when the first method needs them, and stay.
    """

    look = inspection.look
    explore = inspection.explore
    lens = inspection.lens
    attribute = inspection.attribute
    patch = inspection.patch
    heads = inspection.heads
    head_statistics = inspection.head_statistics
    layers = inspection.layers
    pruning_curves = inspection.pruning_curves
    gradients = inspection.gradients
    features = experiments.features
    few_shot = experiments.few_shot
    describe = pictures.describe
    prompt = pictures.prompt
    export = exchange.export
    certify = exchange.certify
    report = reports.report
    card = reports.card
    replay = replays.replay

    def prune(
        self,
        name: str,
        heads: float | None = None,
        weights: float | None = None,
        by: str = "gradient",
        then_train: int = 0,
        data: str | PathLike[str] | None = None,
        examples: int = 128,
    ) -> tuple[Pruned, "Run"]:
        """Write a smaller run: without a share of the heads, or with a share of the weights set to zero.

        With `then_train`, the pruned run is stored as `name`-untrained, and `name` is trained from it for this number of
        steps. Returns what was removed, and the final run.
        """
        pruned, folder = pruning.prune(self, name, heads, weights, by, then_train, data, examples)
        return pruned, Run(folder, str(self.device))


def prune(run: str | PathLike[str], name: str, device: str = "auto", **how: Any) -> tuple[Pruned, Run]:
    """As `Run.prune`."""
    return (run if isinstance(run, Run) else Run(run, device)).prune(name, **how)
