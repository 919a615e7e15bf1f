"""`glasshouse scale`: scaling laws. How large a model, for how long, for this budget?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from glasshouse.cli.arguments import Device, On, Overwrite
from glasshouse.cli.options import at_most, cluster, has_options
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.scaling.fit_options import FitOptions
from glasshouse.specs.options import given

if TYPE_CHECKING:
    from glasshouse.results.scaling import ScalingContent

PLAN_EXAMPLES = (
    "Examples: glasshouse scale plan piglatin-decoder-only --budgets 8e10,1.6e11,3.2e11,6.4e11,1.28e12 --sizes 6 · "
    "glasshouse scale plan demo-lm data.context=64 --budgets 1e11,4e11,1.6e12 --seeds 2 --name mine"
)
FIT_EXAMPLES = (
    "Examples: glasshouse scale fit scaling-piglatin-decoder-only --output scaling.html · glasshouse scale fit "
    "measurements.csv --parameters N --tokens D --loss L · "
    "glasshouse scale fit curves.csv --parameters N --tokens 'millions*1e6' --loss val_loss --curve width "
    "--budgets 8e10,1.6e11,3.2e11 "
    "--output scaling.html"
)
PREDICT_EXAMPLES = (
    "Examples: glasshouse scale predict measurements.csv --budget 1e15 · "
    "glasshouse scale predict measurements.csv --parameters N --tokens D --loss L --budget 1e15 --data 2e9"
)
CHECK_EXAMPLES = (
    "Examples: glasshouse scale check demo-lm --against measurements.csv --count without-embeddings · "
    "glasshouse scale check --size 2.6e5 --trained-on 5e6 --against measurements.csv --parameters N --tokens D --loss L"
)
TRANSFER_EXAMPLES = (
    "Examples: glasshouse scale transfer scaling-old scaling-new --output transfer.html · "
    "glasshouse scale transfer a.csv b.csv --parameters N --tokens D --loss L"
)
app = typer.Typer(
    help="Scaling laws: how large a model, for how long, for this budget? `plan` and `run` measure, `fit` finds the laws, "
    "`predict` and `check` ask them. `transfer` compares two recipes.",
    no_args_is_help=True,
    epilog=FIT_EXAMPLES,
)
Source = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY|CSV",
        help="A scaling study, or a CSV file: a row for each run, or for each point of a training curve.",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="A folder for the figures as SVG and the measurements as CSV."),
]
Output = Annotated[Path | None, typer.Option(help="An HTML file for the page with all pictures.")]


@app.command(epilog=PLAN_EXAMPLES)
def plan(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe, or a spec file.")],
    budgets: Annotated[str, typer.Option(metavar="C,C,...", help="The compute of a run, in FLOPs; several budgets.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD=VALUE]...", help="Fields that differ from the recipe.")
    ] = None,
    sizes: Annotated[int, typer.Option(min=1, callback=at_most(1000), help="The number of sizes at each budget.")] = 6,
    seeds: Annotated[int, typer.Option(min=1, callback=at_most(10_000), help="The number of seeds of each size.")] = 3,
    name: Annotated[str | None, typer.Option(help="The name of the study; default: scaling-RECIPE.")] = None,
    tokens_per_parameter: Annotated[
        float,
        typer.Option(min=0.01, callback=at_most(10**6), help="Tokens for each parameter at the middle size of a budget."),
    ] = 20.0,
    spread: Annotated[
        float,
        typer.Option(min=1.1, callback=at_most(10**6), help="How many times the outer sizes differ from the middle one."),
    ] = 4.0,
    most_epochs: Annotated[
        float, typer.Option(min=0.01, callback=at_most(10**6), help="Refuse to read the data more often than this.")
    ] = 300.0,
    rates: Annotated[
        Literal["sweep", "recipe"],
        typer.Option(
            help="A learning rate for each size, by a sweep at two sizes; or the recipe's for all, which is biased."
        ),
    ] = "sweep",
    device: Device = "auto",
) -> None:
    """Plan a scaling study: which models will be trained for how long, and what it costs, before it is spent."""
    from glasshouse.api import scaling
    from glasshouse.cli.tables import console, show
    from glasshouse.formatting import count, duration, flops

    study = scaling.plan(
        recipe,
        *(overrides or ()),
        budgets=budgets,
        sizes=sizes,
        seeds=seeds,
        name=name,
        tokens_per_parameter=tokens_per_parameter,
        spread=spread,
        most_epochs=most_epochs,
        rates=rates,
        device=device,
    )
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
        console.print(f"- before them, a sweep of {tried} learning rates at {swept}: {cost}, counted above", markup=False)
    if study.saved_flops:
        share = study.saved_flops / (study.flops + study.saved_flops)
        console.print(f"- runs for larger budgets branch from those for smaller ones, which saves {share:.0%}", markup=False)
    for note in study.notes:
        console.print(f"- {note}", markup=False)
    console.print(f"train them with: glasshouse scale run {study.name}", markup=False)


@app.command(
    epilog="Examples: glasshouse scale run scaling-piglatin-decoder-only · "
    "glasshouse scale run scaling-piglatin-decoder-only --on slurm --jobs 16"
)
@has_options(Slurm, leave_out=("nodes",))
def run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A scaling study that was planned.")],
    slurm: Slurm,
    device: Device = "auto",
    on: On = None,
) -> None:
    """Train the runs of a scaling study. The same command continues a study that was interrupted.

    With --on slurm the jobs of an array train the runs: first the sweep of learning rates, then the smaller budgets, then
    the largest.
    """
    from glasshouse.api import scaling
    from glasshouse.cli.job_output import print_submission
    from glasshouse.cli.tables import console
    from glasshouse.launching.submission import Submission

    done = scaling.run(study, device, cluster(on, slurm))
    if isinstance(done, Submission):
        print_submission(done)
    else:
        console.print(f"{done.ended()} runs have ended; fit them with: glasshouse scale fit {done.name}", markup=False)


@app.command(epilog=FIT_EXAMPLES)
@has_options(FitOptions)
def fit(
    source: Source,
    options: FitOptions,
    output: Output = None,
    overwrite: Overwrite = False,
    figures: Figures = None,
) -> None:
    """Fit scaling laws to measured losses: IsoFLOP curves, the parametric law, and the envelope of training curves.

    Each comes with 95 % intervals, and with what the data are too thin for.
    """
    _report(source, options, output, overwrite, figures)


@app.command(epilog=PREDICT_EXAMPLES)
@has_options(FitOptions)
def predict(
    source: Source,
    budget: Annotated[float, typer.Option(callback=at_most(10**40), metavar="FLOPS", help="The compute that there is.")],
    options: FitOptions,
    output: Output = None,
    overwrite: Overwrite = False,
    figures: Figures = None,
) -> None:
    """Say what to train for a budget, by every law that the measurements allow, and how far that is beyond them."""
    _report(source, options, output, overwrite, figures, budget)


@app.command(epilog=CHECK_EXAMPLES)
@has_options(FitOptions)
def check(
    options: FitOptions,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="A run; or give --size and --trained-on.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY|CSV", help="The measurements, as for `fit`; default: the scaling study on the run's data."
        ),
    ] = None,
    size: Annotated[
        float | None, typer.Option(callback=at_most(10**30), metavar="N", help="The number of parameters.")
    ] = None,
    trained_on: Annotated[
        float | None, typer.Option(callback=at_most(10**30), metavar="D", help="The number of training tokens.")
    ] = None,
    count: Annotated[
        Literal["all", "without-embeddings", "without-embeddings-with-head"] | None,
        typer.Option(help="Which parameters of the run count; default: as in the study, or all."),
    ] = None,
) -> None:
    """Say whether a run is compute-optimal: its size against the best one for its compute, and what the difference costs."""
    import glasshouse
    from glasshouse.api import scaling
    from glasshouse.cli.tables import console

    if against is None:
        if run is None:
            raise glasshouse.GlasshouseError("name a run, or give --size, --trained-on and --against")
        against = Path(scaling.study_of(run))
    found = scaling.fit(against, **given(options))
    for checked in scaling.check(found, run, size, trained_on, count):
        console.print(f"{checked.verdict}\n", markup=False)
    for note in found.notes:
        console.print(f"- {note}", markup=False)


@app.command(epilog=TRANSFER_EXAMPLES)
@has_options(FitOptions)
def transfer(
    a: Annotated[Path, typer.Argument(metavar="STUDY_A", help="The scaling study of recipe A, or a CSV file as for `fit`.")],
    b: Annotated[Path, typer.Argument(metavar="STUDY_B", help="The same of recipe B.")],
    options: FitOptions,
    output: Output = None,
    overwrite: Overwrite = False,
    figures: Annotated[Path | None, typer.Option(metavar="FOLDER", help="A folder for the figures as SVG.")] = None,
) -> None:
    """Compare two recipes by their scaling curves: how much compute is B worth, and does that grow with scale?

    A needs k times the compute for the loss of B. k comes with 95 % intervals at the smallest and the largest compute that
    both measured, by IsoFLOP curves and by the parametric law.
    """
    from glasshouse.api import runs, scaling

    if output is not None:
        runs.check_output(output, overwrite)
    found = scaling.transfer(a, b, **given(options))
    content = scaling.transfer_content(found)
    _show(content)
    if figures is not None:
        scaling.write_figures(content, figures)
        _name("figures", figures)
    if output is not None:
        _name("page", scaling.write_page(content, output))


def _report(
    source: Path,
    options: FitOptions,
    output: Path | None,
    overwrite: bool,
    figures: Path | None,
    budget: float | None = None,
) -> None:
    from glasshouse.api import runs, scaling

    if output is not None:
        runs.check_output(output, overwrite)
    found = scaling.fit(source, **given(options))
    countings = scaling.countings(source)
    tables = [] if countings is None else [countings]
    content = scaling.content(found, source.name, budget, options.data, tables, scaling.forecast(source))
    _show(content)
    if figures is not None:
        scaling.write_figures(content, figures, found)
        _name("figures", figures)
    if output is not None:
        _name("page", scaling.write_page(content, output))


def _show(content: "ScalingContent") -> None:
    from glasshouse.cli.tables import console, show

    for answer in content.answers:
        console.print(answer, markup=False)
    for table in content.tables:
        console.print(f"\n{table.title}", markup=False)
        show(table.columns, table.rows)
        if table.note:
            console.print(table.note, markup=False)
    for note in content.notes:
        console.print(f"- {note}", markup=False)


def _name(what: str, path: Path) -> None:
    from glasshouse.cli.tables import console

    console.print(f"{what}  {path}", markup=False, soft_wrap=True)
