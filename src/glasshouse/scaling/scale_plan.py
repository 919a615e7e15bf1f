"""The plan of a scaling study: which shapes are trained for how many steps at each budget, and what that costs.

N parameters, D tokens, C compute in FLOPs. All sizes lie on one grid that is equally spaced in log N. A budget has those
around the size that would have a given number of tokens for each parameter. The shape of a size is the nearest one whose
ratio of width to layers is near the recipe's; its heads are as wide as the recipe's, or nearly so.

With the schedule warmup-stable-decay, runs of one shape differ only in when the rate begins to decay. A run for a larger
budget then continues from that step of the run for the next smaller one, with the same result as from the start.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glasshouse import models
from glasshouse.models import parameter_counts
from glasshouse.scaling import compute_optimal
from glasshouse.scaling.scaling_fit import check_budget
from glasshouse.scaling.scaling_options import PlanOptions
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec, TrainingSpec
from glasshouse.studies import matching
from glasshouse.training.job import Job

LEAST_SIZES, LEAST_STEPS = 4, 20
# Widths are multiples of this. A shape may differ from the recipe's ratio of width to layers, for this much in log N.
WIDTH_UNIT, MOST_WIDTH, MOST_LAYERS = 8, 2048, 64
MOST_LOG_RATIO, RATIO_WEIGHT = math.log(2), 0.2
# The schedule that lets runs share their steps.
BRANCHING = "warmup-stable-decay"
# A shape is not used for a size that is further away than this, in log N.
FURTHEST = 0.5


@dataclass(frozen=True)
class ModelShape:
    """A size of the recipe's model, with the parameters of its parts and the FLOPs of a training step."""

    model: ModelSpec
    by_part: dict[str, int]
    step_flops: int

    @property
    def parameters(self) -> dict[str, int]:
        return {how: compute_optimal.count_parameters(self.by_part, how) for how in compute_optimal.COUNTS}

    @property
    def name(self) -> str:
        return f"{self.model.layers}x{self.model.width}"


@dataclass(frozen=True)
class PlannedSize:
    budget: float
    shape: ModelShape
    steps: int
    tokens: int
    epochs: float
    warmup_steps: int
    shared_steps: int = 0  # steps that the run for the next smaller budget has taken already
    decay_step: int = 0  # the step at which a run for a larger budget branches off; 0: none does

    @property
    def flops(self) -> float:
        """The compute of the training steps; evaluations come on top."""
        return float(self.shape.step_flops * self.steps)

    @property
    def saved_flops(self) -> float:
        return float(self.shape.step_flops * self.shared_steps)


def train_tokens(job: Job) -> int:
    return round(job.task.example_count(job.prepared.splits["train"]) * job.sequence_tokens())


def make_plan(job: Job, budgets: Sequence[float], options: PlanOptions) -> list[PlannedSize]:
    """Plan the runs of a study. `job` is that of the recipe, with its data."""
    step_tokens, data_tokens = round(job.step_tokens()), train_tokens(job)
    planned: list[PlannedSize] = []
    for budget, shapes in _shapes_by_budget(job, budgets, options).items():
        for shape in shapes:
            steps = round(budget / shape.step_flops)
            if steps < LEAST_STEPS:
                raise SpecError(f"{budget:.3g} FLOPs are {steps} steps of {shape.name}, not {LEAST_STEPS}; choose more")
            tokens, warmup = steps * step_tokens, round(job.spec.training.warmup * steps)
            planned.append(PlannedSize(budget, shape, steps, tokens, tokens / data_tokens, warmup))
    longest = max(planned, key=lambda size: size.epochs)
    if longest.epochs > options.most_epochs:
        raise SpecError(
            f"{longest.shape.name} at {longest.budget:.3g} FLOPs would read the {data_tokens:,} tokens {longest.epochs:.1f} "
            f"times; choose smaller budgets, or accept it with --most-epochs {math.ceil(longest.epochs)}"
        )
    return _branched(planned, job.spec.training) if job.spec.training.schedule == BRANCHING else planned


def _log_ratio(job: Job, width: int, layers: int) -> float:
    """How far a shape is from the recipe's ratio of width to layers."""
    return math.log(width / layers / (job.spec.model.width / max(job.spec.model.layers, 1)))


def _model(job: Job, width: int, layers: int) -> ModelSpec | None:
    """The model with this width; its heads are as wide as the recipe's, or nearly so. None if no number fits."""
    recipe = job.spec.model
    wanted = recipe.head_width or recipe.width / recipe.heads
    divisors = [heads for heads in range(1, width + 1) if width % heads == 0]
    for heads in sorted(divisors, key=lambda heads: abs(math.log(width / heads / wanted))):
        model = replace(matching.with_width(recipe, width), heads=heads, layers=layers, head_width=0)
        try:
            models.check(model, job.spec.data.context)
            return model
        except SpecError:
            continue  # such as a head of odd width with rotary positions, or groups that do not divide the heads
    return None


def _by_part(job: Job, model: ModelSpec) -> dict[str, int]:
    return parameter_counts.parameters_by_part(matching.meta_model(job, model))


def _parameters_by_layers(job: Job, width: int) -> dict[int, int]:
    """The parameters of the shapes of a width, by their number of layers. Every further layer has as many."""
    depths = [layers for layers in range(1, MOST_LAYERS + 1) if abs(_log_ratio(job, width, layers)) <= MOST_LOG_RATIO]
    model = _model(job, width, 1) if depths else None
    if model is None:
        return {}
    one, two = (
        compute_optimal.count_parameters(_by_part(job, replace(model, layers=layers)), compute_optimal.WITH_HEAD)
        for layers in (1, 2)
    )
    return {layers: one + (layers - 1) * (two - one) for layers in depths}


def _shapes_by_budget(job: Job, budgets: Sequence[float], options: PlanOptions) -> dict[float, list[ModelShape]]:
    """The shapes of every budget, from one grid for all budgets."""
    for budget in budgets:
        check_budget(budget)
    if len(set(budgets)) < 2:
        raise SpecError(f"--budgets names {len(set(budgets))} budget; a power law needs at least two")
    # N at the middle of each budget, the smallest budget first.
    middles = {budget: math.sqrt(budget / (6 * options.tokens_per_parameter)) for budget in sorted(set(budgets))}
    spread, sizes = options.spread, options.sizes
    spacing = 2 * math.log(spread) / (sizes - 1)
    first = {budget: round(math.log(middle / spread) / spacing) for budget, middle in middles.items()}
    by_width = (_parameters_by_layers(job, width) for width in range(MOST_WIDTH, 0, -WIDTH_UNIT))
    beyond, most = max(middles.values()) / spread**2, next((max(counts.values()) for counts in by_width if counts), 0)
    if beyond > most:
        raise SpecError(
            f"a budget of {max(middles):.3g} FLOPs is for models of {beyond:.3g} parameters or more, and the largest shape "
            f"has {most:.3g}; choose smaller budgets, or a larger --tokens-per-parameter"
        )
    indices = range(min(first.values()), max(first.values()) + sizes)
    shapes = _nearest_shapes(job, [index * spacing for index in indices], spread * max(middles.values()))
    found = {}
    for budget, middle in middles.items():
        places = range(first[budget], first[budget] + sizes)
        chosen = [shapes[index * spacing] for index in places if index * spacing in shapes]
        if len(chosen) < LEAST_SIZES:
            raise SpecError(
                f"at {budget:.3g} FLOPs only {len(chosen)} shapes lie near {middle / spread:,.0f} to "
                f"{middle * spread:,.0f} parameters; choose other budgets, vocabulary or --tokens-per-parameter"
            )
        found[budget] = sorted(chosen, key=lambda shape: shape.parameters[compute_optimal.WITH_HEAD])
    return found


def _nearest_shapes(job: Job, targets: Sequence[float], largest: float) -> dict[float, ModelShape]:
    """log N -> the nearest shape, each shape once. A log N that is far from every shape is left out.

    N counts all parameters but embeddings, with the head. Shapes a little beyond `largest` are tried too.
    """
    candidates: list[tuple[float, float, int, int]] = []  # log N, deviation of the ratio, width, layers
    for width in range(WIDTH_UNIT, MOST_WIDTH + 1, WIDTH_UNIT):
        counts = _parameters_by_layers(job, width)
        for layers, parameters in counts.items():
            candidates.append((math.log(parameters), abs(_log_ratio(job, width, layers)), width, layers))
        if counts and min(counts.values()) > 2 * largest:
            break
    found: dict[float, ModelShape] = {}
    for target in targets:
        near = [each for each in candidates if abs(each[0] - target) < FURTHEST]
        if near:
            nearest = min(near, key=lambda each: abs(each[0] - target) + RATIO_WEIGHT * each[1])
            candidates.remove(nearest)
            model = _model(job, *nearest[2:])
            assert model is not None
            shaped = replace(job, spec=replace(job.spec, model=model))
            found[target] = ModelShape(model, _by_part(job, model), shaped.step_flops())
    return found


def _branched(planned: Sequence[PlannedSize], training: TrainingSpec) -> list[PlannedSize]:
    """The sizes with the step at which each run branches from the run of the same shape for the next smaller budget.

    All runs of a shape have the warm-up of the shortest one. They have the same first steps, which must not depend on the
    number of steps.
    """
    for field in ("batch_warmup", "window_warmup"):
        if share := {**vars(training), **training.own}.get(field):
            raise SpecError(f"training.{field}={share:g} depends on the steps, which runs share; set 0, or schedule=cosine")
    found: list[PlannedSize] = []
    last: dict[str, int] = {}  # shape -> the place of its run for the next smaller budget
    for size in planned:
        name, shared = size.shape.name, 0
        if name in last:
            smaller = found[last[name]]
            size = replace(size, warmup_steps=smaller.warmup_steps)
            shared = smaller.warmup_steps + math.floor((1 - training.decay) * (smaller.steps - smaller.warmup_steps))
            found[last[name]] = replace(smaller, decay_step=shared)
        last[name] = len(found)
        found.append(replace(size, shared_steps=shared))
    return found
