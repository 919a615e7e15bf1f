"""Whether Triton is installed. It comes with torch for CUDA; without it, plain operations take the place of kernels."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import torch

_found = find_spec("triton")
# A folder that happens to have this name is found too, but has no file to import.
TRITON_INSTALLED = _found is not None and _found.origin is not None


def can_build(call_kernels: Callable[[], object]) -> bool:
    """Whether kernels can be built on this machine, by calling them. Triton needs a C compiler and Python's headers."""
    if not (TRITON_INSTALLED and torch.cuda.is_available()):
        return False
    try:
        call_kernels()
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        warnings.warn(f"Triton cannot build kernels, so slower plain operations are used instead: {reason}", stacklevel=2)
        return False
    return True
