"""What some tests need and not every machine has. Each need has one reason, so that a run of the tests can count its skips.

`GLASSHOUSE_TESTS_REQUIRE=chromium,data` makes a run fail where a test was skipped for one of these needs.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

REASONS = {
    "chromium": "needs Chromium",
    "cuda": "needs a CUDA device",
    "data": "needs the data sets that GLASSHOUSE_DATA names",
    "kernels": "needs a CUDA device and Triton",
    "latex": "needs pdflatex",
    "packages": "needs an optional package",
    "root": "needs to mount a file system",
    "slurm": "needs Slurm and munge (Debian and Ubuntu, as root: apt-get update && apt-get install -y slurm-wlm munge)",
}
CUDA = (REASONS["cuda"], REASONS["kernels"])
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# What the combinations of the battery do not have: not a lack of the machine.
NOT_APPLICABLE = "does not apply to this combination of parts"


def _kernels() -> bool:
    if not torch.cuda.is_available():
        return False
    from glasshouse.parts.triton_installed import TRITON_INSTALLED

    return TRITON_INSTALLED


def skip(need: str) -> None:
    """Skip the test that runs, for want of this."""
    pytest.skip(REASONS[need])


def chromium() -> str:
    """The path of the browser; skips where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        skip("chromium")
    assert found
    return found


def data(path: str) -> Path:
    """A file or folder under the folder that GLASSHOUSE_DATA names; skips where it is not there."""
    found = Path(os.environ.get("GLASSHOUSE_DATA") or "/nowhere") / path
    if not found.exists():
        skip("data")
    return found


def package(name: str) -> Any:
    """An optional package; skips where it is not installed."""
    return pytest.importorskip(name, reason=REASONS["packages"])


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASONS["cuda"])
needs_kernels = pytest.mark.skipif(not _kernels(), reason=REASONS["kernels"])
needs_data = pytest.mark.skipif(not os.environ.get("GLASSHOUSE_DATA"), reason=REASONS["data"])
needs_latex = pytest.mark.skipif(not shutil.which("pdflatex"), reason=REASONS["latex"])


def slow(*cases: Any) -> list[Any]:
    """Cases of a test for `make test-slow` alone: further forms of one that `make test` tries."""
    return [pytest.param(case, marks=pytest.mark.slow) for case in cases]
