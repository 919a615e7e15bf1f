"""Write a smaller run, and train it further if that is wanted."""

from os import PathLike

import glasshouse
from glasshouse.api.opened_run import run_of
from glasshouse.api.trained_folder import train_folder
from glasshouse.inspection import pruning
from glasshouse.inspection.pruning import Pruned
from glasshouse.records import progress_bar, run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import GlasshouseError


def prune(
    run: str | PathLike[str],
    name: str,
    heads: float | None = None,
    weights: float | None = None,
    by: str = "gradient",
    then_train: int = 0,
    data: str | PathLike[str] | None = None,
    examples: int = 128,
    device: str = "auto",
) -> tuple[Pruned, "glasshouse.Run"]:
    """Write a smaller run: without a share of the heads, or with a share of the weights set to zero.

    With `then_train`, the pruned run is stored as `name`-untrained, and `name` is trained from it for this number of steps.
    Returns what was removed, and the final run.
    """
    if (heads is None) == (weights is None):
        raise GlasshouseError("prune needs a share of heads or a share of weights; give one of the two")
    if then_train < 0:
        raise GlasshouseError("is below 0; choose a number of steps", "then_train", then_train)
    if then_train and weights is not None:
        raise GlasshouseError("training would fill the weights that were set to zero; prune heads, or leave out then_train")
    pruned_name = f"{name}-untrained" if then_train else name
    for wanted in {name, pruned_name}:
        run_folder.check_free(wanted)
    opened = run_of(run, device)
    with progress_bar.bar("pruning") as bar:
        if heads is not None:
            file = None if data is None else str(data)
            result = pruning.prune_heads(opened, heads, by, pruned_name, file, examples, bar)
        else:
            result = pruning.prune_weights(opened, weights or 0.0, pruned_name)
    if not then_train:
        return result, glasshouse.Run(result.run, device)
    changes = (f"training.steps={then_train}", "training.epochs=0", f"training.start_from={result.run.path}")
    spec = resolve_spec.run_spec(str(result.run.spec_file), *changes)
    trained = run_folder.create(spec, name, name, asked=resolve_spec.words_of(str(result.run.spec_file), *changes))
    return result, glasshouse.Run(train_folder(trained, str(opened.device)), device)
