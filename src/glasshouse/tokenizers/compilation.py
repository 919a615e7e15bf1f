"""How the kernels of this package are compiled and where the result is kept; knows nothing of what they do."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

# Numba can also make each function callable from C and from Python; what is not needed is not compiled.
_FROM_PYTHON: dict[str, Any] = {"no_cfunc_wrapper": True}
_FROM_KERNELS_ONLY: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}


@functools.cache
def sources_stamp() -> str:
    """A digest of all files of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def part(function: Callable[..., Any]) -> Any:
    """Make a function that is compiled into the kernels which call it. Python cannot."""
    return njit(nogil=True, **_FROM_KERNELS_ONLY)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use and keep the result for later processes. It lets other threads run meanwhile.

    Numba keeps a compiled function until its own file changes. But the parts in it lie in other files, and a program of
    which one half was older than the other has gone round in circles for ever. So here any change to the package counts.
    """
    compiled = njit(nogil=True, **_FROM_PYTHON)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # There is no folder that can be written to: each process compiles for itself.
        return compiled
    compiled._cache._cache_file._source_stamp = sources_stamp()
    return compiled
