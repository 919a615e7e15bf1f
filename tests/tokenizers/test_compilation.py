"""Compiled kernels: a change of any file invalidates the cache, and importing the package imports no compiler."""

import subprocess
import sys

from glasshouse.tokenizers.byte_pair_encoder import encode_text
from glasshouse.tokenizers.compilation import package_digest
from glasshouse.tokenizers.piece_counts import count_text


def test_a_compiled_kernel_is_stale_when_any_file_changes():
    caches = [encode_text._cache, count_text._cache]
    assert {cache._cache_file._source_stamp for cache in caches} == {package_digest()}


def test_importing_the_package_imports_no_compiler():
    command = "import sys, glasshouse.tokenizers; sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0
