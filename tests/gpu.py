"""The tests that need a CUDA device, and the battery of parts on it: `make test-gpu`.

Uses the Python and the packages that are there, and installs nothing: images for GPUs have torch, pytest and little else.
Entry points are read from the metadata that setuptools writes beside the source.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The battery runs on the device that GLASSHOUSE_TEST_DEVICE names.
BATTERY = "tests/parts/test_battery.py"


def main() -> int:
    import torch

    if not torch.cuda.is_available():
        print("make test-gpu needs a CUDA device, and torch finds none", file=sys.stderr)
        return 2
    metadata = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "egg_info", "--egg-base", "src"]
    subprocess.run(metadata, cwd=ROOT, check=True)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "GLASSHOUSE_TESTS_REQUIRE": "cuda,kernels"}
    # Processes share the device: a few are faster than one, and its memory has room for them.
    workers = ["-n", "4"] if find_spec("xdist") else []
    pytest = [sys.executable, "-m", "pytest", *workers, "-p", "no:cacheprovider"]
    commands = [
        ([*pytest, "-m", "cuda", "tests"], environment),
        ([*pytest, "-m", "not slow", BATTERY], {**environment, "GLASSHOUSE_TEST_DEVICE": "cuda"}),
        (
            [*pytest, "-m", "not slow", BATTERY],
            {**environment, "GLASSHOUSE_TEST_DEVICE": "cuda", "GLASSHOUSE_TEST_PRECISION": "bf16"},
        ),
    ]
    return max(subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode for command, variables in commands)


if __name__ == "__main__":
    sys.exit(main())
