"""How the kernels of this package are compiled and where the result is kept; knows nothing of what they do."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


@functools.cache
def sources_stamp() -> str:
    """A digest of all files of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def part(function: Callable[..., Any]) -> Any:
    """A part of kernels, compiled into them. Python cannot call it: the code for that would take time to compile."""
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use and keep the result for later processes. It lets other threads run meanwhile.

    Numba keeps a compiled function until its own file changes. But the parts in it lie in other files, and a program of
    which one half was older than the other has gone round in circles for ever. So here any change in the package counts.
    """
    compiled = njit(nogil=True, no_cfunc_wrapper=True)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # There is no folder that can be written to: each process compiles for itself.
        return compiled
    compiled._cache._cache_file._source_stamp = sources_stamp()
    return compiled
