"""A process that has imported the program and forks a child for each command: a test need not wait for imports again.

Each child gets its own environment, current folder, mask of modes and clock. Several can run at once.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TIMEOUT = 120


@dataclass(frozen=True)
class Ended:
    """The exit status of a command, and what it wrote."""

    code: int
    out: str
    err: str


class ForkServer:
    """Starts commands in forks of one process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.hostile.fork_server"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes)

    def start(
        self,
        *words: str,
        cwd: Path,
        env: Mapping[str, str | None] | None = None,
        umask: int = 0o022,
        clock: float = 0.0,
        delete_cwd: bool = False,
    ) -> int:
        """Start a command. `env` changes the environment (None removes a variable), `clock` is added to the time."""
        self.count += 1
        return int(
            self._ask(
                words=words,
                cwd=str(cwd),
                env=dict(env or {}),
                umask=umask,
                clock=clock,
                delete_cwd=delete_cwd,
                number=self.count,
                folder=str(self.folder),
            )["number"]
        )

    def wait(self, number: int) -> Ended:
        code = self._ask(wait=number)["code"]
        out, err = ((self.folder / f"{number}.{name}").read_text(errors="replace") for name in ("out", "err"))
        return Ended(code, out, err)

    def run(self, *words: str, **how: Any) -> Ended:
        return self.wait(self.start(*words, **how))

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(TIMEOUT)

    def _ask(self, **request: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def serve() -> None:
    """Read requests to start and to wait, one a line, and answer each with a line."""
    import torch

    import glasshouse

    torch.set_num_threads(1)
    # All that a command may import, so that no child has to.
    for package in ("api", "cli", "studies", "inspection", "runs", "training", "tasks", "models", "parts", "data", "pages"):
        for module in pkgutil.walk_packages([f"{glasshouse.__path__[0]}/{package}"], f"glasshouse.{package}."):
            if "kernel" not in module.name:
                with suppress(ImportError):
                    importlib.import_module(module.name)
    children: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            status = os.waitpid(children[request["wait"]], 0)[1]
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            if not (child := os.fork()):
                live(request)
            children[request["number"]] = child
            answer = {"number": request["number"]}
        print(json.dumps(answer), flush=True)


def live(request: dict[str, Any]) -> None:
    """The life of a child: run one command. It never returns."""
    code = 1
    try:
        for number, name in ((1, "out"), (2, "err")):
            path = f"{request['folder']}/{request['number']}.{name}"
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.chdir(request["cwd"])
        if request["delete_cwd"]:
            os.rmdir(request["cwd"])
        os.umask(request["umask"])
        for name, value in request["env"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if request["clock"]:
            true_time = time.time
            time.time = lambda: true_time() + request["clock"]
        sys.argv = ["glasshouse", *request["words"]]
        from glasshouse.cli import main

        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
