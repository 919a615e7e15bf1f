"""`glasshouse sweep`: train a recipe over ranges of hyper-parameters."""

from glasshouse.cli.arguments import Device, On, Words
from glasshouse.cli.options import cluster, has_options
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.specs.options import given
from glasshouse.studies.study_options import NOT_OF_SWEEPS, StudyOptions

EXAMPLES = (
    "Examples: glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:8 training.weight_decay=0,0.1 --seeds 4 · "
    "glasshouse sweep demo-lm model.layers=1..6 model.dropout=0..0.5:lin:6 --seeds 2 --match flops · "
    "glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:16 --on slurm --jobs 8"
)


@has_options(StudyOptions, leave_out=NOT_OF_SWEEPS, seeds="4")
@has_options(Slurm, leave_out=("nodes",))
def sweep(words: Words, options: StudyOptions, slurm: Slurm, device: Device = "auto", on: On = None) -> None:
    """Train a recipe over ranges of values with several seeds each, and show the metric for each value.

    A range is written 1e-4..1e-2:log:8, 0..0.5:lin:6, 1..8 (whole numbers) or 1,2,4. Several fields make a grid. The arms
    are compared with the first arm and listed by the values of the fields.
    """
    import glasshouse
    from glasshouse.cli.study_output import print_outcome

    print_outcome(glasshouse.sweep(*words, device=device, on=cluster(on, slurm), **given(options)))
