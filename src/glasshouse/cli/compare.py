"""`glasshouse compare`: compare variants of a model or a training with statistical tests."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, On
from glasshouse.cli.options import cluster, has_options
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.specs.options import given
from glasshouse.studies.study_options import StudyOptions

EXAMPLES = (
    "Examples: glasshouse compare demo-lm model.position=learned,rotary,none --seeds 8 · "
    "glasshouse compare shakespeare model.attention=dot-product,additive --match time --metric validation.loss · "
    "glasshouse compare speech-lm speech-lm-best --seeds 3,5,9 --match flops · "
    "glasshouse compare demo-lm model.norm=layer,rms --until-decided --batch 4 --max-seeds 32 · "
    "glasshouse compare demo-lm model.activation=gelu,swiglu --tune training.learning_rate=2e-3,4e-3,8e-3 · "
    "glasshouse compare presidents model.norm=layer,rms --metric test.accuracy --items --register --name norms · "
    "glasshouse compare --replicate norms · "
    "glasshouse compare demo-lm model.position=learned,rotary --multiverse · "
    "glasshouse compare demo-lm model.position=learned,rotary,none --all-pairs · "
    "glasshouse compare demo-lm model.norm=layer,rms --seeds 32 --on slurm --time 2:00:00"
)


@has_options(StudyOptions)
@has_options(Slurm, leave_out=("nodes",))
def compare(
    options: StudyOptions,
    slurm: Slurm,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE... FIELD=VALUES...",
            help="Recipes and changes to them: model.norm=layer,rms makes an arm per value, model.width=64 applies to all "
            "arms. None with --replicate.",
        ),
    ] = None,
    device: Device = "auto",
    on: On = None,
) -> None:
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    A field with several values makes one arm per value. Several fields with several values make a grid, and so do several
    recipes. Arms are paired by seed. The verdict of an arm is better, worse, no difference larger than the margin, or
    undecided. The same command continues an interrupted study, and with more seeds it extends a finished one.

    --items makes a verdict one about the population that the items of the evaluation come from. A study with --register
    takes no seeds that it did not plan; --replicate asks its question again. --multiverse trains more studies, says how many
    runs they have before it starts, and shows in which of them the verdict holds. --all-pairs answers for the other arms
    among themselves too; the verdicts against the first arm stay the same.

    With --on slurm the jobs of an array train the runs, and a last job repeats the command to judge the study.
    """
    import glasshouse
    from glasshouse.cli.study_output import print_outcome

    print_outcome(glasshouse.compare(*(words or ()), device=device, on=cluster(on, slurm), **given(options)))
