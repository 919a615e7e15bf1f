"""Claim: with the causal mask no prediction depends on a later token; without it training looks perfect and is worthless."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import nn

from glasshouse.claims.attention import catalogue_models, mask_training
from glasshouse.claims.attention.catalogue_models import CONTEXT, VOCABULARY
from glasshouse.claims.attention.mask_training import RANDOM_TOKENS, STEPS, Training
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series
from glasshouse.claims.random_check import draw, series_of_draws
from glasshouse.claims.rules import higher, lower, not_lower, zero
from glasshouse.inspection.capture import capture
from glasshouse.parts.attention.base import Attention
from glasshouse.training import devices

WITH, WITHOUT = WAYS = ("with the mask", "without the mask")
TEXT, RANDOM = LANGUAGES = ("text", "random tokens")
# A training perplexity below this counts as near 1. It cannot be exactly 1, because the last token of a window stays hidden.
NEAR_ONE = 1.2
# Smaller differences of a perplexity do not matter.
MARGIN = 0.02
QUICK_STEPS = 3


class CausalMask(Claim):
    """Changes a token and looks at the outputs before it; trains models with and without the mask."""

    group = GROUPS[0]
    statement = (
        "With the causal mask no prediction depends on a later token; without it the training perplexity quickly comes "
        "near 1."
    )
    source = "course work on attention"
    reported = "asserted, no figures"
    why = (
        "The mask hides every later key, and nothing but attention mixes tokens. Without it the token to be predicted "
        "stands in the input, one place further on, and need only be copied."
    )
    procedure = (
        "For every attention and position of the catalogue that allow a causal mask, a causal model with random weights "
        "reads random tokens twice, the second time with one token changed. The logits before it must be equal in every "
        "bit, by the fused and by the plain computation, and their gradient by it and by later tokens must be exactly 0. "
        "Then a small model learns to predict the next character of public texts for 300 steps, with and without the "
        "mask, and once more random tokens, which cannot be predicted: without the mask both training perplexities must "
        "be below 1.2. Beside it, test perplexities at the last token of a window, whose answer is not in the input, as "
        "in use; the same change of a token without the mask; and batch norm in training, whose statistics cover later "
        "tokens."
    )
    would_change = (
        "A part that mixes tokens beside attention, such as batch norm in training: its statistics are taken over later "
        "tokens too, and the mask does not hide them."
    )
    data = PUBLIC_TEXT
    quantities: ClassVar = {
        "changed": Quantity("logits before a changed token that change", "count", "numbers"),
        "gradient": Quantity("gradients of logits by a later token that are not 0", "count", "numbers"),
        "batch-norm": Quantity("logits before a changed token that change, batch norm in training", "count", "numbers"),
        "unmasked": Quantity("models without the mask in which no logit before a changed token changes", "count", "models"),
        **{
            f"{language}/{way}": Quantity(f"training perplexity after {STEPS} steps, {language}, {way}", "perplexity")
            for language in LANGUAGES
            for way in WAYS
        },
        **{
            f"{place}/{way}": Quantity(f"test perplexity, {where}, {way}", "perplexity")
            for place, where in (("inside", "next token in the input"), ("last", "next token not in the input"))
            for way in WAYS
        },
    }
    parts = (
        zero("changed", name="with the mask no logit before a changed token changes"),
        zero("gradient", name="with the mask the gradient of every logit by a later token is 0"),
        *(
            lower(
                f"{language}/{WITHOUT}",
                than=NEAR_ONE,
                margin=MARGIN,
                name=f"{WITHOUT} the training perplexity is near 1, {language}",
            )
            for language in LANGUAGES
        ),
        lower(f"{TEXT}/{WITHOUT}", than=f"{TEXT}/{WITH}", margin=MARGIN, name=f"{WITHOUT} it is lower than with it, {TEXT}"),
        not_lower(
            f"{RANDOM}/{WITH}",
            than=float(RANDOM_TOKENS),
            margin=0.1,
            name=f"control: {WITH}, {RANDOM_TOKENS} random tokens keep a perplexity of {RANDOM_TOKENS}",
            decides=False,
        ),
        higher(
            f"last/{WITHOUT}",
            than=f"last/{WITH}",
            margin=MARGIN,
            name="in use, where the next token is not in the input, the model without the mask is worse",
            decides=False,
        ),
        zero("unmasked", name="control: without the mask a changed token changes logits before it", decides=False),
        zero("batch-norm", name="the mask suffices with batch norm in training, too", decides=False),
    )
    figures = (LineFigure("perplexity", "step", "training perplexity"),)

    def measure(self, bench: Bench) -> Measurements:
        series = series_of_draws(check, bench.first_seed, bench.seeds)
        curves: dict[str, tuple[tuple[float, float], ...]] = {}
        for language in LANGUAGES:
            for way in WAYS:
                trainings = _trainings(bench, language, way)
                curves[f"perplexity/{language}, {way}"] = mask_training.mean_curve(list(trainings.values()))
                series[f"{language}/{way}"] = Series({seed: run.perplexity for seed, run in trainings.items()})
                if language == TEXT:
                    series[f"inside/{way}"] = Series({seed: math.exp(run.inside) for seed, run in trainings.items()})
                    series[f"last/{way}"] = Series({seed: math.exp(run.last) for seed, run in trainings.items()})
        notes = (
            f"All models train with a learning rate of {mask_training.LEARNING_RATE:g}, chosen once. Every window is drawn "
            "anew, so a low perplexity is not memory.",
        )
        return Measurements(series, notes=notes, curves=curves)


def _trainings(bench: Bench, language: str, way: str) -> dict[int, Training]:
    """Seed -> the training of this seed. Cached in the trial's folder."""
    steps = QUICK_STEPS if bench.quick else STEPS
    device = devices.pick(bench.device)

    def compute() -> dict[str, Any]:
        source = mask_training.text_language() if language == TEXT else mask_training.random_language()
        seeds = range(bench.first_seed, bench.first_seed + bench.seeds)
        return {str(seed): asdict(mask_training.train(source, way == WITH, seed, steps, device)) for seed in seeds}

    rows = bench.cached(f"{language}-{way}-by-{bench.seeds}".replace(" ", "-"), compute)
    return {int(seed): Training(tuple(row["losses"]), row["inside"], row["last"]) for seed, row in rows.items()}


def check(generator: torch.Generator) -> Mapping[str, float]:
    """The exact part: what changes before a changed token, in models of every attention and position."""
    values = dict.fromkeys(("changed", "gradient", "batch-norm", "unmasked"), 0.0)
    for pair in catalogue_models.combinations("decoder", True):
        fields = catalogue_models.random_fields(generator)
        model = catalogue_models.random_model(catalogue_models.model_spec("encoder", True, *pair, **fields), generator)
        length = draw(generator, 2, CONTEXT)
        place = draw(generator, 1, length - 1)
        tokens = torch.randint(0, VOCABULARY, (2, length), generator=generator)
        for plain in (False, True):
            _set_plain(model, plain)
            values["changed"] += changed_before(model, tokens, place)
        values["gradient"] += gradients_from_later(model, tokens, place)
        if fields["norm"] == "batch":
            values["batch-norm"] += changed_before(model.train(), tokens, place)
        unmasked: Any = model.eval()
        unmasked.causal = False
        values["unmasked"] += float(changed_before(unmasked, tokens, place) == 0)
    return values


def changed_before(model: nn.Module, tokens: torch.Tensor, place: int) -> float:
    """The number of logits before a place that change if the token at this place does, by however little."""
    other = tokens.clone()
    other[:, place] = (other[:, place] + 1) % VOCABULARY
    with torch.no_grad():
        before, after = (model(inputs)[:, :place] for inputs in (tokens, other))
    return float((before != after).sum())


def gradients_from_later(model: nn.Module, tokens: torch.Tensor, place: int) -> float:
    """The number of gradients of the logits before a place, by the embeddings from this place on, that are not 0."""
    with capture(model, "embedded") as seen:
        logits = model(tokens)
    weights = torch.linspace(-1, 2, logits[:, :place].numel()).view_as(logits[:, :place])
    [gradient] = torch.autograd.grad((logits[:, :place] * weights).sum(), seen["embedded"])
    return float((gradient[:, place:] != 0).sum())


def _set_plain(model: nn.Module, plain: bool) -> None:
    for module in model.modules():
        if isinstance(module, Attention):
            module.plain = plain
