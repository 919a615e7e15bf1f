"""llama.cpp in a subprocess: its errors are passed on, its output is dropped, and a missing package is named."""

import subprocess
import sys

from glasshouse.interop import llama_cpp
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused

needs.package("gguf")
needs.package("xllamacpp")


def test_without_the_package_xllamacpp(llama_gguf, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refused(GlasshouseError):
        llama_cpp.greedy_in_llama_cpp(llama_gguf, ["The"], 1)


def test_llama_cpp_says_what_is_wrong(llama_gguf, tmp_path):
    path = tmp_path / "short.gguf"
    path.write_bytes(llama_gguf.read_bytes()[:-5000])
    with refused(GlasshouseError, "llama.cpp", "short.gguf"):
        llama_cpp.greedy_in_llama_cpp(path, ["The"], 1)
    with refused(GlasshouseError):
        llama_cpp.greedy_in_llama_cpp(tmp_path / "nowhere.gguf", ["The"], 1)


def test_llama_cpp_prints_nothing(llama_gguf, tmp_path):
    program = (
        "import sys; from pathlib import Path; from glasshouse.interop.llama_cpp import greedy_in_llama_cpp as greedy; "
        "assert len(greedy(Path(sys.argv[1]), ['The', [5, 6]], 3)) == 2"
    )
    process = subprocess.run([sys.executable, "-c", program, str(llama_gguf)], capture_output=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")
