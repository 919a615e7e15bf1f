"""What a model that describes pictures writes about a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.inspection import held_out_pictures
from glasshouse.inspection.held_out_pictures import Target
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.describe import Describe

# The held-out pictures that are described if none is named.
DEFAULT = tuple(range(6))


@dataclass(frozen=True)
class Description:
    """A picture (S, S, 3), its name, what the model writes about it, and its caption in the data, if it has one."""

    picture: np.ndarray
    name: str
    text: str
    caption: str = ""


def describe(
    run: Run, targets: Sequence[Target] = (), progress: Callable[[float], None] = lambda share: None
) -> list[Description]:
    """Describe pictures: files, numbers of held-out pictures, or uint8 arrays; by default the first held-out ones."""
    task = run.task
    if not isinstance(task, Describe):
        raise GlasshouseError(
            f"{run.name} does not describe pictures: its task is {run.spec.task!r}; train a model that does: "
            "glasshouse train scene-describer"
        )
    found = [held_out_pictures.find(run, target, task.size) for target in targets or DEFAULT]
    texts: list[str] = []
    settings = run.spec.evaluation
    for start in range(0, len(found), settings.batch):
        pictures = np.stack([picture for picture, _, _ in found[start : start + settings.batch]])
        texts += task.describe_pictures(run.model, pictures, settings)
        progress(len(texts) / len(found))
    return [Description(picture, name, text, caption) for (picture, name, caption), text in zip(found, texts, strict=True)]
