"""The pictures that a run was not trained on, and pictures that are named by a file or by their number among these."""

import re
from os import PathLike

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document, Source
from glasshouse.data.user_files.pictures import read_picture
from glasshouse.records import user_paths
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError

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
