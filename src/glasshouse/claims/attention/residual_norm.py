"""Claim: residual connections and layer norm are needed for depth; pre-norm and post-norm differ."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from glasshouse import models
from glasshouse.claims import margins, split_scores
from glasshouse.claims.attention import ngram_opponents
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.random_check import draw, series_of_draws
from glasshouse.claims.rules import higher, lower
from glasshouse.specs.spec import ModelSpec

PRE, POST, NO_NORM, NO_RESIDUAL = ARMS = ("pre-norm", "post-norm", "no-norm", "no-residual")
LABELS = {PRE: "pre-norm", POST: "post-norm", NO_NORM: "no norm", NO_RESIDUAL: "no residual connection"}
# Arm -> connection and norm.
CHOICES = {
    PRE: ("pre-norm", "layer"),
    POST: ("post-norm", "layer"),
    NO_NORM: ("pre-norm", "none"),
    NO_RESIDUAL: ("no-residual", "layer"),
}
DEPTHS = (2, 6, 12, 24)
DEEPEST = DEPTHS[-1]
SHOWN_LAYERS = (1, 6, 12, 18, 24)
MARGIN = margins.CHARACTER_LOSS
WIDTH, HEADS, CONTEXT, VOCABULARY = 32, 2, 32, 64
# Powers of ten between the gradients of the first and the last layer: smaller differences do not matter.
POWER = 0.3
BASE = (
    "characters",
    f"data.context={CONTEXT}",
    f"model.width={WIDTH}",
    f"model.heads={HEADS}",
    "training.steps=1000",
    "evaluation.every=250",
    "evaluation.batch=512",
)
# Without the model.layers=1 of other quick runs: the number of layers is what varies.
QUICK = (
    "training.precision=fp32",
    "training.threads=1",
    "data.source=verbal-arithmetic",
    "data.tokenizer=words",
    "data.vocabulary=64",
    "data.context=16",
    "evaluation.stride=16",
    "training.steps=2",
    "training.batch=4",
    "evaluation.every=2",
)


class ResidualNorm(Claim):
    """Trains models of 2 to 24 layers in four ways, and measures the gradients of each layer before training."""

    group = GROUPS[0]
    statement = "Residual connections and layer norm are needed for depth; pre-norm and post-norm differ."
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    why = (
        "A residual connection lets the gradient reach the first layers unchanged, and a norm keeps the sizes of "
        "activations and gradients alike in all layers. Post-norm puts a norm on the residual path itself, pre-norm "
        "leaves it free."
    )
    procedure = (
        "Character models of public text with 2, 6, 12 and 24 layers are trained for 1,000 steps with pre-norm, with "
        "post-norm, without any norm and without residual connections, each arm with the best of five learning rates on "
        "validation text. At 24 layers pre-norm must have the lower test loss than the model without residual "
        "connections, than the model without norm, and than post-norm, which is the known direction of their difference "
        "(Xiong et al. 2020). Beside it, whether each gap grows from 2 to 24 layers, bigram and trigram models of the "
        "same text, and the norm of the gradient in each layer of random models of 24 layers before training: the number "
        "of powers of ten between the first and the last layer."
    )
    would_change = (
        "Initial weights made for the purpose: here the last matrix of each branch is divided by sqrt(2 layers), which "
        "helps a model without norm. A longer warm-up helps post-norm."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "depth",
            (*ARMS, f"model.layers={','.join(map(str, DEPTHS))}"),
            metric="test.loss",
            tune="training.learning_rate=3e-4,1e-3,3e-3,1e-2,3e-2",
            margin=MARGIN,
            quick=QUICK,
            recipes={
                arm: (*BASE, f"model.connection={connection}", f"model.norm={norm}")
                for arm, (connection, norm) in CHOICES.items()
            },
        ),
    )
    quantities: ClassVar = {
        **{
            f"loss/{arm}/{depth}": Quantity(f"test loss, {depth} layers, {LABELS[arm]}", "test.loss", "nats per character")
            for arm in ARMS
            for depth in DEPTHS
        },
        **{
            f"gap/{arm}/{depth}": Quantity(
                f"test loss minus that of pre-norm, {depth} layers, {LABELS[arm]}", "test.loss", "nats per character"
            )
            for arm in ARMS[1:]
            for depth in (DEPTHS[0], DEEPEST)
        },
        **{
            f"gradient/{arm}/{layer}": Quantity(
                f"norm of the gradient of layer {layer} of {DEEPEST} before training, {LABELS[arm]}", "norm"
            )
            for arm in ARMS
            for layer in SHOWN_LAYERS
        },
        **{
            f"powers/{arm}": Quantity(
                f"powers of ten from the gradient of the first layer to that of the last, {LABELS[arm]}", "log10 of a ratio"
            )
            for arm in ARMS
        },
        **ngram_opponents.ngram_quantities("nats per character"),
    }
    parts = (
        *(
            higher(
                f"loss/{arm}/{DEEPEST}",
                than=f"loss/{PRE}/{DEEPEST}",
                margin=MARGIN,
                name=f"{LABELS[arm]}: a higher test loss than pre-norm, {DEEPEST} layers",
            )
            for arm in (NO_RESIDUAL, NO_NORM, POST)
        ),
        *(
            higher(
                f"gap/{arm}/{DEEPEST}",
                than=f"gap/{arm}/{DEPTHS[0]}",
                margin=MARGIN,
                name=f"{LABELS[arm]}: the gap to pre-norm grows from {DEPTHS[0]} to {DEEPEST} layers",
                decides=False,
            )
            for arm in (NO_RESIDUAL, NO_NORM, POST)
        ),
        lower(
            f"loss/{PRE}/{DEEPEST}",
            than=f"loss/{PRE}/{DEPTHS[0]}",
            margin=MARGIN,
            name=f"pre-norm: {DEEPEST} layers have a lower test loss than {DEPTHS[0]}",
            decides=False,
        ),
        *(
            lower(
                f"loss/{PRE}/{DEEPEST}",
                than=ngram_opponents.key(order),
                margin=MARGIN,
                name=f"control: pre-norm with {DEEPEST} layers is better than an n-gram model, n = {order}",
                decides=False,
            )
            for order in ngram_opponents.ORDERS
        ),
        higher(
            f"powers/{NO_RESIDUAL}",
            than=f"powers/{PRE}",
            margin=POWER,
            name="before training, gradients vanish towards the first layer without residual connections",
            decides=False,
        ),
        higher(
            f"powers/{POST}",
            than=f"powers/{PRE}",
            margin=POWER,
            name="before training, gradients fall towards the first layer more with post-norm than with pre-norm",
            decides=False,
        ),
    )
    figures = (
        LineFigure(
            "depth",
            "layers",
            "test loss, nats per character",
            {
                **{LABELS[arm]: {depth: f"loss/{arm}/{depth}" for depth in DEPTHS} for arm in ARMS},
                "a bigram model": dict.fromkeys(DEPTHS, ngram_opponents.key(2)),
            },
        ),
        LineFigure(
            "gradient",
            f"layer of {DEEPEST}",
            "norm of its gradient before training",
            {LABELS[arm]: {layer: f"gradient/{arm}/{layer}" for layer in SHOWN_LAYERS} for arm in ARMS},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        series = series_of_draws(check, bench.first_seed, bench.seeds)
        study = bench.study("depth")
        for arm in ARMS:
            for depth in DEPTHS:
                series[f"loss/{arm}/{depth}"] = bench.values(study, f"{arm}, layers={depth}", "test.loss")
        for arm in ARMS[1:]:
            for depth in (DEPTHS[0], DEEPEST):
                series[f"gap/{arm}/{depth}"] = differences(series[f"loss/{arm}/{depth}"], series[f"loss/{PRE}/{depth}"])
        units = series[f"loss/{PRE}/{DEEPEST}"].values
        for key, ngram in ngram_opponents.ngram_series(bench, study).items():
            series[key] = split_scores.same_for_every(units, ngram.values[0])
        return Measurements(series, tuple(bench.facts(study)))


def differences(left: Series, right: Series) -> Series:
    """Left minus right for each seed; NaN if one diverged."""
    return Series({seed: value - right.values[seed] for seed, value in left.values.items()})


def check(generator: torch.Generator) -> Mapping[str, float]:
    """The gradients of random models of the largest depth, one for each arm from the same seed."""
    seed = draw(generator, 0, 2**31 - 1)
    tokens = torch.randint(0, VOCABULARY, (8, CONTEXT + 1), generator=generator)
    values: dict[str, float] = {}
    for arm, (connection, norm) in CHOICES.items():
        spec = ModelSpec(width=WIDTH, heads=HEADS, layers=DEEPEST, position="learned", connection=connection, norm=norm)
        norms = gradient_norms(models.build(spec, VOCABULARY, CONTEXT, seed).double(), tokens)
        values |= {f"gradient/{arm}/{layer}": norms[layer - 1] for layer in SHOWN_LAYERS}
        values[f"powers/{arm}"] = float(torch.tensor(norms[-1] / norms[0], dtype=torch.float64).log10())
    return values


def gradient_norms(model: Any, tokens: torch.Tensor) -> list[float]:
    """The norm of the gradient of the next-token loss by all parameters of each block."""
    F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
    return [
        float(torch.cat([parameter.grad.flatten() for parameter in block.parameters()]).norm()) for block in model.blocks
    ]
