"""The run that `train` and `open_run` return: `runs.run.Run`, and the functions of the public interface as its methods."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glasshouse.runs import run as open_runs

if TYPE_CHECKING:
    from glasshouse.api import exchange, experiments, inspection, reports

# Module of `glasshouse.api` -> its functions that are methods of a run.
METHODS = {
    "inspection": "look explore lens attribute patch heads head_statistics layers pruning_curves gradients",
    "experiments": "features few_shot describe prompt prune replay",
    "exchange": "export certify",
    "reports": "report card",
}


class Run(open_runs.Run):
    """One trained (or partly trained) model and everything in its run folder.

    The weights are loaded when the first method needs them, and stay. A run stands wherever its name or its path may stand.

    - The model: `name`, `spec`, `model`, `tokenizer`, `task`, `vocabulary`, `end_tokens`, `saved_weights`, `model_step`.
    - Its training: `facts`, `metrics`, `final_metrics`, `final_step`, `baselines`, `replay`.
    - What it is for: `continues_text`, `reads_pairs`, `joins_pairs`, `whole_text_task`.
    - Use it: `sample`, `stream`, `new_completion`, `constraint`, `evaluate`, `item_values`, `predict`, `classify`,
      `translate`, `embed`, `describe`, `prompt`, `held_out_examples`, `source_of_file`.
    - Look inside: `look`, `explore`, `lens`, `attribute`, `patch`, `heads`, `head_statistics`, `layers`, `gradients`.
    - Change it: `prune`, `pruning_curves`. Experiment with it: `features`, `few_shot`.
    - Show it and take it out: `report`, `card`, `export`, `certify`.

    What tells of the model, its training and its use is defined in `runs/run.py`. The others are functions of
    `glasshouse.api`, whose first argument is the run.
    """

    if TYPE_CHECKING:
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
        describe = experiments.describe
        prompt = experiments.prompt
        export = exchange.export
        certify = exchange.certify
        report = reports.report
        card = reports.card
        replay = experiments.replay
        prune = experiments.prune


class RunMethod:
    """A function of the public interface as a method. Its module is imported on first use: all of them take a second."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, run: Run | None, owner: type[Run]) -> Any:
        return getattr(import_module(f"glasshouse.api.{self.module}"), self.name).__get__(run, owner)


for module, names in METHODS.items():
    for name in names.split():
        setattr(Run, name, RunMethod(module, name))
