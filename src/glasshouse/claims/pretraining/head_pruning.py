"""Claim: heads can be ranked by importance, and many of them can be removed."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins, split_scores
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher, lower
from glasshouse.data import prepared_data
from glasshouse.inspection import importance as head_importance
from glasshouse.inspection import pruning
from glasshouse.inspection.example_batches import example_batches
from glasshouse.inspection.importance import METHODS
from glasshouse.inspection.pruning import ORDERS, RANDOM
from glasshouse.models import parameter_counts
from glasshouse.runs.run import Run
from glasshouse.tasks.base import Batch

STUDY = "models"
SIZES = ("model.layers=4", "model.width=128", "training.steps=1000", "evaluation.batch=512")
# 32 heads, which decide, and 16 heads of twice the width beside them.
MANY_HEADS, FEW_HEADS = ARMS = ("many-heads", "few-heads")
SHARES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
HALF = 0.5
# Further training after the removal; the whole model is trained further too.
TRAIN_STEPS, QUICK_TRAIN_STEPS = 200, 2
EXAMPLES, QUICK_EXAMPLES = 256, 8
# A rank correlation below 0.2 would guide nobody.
CORRELATION = 0.2
# "Many" is more than a quarter of the heads; a twentieth more or less does not matter.
MANY, MANY_MARGIN = 0.25, 0.05
BEST = "ablation"
LABELS = {"ablation": "ablation", "gradient": "gradient", "attention": "mean attention weight", RANDOM: "a random order"}
STRUCTURED, UNSTRUCTURED = KINDS = ("heads", "single weights")


class HeadPruning(Claim):
    """Ranks the heads of trained models on validation text, and measures the damage of removing them on test text."""

    group = GROUPS[5]
    statement = (
        "Heads can be ranked by their importance (mean attention weight, ablation or gradient), and many of them can be "
        "removed."
    )
    source = "course work on fine-tuning"
    reported = "asserted, no figures"
    why = (
        "Heads of a layer often attend alike, so that one can do the work of another. Whether an estimate finds those that "
        "are not needed is another question."
    )
    procedure = (
        "Language models over characters with 32 heads in 4 layers are trained. On 256 windows of validation text each head "
        "gets an importance by ablation, by gradient (Michel et al. 2019) and by the mean of the largest weight of a query. "
        "The damage is the rise of the loss on 256 windows of test text without the head. For each of the three, the rank "
        f"correlation over the heads of a model must be above 0; below {CORRELATION:g} it would be too small to matter. The "
        "share of heads that can be removed in the order of ablation, while the test loss rises by at most 1 %, must be "
        f"above a quarter. Beside it: a random order, {TRAIN_STEPS} further training steps after the removal (the whole "
        "model gets them too), as many single weights set to zero, the smallest first, and models with 16 heads of twice "
        "the width."
    )
    would_change = "A model that is too small for its text, whose every head is needed, or one trained for much longer."
    data = PUBLIC_TEXT
    looks = (16,)
    studies = (
        StudyPlan(
            STUDY,
            ARMS,
            metric="test.loss",
            quick=(*QUICK, "training.batch=4", "model.width=16", "model.layers=2"),
            recipes={
                MANY_HEADS: ("characters", *SIZES, "model.heads=8"),
                FEW_HEADS: ("characters", *SIZES, "model.heads=4"),
            },
        ),
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"correlation/{order}": Quantity(
                f"rank correlation of the importance by {LABELS[order]} with the damage", "Spearman", higher_is_better=True
            )
            for order in ORDERS
        },
        **{
            f"{state}/{order}/{share:g}": Quantity(
                f"test loss without {share:.1%} of the heads, in the order of {LABELS[order]}{suffix}",
                "test.loss",
                "nats per character",
            )
            for state, suffix in (("loss", ""), ("trained", ", trained further"))
            for order in ORDERS
            for share in SHARES
        },
        **{
            f"removable/{state}/{order}": Quantity(
                f"heads removable within 1 % of the loss, in the order of {LABELS[order]}{suffix}",
                "share",
                "%",
                100.0,
                higher_is_better=True,
            )
            for state, suffix in (("loss", ""), ("trained", ", trained further"))
            for order in ORDERS
        },
        "removable/few": Quantity(
            "heads removable within 1 % of the loss, models with 16 heads", "share", "%", 100.0, higher_is_better=True
        ),
        **{
            f"kind/{kind}": Quantity(
                f"test loss without half of the heads' weights, removed as {kind}", "test.loss", "nats per character"
            )
            for kind in KINDS
        },
    }
    parts = (
        *(
            higher(
                f"correlation/{method}",
                than=0.0,
                margin=CORRELATION,
                name=f"importance by {LABELS[method]} predicts the damage",
            )
            for method in METHODS
        ),
        higher(
            f"removable/loss/{BEST}", than=MANY, margin=MANY_MARGIN, name="more than a quarter of the heads is removable"
        ),
        higher(
            "removable/few",
            than=MANY,
            margin=MANY_MARGIN,
            name="more than a quarter of 16 wider heads is removable",
            decides=False,
        ),
        equal(
            f"correlation/{RANDOM}",
            to=0.0,
            margin=CORRELATION,
            name="control: a random order does not predict the damage",
            decides=False,
        ),
        higher(
            "correlation/gradient",
            than="correlation/attention",
            margin=CORRELATION,
            name="the gradient predicts the damage better than the mean attention weight",
            decides=False,
        ),
        *(
            lower(
                f"loss/{method}/{HALF:g}",
                than=f"loss/{RANDOM}/{HALF:g}",
                margin=margins.CHARACTER_LOSS,
                name=f"half of the heads removed by {LABELS[method]}: lower loss than in a random order",
                decides=False,
            )
            for method in METHODS
        ),
        higher(
            f"removable/trained/{BEST}",
            than=f"removable/loss/{BEST}",
            margin=MANY_MARGIN,
            name="further training makes more heads removable",
            decides=False,
        ),
        lower(
            f"kind/{UNSTRUCTURED}",
            than=f"kind/{STRUCTURED}",
            margin=margins.CHARACTER_LOSS,
            name="removing as many single weights costs less",
            decides=False,
        ),
    )
    figures = tuple(
        LineFigure(
            state,
            "share of the heads removed",
            f"test loss{suffix}, nats per character",
            {f"by {LABELS[order]}": {share: f"{state}/{order}/{share:g}" for share in SHARES} for order in ORDERS},
        )
        for state, suffix in (("loss", ""), ("trained", " after further training"))
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study(STUDY)
        examples, steps = (QUICK_EXAMPLES, QUICK_TRAIN_STEPS) if bench.quick else (EXAMPLES, TRAIN_STEPS)
        table = split_scores.cached_by_seed(
            bench, study, MANY_HEADS, "pruned", lambda run: pruned_losses(run, examples, steps)
        )
        few = split_scores.cached_by_seed(
            bench, study, FEW_HEADS, "pruned", lambda run: {"removable": removable_share(run, examples)}
        )
        series = {key: Series(values) for key, values in table.items()}
        return Measurements({**series, "removable/few": Series(few["removable"])}, tuple(bench.facts(study)))


def batches_of(run: Run, examples: int) -> tuple[list[Batch], list[Batch]]:
    """Windows of the validation text, to rank the heads on, and of the test text, to measure the loss on."""
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    ranking, measuring = (list(example_batches(run, splits[name], examples)) for name in ("validation", "test"))
    return ranking, measuring


def removable_share(run: Run, examples: int) -> float:
    """The share of heads that can be removed in the order of ablation within 1 % of the test loss."""
    ranking, measuring = batches_of(run, examples)
    importance = head_importance.head_importance(run, ranking, (BEST,))
    return pruning.curve(run, importance, BEST, measuring, shares=SHARES).removable()


def pruned_losses(run: Run, examples: int, train_steps: int) -> dict[str, float]:
    """Everything that is measured on one trained model, by quantity."""
    ranking, measuring = batches_of(run, examples)
    importance = head_importance.head_importance(run, ranking)
    damage = head_importance.head_importance(run, measuring, ("ablation",)).scores["ablation"]
    ranked = pruning.with_random_order(importance, run.spec.training.seed)
    found = {}
    for order in ORDERS:
        correlation = head_importance.rank_correlation(ranked.scores[order], damage)
        found[f"correlation/{order}"] = correlation.value
        curve = pruning.curve(run, ranked, order, measuring, train_steps, SHARES, run.spec.training.seed)
        for point in curve.points:
            found[f"loss/{order}/{point.share:g}"] = point.loss
            found[f"trained/{order}/{point.share:g}"] = point.trained_loss
        found[f"removable/loss/{order}"] = curve.removable()
        found[f"removable/trained/{order}"] = curve.removable(trained=True)
    removed = pruning.least_important(run.model, importance, BEST, HALF)
    without_heads = pruning.without_heads(run.model, removed)
    count = parameter_counts.parameters(run.model) - parameter_counts.parameters(without_heads)
    without_weights = pruning.without_smallest_weights(run.model, count)
    found[f"kind/{STRUCTURED}"] = head_importance.batch_loss(run, without_heads, measuring)
    found[f"kind/{UNSTRUCTURED}"] = head_importance.batch_loss(run, without_weights, measuring)
    return found
