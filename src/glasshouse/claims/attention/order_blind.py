"""Claim: without positions a Transformer encoder is permutation-equivariant, and it cannot learn what depends on order."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from glasshouse.claims import margins
from glasshouse.claims.attention import catalogue_models
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, StudyPlan
from glasshouse.claims.random_check import differing, series_of_draws
from glasshouse.claims.rules import equal, higher, not_lower, zero
from glasshouse.claims.word_classifier import WORD_CLASSIFIER

# Attentions whose every query sees every key in the same way, and those in which the place of a key matters.
FULL = ("dot-product", "unscaled", "grouped-query", "additive", "performer")
PLACED = ("local-window", "linformer")
# Two results in float64 that differ by less are the same result, added up in another order.
ROUNDING = 1e-9
LEARNED, NONE, BAG = ARMS = ("learned", "none", "bag-of-words")
LABELS = {LEARNED: "learned positions", NONE: "no positions", BAG: "no positions and no blocks (a bag of words)"}
ORDER, COUNT = TASKS = ("word-order", "word-count")
LENGTHS = (8, 12, 16)
# Half of the texts: each text of the data set has a second one with the same words and the other label.
CHANCE = 0.5
RECIPE = (
    *WORD_CLASSIFIER,
    "data.vocabulary=256",
    "model.width=32",
    "model.layers=2",
    "model.dropout=0",
    "training.epochs=0",
    "training.steps=400",
    "training.batch=32",
    "evaluation.batch=250",
)
# Without model.layers=1 of other quick runs: the bag of words has no layers.
QUICK = ("training.precision=fp32", "training.threads=1", "training.steps=2", "evaluation.every=2", "training.batch=4")
TUNE = "training.learning_rate=1e-3,3e-3,1e-2"


def _plan(task: str) -> StudyPlan:
    base = (*RECIPE, f"data.source={task}")
    return StudyPlan(
        task,
        (*ARMS, f"data.context={','.join(map(str, LENGTHS))}"),
        metric="test.accuracy",
        tune=TUNE,
        margin=margins.ACCURACY,
        quick=QUICK,
        recipes={
            LEARNED: (*base, "model.position=learned"),
            NONE: (*base, "model.position=none"),
            BAG: (*base, "model.position=none", "model.layers=0"),
        },
    )


class OrderBlind(Claim):
    """Permutes the tokens of random encoders, and trains encoders with and without positions."""

    group = GROUPS[0]
    statement = (
        "Without positions a Transformer encoder is permutation-equivariant: permuted tokens give the same outputs, "
        "permuted. So it cannot learn a task in which the order of words matters."
    )
    source = "course work on positions"
    reported = "asserted, no figures"
    why = (
        "Attention sums over all tokens, and a sum has no order. Everything else in a block is applied to each token by "
        "itself."
    )
    procedure = (
        "Encoders with random weights, with every norm and every attention that sees all tokens alike, read random tokens "
        "in float64, once in their order and once permuted; the outputs must be the same to 1e-9, permuted. Then encoders "
        "learn from 4,000 generated texts of 8, 12 and 16 words which of two animals is named first, with learned "
        "positions and without, each with the best of three learning rates on validation texts. With positions the test "
        "accuracy must be higher at every length, and without them it must be that of guessing, within one point. As a "
        "control, the same encoders learn which animal is named twice, for which order does not matter: there, the model "
        "without positions must lose less than a point. Beside it, a bag of words; attention within a window and "
        "Linformer, which treat tokens by their place; a causal mask; and each kind of positions."
    )
    would_change = (
        "A part that knows places without being called a position: a local window, Linformer's matrices over the "
        "sequence, embeddings of n-grams, or a causal mask, under which a token sees how many came before it."
    )
    data = "generated data"
    studies = (_plan(ORDER), _plan(COUNT))
    quantities: ClassVar = {
        "full": Quantity("outputs that a permutation changes, attention to all tokens", "count", "numbers"),
        **{
            f"exact/{name}": Quantity(f"encoders that a permutation does not change, {name}", "count", "encoders")
            for name in (*PLACED, "causal mask", "positions")
        },
        **{
            f"{task}/{length}/{arm}": Quantity(
                f"test accuracy, {task}, {length} words, {LABELS[arm]}",
                "test.accuracy",
                "%",
                100.0,
                higher_is_better=True,
            )
            for task in TASKS
            for length in LENGTHS
            for arm in ARMS
        },
    }
    parts = (
        zero("full", name="without positions, permuted tokens give permuted outputs"),
        *(
            higher(
                f"{ORDER}/{length}/{LEARNED}",
                than=f"{ORDER}/{length}/{NONE}",
                margin=margins.ACCURACY,
                name=f"which is named first, {length} words: positions are needed",
            )
            for length in LENGTHS
        ),
        *(
            equal(
                f"{ORDER}/{length}/{NONE}",
                to=CHANCE,
                margin=margins.ACCURACY,
                name=f"which is named first, {length} words: without positions it is a guess",
            )
            for length in LENGTHS
        ),
        *(
            not_lower(
                f"{COUNT}/{length}/{NONE}",
                than=f"{COUNT}/{length}/{LEARNED}",
                margin=margins.ACCURACY,
                name=f"control: which is named twice, {length} words: positions are not needed",
                decides=False,
            )
            for length in LENGTHS
        ),
        *(
            equal(
                f"{ORDER}/{length}/{BAG}",
                to=f"{ORDER}/{length}/{NONE}",
                margin=margins.ACCURACY,
                name=f"which is named first, {length} words: attention without positions adds nothing to a bag of words",
                decides=False,
            )
            for length in LENGTHS
        ),
        *(
            zero(f"exact/{name}", name=f"exception: a permutation changes outputs, {name}", decides=False)
            for name in (*PLACED, "causal mask", "positions")
        ),
    )
    figures = (
        LineFigure(
            "order",
            "words in a text",
            "test accuracy, which of two animals is named first, %",
            {LABELS[arm]: {length: f"{ORDER}/{length}/{arm}" for length in LENGTHS} for arm in ARMS},
        ),
        LineFigure(
            "count",
            "words in a text",
            "test accuracy, which of two animals is named twice, %",
            {LABELS[arm]: {length: f"{COUNT}/{length}/{arm}" for length in LENGTHS} for arm in ARMS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series = series_of_draws(check, bench.first_seed, bench.seeds)
        studies = [bench.study(task) for task in TASKS]
        for study, task in zip(studies, TASKS, strict=True):
            for length in LENGTHS:
                for arm in ARMS:
                    name = f"{arm}, context={length}"
                    series[f"{task}/{length}/{arm}"] = bench.values(study, name, "test.accuracy")
        return Measurements(series, tuple(bench.facts(*studies)))


def check(generator: torch.Generator) -> Mapping[str, float]:
    """The exact part: what a permutation of the tokens changes."""
    values = {"full": 0.0, **{f"exact/{name}": 0.0 for name in (*PLACED, "causal mask", "positions")}}

    def changed(attention: str, position: str = "none", causal: bool = False, **fields: Any) -> float:
        spec = catalogue_models.model_spec(
            "encoder", causal, attention, position, **{**catalogue_models.random_fields(generator), **fields}
        )
        return outputs_changed(catalogue_models.random_model(spec, generator).double(), generator)

    for attention in FULL:
        for norm in catalogue_models.NORMS:
            values["full"] += changed(attention, norm=norm)
    for attention in PLACED:
        values[f"exact/{attention}"] += float(changed(attention) == 0)
    values["exact/causal mask"] += float(changed("dot-product", causal=True) == 0)
    for attention, position in catalogue_models.combinations("encoder", False):
        if attention == "dot-product" and position != "none":
            values["exact/positions"] += float(changed(attention, position) == 0)
    return values


def outputs_changed(model: Any, generator: torch.Generator) -> float:
    """The number of hidden states that differ if the tokens are permuted and the outputs are permuted back."""
    tokens = torch.randint(0, catalogue_models.VOCABULARY, (2, catalogue_models.CONTEXT), generator=generator)
    order = torch.randperm(tokens.shape[1], generator=generator)
    with torch.inference_mode():
        return differing(model.features(tokens)[:, order], model.features(tokens[:, order]), ROUNDING)
