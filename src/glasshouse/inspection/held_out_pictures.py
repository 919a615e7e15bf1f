"""The pictures that a run was not trained on, pictures named by a file or by a number, and what a run writes about them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document, Source
from glasshouse.data.user_files.pictures import read_picture
from glasshouse.records import user_paths
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.base import Progress, no_progress
from glasshouse.tasks.describe import Describe

# The held-out pictures that are described if none is named.
DEFAULT = tuple(range(6))

Target = str | int | PathLike[str] | np.ndarray | None


def source(run: Run) -> Source:
    """The data of a run that has pictures."""
    if not run.spec.data.source and not run.spec.data.files:
        raise DataError(
            f"{run.name} was imported without data: it has no held-out pictures, and their preprocessing is not known; "
            "use a run that was trained here: glasshouse train scene-clip"
        )
    return prepared_data.find_source(run.spec.data, ("picture",))


def documents(run: Run) -> list[Document]:
    """The captioned pictures of the test split, or of the validation split if the test split is empty."""
    data = source(run)
    found = list(data.documents("test")) or list(data.documents("validation"))
    if not found:
        raise DataError(f"{run.name} has no held-out pictures; train it with data.test above 0")
    return found


def find(run: Run, target: Target, size: int) -> tuple[np.ndarray, str, str]:
    """(picture, name, caption) of a target: an array, the number of a held-out picture, or a picture file.

    The caption of a picture that is not held-out is empty.
    """
    if isinstance(target, np.ndarray):
        if target.shape != (size, size, 3) or target.dtype != np.uint8:
            raise GlasshouseError(
                f"the picture has shape {target.shape} and type {target.dtype}, but {run.name} needs shape "
                f"({size}, {size}, 3) and type uint8; resize and convert it"
            )
        return target, "a picture", ""
    if target is None or isinstance(target, int) or re.fullmatch(r"-?[0-9]+", str(target)):
        held, number = documents(run), int(str(target or 0))
        if not 0 <= number < len(held):
            raise GlasshouseError(
                f"there is no held-out picture {number}: {run.name} has {len(held)}, numbered from 0; "
                "choose one of these, or a picture file"
            )
        picture = held[number].picture
        assert picture is not None
        return picture, f"held-out picture {number}", held[number].text
    path = user_paths.expand(target)
    return read_picture(path, size), path.name, ""


@dataclass(frozen=True)
class Description:
    """A picture (S, S, 3), its name, what the model writes about it, and its caption in the data, if it has one."""

    picture: np.ndarray
    name: str
    text: str
    caption: str = ""


def describe(run: Run, targets: Sequence[Target] = (), progress: Progress = no_progress) -> list[Description]:
    """Describe pictures: files, numbers of held-out pictures, or uint8 arrays; by default the first held-out ones."""
    task = run.task
    if not isinstance(task, Describe):
        raise GlasshouseError(
            f"{run.name} does not describe pictures: its task is {run.spec.task!r}; train a model that does: "
            "glasshouse train scene-describer"
        )
    found = [find(run, target, task.size) for target in targets or DEFAULT]
    texts: list[str] = []
    settings = run.spec.evaluation
    for start in range(0, len(found), settings.batch):
        pictures = np.stack([picture for picture, _, _ in found[start : start + settings.batch]])
        texts += task.describe_pictures(run.model, pictures, settings)
        progress(len(texts) / len(found))
    return [Description(picture, name, text, caption) for (picture, name, caption), text in zip(found, texts, strict=True)]
