"""`glasshouse data prepare` on texts of growing size: time and memory of each step, one worker against two, and a peer.

    python benchmarks/corpus_preparation.py [--sizes 100 300 1000]     # megabytes; the largest decides how long it takes
    python benchmarks/corpus_preparation.py --smoke                    # does it run? A small text, once

The text is made of paragraphs of the State of the Union addresses in random order, with a new word in each. It is removed
at the end. Every step is a process of its own, which reports its peak memory (VmHWM). Processor time is printed beside the
time on the clock, since it says more on a busy machine. The peer encodes the first 20 MB of the same text with the same
vocabulary: the batch encoding of the package `tokenizers`, without reading or writing files.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MEASURED = """
import json, re, resource, sys, time
from pathlib import Path
from glasshouse.api import corpora
file, output, step = sys.argv[1:]
start = time.perf_counter()
if step == "plan":
    corpora.plan_data([file], output=output)
else:
    corpora.prepare_data([file], output=output)
usage = resource.getrusage(resource.RUSAGE_SELF)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps({"seconds": time.perf_counter() - start, "processor": usage.ru_utime + usage.ru_stime, "peak": peak}))
"""
PEER = """
import json, sys, time
from tokenizers import Tokenizer
file, tokenizer = sys.argv[1:]
peer = Tokenizer.from_file(tokenizer)
seconds, processor, tokens, done = 0.0, 0.0, 0, 0
with open(file, encoding="utf-8") as lines:
    while done < 20_000_000 and (batch := lines.readlines(1 << 22)):
        done += sum(map(len, batch))
        start, used = time.perf_counter(), time.process_time()
        tokens += sum(len(encoding) for encoding in peer.encode_batch_fast(batch, add_special_tokens=False))
        seconds += time.perf_counter() - start
        processor += time.process_time() - used
print(json.dumps({"seconds": seconds, "processor": processor, "megabytes": done / 1e6}))
"""


def make_text(path: Path, size: int) -> None:
    from glasshouse.data.sources.speeches import StateOfTheUnion

    paragraphs = [
        line for speech in StateOfTheUnion().documents("train") for line in speech.text.split("\n") if line.strip()
    ]
    numbers = random.Random(0)
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            words = numbers.choice(paragraphs).split(" ")
            words[numbers.randrange(len(words))] += str(numbers.randrange(100_000))
            line = " ".join(words) + "\n"
            file.write(line)
            written += len(line.encode())
    time.sleep(3)  # What is known of a file is kept only if the file has not changed for some seconds.


def start(program: str, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = process.communicate()
    if process.returncode:
        sys.exit(f"a step failed with status {process.returncode}")
    measured: dict[str, Any] = json.loads(output)
    return measured


def measure(size: int, folder: Path) -> None:
    """All steps for a text of this many bytes."""
    text = folder / "text.txt"
    make_text(text, size)
    megabytes = text.stat().st_size / 1e6
    print(f"\n{megabytes:,.0f} MB of text", flush=True)
    clock: dict[str, float] = {}
    processor: dict[str, float] = {}
    busiest: dict[str, float] = {}
    for workers in (1, 2):
        output = folder / f"shards-{workers}"
        steps = {} if workers == 2 else {"read, train, divide": [result(start(MEASURED, text, output, "plan"))]}
        if workers == 2:
            result(start(MEASURED, text, output, "plan"))
        begun = time.perf_counter()
        running = [start(MEASURED, text, output, "encode") for _ in range(workers)]
        steps[f"encode and join, {workers} process{'es' * (workers > 1)}"] = [result(process) for process in running]
        clock[f"{workers}"] = time.perf_counter() - begun
        encoding = [*steps.values()][-1]
        processor[f"{workers}"] = sum(measured["processor"] for measured in encoding)
        busiest[f"{workers}"] = max(measured["processor"] for measured in encoding)
        for name, processes in steps.items():
            seconds = max(process["seconds"] for process in processes)
            used = sum(process["processor"] for process in processes)
            peak = max(process["peak"] for process in processes) / 1e6
            rate = megabytes / seconds
            print(
                f"  {name:30} {seconds:7.1f} s  {rate:6.0f} MB/s  {used:7.1f} s of CPU  {peak:5.0f} MB a process",
                flush=True,
            )
    same = all(
        (folder / "shards-1" / name).read_bytes() == (folder / "shards-2" / name).read_bytes()
        for name in ("train.tokens", "validation.tokens", "test.tokens", "train.starts", "manifest.json")
    )
    print(f"  two workers against one: {clock['1'] / clock['2']:.2f} times as fast on the clock, ", end="")
    print(f"{busiest['1'] / busiest['2']:.2f} times by the CPU time of the busier one")
    print(f"  two workers write the same files as one: {'yes' if same else 'NO'}")
    for threads in ("1", "2"):
        try:
            peer = result(start(PEER, text, folder / "shards-1" / "tokenizer.json", RAYON_NUM_THREADS=threads))
        except SystemExit:
            print("  the package tokenizers is not installed: no peer")
            break
        ratio = megabytes / clock[threads] / (peer["megabytes"] / peer["seconds"])
        of_processor = megabytes / processor[threads] / (peer["megabytes"] / peer["processor"])
        print(
            f"  tokenizers, {threads} thread{'s' * (threads > '1')}: {peer['megabytes'] / peer['seconds']:.1f} MB/s; "
            f"ours is {ratio:.1f} times as fast on the clock, {of_processor:.1f} times by CPU time"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=float, nargs="+", default=[100, 300, 1000], help="megabytes")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for size in [20] if options.smoke else options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GLASSHOUSE_CACHE"] = str(Path(folder) / "cache")
            measure(int(size * 1e6), Path(folder))


if __name__ == "__main__":
    main()
