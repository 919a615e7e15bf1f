"""Claim: gradual unfreezing is no worse than full fine-tuning and better than a head alone, and any task accepts it."""

from typing import ClassVar

from glasshouse import models
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series
from glasshouse.claims.pretraining import arithmetic
from glasshouse.claims.pretraining.arithmetic import (
    FROZEN,
    FULL,
    GRADUAL,
    RANDOM_FROZEN,
    TOLERANCE,
    Experiment,
    more_accurate,
)
from glasshouse.claims.rules import not_lower, zero
from glasshouse.results.claim import Part
from glasshouse.runs import resolve_spec
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.training.freezing import UnfreezingSchedule, trained_parameters

NAMES = (FULL, GRADUAL, FROZEN, RANDOM_FROZEN)
COURSE = arithmetic.course_experiment({}, recipe=NAMES, tuned=NAMES)
GENERATED = arithmetic.generated_experiment(*NAMES)
# Values of training.freeze, with what they train.
FREEZE = {"none": "everything", "backbone": "the head", "gradual": "from the head down"}
# Task -> a recipe of it. The head of a language model has its own weights only if it is not tied to the embedding.
RECIPES = {
    "next token": ("demo-lm", "model.tied=false"),
    "masked token": (arithmetic.PRETRAIN, "model.tied=false"),
    "classify": ("presidents",),
    "translate": ("piglatin-encoder-decoder", "model.tied=false"),
    "match": ("scene-clip",),
}
REFUSED = "refused"


def accuracy_parts(experiment: Experiment, setting: str, where: str, decides: bool) -> tuple[Part, ...]:
    """The parts about accuracy under one setting."""
    full, gradual, frozen, random_frozen = (experiment.quantity(setting, name) for name in NAMES)
    no_worse = not_lower(
        gradual,
        than=full,
        margin=TOLERANCE,
        name="gradual unfreezing is no worse than full fine-tuning",
        items=True,
        setting=where,
        decides=decides,
    )
    return (
        no_worse,
        more_accurate(gradual, frozen, "gradual unfreezing beats a head on the frozen encoder", where, decides),
        more_accurate(gradual, random_frozen, "gradual unfreezing beats a head on a random frozen encoder", where, decides),
    )


class Unfreezing(Claim):
    """Fine-tunes the same pretrained encoders in three ways, and tries the three settings on a recipe of every task."""

    group = GROUPS[5]
    statement = (
        "Gradual unfreezing, a setting of any run, is no worse than fine-tuning everything and better than a head alone."
    )
    source = "course work on fine-tuning: which part of a pretrained encoder to train"
    reported = "asserted, without figures"
    why = (
        "A new head has random weights, and its first gradients may damage what pretraining has found. Unfreezing from the "
        "top down lets the head learn first."
    )
    procedure = (
        "Every seed pretrains its own small encoder on sentences about numbers and fine-tunes from it to the sign of an "
        "expression in three ways: everything, the head alone, and from the head down until after half of the steps "
        "everything is trained. Accuracies on the course's test file are compared per pretraining and expression, with the "
        "recipe's learning rate and with the best of several for each way, chosen on validation expressions. Gradual "
        "unfreezing may be worse than training everything by less than two points, must be better than a head on the "
        "frozen encoder and on a random one, and a run of every task must accept the three settings."
    )
    would_change = (
        "A larger encoder that was pretrained on more text, which fine-tuning can damage more; or another order or pace of "
        "unfreezing."
    )
    studies = (*COURSE.plans, *GENERATED.plans)
    quantities: ClassVar = {
        **COURSE.quantities,
        REFUSED: Quantity("settings of training.freeze that a task refuses", "of three settings", per="task"),
        **GENERATED.quantities,
    }
    parts = (
        *(part for where in arithmetic.judged(COURSE, GENERATED) for part in accuracy_parts(*where)),
        zero(REFUSED, "a run of every task accepts the three settings"),
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        facts = []
        for experiment in arithmetic.available(bench, COURSE, GENERATED):
            pretraining = experiment.pretrain(bench)
            measured, studies = experiment.fine_tune(bench, pretraining)
            series |= measured
            facts += bench.facts(pretraining, *studies)
        tried = {task: try_settings(*words) for task, words in RECIPES.items()}
        series[REFUSED] = Series({number: float(refusals) for number, (refusals, _) in enumerate(tried.values())})
        facts += [(f"trained parameters, {task} ({RECIPES[task][0]})", text) for task, (_, text) in tried.items()]
        return Measurements(
            series,
            tuple(facts),
            notes=(
                "a language model whose head is tied to its embedding has no separate head to train and refuses the "
                "setting; such recipes were tried with model.tied=false",
            ),
        )


def try_settings(*words: str) -> tuple[int, str]:
    """(the number of settings that a run of this recipe refuses, how many parameters each setting trains first and last).

    The text gives the reason of a refusal instead of the numbers.
    """
    texts, refusals = [], 0
    for freeze, what in FREEZE.items():
        try:
            spec = resolve_spec.spec_of(*words, f"training.freeze={freeze}")
            task = catalogue.find("task", spec.task)(spec)
            with models.WithoutWeights():
                model = models.assemble(task.draft_model(spec.model), spec.data.vocabulary, spec.data.context)
            schedule = UnfreezingSchedule(model, spec.training, steps=100)
            counts = [trained_parameters(model)]
            schedule.apply(99)
            counts.append(trained_parameters(model))
            texts.append(f"{what} {' then '.join(f'{count:,}' for count in dict.fromkeys(counts))}")
        except SpecError as error:
            refusals += 1
            texts.append(f"{what} refused: {error}")
    return refusals, "; ".join(texts)
