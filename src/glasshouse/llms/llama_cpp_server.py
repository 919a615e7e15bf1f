"""llama.cpp's server for one GGUF file, in a process of its own on the loopback interface. Knows no chat.

A crash of llama.cpp does not end this process, and its output can be dropped. This module is also the program of the other
process: it reads its settings from standard input, writes the address of the server to standard output, and ends when
standard input closes, so also when its parent was killed.
"""

import importlib.util
import json
import os
import secrets
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Final

from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.specs.errors import GlasshouseError, MissingExtra

_SINGLE_THREAD_BYTES: Final = 1 << 26
"""A file below this size is run with one thread, because several would wait for each other longer than they compute."""
_ERRORS_ONLY: Final = 1
_TIMEOUT: Final = 600.0


def start_server(path: Path, context: int = 0, device: str = "auto", parallel: int = 1, exact: bool = False) -> HTTPEndpoint:
    """Start a server for the file. It ends when the endpoint is no longer used. `context` 0 is that of the file.

    `parallel` requests are answered at the same time. They share the context. `exact` keeps rounding differences small:
    keys and values are float32, without flash attention.
    """
    check_installed()
    key = secrets.token_urlsafe(16)  # other users of this machine can reach the port, but not without the key
    settings = {"path": str(path.resolve()), "context": context, "key": key, "cpu": device == "cpu", "parallel": parallel}
    settings["exact"] = exact
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C stops an answer, not the server
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        address = process.stdout.readline().strip()
    except BrokenPipeError:
        address = ""
    if not address:
        raise GlasshouseError(f"llama.cpp cannot run {path}: {_reason(process)}")
    endpoint = HTTPEndpoint(address, key, _TIMEOUT, attempts=1)
    weakref.finalize(endpoint, _end, process)
    return endpoint


def check_installed() -> None:
    """Refuse to go on without llama.cpp."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp", "running a GGUF file")


def _reason(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate()
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    reason = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it printed nothing")
    return f"{reason} (exit status {process.returncode})"


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _main() -> None:
    """The program of the other process. Standard output is reserved for the address."""
    original_stdout = os.dup(1)
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path = settings["path"]
    params.n_ctx, params.api_keys, params.n_parallel = settings["context"], [settings["key"]], settings["parallel"]
    params.warmup = params.fit_params = params.ui = params.ctx_shift = False
    params.cache_ram_mib = 0
    params.verbosity = _ERRORS_ONLY
    if settings["cpu"]:
        params.n_gpu_layers = 0
    if settings["exact"]:
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    threads = 1 if os.path.getsize(path) < _SINGLE_THREAD_BYTES else os.cpu_count() or 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    with open(original_stdout, "w", encoding="utf-8") as output:
        output.write(server.listening_address + "\n")
    # The error stream has no reader from here on: what the server says would fill it and block.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    sys.stdin.read()
    os._exit(0)  # shutting the server down waits for its threads, and sometimes hangs


if __name__ == "__main__":
    _main()
