"""Kills commands with SIGKILL at their file operations, continues them, and compares what they leave with a kill-free run.

    python benchmarks/fault_injection.py --count 1000 --jobs 16 --state kills.jsonl
    python benchmarks/fault_injection.py --smoke       # does it run? A few kills of a run and of a packed run

Each scenario is a command that writes: a run, replicas, studies, a claim, reports, an archive, an export. A first pass lists
its file operations: a file opened for writing, a rename, a new or deleted file or folder, a changed mode. Then the command
is killed before operation k, for many k; also with the file that was written last cut off in the middle, as a kill during
that write leaves it. Only kills that land are counted. In a third of the tries the continued command is killed too.

Then the command is given again (a run: `resume`). A try is lost if that fails, or if any file differs from the file of the
command left alone: weights bit for bit, logged losses, the table of a study, the values of a claim, the report. Only times
may differ. Exits with 1 if a try is lost. A process that has imported everything forks one child for each command.
With --state, each try is noted in a file, and the same command continues there.
"""

import argparse
import importlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

# Before torch is imported: a fork is safe only while there is one thread.
os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1", NO_COLOR="1", COLUMNS="200")

import torch

from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, StudyPlan
from glasshouse.claims.rules import lower
from glasshouse.cli import main as glasshouse_main
from glasshouse.cli.tables import console, show
from glasshouse.records import progress_bar
from glasshouse.specs import catalogue

TEXT = "text.txt"
SPEC = (
    "language-model",
    *("model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=32", "data.context=16"),
    *("data.tokenizer=characters", "training.batch=4", "training.precision=fp32", "training.threads=1"),
    *("evaluation.sample_tokens=4", "evaluation.prompts=[ba]", "training.steps=6", "training.checkpoint_every=2"),
    *("evaluation.every=3", f"data.files=../{TEXT}"),
)
LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu")
CPU = ("--device", "cpu")
ARMS = ("model.position=learned,none", "--seeds", "2", "--name", "study", "--replicas", "off", *CPU)
# A command that does not end within these seconds is lost.
PATIENCE = 120


class TinyClaim(Claim):
    """A claim about two tiny models. The first look does not decide it."""

    group = GROUPS[1]
    statement = "Models without positions have a lower loss."
    source = "made up for this benchmark"
    reported = "nothing"
    why = "It is made up."
    procedure = "Two tiny models are trained."
    would_change = "Another text."
    looks: ClassVar[tuple[int, ...]] = (2, 3)
    studies: ClassVar[tuple[StudyPlan, ...]] = (
        StudyPlan("positions", (*SPEC, "training.steps=2", ARMS[0]), metric="validation.loss"),
    )
    quantities: ClassVar = {
        name: Quantity(f"loss, {name}", "validation.loss", "nats per token") for name in ("learned", "none")
    }
    parts: ClassVar = (lower("none", than="learned", margin=0.001, name="lower without positions"),)

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("positions")
        counted = bench.cached("counted", lambda: {"runs": len(bench.finished_runs(study, "none"))}, study)
        series = {name: bench.values(study, name, "validation.loss") for name in self.quantities}
        return Measurements(series, facts=(("runs", str(counted["runs"])),))


@dataclass(frozen=True)
class Scenario:
    """A command to kill. `before` are commands that make what it needs; `resume` continues it once `begun` exists."""

    name: str
    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    resume: tuple[str, ...] = ()
    begun: str = ""
    cold: bool = False  # whether the data are prepared by the command, in a cache of its own
    share: int = 1  # how many of the tries it gets, in proportion

    def again(self, place: Path) -> tuple[str, ...]:
        return self.resume if self.resume and (place / self.begun).exists() else self.command


RUN = ("train", *SPEC, *LLAMA, "--name", "run", *CPU)
STUDY = ("compare", *SPEC, *ARMS)
TUNED = (*STUDY, "--tune", "training.learning_rate=1e-3,1e-2")
SCENARIOS = (
    Scenario("run", RUN, resume=("resume", "run", *CPU), begun="runs/run", cold=True, share=5),
    Scenario(
        "replicas",
        ("train", *SPEC, "training.replicas=3", "--name", "run", *CPU),
        resume=("resume", "run-seed-0", *CPU),
        begun="runs/run-seed-0",
        share=5,
    ),
    Scenario("study", STUDY, share=5),
    Scenario("study, resumed", STUDY, resume=("resume", "studies/study", *CPU), begun="studies/study", share=3),
    Scenario("study of replicas", tuple(word if word != "off" else "2" for word in STUDY), share=3),
    Scenario("tuned study", TUNED, share=3),
    Scenario("claim", ("claim", "tiny", *CPU), share=5),
    Scenario("pages of claims", ("claims", "report", "--output", "pages"), before=(("claim", "tiny", *CPU),)),
    Scenario("report of a run", ("report", "run", *CPU), before=(RUN,)),
    Scenario("report of a study", ("report", "studies/study", *CPU), before=(STUDY,)),
    Scenario("pack", ("pack", "run"), before=(RUN,)),
    Scenario("unpack", ("unpack", "run.tar.gz", "--name", "copy"), before=(RUN, ("pack", "run"))),
    Scenario("export", ("export", "run", "--to", "huggingface", "--output", "exported"), before=(RUN,)),
)
# The answer of a command that was killed after all was written.
COMPLETE = ("[output-exists]", "[run-exists]")

# What differs between two commands left alone, too.
CLOCKS = re.compile(r"seconds$|_per_second$|^(created|when|registered)$")
TIMES = re.compile(
    r"[\d.,]+\s*(?:ms|s|min|h|[KM]? ?[Bb]?[a-z]* ?(?:per second|/s))\b"
    r"|(?<=<h3>tokens per second</h3>)(?s:.*?)</figure>"
    r"|(?<=memory</th><td>)[^\n]*|\d{4}-\d\d-\d\d[ T][\d:]+"
)
# A process that only evaluates has taken no steps, so this line is missing.
SPEED = re.compile(r"<div><dt>batches per second(?s:.*?)</div>")
TEMPORARY = re.compile(rf"\.([^/]+)\.{re.escape(socket.gethostname())}\.\d+\.tmp")
PARTS = (
    (r"^cache/", "tokenizer, shards, other caches"),
    (r"/checkpoints(/|$)", "checkpoint"),
    (r"metrics\.jsonl$", "metric log"),
    (r"report\.html$|^pages/", "report"),
    (r"study\.json$", "plan of a study"),
    (r"(table\.\w+|comparison\.json)$", "results of a study"),
    (r"(registration|values)\.json$", "registration, values"),
    (r"\.tar\.gz$|^exported", "archive, export"),
    (r"(run\.json|spec\.toml|tokenizer\.json|\.lock)$", "facts, spec, tokenizer, lock"),
)


@dataclass(frozen=True)
class Operation:
    """A change of the file system: the event of Python's audit hooks, and the path in the folder of the try."""

    event: str
    path: str

    @property
    def part(self) -> str:
        """What was being written."""
        return next((part for pattern, part in PARTS if re.search(pattern, self.path)), "other files and folders")


class Watch:
    """An audit hook that counts the file operations of this process under a folder, and kills it before one of them.

    The file that was opened last is cut off in the middle first, if `torn`.
    """

    def __init__(self, folder: Path, trace: Path, kill_at: int | None, torn: float | None) -> None:
        self.folder, self.trace, self.kill_at, self.torn = f"{folder}/", trace, kill_at, torn
        self.seen: list[Operation] = []
        self.written: tuple[str, int] | None = None
        self.lock = threading.RLock()
        self.busy = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or self.busy:
            return
        path = absolute(arguments[0], arguments[EVENTS[event]] if EVENTS[event] else -1)
        if not path.startswith(self.folder) or not changes(event, path, arguments):
            return
        with self.lock:
            self.busy = True
            operation = Operation(event, TEMPORARY.sub(r"\1", path.removeprefix(self.folder)))
            if len(self.seen) == self.kill_at:
                self.die(operation)
            self.seen.append(operation)
            self.written = (path, os.path.getsize(path) if os.path.exists(path) else 0) if event == "open" else None
            self.busy = False

    def die(self, operation: Operation) -> None:
        torn = False
        if self.torn is not None and self.written and os.path.exists(self.written[0]):
            path, start = self.written
            size = os.path.getsize(path)
            if torn := size > start:
                os.truncate(path, start + int((size - start) * self.torn))
                operation = self.seen[-1]
        with open(self.trace, "w") as file:
            json.dump({"event": operation.event, "path": operation.path, "torn": torn}, file)
        os.kill(os.getpid(), signal.SIGKILL)


# Event -> the argument that is the folder of a relative path; 0 if there is none.
EVENTS = {"open": 0, "os.rename": 2, "os.remove": 1, "os.mkdir": 2, "os.rmdir": 1, "os.chmod": 2}


def absolute(path: Any, folder: int) -> str:
    if not isinstance(path, str | bytes | os.PathLike):
        return ""
    path = os.fsdecode(path)
    if folder >= 0 and not path.startswith("/"):
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    return os.path.abspath(path)


def changes(event: str, path: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an operation changes anything: not the removal of a file that is gone, nor a folder that exists."""
    if event == "open":
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
    return os.path.lexists(path) != (event == "os.mkdir")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, and where it was killed."""

    status: int
    out: str
    err: str
    killed: Operation | None = None
    torn: bool = False


def execute(
    place: Path, command: Sequence[str], cache: Path, kill_at: int | None = None, torn: float | None = None
) -> Ended:
    """Run a command in a fork of this process, in a folder of its own."""
    trace, out, err = (place.with_suffix(suffix) for suffix in (".trace", ".out", ".err"))
    trace.unlink(missing_ok=True)
    if not (child := os.fork()):
        run_child(place, command, cache, Watch(place, trace, kill_at, torn), (out, err))
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.alarm(PATIENCE)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(0)
    text, errors = (path.read_text(errors="replace") for path in (out, err))
    if status == -signal.SIGKILL and trace.exists():
        hit = json.loads(trace.read_text())
        return Ended(status, text, errors, Operation(hit["event"], hit["path"]), hit["torn"])
    return Ended(status, text, errors)


def run_child(place: Path, command: Sequence[str], cache: Path, watch: Watch, streams: tuple[Path, Path]) -> None:
    """The life of a child. It never returns."""
    status = 1
    try:
        for number, path in enumerate(streams, start=1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(place)
        os.environ["GLASSHOUSE_CACHE"] = str(cache)
        sys.argv = ["glasshouse", *command]
        sys.addaudithook(watch)
        try:
            glasshouse_main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        except BaseException:
            traceback.print_exc()
        watch.busy = True
        sys.stdout.flush()
        operations = [[one.event, one.path] for one in watch.seen]
        watch.trace.write_text(json.dumps({"operations": operations, "modules": list(sys.modules)}))
    finally:
        os._exit(status)


def content(place: Path) -> dict[str, Any]:
    """Every file that a command has left, but for times. Hidden ones are locks, and what a killed process did not finish."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        # Training makes samples for the live page only while they take a small share of its time.
        if path.name != "samples.jsonl" and path.is_file() and not re.search(r"(^|/)\.|^cache/", name):
            found[name] = normalised(path)
    return found


def normalised(path: Path) -> Any:
    if path.suffix == ".json":
        table = without_clocks(json.loads(path.read_text()))
        if path.name == "run.json":
            table.get("outcome", {}).pop("memory", None)
        if path.name == "state.json":
            table.pop("digest")  # of a table with times
        return table
    if path.suffix == ".jsonl":
        return [without_clocks(json.loads(line)) for line in path.read_text().splitlines()]
    if path.suffix in (".html", ".md", ".tex", ".svg"):
        return without_times(path.read_text())
    return path.read_bytes()


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_clocks(entry) for key, entry in value.items() if not CLOCKS.search(key)}
    return [without_clocks(entry) for entry in value] if isinstance(value, list) else value


def without_times(text: str) -> str:
    """A text without its times, and without the widths of columns, which follow from them."""
    return re.sub(r"[\s\u2500]+", " ", TIMES.sub("TIME", SPEED.sub("", text)))


def first_difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    for name in sorted(found.keys() | expected.keys()):
        if name not in found or name not in expected:
            return f"{name} is {'missing' if name in expected else 'too much'}"
        if found[name] != expected[name]:
            values = (expected[name], found[name])
            old, new = (value if isinstance(value, str | bytes) else json.dumps(value) for value in values)
            at = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
            return f"{name} differs: {old[max(at - 60, 0) : at + 60]!r} became {new[max(at - 60, 0) : at + 60]!r}"
    return ""


@dataclass(frozen=True)
class Prepared:
    """A scenario with what stands before its command, the operations of a command left alone, and what that leaves."""

    scenario: Scenario
    start: Path
    cache: Path
    operations: list[Operation]
    expected: dict[str, Any]
    printed: str

    def try_out(self, place: Path, kill_at: int, torn: float | None, second: int | None) -> dict[str, Any]:
        """Kill, perhaps kill again, continue to the end, compare."""
        shutil.copytree(self.start, place)
        cache = place / "cache" if self.scenario.cold else self.cache
        kills = []
        for moment, cut in ((kill_at, torn), (second, torn)):
            if moment is not None and (ended := execute(place, self.scenario.again(place), cache, moment, cut)).killed:
                hit = ended.killed
                kills.append({"part": hit.part, "event": hit.event, "path": hit.path, "torn": ended.torn})
        command = self.scenario.again(place)
        ended = execute(place, command, cache)
        why = ""
        if ended.status and not ended.err.strip().endswith(COMPLETE):
            why = f"{command[0]} failed ({ended.status}): {ended.err.strip().splitlines()[-1:]}"
        elif not (why := first_difference(content(place), self.expected)):
            same = command == self.scenario.command and not ended.status
            if same and without_times(ended.out) != self.printed:
                why = first_difference({"output": without_times(ended.out)}, {"output": self.printed})
        litter = [str(path.relative_to(place)) for path in place.rglob(".*.tmp")]
        if not why:
            shutil.rmtree(place)
        return {"kills": kills, "lost": why, "litter": litter, "place": str(place)}


def prepare(scenario: Scenario, folder: Path, cache: Path) -> Prepared:
    """Run the commands that a scenario needs, and its command twice without a kill."""
    start = folder / "start"
    start.mkdir(parents=True)
    shutil.copy(folder.parent / TEXT, folder / TEXT)
    for command in scenario.before:
        if (ended := execute(start, command, cache)).status:
            sys.exit(f"{scenario.name}: {' '.join(command)} failed: {ended.err}")
    contents: list[dict[str, Any]] = []
    for attempt in ("first", "second"):
        alone = shutil.copytree(start, folder / attempt)
        ended = execute(alone, scenario.command, alone / "cache" if scenario.cold else cache)
        if ended.status:
            sys.exit(f"{scenario.name}: the command left alone failed: {ended.err}")
        contents.append(content(alone))
        trace = json.loads(alone.with_suffix(".trace").read_text())
        for module in trace["modules"]:
            if module not in sys.modules and not module.startswith("__"):
                importlib.import_module(module)
    if why := first_difference(*contents):
        sys.exit(f"{scenario.name}: two commands left alone differ already, so nothing can be told from killed ones: {why}")
    operations = [Operation(*operation) for operation in trace["operations"]]
    return Prepared(scenario, start, cache, operations, contents[0], without_times(ended.out))


def plan(prepared: Sequence[Prepared], seed: int) -> list[tuple[int, int, float | None, int | None]]:
    """All tries, in an order in which every scenario has its share of each beginning: scenario, operation, cut, second kill.

    The second time around, the operations are the same, and the cuts and second kills others.
    """
    chance = random.Random(seed)
    queues: list[Any] = []
    for number, one in enumerate(prepared):
        points = [(at, torn) for at in range(len(one.operations)) for torn in (False, True)]
        # A file is cut off only if it was opened last.
        points = [(at, torn) for at, torn in points if not torn or (at and one.operations[at - 1].event == "open")]
        chance.shuffle(points)
        total = len(one.operations)
        queues += [
            itertools.cycle(
                [
                    (
                        number,
                        at,
                        chance.random() if torn else None,
                        chance.randrange(total) if chance.random() < 1 / 3 else None,
                    )
                    for at, torn in points
                ]
            )
        ] * one.scenario.share
    return [next(queue) for _ in range(2000) for queue in queues]


def work(
    prepared: Sequence[Prepared], tries: Sequence[Any], folder: Path, note: Callable[[dict[str, Any]], int], count: int
) -> None:
    """Make tries until there are enough kills."""
    for number, (index, kill_at, torn, second) in tries:
        one = prepared[index]
        place = folder / f"scenario-{index}" / f"try-{number}"
        result = one.try_out(place, kill_at, torn, second)
        if note({"try": number, "scenario": one.scenario.name, **result}) >= count:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="how many kills must land")
    parser.add_argument("--jobs", type=int, default=1, help="how many tries run at once")
    parser.add_argument("--seed", type=int, default=0, help="decides the order, the cuts and the second kills")
    parser.add_argument("--only", help="only scenarios whose names contain this")
    parser.add_argument("--state", type=Path, help="a file that notes every try; with the same one, the count goes on")
    parser.add_argument("--smoke", action="store_true", help="a few kills of two scenarios: does the benchmark run?")
    arguments = parser.parse_args()
    chosen = [scenario for scenario in SCENARIOS if not arguments.only or arguments.only in scenario.name]
    if arguments.smoke:
        chosen, arguments.count = [scenario for scenario in SCENARIOS if scenario.name in ("run", "pack")], 6
    entries = catalogue._entries
    tiny = SimpleNamespace(load=lambda: TinyClaim, value="here")
    catalogue._entries = lambda family: {**entries(family), **({"tiny": tiny} if family == "claim" else {})}  # type: ignore
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="glasshouse-faults-", ignore_cleanup_errors=True) as name:
        sys.exit(measure(Path(name), chosen, arguments))


def measure(folder: Path, chosen: Sequence[Scenario], arguments: argparse.Namespace) -> int:
    """Kill, and print how the tries ended. The result is the exit status."""
    began = time.monotonic()
    os.environ.pop("GLASSHOUSE_RUNS", None)
    os.environ.pop("GLASSHOUSE_STUDIES", None)
    chance = random.Random(0)
    (folder / TEXT).write_text("".join(chance.choice(["ba", "de", "fi", "go"]) + chance.choice(" \n") for _ in range(4000)))
    prepared = []
    for number, scenario in enumerate(chosen):
        progress_bar.say(f"{scenario.name}: left alone")
        prepared.append(prepare(scenario, folder / f"scenario-{number}", folder / "cache"))
    state = arguments.state or folder / "kills.jsonl"
    state.touch()
    done = rows_of(state)
    made = {row["try"] for row in done}
    tries = [numbered for numbered in enumerate(plan(prepared, arguments.seed)) if numbered[0] not in made]
    if threading.active_count() > 1:
        sys.exit("this process has several threads, so a fork of it is not safe")

    def note(row: dict[str, Any]) -> int:
        """Note a try; the number of kills so far."""
        with open(state, "a") as file:
            file.write(json.dumps(row) + "\n")
        kills = sum(len(row["kills"]) for row in rows_of(state))
        if row["lost"]:
            progress_bar.say(f"lost: {describe(row)}")
        if len(rows_of(state)) % 50 == 0:
            progress_bar.say(f"{kills} of {arguments.count} kills")
        return kills

    workers: list[int] = []

    def end_workers(*_: object) -> None:
        for child in workers:
            os.kill(child, signal.SIGTERM)
        sys.exit(143)

    signal.signal(signal.SIGTERM, end_workers)
    for worker in range(arguments.jobs):
        if not (child := os.fork()):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                work(prepared, tries[worker :: arguments.jobs], folder, note, arguments.count)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        workers.append(child)
    failed = [child for child in workers if os.waitpid(child, 0)[1]]
    return summary(rows_of(state), len(failed), time.monotonic() - began)


def rows_of(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in state.read_text().splitlines()]


def describe(row: dict[str, Any]) -> str:
    kills = "; ".join(f"{kill['event']} {kill['path']}{' cut off' if kill['torn'] else ''}" for kill in row["kills"])
    return f"try {row['try']}, {row['scenario']}, killed at {kills or 'nothing'}: {row['lost']}"


def summary(rows: list[dict[str, Any]], failed: int, seconds: float) -> int:
    """Print the kills by scenario and by what was being written. The result is the exit status."""
    columns = {"scenario": lambda row, kill: row["scenario"], "killed while writing": lambda row, kill: kill["part"]}
    for head, key in columns.items():
        kills: Counter[str] = Counter()
        cut: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        for row in rows:
            for kill in row["kills"]:
                kills[key(row, kill)] += 1
                cut[key(row, kill)] += kill["torn"]
            if row["lost"] and row["kills"]:
                lost[key(row, row["kills"][-1])] += 1
        table = [(name, str(number), str(cut[name]), str(lost[name])) for name, number in kills.most_common()]
        show((head, "kills", "in the middle of a write", "tries lost"), table, right=(1, 2, 3))
    bad = [row for row in rows if row["lost"]]
    total = sum(len(row["kills"]) for row in rows)
    again = sum(len(row["kills"]) > 1 for row in rows)
    litter = sum(bool(row["litter"]) for row in rows)
    console.print(
        f"{total} kills landed in {len(rows)} tries ({again} tries with two); {len(bad)} tries lost; {litter} left "
        f"temporary files behind; {seconds:.0f} s",
        soft_wrap=True,
    )
    for row in bad:
        console.print(describe(row), markup=False, soft_wrap=True)
    return 1 if bad or failed else 0


if __name__ == "__main__":
    main()
