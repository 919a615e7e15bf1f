"""Runs Python code that a language model wrote, in a process of its own with limits, and tells why its tests fail.

The limits stop accidents and careless code: a loop without end, full memory or a full disk, deleted files, data sent away.
They are no wall against code that is written to break out. The other process sets them before it runs the code:

- processor time, memory, the size of files, the number of open files and of processes (resource limits of the system);
- an empty temporary folder as the current one, an empty environment, and Python's isolated mode;
- a network namespace without a network, where the system permits this to an ordinary user, as most Linux systems do;
- an audit hook, which refuses sockets, other programs, changes outside the folder, and reading outside the folder and
  Python's own library.

This module is also the program of the other process, so it imports the standard library alone.
"""

import builtins
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any, Final, NoReturn

SECONDS: Final = 5.0
MEMORY: Final = 512 << 20
FILE_BYTES: Final = 1 << 20
OPEN_FILES: Final = 32
# What a busy machine may need to start Python.
STARTING_SECONDS: Final = 20.0
# The end of the error output that is read.
ERROR_BYTES: Final = 4000
_TIME_IS_UP: Final = (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)
# CLONE_NEWUSER, which permits CLONE_NEWNET to an ordinary user.
_NEW_NAMESPACES: Final = 0x10000000 | 0x40000000
# Audit events (docs.python.org/3/library/audit_events.html) that are refused, by the beginning of their names.
_REFUSED: Final = (
    *("socket.", "subprocess.", "ctypes.", "pty.", "ftplib.", "http.", "urllib.", "smtplib.", "webbrowser.", "syslog."),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill", "signal.pthread_kill"),
)
# Events whose paths must be in the folder.
_CHANGES: Final = (
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate"),
    *("os.utime", "os.chdir", "shutil.rmtree", "shutil.move", "shutil.copyfile"),
)
_LISTINGS: Final = ("os.listdir", "os.scandir")
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def run_with_tests(code: str, tests: str, seconds: float = SECONDS) -> str:
    """Run the code and then the tests in the same names; returns why they fail, in one line, or "" if they pass.

    They pass if they raise nothing within the time.
    """
    # The code could end the process early with status 0, so only this word says that the tests ended.
    word = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="answer-") as folder, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", __file__, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={"LANG": "C.UTF-8"},
            start_new_session=True,
        )
        job = b"\0".join(part.replace("\0", "").encode("utf-8", "replace") for part in (word, code, tests))
        try:
            out, _ = process.communicate(job, timeout=STARTING_SECONDS + seconds)
        except subprocess.TimeoutExpired:
            out = b""
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.communicate()
        if out.decode("utf-8", "replace") == word:
            return ""
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(size - ERROR_BYTES, 0))
        lines = [line.strip() for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    if process.returncode in _TIME_IS_UP:
        return f"not done after {seconds:g} s"
    return lines[-1][:300] if lines else "the code ended the process before its tests"


def _main() -> NoReturn:
    """The program of the other process."""
    word, code, tests = sys.stdin.buffer.read().decode().split("\0")
    result = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    _leave_network()
    _set_limits(float(sys.argv[1]))
    sys.addaudithook(_hook(os.path.realpath(os.getcwd())))
    names: dict[str, Any] = {"__name__": "answer", "__builtins__": builtins}
    with suppress(SystemExit):
        exec(compile(code, "answer", "exec"), names)
    exec(compile(tests, "tests", "exec"), names)
    os.write(result, word.encode())
    os._exit(0)


def _leave_network() -> None:
    """Enter a network namespace of our own, if the system permits it."""
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).unshare(_NEW_NAMESPACES)


def _set_limits(seconds: float) -> None:
    limits = {"CPU": int(seconds) + 1, "AS": MEMORY, "FSIZE": FILE_BYTES, "NOFILE": OPEN_FILES, "NPROC": 0, "CORE": 0}
    for name, value in limits.items():
        with suppress(AttributeError, ValueError, OSError):  # macOS lacks some
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _hook(folder: str) -> Any:
    """The audit hook. Nothing can remove it."""
    prefixes = (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))
    readable = (folder, *dict.fromkeys(map(os.path.realpath, prefixes)))

    def inside(path: Any, places: tuple[str, ...]) -> bool:
        if path is None or isinstance(path, int):  # the current folder, or a file that is open already
            return True
        real = os.path.realpath(os.fsdecode(path))
        return any(real == place or real.startswith(place + os.sep) for place in places)

    def refuse(what: str) -> NoReturn:
        raise PermissionError(f"refused here: {what}")

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_REFUSED):
            refuse(event)
        if event == "open":
            path, _, flags = arguments
            if not inside(path, (folder,) if flags & _WRITING else readable):
                refuse("a file outside the folder")
        elif event in _CHANGES:
            if not all(inside(path, (folder,)) for path in arguments[:2] if isinstance(path, str | bytes | os.PathLike)):
                refuse("a file outside the folder")
        elif event in _LISTINGS and not inside(arguments[0], readable):
            refuse("a folder outside the folder")

    return watch


if __name__ == "__main__":
    _main()
