"""Compare arms with statistical tests, sweep hyper-parameters, and list studies."""

from typing import Annotated

import glasshouse
from glasshouse.cli.options import AsJson, Device, On, Words, argument, cluster, has_options, option
from glasshouse.cli.tables import console, show, shown
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.options import given
from glasshouse.studies.study_options import NOT_OF_SWEEPS, StudyOptions


@has_options(StudyOptions)
@has_options(Slurm, leave_out=("nodes",))
def compare(options: StudyOptions, slurm: Slurm, words: Words = None, device: Device = "auto", on: On = None) -> None:
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    A field with several values makes one arm per value. Several fields with several values make a grid, and so do several
    recipes. Arms are paired by seed. The verdict of an arm is better, worse, no difference larger than the margin, or
    undecided. The same command continues an interrupted study, and with more seeds it extends a finished one.

    --items makes a verdict one about the population that the items of the evaluation come from. A study with --register
    takes no seeds that it did not plan; --replicate asks its question again. --multiverse trains more studies, says how many
    runs they have before it starts, and shows in which of them the verdict holds. --all-pairs answers for the other arms
    among themselves too; the verdicts against the first arm stay the same.

    With --on slurm the jobs of an array train the runs, and a last job repeats the command to judge the study.

    Examples:
        glasshouse compare demo-lm model.position=learned,rotary,none --seeds 8
        glasshouse compare shakespeare model.attention=dot-product,additive --match time --metric validation.loss
        glasshouse compare speech-lm speech-lm-best --seeds 3,5,9 --match flops
        glasshouse compare demo-lm model.norm=layer,rms --until-decided --batch 4 --max-seeds 32
        glasshouse compare demo-lm model.activation=gelu,swiglu --tune training.learning_rate=2e-3,4e-3,8e-3
        glasshouse compare presidents model.norm=layer,rms --metric test.accuracy --items --register --name norms
        glasshouse compare --replicate norms
        glasshouse compare demo-lm model.position=learned,rotary --multiverse
        glasshouse compare demo-lm model.position=learned,rotary,none --all-pairs
        glasshouse compare demo-lm model.norm=layer,rms --seeds 32 --on slurm --time 2:00:00
    """
    from glasshouse.cli.study_output import print_outcome

    print_outcome(glasshouse.compare(*(words or ()), device=device, on=cluster(on, slurm), **given(options)))


@has_options(StudyOptions, leave_out=NOT_OF_SWEEPS, seeds="4")
@has_options(Slurm, leave_out=("nodes",))
def sweep(words: Words, options: StudyOptions, slurm: Slurm, device: Device = "auto", on: On = None) -> None:
    """Train a recipe over ranges of values with several seeds each, and show the metric for each value.

    A range is written 1e-4..1e-2:log:8, 0..0.5:lin:6, 1..8 (whole numbers) or 1,2,4. Several fields make a grid. The arms
    are compared with the first arm and listed by the values of the fields.

    Examples:
        glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:8 training.weight_decay=0,0.1 --seeds 4
        glasshouse sweep demo-lm model.layers=1..6 model.dropout=0..0.5:lin:6 --seeds 2 --match flops
        glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:16 --on slurm --jobs 8
    """
    from glasshouse.cli.study_output import print_outcome

    print_outcome(glasshouse.sweep(*(words or ()), device=device, on=cluster(on, slurm), **given(options)))


def studies(
    name: Annotated[str | None, argument("The name of a study, or its folder; default: list all studies.", "STUDY")] = None,
    all_pairs: Annotated[
        bool, option("Also judge every pair of arms, in the terminal and in the study's report.", "--all-pairs")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the studies in the studies folder, oldest first, and then the scaling studies; or show one study again.

    --all-pairs trains nothing. It answers "rotary or none?" after a study that compared both with learned.

    Examples:
        glasshouse studies
        glasshouse studies studies/demo-lm-position
        glasshouse studies studies/demo-lm-position --all-pairs
        glasshouse studies studies/demo-lm-position --json
    """
    from glasshouse.api import scaling, studies
    from glasshouse.cli.study_output import print_study, summary
    from glasshouse.results import study_text

    if name is not None:
        study = studies.judge_all_pairs(name) if all_pairs else glasshouse.open_study(name)
        if as_json:
            # As it is for a program; a terminal would obey the control characters of names.
            print(shown(study.to_json(), raw=True), end="")
        else:
            print_study(study)
        return
    if all_pairs or as_json:
        typed = "--all-pairs" if all_pairs else "--json"
        raise GlasshouseError(f"{typed} works on one study; name it: glasshouse studies STUDY {typed}")
    saved, scale_studies = glasshouse.list_studies(), scaling.list_studies()
    if not saved and not scale_studies:
        example = "glasshouse compare demo-lm model.position=learned,rotary"
        console.print(f"There are no studies in {studies.studies_folder()} yet. Begin with: {example}")
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
