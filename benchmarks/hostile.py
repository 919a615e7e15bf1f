"""Tries thousands of damaged files, wild values and wild requests, and counts what became of them.

    python benchmarks/hostile.py                                  # 10,000 tries
    python benchmarks/hostile.py --jobs 16 --keep failures        # on many cores; failing inputs are kept
    python benchmarks/hostile.py --only specs --count 500         # one kind
    python benchmarks/hostile.py --only specs --number 17         # one try again, with its output
    python benchmarks/hostile.py --again failures/failures.jsonl  # all failing tries again
    python benchmarks/hostile.py --smoke                          # does it run? A few of each kind

Each try is a process with a terminal and a folder of its own. It is fine if the program answers, refuses in one line (exit
status 2), or shows progress and stops when asked to. It fails with a traceback, a crash, ten seconds of silence, too much
memory, an escape sequence of the input on the terminal, a file written outside the folder, or a refusal without a reason.
The same seed gives the same inputs. Exits with 1 if any try failed.
"""

import argparse
import json
import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections import Counter, deque
from pathlib import Path

# One thread in the parent: a process with several cannot be forked safely. Compiled kernels are shared by all tries.
if __name__ == "__main__" and os.environ.get("OMP_NUM_THREADS") != "1":
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTHONHASHSEED="0")
    shared = Path(tempfile.gettempdir()) / f"glasshouse-hostile-{os.getuid()}"
    os.environ.update(NUMBA_CACHE_DIR=str(shared / "numba"), MPLCONFIGDIR=str(shared / "matplotlib"))
    os.execv(sys.executable, [sys.executable, *sys.argv])

from glasshouse.cli.tables import console, show
from glasshouse.records import progress_bar
from hostile_inputs import (
    archives,
    command_lines,
    foreign_models,
    kept_files,
    names,
    samples,
    spec_values,
    toml_files,
    user_data,
    web_requests,
)
from hostile_inputs.trying import FINE, OUTCOMES, Attempt, Kind, Result, call_program, measure_parent

KINDS: tuple[Kind, ...] = (
    *kept_files.KINDS,
    *user_data.KINDS,
    *foreign_models.KINDS,
    *spec_values.KINDS,
    *command_lines.KINDS,
    *archives.KINDS,
    *toml_files.KINDS,
    *web_requests.KINDS,
    *names.KINDS,
)


def make_samples(folder: Path) -> None:
    """Make the intact files in a process of their own, so that this one computes nothing."""
    folder.mkdir(parents=True)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for name in ("RUNS", "STUDIES", "CACHE", "DATA"):
                os.environ[f"GLASSHOUSE_{name}"] = str(folder / name.lower())
            with open(folder / "log.txt", "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            samples.make(folder, call_program)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"the samples could not be made:\n{(folder / 'log.txt').read_text()[-3000:]}")


def import_everything() -> None:
    """Import what commands import, once for all children."""
    import importlib
    import pkgutil

    import torch

    import glasshouse

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(glasshouse.__path__, "glasshouse."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:  # a package that is not installed
                continue
    for name in glasshouse.__all__:
        getattr(glasshouse, name)


def tries_of(kinds: list[Kind], count: int) -> deque[tuple[Kind, list[int]]]:
    """Groups of numbers of each kind, in turns, so that an early end has some of everything."""
    total = sum(kind.share for kind in kinds)
    groups = []
    for kind in kinds:
        numbers = list(range(max(round(count * kind.share / total), 1)))
        parts = [numbers[start : start + kind.group_size] for start in range(0, len(numbers), kind.group_size)]
        groups += [((index + 0.5) / len(parts), kind.name, kind, part) for index, part in enumerate(parts)]
    return deque((kind, part) for _, _, kind, part in sorted(groups, key=lambda group: group[:2]))


def run_all(
    waiting: deque[tuple[Kind, list[int]]], seed: int, jobs: int, folder: Path, keep: Path | None, verbose: bool
) -> list[Result]:
    """Run every try, `jobs` at a time."""
    total, made = sum(len(part) for _, part in waiting), 0
    running: list[Attempt] = []
    results: list[Result] = []
    with progress_bar.bar(f"{total:,} tries") as progress:
        while waiting or running:
            while waiting and len(running) < jobs:
                kind, numbers = waiting.popleft()
                made += 1
                running.append(Attempt(kind, numbers, seed, folder / f"try-{made}", folder / "samples"))
            ready, _, _ = select.select([one for attempt in running for one in attempt.open], [], [], 0.02)
            for attempt in list(running):
                for descriptor in attempt.open & set(ready):
                    attempt.read(descriptor)
                attempt.watch()
                if (ended := attempt.ended()) is None:
                    continue
                running.remove(attempt)
                for result in ended:
                    results.append(result)
                    if keep:
                        write_line(keep / "tries.jsonl", result, seed)
                    if result.outcome not in FINE or verbose:
                        note(result, seed, attempt.folder, keep, verbose)
                shutil.rmtree(attempt.folder, ignore_errors=True)
                progress(len(results) / total)
    return results


def note(result: Result, seed: int, folder: Path, keep: Path | None, verbose: bool) -> None:
    """Say how a failing try is repeated, and keep its files."""
    again = f"python benchmarks/hostile.py --only '{result.kind}' --number {result.number} --seed {seed}"
    last = result.seen.strip().splitlines()[-1:] or [""]
    progress_bar.say(f"{result.outcome}: {again}  # {' '.join(result.words)[:200]!a}: {last[0][:200]!a}")
    if verbose:
        progress_bar.say(result.seen)
    if keep and result.outcome not in FINE:
        kept = keep / f"{result.kind.replace(' ', '-')}-{result.number}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=True, ignore=_not_kept)
        (kept / "output.txt").write_text(f"{json.dumps(result.words)}\n{result.seen}\n", errors="backslashreplace")
        write_line(keep / "failures.jsonl", result, seed)


def _not_kept(folder: str, names: list[str]) -> list[str]:
    """What is not kept of a try: caches, pipes and endless files."""
    left_out = []
    for name in names:
        facts = os.lstat(os.path.join(folder, name))
        is_large = stat.S_ISREG(facts.st_mode) and facts.st_size > 1 << 30
        if name in ("tmp", "cache") or is_large or stat.S_ISFIFO(facts.st_mode):
            left_out.append(name)
    return left_out


def write_line(path: Path, result: Result, seed: int) -> None:
    """Add a try to a list."""
    facts = {"kind": result.kind, "number": result.number, "seed": seed, "outcome": result.outcome}
    last = (result.seen.strip().splitlines() or [""])[-1]
    measured = {"seconds": round(result.seconds, 1), "mebibytes": result.resident >> 20}
    with open(path, "a") as file:
        file.write(json.dumps({**facts, **measured, "words": result.words, "last": last[:2000]}) + "\n")


def report(results: list[Result], skipped: list[str], seconds: float) -> None:
    """Print the counts by kind and outcome."""
    seen = [outcome for outcome in OUTCOMES if outcome in FINE or any(result.outcome == outcome for result in results)]
    rows = []
    for kind in dict.fromkeys(result.kind for result in results):
        own = [result for result in results if result.kind == kind]
        counts = Counter(result.outcome for result in own)
        slowest, largest = max(result.seconds for result in own), max(result.resident for result in own)
        cells = [f"{counts[outcome]:,}" for outcome in seen]
        rows.append([kind, f"{len(own):,}", *cells, f"{slowest:.1f} s", f"{largest / 2**20:,.0f} MiB"])
    counts = Counter(result.outcome for result in results)
    rows.append(["all", f"{len(results):,}", *(f"{counts[outcome]:,}" for outcome in seen), "", ""])
    console.width = max(console.width, 170)
    show(["kind", "tries", *seen, "longest", "peak memory"], rows, right=range(1, len(seen) + 4))
    for text in skipped:
        console.print(text, markup=False)
    failed = sum(count for outcome, count in counts.items() if outcome not in FINE)
    console.print(f"{len(results):,} tries in {seconds / 60:.1f} minutes; {failed:,} failed", markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="tries in all")
    parser.add_argument(
        "--only", metavar="KIND", action="append", help=f"a kind; can be repeated: {', '.join(kind.name for kind in KINDS)}"
    )
    parser.add_argument("--number", type=int, help="one try of the kind, with its output")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tries at the same time")
    parser.add_argument("--keep", type=Path, help="a folder for a list of all tries, and the files of failing ones")
    parser.add_argument("--again", type=Path, metavar="FILE", help="repeat the tries of a failures.jsonl")
    parser.add_argument("--folder", type=Path, help="where tries happen; default: a temporary folder")
    parser.add_argument("--smoke", action="store_true", help="a few tries of each kind")
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if not arguments.only or kind.name in arguments.only]
    if unknown := set(arguments.only or ()) - {kind.name for kind in kinds}:
        parser.error(f"there is no kind {min(unknown)!r}; choose one of: {', '.join(kind.name for kind in KINDS)}")
    skipped = [
        f"{kind.name}: not tried, because {package} is not installed"
        for kind in kinds
        for package in kind.needs
        if not samples.has(package)
    ]
    kinds = [kind for kind in kinds if all(samples.has(package) for package in kind.needs)]
    began = time.monotonic()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        arguments.keep = arguments.keep.resolve()
    import_everything()
    with tempfile.TemporaryDirectory(dir=arguments.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        make_samples(folder / "samples")
        import gc

        gc.collect()
        gc.freeze()
        measure_parent()
        if arguments.again:
            rows = [json.loads(line) for line in arguments.again.read_text().splitlines()]
            by_name = {kind.name: kind for kind in kinds}
            seed = rows[0]["seed"] if rows else 0
            waiting = deque((by_name[row["kind"]], [row["number"]]) for row in rows if row["kind"] in by_name)
        elif arguments.number is not None:
            seed, waiting = arguments.seed, deque([(kinds[0], [arguments.number])])
        else:
            seed = arguments.seed
            waiting = tries_of(kinds, 3 * len(kinds) if arguments.smoke else arguments.count)
        results = run_all(waiting, seed, arguments.jobs, folder, arguments.keep, arguments.number is not None)
    report(results, skipped, time.monotonic() - began)
    sys.exit(any(result.outcome not in FINE for result in results))


if __name__ == "__main__":
    main()
