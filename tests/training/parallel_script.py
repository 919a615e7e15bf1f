"""Trains several runs in the processes of one `torchrun` call: `torchrun ... -m tests.training.parallel_script CASES`.

CASES is JSON: name of a run -> the words of `glasshouse train`. A last word `stop=STEP` stops the run as a signal would.
"""

import json
import sys

import glasshouse
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training import cost_plan, loop

cost_plan.TIMING_STEPS = 1
read_results = loop._Loop._read_results
stops: dict[str, int] = {}


def read_results_until_stopped(self: loop._Loop) -> None:
    read_results(self)
    if self.step == stops.get(self.members[0].run.name):
        self.signals.received = 15


def train_all() -> None:
    for name, words in json.loads(sys.argv[1]).items():
        recipe, *overrides = words
        if overrides[-1].startswith("stop="):
            stops[name] = int(overrides.pop().removeprefix("stop="))
        try:
            if any(word.startswith("training.replicas=") for word in overrides):
                glasshouse.runs.train_replicas(recipe, *overrides, name=name, device="cpu")
            else:
                glasshouse.train(recipe, *overrides, name=name, device="cpu")
        except GlasshouseError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)


loop._Loop._read_results = read_results_until_stopped
loop.run_as_rank(train_all)
