"""The notebook runs: its claims are `assert` statements, so that running it proves them.

After a change to the notebook, `python -m tests.test_notebook` runs it and stores it with its outputs.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests import needs

nbformat = needs.package("nbformat")
nbclient = needs.package("nbclient")
needs.package("ipykernel")

NOTEBOOK = Path(__file__).parent.parent / "docs" / "from_an_empty_cell.ipynb"


def executed(notebook: Any, folder: Path) -> Any:
    """Run every cell, with the Python that runs this, in a folder of its own; an error in a cell is an error here."""
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}))
    changes = {
        "JUPYTER_PATH": str(folder),
        "JUPYTER_RUNTIME_DIR": str(folder),
        "IPYTHONDIR": str(folder),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
    }
    with mock.patch.dict(os.environ, changes):
        return nbclient.NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=600,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        ).execute()


def cleaned(notebook: Any) -> Any:
    """The notebook with nothing in its metadata but what a reader's program needs."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
    return notebook


def kinds(notebook: Any) -> list[list[str]]:
    """What each code cell put out: text or pictures, by the names of their formats."""
    return [
        [",".join(sorted(output.get("data", {"text": ""}))) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.slow
def test_every_claim_of_the_notebook_holds(tmp_path: Path) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = executed(nbformat.read(NOTEBOOK, as_version=4), tmp_path)
    assert kinds(fresh) == kinds(stored), "the stored outputs are not this notebook's; run: python -m tests.test_notebook"


def test_the_stored_notebook_is_whole_and_clean() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook == cleaned(nbformat.read(NOTEBOOK, as_version=4))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert sum("assert " in cell.source for cell in cells) > len(cells) / 2
    said = "\n".join([cell.source for cell in notebook.cells] + [o.text for c in cells for o in c.outputs if "text" in o])
    for place in (NOTEBOOK.parent.parent, Path(sys.prefix), Path.home(), Path(tempfile.gettempdir())):
        assert str(place) not in said or place == Path("/")
    for target in re.findall(r"\]\(([^)#]+)\)", "\n".join(cell.source for cell in notebook.cells if cell not in cells)):
        assert (NOTEBOOK.parent / target).exists(), target
    assert NOTEBOOK.stat().st_size < 500_000, "draw smaller pictures"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        done = executed(nbformat.read(NOTEBOOK, as_version=4), Path(folder))
    nbformat.write(cleaned(done), NOTEBOOK)
