"""`glasshouse scale`: scaling laws. How large a model, for how long, for this budget?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import glasshouse
from glasshouse.cli.jobs import print_submission
from glasshouse.cli.options import Device, On, argument, cluster, group, has_options, option, writes_output
from glasshouse.cli.tables import console, show
from glasshouse.formatting import count, duration, flops
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.scaling.scaling_options import FitOptions, PlanOptions
from glasshouse.specs.options import given

if TYPE_CHECKING:
    from glasshouse.pages.scaling_page import ScalingContent


def scale() -> None:
    """Scaling laws: how large a model, for how long, for this budget?

    `plan` and `run` measure, `fit` finds the laws and asks them, `check` judges a run. `transfer` compares two recipes.

    Examples:
        glasshouse scale plan demo-lm --budgets 1e11,4e11,1.6e12
        glasshouse scale run scaling-demo-lm
        glasshouse scale fit scaling-demo-lm --output scaling.html
    """


Output = Annotated[Path | None, option("An HTML file for the page with all pictures.")]


@has_options(PlanOptions)
def plan(
    recipe: Annotated[str, argument("A recipe, or a spec file.", "RECIPE")],
    budgets: Annotated[str, option("The compute of a run, in FLOPs; several budgets.", metavar="C,C,...")],
    options: PlanOptions,
    overrides: Annotated[list[str] | None, argument("Fields that differ from the recipe.", "[FIELD=VALUE]...")] = None,
    device: Device = "auto",
) -> None:
    """Plan a scaling study: which models will be trained for how long, and what it costs, before it is spent.

    Examples:
        glasshouse scale plan piglatin-decoder-only --budgets 8e10,1.6e11,3.2e11,6.4e11,1.28e12 --sizes 6
        glasshouse scale plan demo-lm data.context=64 --budgets 1e11,4e11,1.6e12 --seeds 2 --name mine
    """
    from glasshouse.api import scaling

    study = scaling.plan(recipe, *(overrides or ()), budgets=budgets, device=device, **given(options))
    rows = [
        (
            f"{size.budget:.3g}",
            size.name,
            count(size.parameters["all"]),
            count(size.parameters["without-embeddings"]),
            count(size.tokens),
            f"{size.steps:,}",
            f"{size.epochs:.2g}",
        )
        for size in study.sizes
    ]
    show(
        ("FLOPs", "layers x width", "parameters", "without embeddings", "tokens", "steps", "epochs"), rows, right=range(2, 7)
    )
    runs = len(study.sizes) * len(study.seeds)
    console.print(
        f"{runs} runs ({len(study.seeds)} seeds each), {flops(study.flops)} in all, about "
        f"{duration(study.seconds)} on this machine"
    )
    if study.swept:
        tried, swept = len(study.rates), " and ".join(size.name for size in study.swept)
        cost = flops(tried * sum(size.flops for size in study.swept))
        console.print(f"- before them, a sweep of {tried} learning rates at {swept}: {cost}, counted above")
    if study.saved_flops:
        share = study.saved_flops / (study.flops + study.saved_flops)
        console.print(f"- runs for larger budgets branch from those for smaller ones, which saves {share:.0%}")
    for note in study.notes:
        console.print(f"- {note}")
    console.print(f"train them with: glasshouse scale run {study.name}")


@has_options(Slurm, leave_out=("nodes",))
def run(
    study: Annotated[str, argument("A scaling study that was planned.", "STUDY")],
    slurm: Slurm,
    device: Device = "auto",
    on: On = None,
) -> None:
    """Train the runs of a scaling study. The same command continues a study that was interrupted.

    With --on slurm the jobs of an array train the runs: first the sweep of learning rates, then the smaller budgets, then
    the largest.

    Examples:
        glasshouse scale run scaling-piglatin-decoder-only
        glasshouse scale run scaling-piglatin-decoder-only --on slurm --jobs 16
    """
    from glasshouse.api import scaling
    from glasshouse.launching.submission import Submission

    done = scaling.run(study, device, cluster(on, slurm))
    if isinstance(done, Submission):
        print_submission(done)
    else:
        console.print(f"{done.ended()} runs have ended; fit them with: glasshouse scale fit {done.name}")


@writes_output
@has_options(FitOptions)
def fit(
    source: Annotated[
        Path,
        argument("A scaling study, or a CSV file: a row for each run, or for each point of a training curve.", "STUDY|CSV"),
    ],
    options: FitOptions,
    budget: Annotated[
        float | None, option("The compute that there is: say what to train for it.", high=10**40, metavar="FLOPS")
    ] = None,
    output: Output = None,
    figures: Annotated[
        Path | None, option("A folder for the figures as SVG and the measurements as CSV.", metavar="FOLDER")
    ] = None,
) -> None:
    """Fit scaling laws to measured losses: IsoFLOP curves, the parametric law, and the envelope of training curves.

    Each comes with 95 % intervals, and with what the data are too thin for. With --budget every law says what to train, and
    how far that is beyond the measurements.

    Examples:
        glasshouse scale fit scaling-piglatin-decoder-only --output scaling.html
        glasshouse scale fit measurements.csv --parameters N --tokens D --loss L
        glasshouse scale fit measurements.csv --parameters N --tokens D --loss L --budget 1e15 --data 2e9
        glasshouse scale fit curves.csv --parameters N --tokens 'millions*1e6' --loss val_loss --curve width
    """
    from glasshouse.api import scaling

    found = scaling.fit(source, **given(options))
    _report(scaling.content(found, source.name, budget, options.data, source), output, figures, found)


@has_options(FitOptions)
def check(
    options: FitOptions,
    run: Annotated[str | None, argument("A run; or give --size and --trained-on.", "RUN")] = None,
    against: Annotated[
        Path | None,
        option("The measurements, as for `fit`; default: the scaling study on the run's data.", metavar="STUDY|CSV"),
    ] = None,
    size: Annotated[float | None, option("The number of parameters.", high=10**30, metavar="N")] = None,
    trained_on: Annotated[float | None, option("The number of training tokens.", high=10**30, metavar="D")] = None,
    count: Annotated[
        Literal["all", "without-embeddings", "without-embeddings-with-head"] | None,
        option("Which parameters of the run count; default: as in the study, or all."),
    ] = None,
) -> None:
    """Say whether a run is compute-optimal: its size against the best one for its compute, and what the difference costs.

    Examples:
        glasshouse scale check demo-lm --against measurements.csv --count without-embeddings
        glasshouse scale check --size 2.6e5 --trained-on 5e6 --against measurements.csv --parameters N --tokens D --loss L
    """
    from glasshouse.api import scaling

    if against is None:
        if run is None:
            raise glasshouse.GlasshouseError("name a run, or give --size, --trained-on and --against")
        against = Path(scaling.study_of(run))
    found = scaling.fit(against, **given(options))
    for checked in scaling.check(found, run, size, trained_on, count):
        console.print(f"{checked.verdict}\n")
    for note in found.notes:
        console.print(f"- {note}")


@writes_output
@has_options(FitOptions)
def transfer(
    a: Annotated[Path, argument("The scaling study of recipe A, or a CSV file as for `fit`.", "STUDY_A")],
    b: Annotated[Path, argument("The same of recipe B.", "STUDY_B")],
    options: FitOptions,
    output: Output = None,
    figures: Annotated[Path | None, option("A folder for the figures as SVG.", metavar="FOLDER")] = None,
) -> None:
    """Compare two recipes by their scaling curves: how much compute is B worth, and does that grow with scale?

    A needs k times the compute for the loss of B. k comes with 95 % intervals at the smallest and the largest compute that
    both measured, by IsoFLOP curves and by the parametric law.

    Examples:
        glasshouse scale transfer scaling-old scaling-new --output transfer.html
        glasshouse scale transfer a.csv b.csv --parameters N --tokens D --loss L
    """
    from glasshouse.api import scaling

    _report(scaling.content(scaling.transfer(a, b, **given(options))), output, figures)


def _report(content: "ScalingContent", output: Path | None, figures: Path | None, found: Any = None) -> None:
    from glasshouse.api import scaling

    for answer in content.answers:
        console.print(answer)
    for table in content.tables:
        console.print(f"\n{table.title}")
        show(table.columns, table.rows)
        if table.note:
            console.print(table.note)
    for note in content.notes:
        console.print(f"- {note}")
    if figures is not None:
        scaling.write_figures(content, figures, found)
        console.print(f"figures  {figures}")
    if output is not None:
        scaling.write_page(content, output)


app = group(scale, plan, run, fit, check, transfer)
