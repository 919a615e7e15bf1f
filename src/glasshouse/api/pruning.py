"""Write a smaller run, and train it further if that is wanted."""

from os import PathLike

from glasshouse.api.trained_folder import train_folder
from glasshouse.inspection import pruning
from glasshouse.inspection.pruning import Pruned
from glasshouse.records import progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


def prune(
    run: Run,
    name: str,
    heads: float | None,
    weights: float | None,
    by: str,
    then_train: int,
    data: str | PathLike[str] | None,
    examples: int,
) -> tuple[Pruned, RunFolder]:
    """As `Run.prune`. Returns what was removed, and the folder of the final run."""
    if (heads is None) == (weights is None):
        raise GlasshouseError("prune needs a share of heads or a share of weights; give one of the two")
    if then_train < 0:
        raise GlasshouseError("is below 0; choose a number of steps", "then_train", then_train)
    if then_train and weights is not None:
        raise GlasshouseError("training would fill the weights that were set to zero; prune heads, or leave out then_train")
    pruned_name = f"{name}-untrained" if then_train else name
    for wanted in {name, pruned_name}:
        run_folder.check_free(wanted)
    with progress_bar.bar("pruning") as bar:
        if heads is not None:
            file = None if data is None else str(data)
            result = pruning.prune_heads(run, heads, by, pruned_name, file, examples, bar)
        else:
            result = pruning.prune_weights(run, weights or 0.0, pruned_name)
    if not then_train:
        return result, result.run
    changes = (f"training.steps={then_train}", "training.epochs=0", f"training.start_from={result.run.path}")
    spec = resolve_spec.run_spec(str(result.run.spec_file), *changes)
    trained = run_folder.create(spec, name, name, asked=resolve_spec.words_of(str(result.run.spec_file), *changes))
    return result, train_folder(trained, str(run.device))
