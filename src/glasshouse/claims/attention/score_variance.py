"""Claim: scores have variance sigma * d_k; dividing by sqrt(d_k) keeps the softmax from saturating and training healthy."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims import margins, split_scores
from glasshouse.claims.attention import ngram_opponents
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, StudyPlan
from glasshouse.claims.random_check import series_of_draws
from glasshouse.claims.rules import equal, higher, lower, zero

WIDTHS = (4, 16, 64, 256, 1024)
DEVIATIONS = (0.5, 1.0, 2.0)
RAW, SCALED = WAYS = ("without the scale", "with the scale")
# Keys of each query whose softmax is taken, and queries of a draw.
KEYS, QUERIES = 32, 256
# Values of one entry whose distribution is computed exactly, in units of the deviation: each as likely as the others.
ENTRY = torch.tensor([-1.5, 0.0, 1.5], dtype=torch.float64)
ROUNDING = 1e-9
# Shares of a whole (weights, gradients): smaller differences do not matter.
SHARE = 0.05
# A gradient is said to vanish if this share of it is left.
VANISHED = 0.5
TRAINED_WIDTHS = (16, 256)
ATTENTION = {RAW: "unscaled", SCALED: "dot-product"}
MARGIN = margins.CHARACTER_LOSS


class ScoreVariance(Claim):
    """Computes the variance of scores, draws their softmax, and trains with and without the scale."""

    group = GROUPS[0]
    statement = (
        "For independent queries and keys whose entries have mean 0 and deviation sigma, a score q.k has the variance "
        "sigma * d_k. Dividing by sqrt(d_k) removes the factor d_k. Without it the softmax saturates, its gradient "
        "vanishes, and training is worse."
    )
    source = "course work on attention: a derivation"
    reported = "Var(q.k) = sigma * d_k"
    why = (
        "A score is a sum of d_k products, and the variances of independent products add up. The variance of one product "
        "is sigma^4: sigma^2 from each factor. With sigma = 1 nobody sees the difference."
    )
    procedure = (
        "The distribution of q.k is computed exactly, by convolution, for entries with three equally likely values, head "
        "widths 4 to 1024 and deviations 0.5, 1 and 2: its variance must be sigma * d_k. Beside it, the repaired formula "
        "sigma^4 * d_k. Then queries and keys of unit variance are drawn, 32 keys to a query: at head width 1024 the "
        "largest weight of the softmax must be higher without the scale than with it, and the norm of its gradient must "
        "fall below half; with the scale the variance must not change from width 4 to 1024. Last, character models of "
        "public text are trained with both at head widths 16 and 256, from initial weights that give queries and keys of "
        "unit variance, each arm with the best of four learning rates on validation text: at 256 the test loss without "
        "the scale must be higher."
    )
    would_change = (
        "Initial weights that are smaller: with queries and keys of deviation 0.5, the default here, scores have a "
        "sixteenth of the variance. A norm of queries and keys, or a longer training, may also repair what the scale "
        "repairs."
    )
    data = PUBLIC_TEXT
    studies = (
        StudyPlan(
            "scale",
            (
                "characters",
                "model.layers=2",
                "model.heads=2",
                "model.initialisation=1.0",
                "training.steps=300",
                "evaluation.batch=512",
                f"model.head_width={','.join(map(str, TRAINED_WIDTHS))}",
                f"model.attention={','.join(ATTENTION.values())}",
            ),
            metric="test.loss",
            tune="training.learning_rate=1e-3,3e-3,1e-2,3e-2",
            margin=MARGIN,
            quick=(*QUICK, "training.batch=4"),
        ),
    )
    quantities: ClassVar = {
        "reported/1": Quantity("head widths at which the variance is not sigma * d_k, sigma = 1", "count", "widths"),
        "reported/other": Quantity("cases in which it is not sigma * d_k, sigma = 0.5 or 2", "count", "cases"),
        "reported/squared": Quantity(
            "cases in which it is not sigma * d_k, sigma read as the variance 0.25 or 4", "count", "cases"
        ),
        "repaired": Quantity("cases in which the variance is not sigma^4 * d_k", "count", "cases"),
        "repaired/scaled": Quantity("cases in which the scaled variance is not sigma^4", "count", "cases"),
        **{
            f"{what}/{way}/{width}": Quantity(f"{label}, head width {width}, {way}", "mean over queries")
            for what, label in (
                ("variance", "variance of scores"),
                ("top", "largest weight of the softmax"),
                ("gradient", "norm of the gradient of the softmax"),
            )
            for way in WAYS
            for width in WIDTHS
        },
        "gradient/share": Quantity("gradient without the scale / with it, head width 1024", "share"),
        **{
            f"loss/{width}/{way}": Quantity(f"test loss, head width {width}, {way}", "test.loss", "nats per character")
            for width in TRAINED_WIDTHS
            for way in WAYS
        },
        **ngram_opponents.ngram_quantities("nats per character"),
    }
    parts = (
        zero("reported/1", name="the variance is sigma * d_k, sigma = 1"),
        zero("reported/other", name="the variance is sigma * d_k, sigma = 0.5 and 2"),
        equal(
            f"variance/{SCALED}/1024",
            to=f"variance/{SCALED}/4",
            margin=SHARE,
            name="with the scale the variance is the same at head widths 4 and 1024",
        ),
        higher(
            f"top/{RAW}/1024",
            than=f"top/{SCALED}/1024",
            margin=SHARE,
            name="without the scale the largest weight is higher, head width 1024",
        ),
        lower(
            "gradient/share",
            than=VANISHED,
            margin=SHARE,
            name="without the scale less than half of the gradient is left, head width 1024",
        ),
        higher(
            f"loss/256/{RAW}",
            than=f"loss/256/{SCALED}",
            margin=MARGIN,
            name="trained without the scale, the test loss is higher, head width 256",
        ),
        zero("reported/squared", name="the variance is sigma * d_k, sigma read as the variance of an entry", decides=False),
        zero("repaired", name="repaired: the variance is sigma^4 * d_k for every sigma", decides=False),
        zero("repaired/scaled", name="repaired: with the scale it is sigma^4 at every head width", decides=False),
        higher(
            f"loss/16/{RAW}",
            than=f"loss/16/{SCALED}",
            margin=MARGIN,
            name="trained without the scale, the test loss is higher, head width 16",
            decides=False,
        ),
        *(
            lower(
                f"loss/256/{SCALED}",
                than=ngram_opponents.key(order),
                margin=MARGIN,
                name=f"control: better than an n-gram model, n = {order}, head width 256",
                decides=False,
            )
            for order in ngram_opponents.ORDERS
        ),
    )
    figures = tuple(
        LineFigure(
            what,
            "head width",
            label,
            {way: {width: f"{what}/{way}/{width}" for width in WIDTHS} for way in WAYS},
        )
        for what, label in (
            ("variance", "variance of scores"),
            ("top", "largest weight of 32"),
            ("gradient", "norm of the gradient of the softmax"),
        )
    )

    def measure(self, bench: Bench) -> Measurements:
        series = series_of_draws(check, bench.first_seed, bench.seeds)
        study = bench.study("scale")
        for width in TRAINED_WIDTHS:
            for way, attention in ATTENTION.items():
                arm = f"head_width={width}, attention={attention}"
                series[f"loss/{width}/{way}"] = bench.values(study, arm, "test.loss")
        units = series[f"loss/256/{SCALED}"].values
        for key, ngram in ngram_opponents.ngram_series(bench, study).items():
            series[key] = split_scores.same_for_every(units, ngram.values[0])
        return Measurements(series, tuple(bench.facts(study)))


def check(generator: torch.Generator) -> Mapping[str, float]:
    """The mathematics: exact variances, and the softmax of random scores."""
    variances = {(sigma, width): exact_variance(sigma, width) for sigma in DEVIATIONS for width in WIDTHS}

    def wrong(formula: dict[tuple[float, int], float]) -> float:
        return float(sum(abs(variances[case] / value - 1) > ROUNDING for case, value in formula.items()))

    values = {
        "reported/1": wrong({(1.0, width): float(width) for width in WIDTHS}),
        "reported/other": wrong({(sigma, width): sigma * width for sigma, width in variances if sigma != 1}),
        "reported/squared": wrong({(sigma, width): sigma**2 * width for sigma, width in variances if sigma != 1}),
        "repaired": wrong({(sigma, width): sigma**4 * width for sigma, width in variances}),
        "repaired/scaled": float(
            sum(abs(variance / width / sigma**4 - 1) > ROUNDING for (sigma, width), variance in variances.items())
        ),
    }
    for width in WIDTHS:
        queries = torch.randn(QUERIES, 1, width, generator=generator, dtype=torch.float64)
        keys = torch.randn(QUERIES, KEYS, width, generator=generator, dtype=torch.float64)
        raw = (queries @ keys.transpose(-2, -1))[:, 0]
        for way, scores in ((RAW, raw), (SCALED, raw / width**0.5)):
            weights = scores.softmax(-1)
            values[f"variance/{way}/{width}"] = float(scores.square().mean())
            values[f"top/{way}/{width}"] = float(weights.amax(-1).mean())
            values[f"gradient/{way}/{width}"] = float(gradient_norms(weights).mean())
    values["gradient/share"] = values[f"gradient/{RAW}/1024"] / values[f"gradient/{SCALED}/1024"]
    return values


def exact_variance(sigma: float, width: int) -> float:
    """The variance of q.k from its exact distribution; entries are -1.5, 0 or 1.5 times a factor, with deviation sigma."""
    entry = ENTRY * (sigma / float(ENTRY.square().mean().sqrt()))
    # A product of two entries is -step, 0 or step.
    step = float(entry[-1] ** 2)
    product = torch.tensor([2 / 9, 5 / 9, 2 / 9], dtype=torch.float64)
    total = torch.ones(1, dtype=torch.float64)
    for bit in f"{width:b}":
        total = _convolve(total, total)
        if bit == "1":
            total = _convolve(total, product)
    places = (torch.arange(len(total), dtype=torch.float64) - width) * step
    mean = float((total * places).sum())
    return float((total * (places - mean).square()).sum())


def _convolve(left: Tensor, right: Tensor) -> Tensor:
    """The distribution of the sum of two independent numbers on a grid."""
    padded = torch.nn.functional.pad(left, (len(right) - 1, len(right) - 1))
    return (padded.unfold(0, len(right), 1) * right.flip(0)).sum(-1)


def gradient_norms(weights: Tensor) -> Tensor:
    """The Frobenius norm of the derivative of a softmax by its scores, diag(p) - p p^T, for each row of weights."""
    derivative = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    return derivative.square().sum((-2, -1)).sqrt()
