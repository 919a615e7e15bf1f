"""Runs llama.cpp on a GGUF file: greedy decoding and tokenization, for comparison with Glasshouse. Knows no run.

llama.cpp runs in a subprocess, so its output can be dropped and a crash does not end this process. This module is also the
program of the subprocess: it reads requests as JSON from standard input and writes responses to standard output.
"""

import http.client
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from glasshouse.specs.errors import GlasshouseError, MissingExtra

_SINGLE_THREAD_BYTES: Final = 1 << 26
"""A file below this size is run with one thread, because several would wait for each other longer than they compute."""

_ERRORS_ONLY: Final = 1


def greedy_in_llama_cpp(path: Path, prompts: Sequence[str | Sequence[int]], tokens: int) -> list[list[int]]:
    """The tokens with which llama.cpp continues each prompt: greedy decoding in float32.

    A text prompt is tokenized by llama.cpp with the tokenizer of the file, which may add a start token. A prompt of ids is
    used unchanged. A continuation is shorter than `tokens` if it reaches the end of the context, or the end-of-text token,
    which is not included.
    """
    requests = [
        {
            "at": "/completion",
            "prompt": prompt if isinstance(prompt, str) else [int(id) for id in prompt],
            "n_predict": tokens,
            "temperature": 0,
            "samplers": ["temperature"],
            "return_tokens": True,
            "cache_prompt": False,
        }
        for prompt in prompts
    ]
    continuations = []
    for response in _run_in_subprocess(path, requests):
        ids = response["tokens"]
        ended = response["stop_type"] == "eos" and len(ids) == response["tokens_predicted"]
        continuations.append(ids[:-1] if ended else ids)
    return continuations


def tokens_in_llama_cpp(path: Path, texts: Sequence[str]) -> list[list[int]]:
    """The token ids of each text in llama.cpp. Special tokens in a text are recognised; none are added."""
    requests = [{"at": "/tokenize", "content": text, "add_special": False, "parse_special": True} for text in texts]
    return [response["tokens"] for response in _run_in_subprocess(path, requests)]


def _run_in_subprocess(path: Path, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp", "running llama.cpp")
    if not path.is_file():
        raise GlasshouseError(f"the GGUF file {path} does not exist; check the path")
    job = json.dumps({"path": str(path.resolve()), "requests": requests})
    command = [sys.executable, "-P", "-m", __name__]
    process = subprocess.run(command, input=job, capture_output=True, text=True, encoding="utf-8", check=False)
    if process.returncode:
        lines = [line.strip() for line in process.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it printed nothing")
        raise GlasshouseError(f"llama.cpp cannot run {path}: {reason} (exit status {process.returncode})")
    return json.loads(process.stdout)


def _send_requests(path: str, requests: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
    """Start a llama.cpp server and send it the requests; gives the responses and the server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = 1
    params.warmup = params.fit_params = params.use_jinja = params.ui = False
    params.cache_ram_mib = 0
    params.verbosity = _ERRORS_ONLY
    # A float32 key-value cache and no flash attention keep rounding differences small.
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    threads = 1 if os.path.getsize(path) < _SINGLE_THREAD_BYTES else os.cpu_count() or 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    address = server.listening_address.removeprefix("http://")
    connection = http.client.HTTPConnection(address)
    responses = []
    for request in requests:
        body = {name: value for name, value in request.items() if name != "at"}
        connection.request("POST", request["at"], json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        if response.status != http.client.OK:
            _exit(f"error: {content.decode('utf-8', 'replace')}")
        responses.append(json.loads(content))
    connection.close()
    return responses, server


def _main() -> None:
    """The program of the subprocess. Standard output is reserved for the responses; all other output goes to stderr."""
    original_stdout = os.dup(1)
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    responses, _server = _send_requests(job["path"], job["requests"])
    with open(original_stdout, "w", encoding="utf-8") as output:
        json.dump(responses, output)
    _exit()


def _exit(error: str = "") -> NoReturn:
    """End the process without shutting the server down, because that waits for its threads and sometimes hangs."""
    if error:
        print(error, file=sys.stderr, flush=True)
    os._exit(1 if error else 0)


if __name__ == "__main__":
    _main()
