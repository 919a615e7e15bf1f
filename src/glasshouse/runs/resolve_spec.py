"""From a recipe and what is changed in it to the whole spec of a run, which alone reproduces it. Makes no folder."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from glasshouse.specs import recipes
from glasshouse.specs.spec import Spec
from glasshouse.training import warm_start


def spec_of(recipe: str, *overrides: str, **sections: dict[str, Any]) -> Spec:
    """The whole spec of a recipe with what is changed in it. A run to start from gives its model's shape and tokenizer."""
    spec = recipes.spec(recipe, overrides, **sections)
    # A run's own spec.toml has taken all that over already, and says what was changed in it.
    finished = Path(recipe).name == "spec.toml"
    known = recipes.tables_of(recipe).get("training", {}).get("start_from", "") if finished else ""
    if spec.training.start_from and spec.training.start_from != known:
        origin = warm_start.find(spec.training.start_from)
        given = {"model": warm_start.shape(origin.spec()), "data": {}}
        if origin.tokenizer_file.exists():
            given["data"]["tokenizer_file"] = str(origin.tokenizer_file)
        spec = recipes.spec(recipe, overrides, given, **sections)
        spec = replace(spec, training=replace(spec.training, start_from=str(origin.path.absolute())))
    return _with_absolute_paths(spec)


def name_of(recipe: str) -> str:
    """What a run of a recipe is called by default; a run's own spec.toml is named after its folder."""
    path = Path(recipe)
    return path.parent.name if path.name == "spec.toml" and path.parent.name else path.stem


def _with_absolute_paths(spec: Spec) -> Spec:
    """The spec with files that can be found from any folder, so that it alone reproduces the run."""
    data = spec.data
    files = tuple(os.path.abspath(os.path.expanduser(name)) for name in data.files)
    tokenizer = os.path.abspath(os.path.expanduser(data.tokenizer_file)) if data.tokenizer_file else ""
    return replace(spec, data=replace(data, files=files, tokenizer_file=tokenizer))
