"""What numba compiles: the decorators, the cache of compiled code, and tensors and arrays by their address."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.extending import intrinsic

# Numba can make each function callable from C and from Python. Wrappers that are not needed are not compiled.
_CALLABLE_FROM_PYTHON: dict[str, Any] = {"no_cfunc_wrapper": True}
CALLABLE_FROM_KERNELS: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}


@functools.cache
def package_digest(folder: Path) -> str:
    """A digest of all source files of a package, and of this file."""
    digest = hashlib.sha256()
    for path in (Path(__file__), *sorted(folder.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def use_cache(compiled: Any, function: Callable[..., Any]) -> None:
    """Keep the compiled function on disk.

    Numba recompiles a cached function only if its own file changes. But a kernel also contains functions from other files,
    and a kernel that combined old and new code once looped forever. Here, a change of any file of the package invalidates
    the cache.
    """
    try:
        compiled.enable_caching()
    except RuntimeError:  # No cache folder is writable, so every process compiles the kernel itself.
        return
    compiled._cache._cache_file._source_stamp = package_digest(Path(function.__code__.co_filename).parent)


def kernel_only(function: Callable[..., Any]) -> Any:
    """Decorate a function that is compiled into the kernels that call it. Python cannot call it."""
    return njit(nogil=True, **CALLABLE_FROM_KERNELS)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use and cache the result on disk. The kernel releases the global interpreter lock."""
    compiled = njit(nogil=True, **_CALLABLE_FROM_PYTHON)(function)
    use_cache(compiled, function)
    return compiled


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate
