"""stories260K, a published model of 260,000 parameters, for claims about language models.

It is used where its file is present.
"""

import shutil
from pathlib import Path

from glasshouse.data.sources.remote_files import RemoteFile
from glasshouse.interop import imported_model, llama2c
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError

FILE = RemoteFile("weights/stories260K.bin")


def open_stories(folder: Path, device: str) -> Run | None:
    """The model as a run at this path; None if its file is not on this machine."""
    if not folder.exists() or RunFolder(folder).recorded_status() != Status.IMPORTED:  # the status is written last
        try:
            path = FILE.locate("stories260K")
        except DataError:
            return None
        shutil.rmtree(folder, ignore_errors=True)
        imported_model.save_as_run(llama2c.read(path), "stories", folder)
    return Run(folder, device)
