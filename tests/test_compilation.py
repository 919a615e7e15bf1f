"""Compiled kernels: a change of any file invalidates the cache, and importing the package imports no compiler."""

import subprocess
import sys
from pathlib import Path

from glasshouse import cpu_kernels, tokenizers
from glasshouse.compilation import package_digest
from glasshouse.cpu_kernels import activation_kernels, cross_entropy_kernels
from glasshouse.tokenizers.byte_pair_encoder import encode_span
from glasshouse.tokenizers.piece_counts import count_text


def test_a_compiled_kernel_is_stale_when_any_file_changes():
    for module, kernels in (
        (tokenizers, [encode_span, count_text]),
        (cpu_kernels, [activation_kernels.swiglu.compiled, cross_entropy_kernels.losses.compiled]),
    ):
        assert module.__file__
        digest = package_digest(Path(module.__file__).parent)
        assert {compiled._cache._cache_file._source_stamp for compiled in kernels} == {digest}


def test_importing_parts_and_tasks_imports_no_compiler():
    command = "import sys, glasshouse.parts, glasshouse.tasks.cross_entropy; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0


def test_importing_tokenizers_imports_neither_compiler_nor_torch():
    command = "import sys, glasshouse.tokenizers; sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0
