"""Try a claim; list the claims, write their pages and check a record of trials."""

from typing import TYPE_CHECKING, Annotated

import typer

import glasshouse
from glasshouse.cli.jobs import print_submission
from glasshouse.cli.options import Device, On, argument, cluster, group, has_options, option
from glasshouse.cli.tables import console, show, shown
from glasshouse.launching.cluster_settings import Slurm

if TYPE_CHECKING:
    from glasshouse.results.claim import Case


@has_options(Slurm, leave_out=("nodes",))
def claim(
    slurm: Slurm,
    name: Annotated[str, argument("The name of a claim (see `glasshouse claims`).")],
    seeds: Annotated[
        str | None,
        option(
            "The number of seeds, or increasing numbers after which the trial is judged; default: as the claim plans.",
            metavar="N|A,B,...",
        ),
    ] = None,
    quick: Annotated[bool, option("Run a very small version within a minute, without a verdict.", "--quick")] = False,
    replicate: Annotated[
        bool, option("Repeat a finished trial of the same plan on seeds that were never used.", "--replicate")
    ] = False,
    first_seed: Annotated[
        int | None, option("The first seed; default: 1000 times the number of the trial.", low=0, high=2**31 - 1)
    ] = None,
    register: Annotated[bool, option("Write the registration of the trial and run nothing.", "--register")] = False,
    device: Device = "auto",
    on: On = None,
) -> None:
    """Try a claim: register the plan, run its studies, apply the registered rule.

    The plan is written to studies/claims/NAME/trial-N before the first run. The verdict is upheld, refuted, too small to
    matter, depends or undecided. The same command continues a trial that was interrupted. A changed plan, other seeds or
    --replicate begin a new trial beside the others; no trial is ever replaced.

    With --on slurm the trial is registered here and run by jobs: one that measures, and arrays that train.

    Examples:
        glasshouse claim alibi-extrapolates --quick
        glasshouse claim learned-positions --seeds 16
        glasshouse claim nmt --replicate
        glasshouse claim nmt --on slurm --time 8:00:00
    """
    from glasshouse.launching.submission import Submission
    from glasshouse.pages import claim_text

    case = glasshouse.try_claim(name, seeds, quick, replicate, device, first_seed, register, cluster(on, slurm))
    if isinstance(case, Submission):
        print_submission(case)
    elif register:
        console.print(claim_text.trial_sentence(case.trials[-1]))
    else:
        _print_verdict(case, quick, replicate)


def _print_verdict(case: "Case", quick: bool, replicate: bool) -> None:
    """Print what was reported and measured, the parts of the rule, and the verdict."""
    from glasshouse.pages import claim_text

    trial = case.trials[-1] if quick or replicate else case.original or case.trials[-1]
    assert trial.finding
    console.print(f"{case.name}: {case.statement}")
    show(("", "reported", "measured"), [row[:3] for row in claim_text.value_rows(trial)])
    for result in trial.finding.parts:
        beside = "" if result.part.decides else " (beside)"
        line = f"{claim_text.SYMBOLS[result.outcome]} {claim_text.part_sentence(trial, result)}{beside}"
        console.print(line)
    console.print()
    if quick:
        console.print("? This was a quick run, from which nothing follows.", style="bold")
    else:
        console.print(f"{claim_text.SYMBOLS[trial.verdict]} {trial.verdict}", style="bold")
        console.print(claim_text.trial_sentence(trial))
    for what, text in trial.measured.facts if trial.measured else ():
        console.print(f"{what}: {text}", style="dim")
    for note in trial.measured.notes if trial.measured else ():
        console.print(f"note: {note}")


def claims(context: typer.Context) -> None:
    """List the claims with their verdicts so far; `report` writes their pages, `check` computes them again.

    `glasshouse claim NAME` tries a claim.

    Examples:
        glasshouse claims
        glasshouse claims report --output claims.html
        glasshouse claims check docs/claims
    """
    if context.invoked_subcommand is None:
        from glasshouse.api import studies
        from glasshouse.pages.claim_text import verdict_text

        cases = studies.list_claims()
        rows = [(case.name, case.statement, verdict_text(case) + " (damaged)" * bool(case.damage)) for case in cases]
        show(("claim", "statement", "verdict"), rows)
        for damage in (damage for case in cases for damage in case.damage):
            console.print(f"damaged: {damage}")


def report(
    output: Annotated[
        str, option("An .html file that works offline, or a folder for Markdown pages with their record.")
    ] = "claims.html",
    record: Annotated[
        str | None, option("A record whose trials an .html file shows beside those of the studies folder.")
    ] = None,
) -> None:
    """Write the pages of all claims from the saved trials. No claim is tried.

    A folder also gets the registration and the values of every trial; nothing in it is replaced.

    Examples:
        glasshouse claims report
        glasshouse claims report --record docs/claims --output claims.html
        glasshouse claims report --output docs/claims
    """
    from glasshouse.api import studies

    print(shown(str(studies.claims_report(output, record)), raw=True))


def check(record: Annotated[str, argument("The folder of a record, as `claims report` writes it.")] = "docs/claims") -> None:
    """Compute every page of a record again from its registrations and values, and fail on any difference.

    Examples:
        glasshouse claims check docs/claims
    """
    from glasshouse.api import studies

    faults = studies.check_claims(record)
    for fault in faults:
        print(shown(fault))
    if faults:
        raise typer.Exit(1)
    print(shown(f"{record}: every page and picture follows from the registered plans and the values"))


app = group(claims, report, check)
