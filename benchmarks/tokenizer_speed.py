"""Our byte pairs against rustbpe, tokenizers and tiktoken, side by side in one run; a page of numbers, nothing kept.

    GLASSHOUSE_DATA=folder python benchmarks/tokenizer_speed.py [--vocabulary 8192] [--repetitions 5]
    python benchmarks/tokenizer_speed.py --smoke       # does it run? A small text, once

Contestants take turns, so that a busy moment of the machine hits all of them; each is given its best time. Before any is
timed, each runs once (our kernels are compiled then), and all must agree on the ids.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "<|endoftext|>"
COLD = """
import time
from glasshouse.tokenizers.byte_pair import BytePair
start = time.perf_counter()
ours = BytePair.train(["the cat sat on the mat, the dog did not"], 262, processes=1)
trained = time.perf_counter()
ours.encode("the cat")
print(trained - start, time.perf_counter() - trained)
"""


def benchmark_text(smoke: bool) -> tuple[str, str]:
    """WikiText-2, or the speeches that ship with the package, repeated to a similar size; and what it is."""
    wikitext = Path(os.environ.get("GLASSHOUSE_DATA", ""), "wikitext2", "wiki.train.tokens.gz")
    if wikitext.is_file() and not smoke:
        return gzip.decompress(wikitext.read_bytes()).decode("utf-8"), "WikiText-2"
    import glasshouse

    speeches = Path(glasshouse.__file__).parent / "data" / "sources" / "state_of_the_union.jsonl.gz"
    if speeches.is_file():
        text = gzip.decompress(speeches.read_bytes()).decode("utf-8")
        if smoke:
            return text[:100_000], "the beginning of the State of the Union"
        return text * (1 + 10_000_000 // len(text)), "State of the Union, repeated"
    sys.exit("no text: let GLASSHOUSE_DATA name the folder that has wikitext2/wiki.train.tokens.gz")


def best_times(contestants: dict[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repetitions):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def training(text: str, vocabulary: int, repetitions: int, threads: int) -> dict[str, float]:
    """Seconds to learn a vocabulary. The peers' threads are set by RAYON_NUM_THREADS before this process began."""
    import rustbpe

    from glasshouse.tokenizers.byte_pair import BytePair
    from glasshouse.tokenizers.piece_patterns import PATTERNS
    from glasshouse.tokenizers.safe_boundaries import split_into_blocks
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    def tokenizers_peer() -> Tokenizer:
        peer = Tokenizer(models.BPE())
        peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary, special_tokens=[MARK], initial_alphabet=alphabet, show_progress=False
        )
        peer.train_from_iterator(parts, trainer)
        return peer

    def rustbpe_peer() -> rustbpe.Tokenizer:
        peer = rustbpe.Tokenizer()
        peer.train_from_iterator(iter(parts), vocabulary - 1, pattern=PATTERNS["gpt-2"])
        return peer

    # The peers share out parts among their threads, so they get the text in parts, cut where no piece is cut.
    parts = list(split_into_blocks([text], size=1 << 16))
    ours = BytePair.train([text], vocabulary, processes=threads)
    if ours._to_json()["model"]["merges"] != json.loads(tokenizers_peer().to_str())["model"]["merges"]:
        sys.exit("tokenizers learns other merges than ours")
    if len(rustbpe_peer().get_mergeable_ranks()) != vocabulary - 1:  # It breaks ties in another way; sizes must agree.
        sys.exit("rustbpe learns another number of tokens than ours")
    contestants = {
        "ours": lambda: BytePair.train([text], vocabulary, processes=threads),
        "rustbpe": rustbpe_peer,
        "tokenizers": tokenizers_peer,
    }
    return best_times(contestants, repetitions)


def encoding(text: str, vocabulary: int, repetitions: int) -> dict[str, dict[str, float]]:
    """Seconds to encode the whole text in one call, and line by line, in one thread."""
    import numpy as np
    import regex
    import tiktoken

    from glasshouse.tokenizers.byte_pair import BytePair
    from glasshouse.tokenizers.piece_patterns import PATTERNS
    from tokenizers import Tokenizer

    ours = BytePair.train([text], vocabulary)
    ranks = {ours.token_bytes(id): id for id in range(1, vocabulary)}
    tik = tiktoken.Encoding("ours", pat_str=PATTERNS["gpt-2"], mergeable_ranks=ranks, special_tokens={MARK: 0})
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder, "tokenizer.json"))
        peer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
    pattern = regex.compile(PATTERNS["gpt-2"])
    lines = text.splitlines(keepends=True)
    whole: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours.encode(text),
        "tiktoken": lambda: tik.encode_ordinary(text),
        "tiktoken to numpy": lambda: tik.encode_to_numpy(text),
        "tokenizers": lambda: peer.encode(text).ids,
        "regex split alone": lambda: pattern.findall(text),
    }
    by_lines: dict[str, Callable[[], Any]] = {
        "ours, encode each": lambda: [ours.encode(line) for line in lines],
        "ours, encode_batch": lambda: ours.encode_batch(lines),
        "tiktoken each": lambda: [tik.encode_ordinary(line) for line in lines],
        "tiktoken batch": lambda: tik.encode_ordinary_batch(lines, num_threads=1),
        "tokenizers each": lambda: [peer.encode(line).ids for line in lines],
        "tokenizers batch": lambda: [found.ids for found in peer.encode_batch(lines)],
    }
    for group in (whole, by_lines):
        results = {name: run() for name, run in group.items() if "regex" not in name}
        expected = results.pop(next(iter(group)))
        for name, found in results.items():
            same = np.array_equal(np.hstack(found), np.hstack(expected))
            if not same:
                sys.exit(f"{name} gives other ids than ours")
    return {"whole": best_times(whole, repetitions), "lines": best_times(by_lines, repetitions)}


def child(part: str, options: argparse.Namespace, threads: int) -> Any:
    """Run one part in a process of its own: how many threads the peers use is settled when they are first used."""
    command = [sys.executable, __file__, "--part", part, "--threads", str(threads)]
    command += ["--vocabulary", str(options.vocabulary), "--repetitions", str(options.repetitions)]
    command += ["--smoke"] if options.smoke else []
    parallel = "true" if threads > 1 else "false"
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": parallel}
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def compile_times() -> list[float]:
    """Seconds for the first training and the first encoding on a machine that has compiled nothing yet."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        printed = subprocess.run([sys.executable, "-c", COLD], env=environment, check=True, stdout=subprocess.PIPE).stdout
    return [float(seconds) for seconds in printed.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--part", choices=["training", "encoding"], help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--smoke", action="store_true", help="a small text, once: does the benchmark run?")
    options = parser.parse_args()
    if options.smoke:
        options.vocabulary, options.repetitions = 400, 1
    text, what = benchmark_text(options.smoke)
    if options.part == "training":
        print(json.dumps(training(text, options.vocabulary, options.repetitions, options.threads)))
        return
    if options.part == "encoding":
        print(json.dumps(encoding(text, options.vocabulary, options.repetitions)))
        return

    from rich.console import Console
    from rich.table import Table

    megabytes = len(text.encode()) / 1e6
    table = Table(title=f"{what}, {megabytes:.1f} MB, vocabulary {options.vocabulary}, best of {options.repetitions}")
    for column in ("", "ms", "MB/s", "speed relative to"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)

    def add(title: str, times: dict[str, float], reference: str) -> None:
        table.add_section()
        table.add_row(f"[bold]{title}[/bold]", "", "", reference)
        for name, seconds in times.items():
            ratio = f"{times[reference] / seconds:.2f}"
            table.add_row(f"  {name}", f"{seconds * 1e3:.1f}", f"{megabytes / seconds:.1f}", ratio)

    add("training, 1 thread", child("training", options, 1), "rustbpe")
    add("training, 2 threads", child("training", options, 2), "rustbpe")
    times = child("encoding", options, 1)
    add("encode one text, 1 thread", times["whole"], "tiktoken")
    add("encode its lines, 1 thread", times["lines"], "tiktoken each")
    Console().print(table)
    if options.smoke:
        return
    trained, encoded = compile_times()
    Console().print(
        f"compiling, once on a machine: {trained:.1f} s at the first training, {encoded:.1f} s at the first encoding"
    )


if __name__ == "__main__":
    main()
