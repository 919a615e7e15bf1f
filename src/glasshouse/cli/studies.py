"""`glasshouse studies`: list the studies, or show one."""

from typing import Annotated

import typer

EXAMPLES = (
    "Examples: glasshouse studies · glasshouse studies studies/demo-lm-position · "
    "glasshouse studies studies/demo-lm-position --all-pairs · glasshouse studies studies/demo-lm-position --json"
)


def studies(
    name: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="The name of a study, or its folder; default: list all studies.")
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option("--all-pairs", help="Also judge every pair of arms, in the terminal and in the study's report."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results of the study as JSON.")] = False,
) -> None:
    """List the studies in the studies folder, oldest first, and then the scaling studies; or show one study again.

    --all-pairs trains nothing. It answers "rotary or none?" after a study that compared both with learned.
    """
    if name is not None:
        _show_study(name, all_pairs, as_json)
    else:
        _refuse_options(all_pairs, as_json)
        _list_studies()


def _show_study(name: str, all_pairs: bool, as_json: bool) -> None:
    import glasshouse
    from glasshouse.api import studies
    from glasshouse.cli.study_output import print_study
    from glasshouse.cli.tables import shown

    study = studies.judge_all_pairs(name) if all_pairs else glasshouse.open_study(name)
    if as_json:
        # As it is for a program; a terminal would obey the control characters of names.
        print(shown(study.to_json(), raw=True), end="")
    else:
        print_study(study)


def _refuse_options(all_pairs: bool, as_json: bool) -> None:
    from glasshouse.specs.errors import SpecError

    for option, given in (("--all-pairs", all_pairs), ("--json", as_json)):
        if given:
            raise SpecError(f"{option} works on one study; name it: glasshouse studies STUDY {option}")


def _list_studies() -> None:
    import glasshouse
    from glasshouse.api import scaling, studies
    from glasshouse.cli.study_output import summary
    from glasshouse.cli.tables import console, show
    from glasshouse.results import study_text
    from glasshouse.specs.errors import GlasshouseError

    saved, scale_studies = glasshouse.list_studies(), scaling.list_studies()
    if not saved and not scale_studies:
        example = "glasshouse compare demo-lm model.position=learned,rotary"
        console.print(f"There are no studies in {studies.studies_folder()} yet. Begin with: {example}", soft_wrap=True)
        return
    rows = []
    for study in saved:
        try:
            comparison, kind = study.comparison, study.design.question.kind
        except GlasshouseError as error:
            rows.append((study.name, "", "", "", "", "damaged", str(error)))
            continue
        done, planned = study_text.run_counts(comparison)
        arms = str(len(comparison.arms))
        rows.append((study.name, kind, comparison.recipe, arms, f"{done}/{planned}", comparison.status, summary(comparison)))
    for name in scale_studies:
        try:
            found = scaling.open_study(name)
            done, planned = found.ended(), len(found.sizes) * len(found.seeds)
        except GlasshouseError as error:
            rows.append((name, "scaling", "", "", "", "damaged", str(error)))
            continue
        budgets = f"budgets: {', '.join(f'{budget:.3g}' for budget in found.budgets)} FLOPs"
        status = "done" if done == planned else "unfinished"
        rows.append((name, "scaling", found.words[0], "", f"{done}/{planned}", status, budgets))
    show(("study", "kind", "recipe", "arms", "runs", "status", "verdict"), rows, right=(3, 4))
