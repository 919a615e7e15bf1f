"""Claim: if the attention matrix has rank k and its singular value decomposition is known, attention costs O(n k)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from glasshouse.claims import split_scores
from glasshouse.claims.attention import attention_costs
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.random_check import differing, draw
from glasshouse.claims.rules import equal, lower, zero
from glasshouse.inspection import head_statistics
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.runs.run import Run

FACTORS, FULL = PRODUCTS = ("by the factors", "by the whole matrix")
LENGTHS: Mapping[str, tuple[int, ...]] = {
    FACTORS: (65536, 131072, 262144, 524288, 1048576),  # the longest two are far larger than a processor's cache
    FULL: (512, 1024, 2048, 4096, 8192),
}
RANK, WIDTH = 32, 64
MARGIN = 0.2  # as in quadratic-cost
ENCODER, DECODER = MODELS = ("encoder", "decoder")
TRAINED, UNTRAINED = STATES = ("trained", "untrained")
LAYERS = ("1", "2", "3")
FIRST_K = (1, 2, 4, 8, 16, 32, 64)
# A map is low-rank if so small a share of its singular values has 90 % of the energy.
LOW, SHARE_MARGIN = 0.25, 0.05
CONTEXT = 128
EXAMPLES, QUICK_EXAMPLES = 64, 4
TEXT = ("data.source=state-of-the-union", "data.tokenizer=characters", "data.vocabulary=256", f"data.context={CONTEXT}")
SIZES = ("model.width=64", "model.layers=3", "model.heads=4", "training.learning_rate=3e-3", "training.steps=1000")
# One step at a rate this small leaves the initial weights.
NO_TRAINING = ("training.steps=1", "training.learning_rate=1e-12", "evaluation.every=1")
RECIPES = {ENCODER: ("masked-model", *TEXT, *SIZES), DECODER: ("characters", *TEXT, *SIZES)}


class LowRankSVD(Claim):
    """Multiplies matrices of known rank by their factors, and measures the ranks of trained attention maps."""

    group = GROUPS[0]
    statement = (
        "If the attention matrix P has rank k and its singular value decomposition is known, the product P V costs O(n k)."
    )
    source = "course work on attention: a derivation"
    reported = "O(nk)"
    why = (
        "P V = U (S (R^T V)): the factors have n k entries instead of n^2. But each of the d columns of V must be "
        "multiplied, so the cost is O(n k d)."
    )
    procedure = (
        "Random attention matrices of known rank (n up to 128) are multiplied with V whole and by the first k factors of "
        "their decomposition: the results must be the same to 1e-5. The operations of the product by the factors must not "
        "depend on d, as O(n k) says; beside it, they must be 4 n k d. The exponent of the length in the time of that "
        f"product (rank {RANK}, d = {WIDTH}, on the CPU, in rounds, from n = {LENGTHS[FACTORS][-2]:,} to "
        f"{LENGTHS[FACTORS][-1]:,}) must be 1 to within {MARGIN:g}. Beside it, the maps of trained models over characters "
        f"({CONTEXT} tokens): the share of their singular values that has 90 % of the energy."
    )
    would_change = (
        "Nothing, for the product. But the decomposition itself costs more than P V, and whether trained maps have a low "
        "rank depends on the model and the text."
    )
    data = PUBLIC_TEXT
    looks = (16,)
    studies = tuple(
        StudyPlan(
            model,
            STATES,
            metric="test.loss",
            quick=tuple(
                word for word in (*QUICK, "training.batch=4") if model == DECODER or not word.startswith("evaluation.stride")
            ),
            recipes={TRAINED: recipe, UNTRAINED: (*recipe, *NO_TRAINING)},
        )
        for model, recipe in RECIPES.items()
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "identity": Quantity("entries of P V that the first k factors give otherwise", "count", "entries"),
        "width": Quantity("whether the operations change if d is doubled", "0: no, 1: yes"),
        "nkd": Quantity("whether the operations are not 4 n k d", "0: no, 1: yes"),
        **{
            f"exponent/{product}": Quantity(f"exponent of the time in n, {product}", "slope of log-log", per="round")
            for product in PRODUCTS
        },
        **{
            f"ms/{product}/{n}": Quantity(f"time of P V at n = {n:,}, {product}", "milliseconds", "ms", per="round")
            for product, lengths in LENGTHS.items()
            for n in lengths
        },
        **{
            f"share/{model}/{state}/{layer}": Quantity(
                f"share of singular values with 90 % of the energy, {state} {model}, layer {layer}", "share"
            )
            for model in MODELS
            for state in STATES
            for layer in LAYERS
        },
        **{
            f"energy/{model}/{state}/{k}": Quantity(f"energy in the first {k} singular values, {state} {model}", "share")
            for model in MODELS
            for state in STATES
            for k in FIRST_K
        },
    }
    parts = (
        zero("identity", name="the first k factors give P V"),
        zero("width", name="the operations do not depend on d, as O(n k) says"),
        equal(f"exponent/{FACTORS}", to=1.0, margin=MARGIN, name="the time by the factors grows with n"),
        zero("nkd", name="repaired: the operations are 4 n k d", decides=False),
        equal(
            f"exponent/{FULL}",
            to=2.0,
            margin=MARGIN,
            name="control: the time by the whole matrix grows with n^2",
            decides=False,
        ),
        *(
            lower(
                f"share/{model}/{TRAINED}/{layer}",
                than=LOW,
                margin=SHARE_MARGIN,
                name=f"{model}, layer {layer}: a quarter of the singular values has 90 % of the energy",
                decides=False,
            )
            for model in MODELS
            for layer in LAYERS
        ),
    )
    figures = (
        LineFigure(
            "time",
            "n",
            "milliseconds for P V",
            {product: {n: f"ms/{product}/{n}" for n in lengths} for product, lengths in LENGTHS.items()},
        ),
        LineFigure(
            "energy",
            "first k singular values",
            "share of the energy of a map",
            {
                f"{model}, {state}": {k: f"energy/{model}/{state}/{k}" for k in FIRST_K}
                for model in MODELS
                for state in STATES
            },
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        rows = {
            seed: check_product(torch.Generator().manual_seed(seed))
            for seed in range(bench.first_seed, bench.first_seed + bench.seeds)
        }
        series = {key: Series({seed: row[key] for seed, row in rows.items()}) for key in ("identity", "width", "nkd")}
        for product, costs in time_products(bench).items():
            series[f"exponent/{product}"] = attention_costs.time_exponents(costs)
            for n in set(costs.seconds) & set(LENGTHS[product]):
                series[f"ms/{product}/{n}"] = attention_costs.milliseconds(costs, n)
        studies = [bench.study(model) for model in MODELS]
        examples = QUICK_EXAMPLES if bench.quick else EXAMPLES
        for model, study in zip(MODELS, studies, strict=True):
            for state in STATES:
                table = split_scores.cached_by_seed(bench, study, state, "ranks", lambda run: map_ranks(run, examples))
                for what, values in table.items():
                    kind, _, key = what.partition("/")
                    series[f"{kind}/{model}/{state}/{key}"] = Series(values)
        return Measurements(
            {key: values for key, values in series.items() if key in self.quantities}, tuple(bench.facts(*studies))
        )


def check_product(generator: torch.Generator) -> dict[str, float]:
    """The exact checks for one random attention matrix of known rank."""
    n, k, d = draw(generator, 32, 128), draw(generator, 1, 16), draw(generator, 4, 64)

    def rows(count: int, size: int) -> Tensor:
        return torch.softmax(2 * torch.randn(count, size, generator=generator, dtype=torch.float64), -1)

    # Attention through k mixtures: rows sum to 1, and the rank is at most k.
    attention = rows(n, k) @ rows(k, n)
    values = torch.randn(n, d, generator=generator, dtype=torch.float64)
    left, singular, right = torch.linalg.svd(attention)
    factors = (left[:, :k] * singular[:k], right[:k])
    counts = []
    for width in (d, 2 * d):
        with FlopCounterMode(display=False) as counter:
            multiply(factors, values.repeat(1, width // d))
        counts.append(counter.get_total_flops())
    return {
        "identity": differing(multiply(factors, values), attention @ values),
        "width": float(counts[0] != counts[1]),
        # A multiplication and an addition for each entry of both products.
        "nkd": float(counts[0] != 4 * n * k * d),
    }


def multiply(factors: tuple[Tensor, Tensor], values: Tensor) -> Tensor:
    """(U S) (R^T V)."""
    left, right = factors
    return left @ (right @ values)


def time_products(bench: Bench) -> dict[str, attention_costs.Costs]:
    """Product -> times on the CPU at each length, in as many rounds as the trial has seeds."""
    lengths = {product: (64, 128, 256) if bench.quick else row for product, row in LENGTHS.items()}

    def compute() -> dict[str, dict[str, list[float]]]:
        passes = {}
        for n in lengths[FACTORS]:
            factors, values = (torch.randn(n, RANK), torch.randn(RANK, n)), torch.randn(n, WIDTH)
            passes[FACTORS, n] = lambda factors=factors, values=values: multiply(factors, values)
        for n in lengths[FULL]:
            matrix, values = torch.randn(n, n), torch.randn(n, WIDTH)
            passes[FULL, n] = lambda matrix=matrix, values=values: matrix @ values
        seconds: dict[str, dict[str, list[float]]] = {product: {} for product in PRODUCTS}
        for number in range(bench.seeds):
            for product, n in passes if number % 2 == 0 else reversed(list(passes)):
                taken = attention_costs.pass_seconds(passes[product, n], attention_costs.CPU)
                seconds[product].setdefault(str(n), []).append(taken)
        return seconds

    table: dict[str, Any] = bench.cached(f"products-by-{bench.seeds}", compute)
    return {
        product: attention_costs.Costs({int(n): row for n, row in sorted(rows.items(), key=lambda item: int(item[0]))}, {})
        for product, rows in table.items()
    }


def map_ranks(run: Run, examples: int) -> dict[str, float]:
    """ "share/1": of singular values with 90 % of the energy, in layer 1; "energy/8": in the first 8, over all layers."""
    rows = head_statistics.head_statistics(run, held_out_batches(run, None, examples))
    layers = sorted({row.layer for row in rows})
    found = {}
    for layer in layers:
        shares = [row.rank / len(row.energy) for row in rows if row.layer == layer]
        found[f"share/{layer}"] = sum(shares) / len(shares)
    for k in FIRST_K:
        found[f"energy/{k}"] = sum(row.energy[min(k, len(row.energy)) - 1] for row in rows) / len(rows)
    return found
