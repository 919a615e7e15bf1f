"""Whether Triton is installed. It comes with torch for CUDA; without it, plain operations take the place of kernels."""

from importlib.util import find_spec

_found = find_spec("triton")
# A folder that happens to have this name is found too, but has no file to import.
TRITON_INSTALLED = _found is not None and _found.origin is not None
