"""A real Slurm on this machine: munged, slurmctld and two nodes, each a slurmd. It is stopped by the ids of its processes.

Nothing outside its folder is used or changed: it has its own munge key and socket, and its own ports.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from getpass import getuser
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
NODES = ("n1", "n2")
# prctl(2): the descendants of a process that lost their parent become its children, so that they are found and ended.
PR_SET_CHILD_SUBREAPER = 36
# prctl(2): a process gets this signal when its parent ends, also if that was killed.
PR_SET_PDEATHSIG = 1
CONFIGURATION = """\
ClusterName=glasshouse-tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A requeued job may start when the credential of its first start has expired: by default after two minutes; 5 is the least.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
MpiDefault=none
ReturnToService=2
SlurmdTimeout=5
KillWait=10
MinJobAge=600
InactiveLimit=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=2000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=2:00:00 DefaultTime=10 State=UP
PartitionName=short Nodes=n1 MaxTime=10 State=UP
"""


def missing_programs() -> list[str]:
    """The programs of Slurm and munge that are not installed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if not shutil.which(name, path=path)]


class SlurmCluster:
    """Starts Slurm in a folder. `stop` ends the processes that were started, and those that they started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to use this Slurm."""
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path}

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir(exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        host = socket.gethostname().split(".")[0]
        settings = {"host": host, "user": getuser(), "folder": self.folder, "ports": _free_ports(3)}
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(**settings))
        files = ("socket", "key", "pid", "log", "seed")
        options = [f"--{name}{'' if name == 'socket' else '-file'}={self.folder}/munge.{name}" for name in files]
        self._start("munged", "munged", "--foreground", "--force", *options)
        self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self._start("slurmctld", "slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))
        for node in NODES:
            self.start_node(node)
        self._wait(lambda: self.idle_nodes() == len(NODES), "slurmctld")

    def start_node(self, node: str) -> None:
        self._start(node, "slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf"))

    def kill_node(self, node: str) -> None:
        """End a node at once, with everything that runs on it, as a power failure would."""
        _kill(self.processes.pop(node))

    def stop(self) -> None:
        for name in reversed(list(self.processes)):
            _kill(self.processes.pop(name))

    def _start(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.out").open("ab")
        environment = {**os.environ, **self.environment}
        self.processes[name] = subprocess.Popen(
            [sys.executable, __file__, *command],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        log.close()

    def idle_nodes(self) -> int:
        command = ["sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"]
        found = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False, timeout=30
        )
        return len(found.stdout.split())

    def _wait(self, condition: Callable[[], bool], name: str) -> None:
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end or self.processes[name].poll() is not None:
                said = (self.folder / f"{name}.out").read_text(errors="replace")
                self.stop()
                raise RuntimeError(f"{name} did not start; it said: {said[-2000:]}")
            time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    """Ports that no process listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(opened.getsockname()[1]) for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def _descendants(root: int) -> list[int]:
    """The ids of the processes below a process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found, level = [], [root]
    while level:
        level = [process for process, parent in parents.items() if parent in level]
        found += level
    return found


def _kill(process: "subprocess.Popen[bytes]") -> None:
    for number in [*_descendants(process.pid), process.pid]:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def _run_as_subreaper(command: Iterable[str]) -> int:
    """Run a command below a process that keeps all its descendants, and ends them if its own parent is gone."""
    system = ctypes.CDLL(None)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen([*command])

    def end(number: int, frame: object) -> None:
        for descendant in _descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(descendant, signal.SIGKILL)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    system.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return process.wait()


if __name__ == "__main__":
    sys.exit(_run_as_subreaper(sys.argv[1:]))
