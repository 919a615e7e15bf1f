"""`glasshouse claim`: register and run a trial of a claim."""

from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.cli.arguments import Device, On
from glasshouse.cli.options import at_most, cluster, has_options
from glasshouse.launching.cluster_settings import Slurm

if TYPE_CHECKING:
    from glasshouse.results.claim import Case

EXAMPLES = (
    "Examples: glasshouse claim alibi-extrapolates --quick · glasshouse claim learned-positions --seeds 16 · "
    "glasshouse claim nmt --replicate · glasshouse claim nmt --on slurm --time 8:00:00"
)


@has_options(Slurm, leave_out=("nodes",))
def claim(
    slurm: Slurm,
    name: Annotated[str, typer.Argument(help="The name of a claim (see `glasshouse claims`).")],
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N|A,B,...",
            help="The number of seeds, or increasing numbers after which the trial is judged; default: as the claim plans.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a very small version within a minute, without a verdict.")
    ] = False,
    replicate: Annotated[
        bool, typer.Option("--replicate", help="Repeat a finished trial of the same plan on seeds that were never used.")
    ] = False,
    first_seed: Annotated[
        int | None,
        typer.Option(
            callback=at_most(2**31 - 1), help="The first seed; default: 1000 times the number of the trial.", min=0
        ),
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="Write the registration of the trial and run nothing.")
    ] = False,
    device: Device = "auto",
    on: On = None,
) -> None:
    """Try a claim: register the plan, run its studies, apply the registered rule.

    The plan is written to studies/claims/NAME/trial-N before the first run. The verdict is upheld, refuted, too small to
    matter, depends or undecided. The same command continues a trial that was interrupted. A changed plan, other seeds or
    --replicate begin a new trial beside the others; no trial is ever replaced.

    With --on slurm the trial is registered here and run by jobs: one that measures, and arrays that train.
    """
    import glasshouse
    from glasshouse.cli.job_output import print_submission
    from glasshouse.cli.tables import console
    from glasshouse.launching.submission import Submission
    from glasshouse.pages import claim_text

    case = glasshouse.try_claim(name, seeds, quick, replicate, device, first_seed, register, cluster(on, slurm))
    if isinstance(case, Submission):
        print_submission(case)
    elif register:
        console.print(claim_text.trial_sentence(case.trials[-1]), markup=False, soft_wrap=True)
    else:
        _print_verdict(case, quick, replicate)


def _print_verdict(case: "Case", quick: bool, replicate: bool) -> None:
    """Print what was reported and measured, the parts of the rule, and the verdict."""
    from glasshouse.cli.tables import console, show
    from glasshouse.pages import claim_text

    trial = case.trials[-1] if quick or replicate else case.original or case.trials[-1]
    assert trial.finding
    console.print(f"{case.name}: {case.statement}", markup=False, soft_wrap=True)
    show(("", "reported", "measured"), [row[:3] for row in claim_text.value_rows(trial)])
    for result in trial.finding.parts:
        beside = "" if result.part.decides else " (beside)"
        line = f"{claim_text.SYMBOLS[result.outcome]} {claim_text.part_sentence(trial, result)}{beside}"
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    if quick:
        console.print("? This was a quick run, from which nothing follows.", markup=False, style="bold")
    else:
        console.print(f"{claim_text.SYMBOLS[trial.verdict]} {trial.verdict}", markup=False, style="bold")
        console.print(claim_text.trial_sentence(trial), markup=False, soft_wrap=True)
    for what, text in trial.measured.facts if trial.measured else ():
        console.print(f"{what}: {text}", markup=False, soft_wrap=True, style="dim")
    for note in trial.measured.notes if trial.measured else ():
        console.print(f"note: {note}", markup=False, soft_wrap=True)
