"""The decorators that compile the kernels of this package with numba, and the cache of the compiled code."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

# Numba can make each function callable from C and from Python. Wrappers that are not needed are not compiled.
_CALLABLE_FROM_PYTHON: dict[str, Any] = {"no_cfunc_wrapper": True}
_CALLABLE_FROM_KERNELS: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}


@functools.cache
def package_digest() -> str:
    """A digest of all source files of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel_only(function: Callable[..., Any]) -> Any:
    """Decorate a function that is compiled into the kernels that call it. Python cannot call it."""
    return njit(nogil=True, **_CALLABLE_FROM_KERNELS)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use and cache the result on disk. The kernel releases the global interpreter lock.

    Numba recompiles a cached function only if its own file changes. But a kernel also contains functions from other files,
    and a kernel that combined old and new code once looped forever. Here, a change of any file of the package invalidates
    the cache.
    """
    compiled = njit(nogil=True, **_CALLABLE_FROM_PYTHON)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # No cache folder is writable, so every process compiles the kernel itself.
        return compiled
    compiled._cache._cache_file._source_stamp = package_digest()
    return compiled
