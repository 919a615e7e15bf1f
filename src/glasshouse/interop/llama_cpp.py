"""llama.cpp on a GGUF file: what it generates and how it cuts text, to hold our own answers against. Knows no run.

llama.cpp runs in a process of its own: what it prints goes nowhere, and should it abort, only that process ends. This file
is also that process's program: questions in JSON on its standard input, answers on its standard output.
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

_SMALL: Final = 1 << 26
"""Bytes up to which one thread is enough: with more, they wait for each other longer than they compute."""

_ERRORS_ONLY: Final = 1


def greedy_in_llama_cpp(path: Path, prompts: Sequence[str | Sequence[int]], tokens: int) -> list[list[int]]:
    """The ids that llama.cpp continues each prompt with, always the likeliest token, computed in float32.

    A prompt is text, which llama.cpp cuts by the file's tokenizer and begins as the file says, or ids, taken as they are.
    There are fewer than `tokens` ids where the end of text comes (it is not among them) or the model's context is full.
    """
    asked = [
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
    found = []
    for answer in _ask(path, asked):
        ids = answer["tokens"]
        found.append(ids[:-1] if answer["stop_type"] == "eos" and len(ids) == answer["tokens_predicted"] else ids)
    return found


def tokens_in_llama_cpp(path: Path, texts: Sequence[str]) -> list[list[int]]:
    """The ids that llama.cpp cuts each text into by the file's tokenizer, special tokens in it found, none put around it."""
    asked = [{"at": "/tokenize", "content": text, "add_special": False, "parse_special": True} for text in texts]
    return [answer["tokens"] for answer in _ask(path, asked)]


def _ask(path: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp", "running llama.cpp")
    if not path.is_file():
        raise GlasshouseError("missing-file", f"there is no GGUF file {path}")
    request = json.dumps({"path": str(path.resolve()), "questions": questions})
    command = [sys.executable, "-P", "-m", __name__]
    done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in said if "error" in line.lower()), said[-1] if said else "it said nothing")
        raise GlasshouseError("llama-cpp-failed", f"llama.cpp cannot run {path}: {reason} (exit status {done.returncode})")
    return json.loads(done.stdout)


def _answer(path: str, questions: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
    """The answers, and the server that gave them."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = 1
    params.warmup = params.fit_params = params.use_jinja = params.ui = False
    params.cache_ram_mib = 0
    params.verbosity = _ERRORS_ONLY
    # Keys and values in float32, and attention plainly: what is compared is the model, not the rounding.
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    threads = 1 if os.path.getsize(path) < _SMALL else os.cpu_count() or 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    address = server.listening_address.removeprefix("http://")
    connection = http.client.HTTPConnection(address)
    answers = []
    for question in questions:
        body = {name: value for name, value in question.items() if name != "at"}
        connection.request("POST", question["at"], json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        if response.status != http.client.OK:
            _leave(f"error: {content.decode('utf-8', 'replace')}")
        answers.append(json.loads(content))
    connection.close()
    return answers, server


def _serve() -> None:
    """The other process: its standard output is kept for the answers alone."""
    kept = os.dup(1)
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    answers, _server = _answer(request["path"], request["questions"])
    with open(kept, "w", encoding="utf-8") as output:
        json.dump(answers, output)
    _leave()


def _leave(error: str = "") -> NoReturn:
    """End this process as it stands: to take a server down waits for its threads, now and then for ever."""
    if error:
        print(error, file=sys.stderr, flush=True)
    os._exit(1 if error else 0)


if __name__ == "__main__":
    _serve()
