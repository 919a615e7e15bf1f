"""A run to hold: what the functions of Glasshouse do with a run are its methods too."""

from glasshouse.api import exchange, experiments, inspection, pictures, pruning, replays, reports
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
    prune = pruning.prune
