"""Claim: NaN weights in a recurrent network come from exploding gradients, and clipping the gradient cures it."""

import math
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series
from glasshouse.claims.recurrent.stacked_networks import History, Network, StackedNetworks, Tagger
from glasshouse.claims.rules import higher, lower, not_higher, zero
from glasshouse.parts.recurrence import ReLUCell
from glasshouse.training import devices

STATE, BATCH, STEPS, LENGTH = 32, 32, 500, 10
# Spectral radii of the recurrent matrix: with the first, gradients do not grow with the number of steps in time.
STABLE, EXPLODING = 0.7, 2.0
RATES = (1e-4, 1e-3, 1e-2, 1e-1)
RATE, LARGE_RATE, CLIP = 1e-1, 1.0, 1.0
# A gradient of this norm has exploded; at the stable radius the norm is about 6.
EXPLODED = 100.0
# The target is a sum of two random numbers between 0 and 1. A network that always answers 1 has this loss.
CONSTANT_LOSS = 1 / 6
LENGTHS = (5, 10, 20, 40)
# Here even the loss of the first step is infinite.
HOPELESS_RADIUS, HOPELESS_LENGTH, HOPELESS_STEPS = 4.0, 100, 3
# Shares of runs, and mean squared errors (a tenth of the constant answer's), below which nobody would care.
SHARE_MARGIN, LOSS_MARGIN = 0.1, CONSTANT_LOSS / 10
CURVE_STEPS = 60
NONE, CLIPPED = CLIPPINGS = ("none", "clipped")
IN_WORDS = {NONE: "without clipping", CLIPPED: f"clipped at {CLIP:g}"}
ARMS = {
    **{f"{EXPLODING:g}/{rate:g}/{clipping}": (EXPLODING, rate, clipping) for rate in RATES for clipping in CLIPPINGS},
    **{f"{STABLE:g}/{rate:g}/{clipping}": (STABLE, rate, clipping) for rate in (RATE, LARGE_RATE) for clipping in CLIPPINGS},
}


def arm(radius: float, rate: float, clipping: str) -> str:
    """The key of an arm."""
    return f"{radius:g}/{rate:g}/{clipping}"


TRAINED, CURED = arm(EXPLODING, RATE, NONE), arm(EXPLODING, RATE, CLIPPED)
SLOW, WITHOUT = arm(EXPLODING, RATES[0], NONE), arm(STABLE, RATE, NONE)
FAST, FAST_CLIPPED = arm(STABLE, LARGE_RATE, NONE), arm(STABLE, LARGE_RATE, CLIPPED)


class ExplodingGradients(Claim):
    """Trains networks whose gradients explode and networks whose gradients do not, with and without clipping."""

    group = GROUPS[2]
    statement = "NaN weights in a recurrent network come from exploding gradients, and clipping the gradient cures it."
    source = "course work on recurrent networks"
    reported = "asserted, no figures"
    why = (
        "The gradient passes the recurrent matrix once for every step back, so it can grow like a power. A single enormous "
        "step throws the weights so far off that the next states overflow. A clipped gradient points the same way and is "
        "short."
    )
    procedure = (
        f"ReLU networks with {STATE} states read {LENGTH} pairs of a random number and a mark, and must give the sum of the "
        f"two marked numbers. They take {STEPS} steps of plain gradient descent in float32 on {BATCH} fresh examples each. "
        f"Their recurrent matrices are random and have a spectral radius of {EXPLODING:g}, with which gradients explode, or "
        f"of {STABLE:g}, with which they do not; all else is the same. At a learning rate of {RATE:g} four things must "
        "hold: weights become NaN or infinite more often if gradients explode; in every such run the gradient had exceeded "
        f"{EXPLODED:g} before; with the gradient clipped at a norm of {CLIP:g}, at most one run in ten ends so; and the "
        "clipped networks learn: their loss on fresh examples is below that of always answering 1. Beside it: smaller "
        "rates without clipping, a rate of 1 where gradients do not explode, and an infinite gradient."
    )
    would_change = (
        "Adam, whose steps do not grow with the gradient. A learning rate that is too large, which gives NaN weights "
        "although no gradient explodes through time. A gradient that has already overflowed: clipping cannot bring it back."
    )
    data = "generated examples"
    looks = (32,)
    quantities: ClassVar = {
        **{
            f"nan/{key}": Quantity(
                f"runs that end in NaN or infinite weights, radius {radius:g}, rate {rate:g}, {IN_WORDS[clipping]}",
                "share of runs",
                "%",
                100.0,
            )
            for key, (radius, rate, clipping) in ARMS.items()
        },
        **{
            f"loss/{key}": Quantity(
                f"loss on fresh examples, radius {radius:g}, rate {rate:g}, {IN_WORDS[clipping]}", "mean squared error"
            )
            for key, (radius, rate, clipping) in ARMS.items()
        },
        "unexploded": Quantity(
            f"runs that end in NaN or infinite weights, although no gradient exceeded {EXPLODED:g} before", "count", "runs"
        ),
        "nan/hopeless": Quantity(
            f"runs that end in NaN weights, clipped, radius {HOPELESS_RADIUS:g}, {HOPELESS_LENGTH} steps in time",
            "share of runs",
            "%",
            100.0,
        ),
        **{
            f"first/{radius:g}/{length}": Quantity(
                f"log10 of the norm of the first gradient, radius {radius:g}, {length} steps in time", "log10 of a norm"
            )
            for radius in (STABLE, EXPLODING)
            for length in LENGTHS
        },
    }
    parts = (
        higher(
            f"nan/{TRAINED}",
            than=f"nan/{WITHOUT}",
            margin=SHARE_MARGIN,
            name="weights become NaN more often if gradients explode",
        ),
        zero("unexploded", name="every run that ends in NaN had an exploding gradient before"),
        not_higher(f"nan/{CURED}", than=0.0, margin=SHARE_MARGIN, name="with clipping, at most one run in ten ends in NaN"),
        lower(f"loss/{CURED}", than=CONSTANT_LOSS, margin=LOSS_MARGIN, name="with clipping, the networks learn"),
        higher(
            f"first/{EXPLODING:g}/{LENGTHS[-1]}",
            than=f"first/{EXPLODING:g}/{LENGTHS[0]}",
            margin=1.0,
            name=f"check: radius {EXPLODING:g} makes the first gradient grow with the number of steps in time",
            decides=False,
        ),
        not_higher(
            f"nan/{SLOW}",
            than=0.0,
            margin=SHARE_MARGIN,
            name=f"another cure: a learning rate of {RATES[0]:g} without clipping, at most one run in ten",
            decides=False,
        ),
        higher(
            f"loss/{SLOW}",
            than=f"loss/{CURED}",
            margin=LOSS_MARGIN,
            name="its price: a higher loss than with clipping, after as many steps",
            decides=False,
        ),
        higher(
            f"nan/{FAST}",
            than=0.0,
            margin=SHARE_MARGIN,
            name=f"another cause: a learning rate of {LARGE_RATE:g} gives NaN weights where none explode through time",
            decides=False,
        ),
        higher(
            "nan/hopeless",
            than=0.0,
            margin=SHARE_MARGIN,
            name="the limit: clipping does not help where the gradient is infinite",
            decides=False,
        ),
    )
    figures = (
        LineFigure("norms", "step", "norm of the gradient before clipping"),
        LineFigure(
            "rates",
            "learning rate",
            "runs that end in NaN or infinite weights, %",
            {IN_WORDS[kind]: {rate: f"nan/{arm(EXPLODING, rate, kind)}" for rate in RATES} for kind in CLIPPINGS},
        ),
        LineFigure(
            "first",
            "steps in time",
            "log10 of the norm of the first gradient",
            {
                f"spectral radius {radius:g}": {length: f"first/{radius:g}/{length}" for length in LENGTHS}
                for radius in (STABLE, EXPLODING)
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        seeds, device = range(bench.first_seed, bench.first_seed + bench.seeds), devices.pick(bench.device)
        names = [key for key in ARMS for _ in seeds]
        draw = partial(draw_sums, length=LENGTH)
        members = [
            Network(seed, partial(build, radius), draw, rate, CLIP if clipping == CLIPPED else 0.0)
            for radius, rate, clipping in ARMS.values()
            for seed in seeds
        ]
        networks = StackedNetworks(members, last_error, device)
        history = networks.train(3 if bench.quick else STEPS, adam=False)
        failed, losses = networks.not_finite(), networks.score(last_error, 1 if bench.quick else 16)
        exploded = exploded_before_failing(history)
        by_arm: dict[str, dict[str, dict[int, float]]] = {key: {"nan": {}, "loss": {}} for key in ARMS}
        unexploded = dict.fromkeys(seeds, 0.0)
        for index, (name, member) in enumerate(zip(names, members, strict=True)):
            by_arm[name]["nan"][member.seed] = float(failed[index])
            by_arm[name]["loss"][member.seed] = math.nan if failed[index] else losses[index]
            unexploded[member.seed] += float(name == TRAINED and failed[index] and not exploded[index])
        series = {f"{what}/{key}": Series(values) for key, table in by_arm.items() for what, values in table.items()}
        series["unexploded"] = Series(unexploded)
        series["nan/hopeless"] = _hopeless(seeds, device)
        series |= _first_gradients(seeds, device)
        return Measurements(series, curves=norm_curves(names, failed, history.gradient_norms))


def build(radius: float) -> nn.Module:
    """A network with one output whose recurrent matrix has the given spectral radius."""
    model = Tagger(ReLUCell(2, STATE), 1)
    matrix = torch.randn(STATE, STATE)
    with torch.no_grad():
        model.recurrence.forwards.recurrent.weight.copy_(matrix * radius / torch.linalg.eigvals(matrix).abs().max())
    return model


def draw_sums(generator: torch.Generator, length: int) -> tuple[Tensor, Tensor]:
    """The adding problem (Hochreiter and Schmidhuber 1997): one number is marked in each half, and the target is the sum."""
    numbers = torch.rand(BATCH, length, generator=generator)
    places = [(0, length // 2), (length // 2, length)]
    marked = torch.stack([torch.randint(low, high, (BATCH,), generator=generator) for low, high in places], 1)
    marks = torch.zeros(BATCH, length).scatter(1, marked, 1.0)
    return torch.stack([numbers, marks], -1), (numbers * marks).sum(1)


def last_error(outputs_BT1: Tensor, targets_B: Tensor) -> Tensor:
    """The mean squared error of the output after the last step."""
    return (outputs_BT1[:, -1, 0] - targets_B).square().mean()


def exploded_before_failing(history: History) -> list[bool]:
    """For each network, whether the norm of a gradient was above EXPLODED. Infinite counts, NaN does not."""
    return (history.gradient_norms > EXPLODED).any(0).tolist()


def norm_curves(names: Sequence[str], failed: Sequence[bool], norms: Tensor) -> dict[str, tuple[tuple[float, float], ...]]:
    """Line -> (step, norm) of the first seed that fails without clipping, with and without it. Ends before the failure."""
    first = next((index for index, name in enumerate(names) if name == TRAINED and failed[index]), names.index(TRAINED))
    with_clipping = names.index(CURED) + first - names.index(TRAINED)
    curves = {}
    for kind, index in ((NONE, first), (CLIPPED, with_clipping)):
        row = norms[:CURVE_STEPS, index].tolist()
        curves[f"norms/{IN_WORDS[kind]}"] = tuple(
            (float(step), norm) for step, norm in enumerate(row) if math.isfinite(norm) and norm > 0
        )
    return curves


def _hopeless(seeds: Sequence[int], device: torch.device) -> Series:
    draw = partial(draw_sums, length=HOPELESS_LENGTH)
    members = [Network(seed, partial(build, HOPELESS_RADIUS), draw, RATE, CLIP) for seed in seeds]
    networks = StackedNetworks(members, last_error, device)
    networks.train(HOPELESS_STEPS, adam=False)
    return Series({seed: float(failed) for seed, failed in zip(seeds, networks.not_finite(), strict=True)})


def _first_gradients(seeds: Sequence[int], device: torch.device) -> dict[str, Series]:
    """The norms of the gradients by the initial weights."""
    series = {}
    for radius in (STABLE, EXPLODING):
        for length in LENGTHS:
            draw = partial(draw_sums, length=length)
            networks = StackedNetworks(
                [Network(seed, partial(build, radius), draw, 0.0) for seed in seeds], last_error, device
            )
            norms = networks.train(1, adam=False).gradient_norms[0].log10().tolist()
            series[f"first/{radius:g}/{length}"] = Series(dict(zip(seeds, norms, strict=True)))
    return series
