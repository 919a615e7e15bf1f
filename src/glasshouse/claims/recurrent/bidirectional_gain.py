"""Claim: if the target depends on the past only, a recurrent network that reads in one direction suffices."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import nn

from glasshouse.claims import margins
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series
from glasshouse.claims.recurrent import stacked_networks, tagging_tasks
from glasshouse.claims.recurrent.stacked_networks import Draw, Network, StackedNetworks, Tagger
from glasshouse.claims.recurrent.tagging_tasks import INPUTS, VALUES, draw_hidden, draw_lookup
from glasshouse.claims.rules import equal, higher, not_lower
from glasshouse.parts.recurrence import GRUCell
from glasshouse.studies.study_folder import FIRST_TUNING_SEED
from glasshouse.training import devices

STEPS, CLIP, TEST_BATCHES = 500, 1.0, 16
RATES, TUNING_SEEDS = (0.01, 0.03, 0.1), 2
# Arm -> states of the forward and of the backward direction. The second has as many parameters as the first.
ONE, EQUAL_PARAMETERS, EQUAL_STATES = "one", "both", "both-wide"
ARMS = {ONE: (32, 0), EQUAL_PARAMETERS: (21, 21), EQUAL_STATES: (32, 32)}
IN_WORDS = {
    ONE: "one direction",
    EQUAL_PARAMETERS: "both directions, as many parameters",
    EQUAL_STATES: "both directions, as many states in each",
}
KEY_COUNTS = (1, 2, 4)
PAST, FUTURE, FILTERED, HIDDEN = "past", "future", "filtered", "hidden"
TASKS: dict[str, Draw] = {
    **{f"{PAST}/{keys}": partial(draw_lookup, keys=keys) for keys in KEY_COUNTS},
    **{f"{FUTURE}/{keys}": partial(draw_lookup, keys=keys, future=True) for keys in KEY_COUNTS},
    FILTERED: partial(draw_hidden, filtered=True),
    HIDDEN: draw_hidden,
}
DEPEND_ON_THE_PAST = (*(f"{PAST}/{keys}" for keys in KEY_COUNTS), FILTERED)
HARDEST = KEY_COUNTS[-1]


def task_in_words(task: str) -> str:
    """What must be answered at every position."""
    kind, _, keys = task.partition("/")
    many = "1 key" if keys == "1" else f"{keys} keys"
    return {
        PAST: f"the latest value of the key, {many}",
        FUTURE: f"the next value of the key, {many}",
        FILTERED: "the most probable state given the past",
        HIDDEN: "the hidden state",
    }[kind]


class BidirectionalGain(Claim):
    """Trains networks that read in one direction and in both, on tasks that need the past and tasks that need the future."""

    group = GROUPS[2]
    statement = (
        "If the target at a position depends on the past only, a recurrent network that reads in one direction suffices; "
        "reading in both directions helps where it depends on the future."
    )
    source = "course work on recurrent networks"
    reported = "asserted, no figures"
    why = (
        "A state that has read the past can hold everything such a target depends on. What comes later can only distract, "
        "and the second direction takes parameters away from the first."
    )
    procedure = (
        "GRU networks give an answer at each of 16 positions. Three tasks show a key and a value at every position and ask "
        "for the latest earlier value of the same key, among 1, 2 or 4 keys. A fourth shows a hidden state with errors, and "
        "asks for the most probable state given what was seen so far. One direction with 32 states must be at most one "
        "percentage point of accuracy worse than both directions with as many parameters together, and than both with 32 "
        "states each, which have twice as many parameters. The known answer: if the next later value of the key is asked "
        f"for, both directions must be better. Each arm has the best of three learning rates for each task, chosen with "
        f"other seeds; {STEPS} steps of Adam on 32 fresh sequences each, and fresh sequences to decide."
    )
    would_change = (
        "A target that the past causes but does not determine: the hidden state itself is drawn from the past alone, and "
        "yet later positions tell something about it. The comparisons beside these show what both directions gain there."
    )
    data = "generated examples"
    quantities: ClassVar = {
        f"{task}/{arm}": Quantity(
            f"accuracy, {task_in_words(task)}, {IN_WORDS[arm]}", "accuracy on fresh sequences", "%", 100.0, True
        )
        for task in TASKS
        for arm in ARMS
    }
    parts = (
        *(
            not_lower(
                f"{task}/{ONE}",
                than=f"{task}/{arm}",
                margin=margins.ACCURACY,
                name=f"{task_in_words(task)}: one direction is as good as {IN_WORDS[arm]}",
            )
            for task in DEPEND_ON_THE_PAST
            for arm in (EQUAL_PARAMETERS, EQUAL_STATES)
        ),
        *(
            higher(
                f"{FUTURE}/{keys}/{EQUAL_PARAMETERS}",
                than=f"{FUTURE}/{keys}/{ONE}",
                margin=margins.ACCURACY,
                name=f"known answer, {task_in_words(f'{FUTURE}/{keys}')}: both directions are better",
                decides=keys == HARDEST,
            )
            for keys in KEY_COUNTS
        ),
        equal(
            f"{FUTURE}/{HARDEST}/{ONE}",
            to=1 / VALUES,
            margin=2 * margins.ACCURACY,
            name="known answer: one direction can only guess the next value",
            decides=False,
        ),
        higher(
            f"{HIDDEN}/{EQUAL_PARAMETERS}",
            than=f"{HIDDEN}/{ONE}",
            margin=margins.ACCURACY,
            name="the limit: both directions are better at the hidden state, which is drawn from the past alone",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "keys",
            "number of keys",
            "accuracy, %",
            {
                f"{side} value, {IN_WORDS[arm]}": {keys: f"{task}/{keys}/{arm}" for keys in KEY_COUNTS}
                for task, side in ((PAST, "latest"), (FUTURE, "next"))
                for arm in (ONE, EQUAL_PARAMETERS)
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        seeds, device = range(bench.first_seed, bench.first_seed + bench.seeds), devices.pick(bench.device)
        steps = 2 if bench.quick else STEPS
        series: dict[str, Series] = {}
        facts = []
        for arm in ARMS:
            rates = dict.fromkeys(TASKS, RATES[0]) if bench.quick else choose_rates(arm, steps, device)
            networks = train(arm, [(task, rate, seed) for task, rate in rates.items() for seed in seeds], steps, device)
            scores = iter(networks.score(tagging_tasks.tagging_accuracy, TEST_BATCHES))
            series |= {f"{task}/{arm}": Series({seed: next(scores) for seed in seeds}) for task in TASKS}
            facts.append((IN_WORDS[arm], f"{stacked_networks.parameter_count(networks):,} parameters, {steps} steps"))
            facts += [
                (f"learning rate, {task_in_words(task)}, {IN_WORDS[arm]}", f"{rate:g}") for task, rate in rates.items()
            ]
        return Measurements(series, tuple(facts))


def builder(arm: str) -> Callable[[], nn.Module]:
    """A function that builds a network of this arm."""
    forwards, backwards = ARMS[arm]
    return lambda: Tagger(GRUCell(INPUTS, forwards), VALUES, GRUCell(INPUTS, backwards) if backwards else None)


def train(arm: str, runs: Sequence[tuple[str, float, int]], steps: int, device: torch.device) -> StackedNetworks:
    """The trained networks of an arm, one for each (task, learning rate, seed)."""
    build = builder(arm)
    members = [Network(seed, build, TASKS[task], rate, CLIP) for task, rate, seed in runs]
    networks = StackedNetworks(members, tagging_tasks.tagging_loss, device)
    networks.train(steps)
    return networks


def choose_rates(arm: str, steps: int, device: torch.device) -> Mapping[str, float]:
    """Task -> the learning rate with the highest mean accuracy, with seeds that are used for nothing else."""
    seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + TUNING_SEEDS)
    runs = [(task, rate, seed) for task in TASKS for rate in RATES for seed in seeds]
    scores = train(arm, runs, steps, device).score(tagging_tasks.tagging_accuracy, TEST_BATCHES)
    means = stacked_networks.mean_by([f"{task} {rate}" for task, rate, _ in runs], scores)
    return {task: max(RATES, key=lambda rate: means[f"{task} {rate}"]) for task in TASKS}
