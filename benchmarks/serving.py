"""Throughput and latency of `glasshouse serve` over HTTP, on a CPU beside llama.cpp's server on the same weights in float32.

    python benchmarks/serving.py            # 1, 8 and 32 clients; 19 M parameters on a CPU, 86 M in bfloat16 on a GPU
    python benchmarks/serving.py --smoke    # does it run? A few seconds, and no figure worth keeping

Each client asks one request after another: the same prompt of some 20 tokens, continued by 64 (`--tokens`) at temperature
0.8 with the 50 most likely tokens, another seed each time. Weights are those of one training step on a text that ships with
Glasshouse. Tokens are those that the server counts. Both servers run alone, one after the other.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import glasshouse
from glasshouse.llms import llama_cpp_server
from glasshouse.llms.http_endpoint import HTTPEndpoint
from glasshouse.training import devices

PROMPT = "My fellow Americans, the state of our union has never been as strong as it is tonight, and"
RUN = "served"
CONTEXT = 256


def make_run(folder: Path, width: int, layers: int, device: str) -> None:
    """A language model after one training step."""
    os.environ["GLASSHOUSE_RUNS"] = str(folder)
    glasshouse.train(
        "language-model",
        name=RUN,
        device=device,
        data={"source": "state-of-the-union", "vocabulary": 1024, "context": CONTEXT},
        model={"width": width, "layers": layers, "heads": max(width // 64, 1)},
        training={"steps": 1, "batch": 2, "precision": "fp32"},
        evaluation={"tokens": 512, "sample_tokens": 1},
    )


@contextmanager
def ours(device: str, dtype: str, clients: int) -> Iterator[HTTPEndpoint]:
    """Our server."""
    command = [sys.executable, "-m", "glasshouse", "serve", RUN, "--port", "0", "--device", device, "--dtype", dtype]
    environment = {**os.environ, "COLUMNS": "200"}
    options = ["--max-concurrent", str(clients)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            yield HTTPEndpoint(line.split(" at ")[1].split()[0], timeout=600)
        finally:
            server.terminate()


@contextmanager
def llama_cpp(path: Path, clients: int) -> Iterator[HTTPEndpoint]:
    """llama.cpp's server."""
    yield llama_cpp_server.start_server(path, CONTEXT * clients, "cpu", clients)


def ask(server: HTTPEndpoint, tokens: int, seed: int) -> tuple[int, float]:
    """Tokens of an answer, and the seconds that it took."""
    body = {"model": RUN, "prompt": PROMPT, "max_tokens": tokens, "temperature": 0.8, "top_k": 50, "seed": seed}
    began = time.perf_counter()
    answer = server.post("/v1/completions", body)
    return answer["usage"]["completion_tokens"], time.perf_counter() - began


def measure(server: HTTPEndpoint, clients: int, requests: int, tokens: int) -> tuple[float, list[float]]:
    """Tokens a second of all clients together, and the seconds of each request."""
    results: list[tuple[int, float]] = []

    def work(client: int) -> None:
        for number in range(requests):
            results.append(ask(server, tokens, 1000 * client + number))

    ask(server, tokens, 0)  # warm up
    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    return sum(count for count, _ in results) / seconds, [latency for _, latency in results]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--clients", default="1,8,32")
    parser.add_argument("--dtype", help="number format of our weights; by default bfloat16 on a GPU and float32 on a CPU")
    parser.add_argument("--requests", type=int, default=0, help="requests of each client; by default as many as seem needed")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    device = str(devices.pick(options.device))
    width, layers, dtype = (768, 12, "bfloat16") if device == "cuda" else (512, 6, "float32")
    dtype = options.dtype or dtype
    clients = [int(count) for count in options.clients.split(",")]
    if options.smoke:
        width, layers, clients, options.tokens, options.requests = 32, 1, [2], 8, 1
    table = Table("clients", "", "tokens/s", "ratio", "median, ms", "99th percentile, ms")
    with tempfile.TemporaryDirectory() as folder:
        make_run(Path(folder), width, layers, device)
        servers: dict[str, Any] = {"ours": lambda count: ours(device, dtype, count)}
        if device == "cpu" and find_spec("xllamacpp") is not None:
            file = glasshouse.export(RUN, "gguf", Path(folder) / "served.gguf")
            servers["llama.cpp"] = lambda count: llama_cpp(file, count)
        for count in clients:
            requests = options.requests or max(96 // count, 4)
            rates = {}
            for name, server in servers.items():
                with server(count) as endpoint:
                    rates[name], latencies = measure(endpoint, count, requests, options.tokens)
                slowest = sorted(latencies)[min(round(0.99 * len(latencies)), len(latencies) - 1)]
                ratio = f"{rates[name] / rates['ours']:.2f}"
                cells = (f"{1000 * statistics.median(latencies):.0f}", f"{1000 * slowest:.0f}")
                table.add_row(str(count), name, f"{rates[name]:,.0f}", ratio, *cells)
    Console().print(f"{device}, {dtype}, width {width}, {layers} layers, {options.tokens} tokens a request", table)


if __name__ == "__main__":
    main()
