"""Try one hostile input in a forked process on a terminal of its own, watch it, and say what became of it.

The parent has imported everything and computed nothing, so that a try costs a fork. Limits on memory and file size hold in
the child. An audit hook refuses and records what would be written outside the folder of the try, and every connection to
another machine.
"""

import contextlib
import errno
import faulthandler
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import sys
import termios
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import damage

ANSWERED, REFUSED, STOPPED = "answered", "refused in one line", "stopped at its bar"
FINE = (ANSWERED, REFUSED, STOPPED)
TRACEBACK, CRASH, HANG, MEMORY, ESCAPE, OUTSIDE, SILENT = (
    "traceback",
    "crash",
    "hang",
    "memory",
    "escape sequence",
    "written outside",
    "refused badly",
)
OUTCOMES = (*FINE, TRACEBACK, CRASH, HANG, MEMORY, ESCAPE, OUTSIDE, SILENT)
# The exit status of a child whose command raised an exception.
RAISED = 70
GIB = 2**30
# What a try may have beyond the memory of the parent, and the largest file that it may write.
MOST_RESIDENT, MOST_ADDRESSES, MOST_FILE = 2 * GIB, 6 * GIB, 2 * GIB
# Seconds without a sign of life, and seconds after which a command that shows progress is asked to stop.
PATIENCE, LONG = 10.0, 10.0
_STYLES = re.compile(r"\x1b\[(?!31mred)[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r(?=\x1b)|\r\n|\x1b\]8;[^\x1b\x07]*\x1b\\")
_OBEYED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|a\rb")
_REFUSAL = re.compile(r"glasshouse: [^\n]+\Z")
_NO_MEMORY = ("MemoryError", "can't allocate memory", "Unable to allocate", "not enough memory", "Cannot allocate memory")


@dataclass
class Place:
    """Where a try happens. `here` is the current folder; what lies above it up to `folder` belongs to the try as well."""

    folder: Path
    samples: Path
    environment: dict[str, str] = field(default_factory=dict)
    stdin: bytes = b""

    @property
    def here(self) -> Path:
        return self.folder / "above" / "here"

    def take(self, *names: str) -> None:
        """Copy samples into the current folder."""
        for name in names:
            source, target = self.samples / name, self.here / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)

    def rewrite(self, name: str, rng: random.Random, change: Callable[[random.Random, bytes], bytes] | None = None) -> None:
        """Damage a file of the current folder."""
        path = self.here / name
        data = path.read_bytes()
        damaged = change(rng, data) if change else damage.damaged_like(rng, path.name, data)
        path.unlink()
        path.write_bytes(damaged)


Prepare = Callable[[random.Random, int, Place], list[str]]
# The results of several tries in one process: number -> outcome and what was seen.
RunGroup = Callable[[Callable[[int], random.Random], list[int], Place], dict[int, tuple[str, str]]]


@dataclass(frozen=True)
class Kind:
    """A kind of hostile input. `share` is its part of all tries. A try is a command, or a group of tries is one process.

    `most_resident` is the memory that a try may take. A training may take what its limit on addresses leaves.
    """

    name: str
    share: float
    prepare: Prepare | None = None
    group: RunGroup | None = None
    group_size: int = 1
    needs: tuple[str, ...] = ()
    most_resident: int = MOST_RESIDENT


@dataclass
class Result:
    """What became of a try."""

    kind: str
    number: int
    outcome: str
    words: list[str]
    seen: str
    seconds: float
    resident: int


def random_of(seed: int, kind: str, number: int) -> random.Random:
    return random.Random(f"{seed}:{kind}:{number}")


def as_argument(text: str) -> str:
    """A text as a word of a command line: no zero byte, and lone surrogates only as bytes that are no UTF-8."""
    return damage.SURROGATE.sub("\udc80", text.replace("\0", ""))


def call_program(words: list[str]) -> int:
    """Run a command in this process and return its exit status."""
    from glasshouse.cli import main

    sys.argv = ["glasshouse", *words]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return 0


class Attempt:
    """A child process with a group of tries of one kind (mostly one), as its parent sees it."""

    def __init__(self, kind: Kind, numbers: list[int], seed: int, folder: Path, samples: Path) -> None:
        self.kind, self.numbers, self.folder = kind, numbers, folder
        self.output, self.report = b"", b""
        self.interrupted = self.killed = False
        here, there = os.pipe()
        self.began = self.heard = time.monotonic()
        self.computed = 0.0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.close(here)
            _child(kind, numbers, seed, Place(folder, samples), there)
        os.close(there)
        self.pipe = here
        self.open = {self.terminal, self.pipe}

    def read(self, descriptor: int) -> None:
        """Take in what the child has written."""
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        if not data:
            self.open.discard(descriptor)
        elif descriptor == self.pipe:
            self.report += data
        else:
            self.output = (self.output + data)[-4_000_000:]
            self.heard, self.computed = time.monotonic(), _processor_seconds(self.pid)
            if b"Ctrl-C ends" in data:
                self.interrupt()

    def interrupt(self) -> None:
        if not self.interrupted:
            self.interrupted = True
            self.heard = time.monotonic()
            os.kill(self.pid, signal.SIGINT)

    def watch(self) -> None:
        """Ask a command that shows progress to stop, and end one that shows nothing.

        A busy machine is no hang: silence counts only if the child had the processor, or is four times as long.
        """
        now = time.monotonic()
        silent = now - self.heard
        had = _processor_seconds(self.pid) - self.computed
        patience = PATIENCE * (3 if self.kind.group else 1)
        if silent > patience and (had > 0.8 * patience or silent > 4 * patience) and not self.killed:
            self.killed = True
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(0.2)
            os.kill(self.pid, signal.SIGKILL)
        elif now - self.began > LONG and silent < 2 and not self.kind.group:
            self.interrupt()

    def ended(self) -> list[Result] | None:
        """The results, once the child has ended."""
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if not pid:
            return None
        while any(ready := select.select(list(self.open), [], [], 0)[0]) and self.open:
            for descriptor in ready:
                self.read(descriptor)
        for descriptor in (self.terminal, self.pipe):
            os.close(descriptor)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        rows = [json.loads(line) for line in self.report.decode("utf-8", "replace").splitlines() if line.startswith("{")]
        report: dict[str, Any] = {key: value for row in rows for key, value in row.items() if key != "outside"}
        outside = [row["outside"] for row in rows if "outside" in row]
        code, text = os.waitstatus_to_exitcode(status), self.output.decode("utf-8", "replace")
        resident = usage.ru_maxrss * 1024
        seconds = time.monotonic() - self.began
        stack = "\n".join(line for line in self.report.decode("utf-8", "replace").splitlines() if not line.startswith("{"))
        seen = (text[-3000:] + "\n" + stack[-3000:]).strip()
        results = report.get("results", {})
        if results and not outside and not self.killed and code == 0:
            each = seconds / len(results)
            return [Result(self.kind.name, int(n), o, [], s, each, resident) for n, (o, s) in results.items()]
        outcome = self._outcome(code, text, stack, resident, bool(outside))
        if outside:
            seen = f"outside: {outside[:3]}\n{seen}"
        return [Result(self.kind.name, n, outcome, report.get("words", []), seen, seconds, resident) for n in self.numbers]

    def _outcome(self, code: int, text: str, stack: str, resident: int, outside: bool) -> str:
        if outside:
            return OUTSIDE
        if self.killed:
            return HANG
        if resident > _PARENT.resident + self.kind.most_resident or code == -signal.SIGKILL:
            return MEMORY
        if code < 0:
            return CRASH
        if code == RAISED:
            return MEMORY if any(sign in stack[-600:] for sign in _NO_MEMORY) else TRACEBACK
        if _OBEYED.search(_STYLES.sub("", text)):
            return ESCAPE
        if "Traceback (most recent call last)" in text:
            return TRACEBACK
        if self.interrupted and code in (0, 130):
            return STOPPED
        if code == 2:
            return REFUSED if _REFUSAL.search(_STYLES.sub("", text).rstrip()) else SILENT
        return ANSWERED if code in (0, 1) else SILENT


@dataclass
class _Parent:
    resident: int = 0
    addresses: int = 0


_PARENT = _Parent()


def measure_parent() -> None:
    """Remember how much memory the parent has: a child begins with as much."""
    pages = [int(number) for number in Path("/proc/self/statm").read_text().split()[:2]]
    _PARENT.addresses, _PARENT.resident = (number * resource.getpagesize() for number in pages)


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(kind: Kind, numbers: list[int], seed: int, place: Place, report: int) -> None:
    """The life of a child. Never returns."""
    status = RAISED
    try:
        _prepare_terminal()
        # A shell ignores Ctrl-C in what it starts in the background, and a child inherits that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.register(signal.SIGUSR1, report, all_threads=True)
        words: list[str] = []
        place.here.mkdir(parents=True)
        os.chdir(place.here)
        if kind.prepare:
            words = [as_argument(word) for word in kind.prepare(random_of(seed, kind.name, numbers[0]), numbers[0], place)]
            _say(report, words=words)
        _enter(place, words, report)
        if kind.group:
            results = kind.group(lambda number: random_of(seed, kind.name, number), numbers, place)
            _say(report, results=results)
            status = 0
        else:
            status = call_program(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        # A terminal may have gone; the report is read to its end.
        os.write(report, traceback.format_exc()[-6000:].encode("utf-8", "backslashreplace"))
    finally:
        os._exit(status)


def _prepare_terminal() -> None:
    """Line ends stay as they are written, and Python's streams see a terminal."""
    attributes = termios.tcgetattr(1)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(1, termios.TCSANOW, attributes)
    termios.tcsetwinsize(1, (40, 120))
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115 (it lasts as long as the process)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    from glasshouse.cli import tables
    from glasshouse.records import progress_bar

    # A console decides when it is made, in the parent, whether it can show a bar.
    for console in (progress_bar.console, progress_bar._outer, tables.console):
        console.is_interactive = True


def _enter(place: Place, words: list[str], report: int) -> None:
    """Set the environment and the limits of a try."""
    for name in [name for name in os.environ if name.startswith("GLASSHOUSE_")]:
        del os.environ[name]
    folders = {"RUNS": "runs", "STUDIES": "studies", "CACHE": "cache", "DATA": "data", "JOBS": "jobs"}
    os.environ.update({f"GLASSHOUSE_{name}": str(place.here / folder) for name, folder in folders.items()})
    os.environ.update(
        HOME=str(place.folder / "above"), TMPDIR=str(place.folder / "tmp"), TERM="xterm-256color", COLUMNS="120"
    )
    os.environ.pop("XDG_CONFIG_HOME", None)
    (place.folder / "tmp").mkdir()
    for name, value in place.environment.items():
        os.environ[name] = as_argument(value)
    (place.folder / "stdin").write_bytes(place.stdin)
    os.dup2(os.open(place.folder / "stdin", os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    import tempfile

    tempfile.tempdir = None
    resource.setrlimit(resource.RLIMIT_AS, (_PARENT.addresses + MOST_ADDRESSES,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.dont_write_bytecode = True
    sys.addaudithook(_Fence(place, words, report))


class _Fence:
    """Refuses writes outside the folder of a try, and connections to other machines. What no argument named is recorded."""

    # Which arguments are paths. All but the last two act on a link itself, and not on what it names.
    _PATHS = {  # noqa: RUF012
        "os.mkdir": (0,),
        "os.rename": (0, 1),
        "os.remove": (0,),
        "os.rmdir": (0,),
        "os.symlink": (1,),
        "os.link": (1,),
        "shutil.rmtree": (0,),
        "os.truncate": (0,),
        "os.chmod": (0,),
    }
    _FOLLOWING = ("os.truncate", "os.chmod")

    def __init__(self, place: Place, words: list[str], report: int) -> None:
        shared = [os.environ.get(name, "") for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR")]
        self.allowed = tuple(os.path.realpath(path) for path in (str(place.folder), *filter(None, shared), "/dev", "/proc"))
        given = " ".join([*words, *place.environment.values()])
        self.given, self.report = given, report
        self.named = tuple(value for value in place.environment.values() if os.path.isabs(value))

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            if not isinstance(arguments[2], int) or isinstance(arguments[0], int):
                return
            # The system refuses to open a link with this flag.
            is_refused = arguments[2] & os.O_NOFOLLOW and os.path.islink(arguments[0])
            if arguments[2] & writes and not is_refused:
                self.check(arguments[0])
        elif event in self._PATHS:
            # A path that is relative to an open folder was checked when the folder was named.
            if any(
                isinstance(value, int) and value >= 0
                for value in arguments[len(self._PATHS[event]) :]
                if event != "os.mkdir"
            ):
                return
            for index in self._PATHS[event]:
                self.check(arguments[index], follow=event in self._FOLLOWING)
        elif event == "socket.connect":
            address = arguments[1]
            if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
                raise OSError(errno.ENETUNREACH, "the network is not reached from a try")

    def check(self, path: Any, follow: bool = True) -> None:
        if path is None or isinstance(path, int):
            return
        name = os.fsdecode(path)
        real = os.path.realpath(name)
        if not follow:
            real = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
        if any(real == folder or real.startswith(folder + os.sep) for folder in self.allowed):
            return
        # Whoever names a path outside may write there, and below it; here it is refused all the same.
        named = len(name) > 1 and (name in self.given or os.path.dirname(name) in self.given)
        if not named and not any(Path(name).is_relative_to(folder) for folder in self.named):
            _say(self.report, outside=name)
        raise PermissionError(errno.EACCES, "Permission denied", name)


def _say(report: int, **content: Any) -> None:
    os.write(report, (json.dumps(content) + "\n").encode())
