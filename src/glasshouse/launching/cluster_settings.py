"""A cluster's habits in one small TOML file: partition, time limit, modules to load, container. Knows nothing of jobs."""

import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from glasshouse.records import user_paths
from glasshouse.specs import catalogue, options, toml_text
from glasshouse.specs.errors import LaunchError
from glasshouse.specs.options import words
from glasshouse.specs.spec_fields import fields, setting

FILE = "cluster.toml"
# Slurm may send a signal so much earlier than it was asked to.
SIGNAL_SECONDS = 60
# How an error names the type of a line.
_KINDS = {str: "a text in quotes", int: "a whole number", tuple: "a list of texts"}
# Slurm's ways to write a time limit: minutes, minutes:seconds, hours:minutes:seconds, and days-hours[:minutes[:seconds]].
_TIME = re.compile(r"(?:(?P<days>\d+)-)?(\d+)(?::(\d+))?(?::(?P<third>\d+))?")


@dataclass(frozen=True)
class ClusterSettings:
    """What a job asks of a cluster, and how Glasshouse is started there: the lines of a cluster file, each with a value for
    the example. An empty value leaves the choice to Slurm."""

    partition: str = setting("", "`sinfo` lists the partitions; without this line: the default partition", '"gpu"')
    account: str = setting("", "who pays, if your cluster asks for it", '"my-project"')
    time: str = setting("", "the time limit of a job; a job that reaches it saves, and goes on in the queue", '"4:00:00"')
    nodes: int = setting(1, "the nodes of one run; each run of a study has one node", "1", minimum=1)
    gpus_per_node: int = setting(0, "the GPUs of each node", "1", minimum=0)
    cpus_per_task: int = setting(0, "CPU cores for each node's part of a job", "8", minimum=0)
    memory: str = setting("", "main memory of each node", '"32G"')
    processes_per_node: int = setting(0, "processes of a run on each node; 0: one for each GPU, or one", "0", minimum=0)
    jobs: int = setting(0, "into how many jobs the runs of a study are divided; 0: as many as possible", "0", minimum=0)
    save_seconds: int = setting(90, "how long before the time limit a run is told to save", "90", minimum=1)
    setup: tuple[str, ...] = setting(
        (), "shell lines that make Python ready on a compute node", '["source ~/venvs/glasshouse/bin/activate"]'
    )
    python: str = setting(
        "", "the Python that has Glasshouse; without this line: the one that submits, which the nodes must see", '"python3"'
    )
    container: str = setting("", "what stands before Python: a container", '"apptainer exec --nv glasshouse.sif"')
    sbatch: tuple[str, ...] = setting((), "further options of sbatch", '["--constraint=a100", "--mail-type=FAIL"]')

    @property
    def processes_on_a_node(self) -> int:
        return self.processes_per_node or self.gpus_per_node or 1

    @property
    def processes(self) -> int:
        """The number of processes that train one run together."""
        return self.nodes * self.processes_on_a_node

    @property
    def cores(self) -> int:
        """CPU cores of a node: one for each process, unless one is all that is asked for. 0 leaves the number to Slurm."""
        return self.cpus_per_task or (self.processes_on_a_node if self.processes_on_a_node > 1 else 0)

    def changed(self, **changes: Any) -> "ClusterSettings":
        """The settings with the changes that are not None, checked."""
        settings = replace(self, **{name: value for name, value in changes.items() if value is not None})
        settings._check()
        return settings

    def for_single_process(self) -> "ClusterSettings":
        """The settings for work that one process does: one node, and at most one GPU."""
        return replace(self, nodes=1, processes_per_node=1, gpus_per_node=min(self.gpus_per_node, 1))

    def _check(self) -> None:
        options.check(self, LaunchError)
        words = [(name, getattr(self, name), r"\s") for name in ("partition", "account", "time", "memory")]
        for name, text, forbidden in [*words, *(("sbatch", text, r"\n") for text in self.sbatch)]:
            if re.search(forbidden, text):
                raise LaunchError("is not one word; write it without spaces and line breaks", name, text)
        least = self.save_seconds + SIGNAL_SECONDS
        if self.time and seconds_of(self.time) <= least:
            raise LaunchError(f"must be above {least} s: save_seconds={self.save_seconds}; choose more", "time", self.time)


EXAMPLE = """\
# The habits of a Slurm cluster. Glasshouse reads the first of these files that exists: the file that GLASSHOUSE_CLUSTER
# names, cluster.toml in the current folder, ~/.config/glasshouse/cluster.toml. Every line may be left out.
""" + "".join(
    f"\n# {line.rule.about}\n{'' if name == 'time' else '# '}{name} = {line.rule.metavar}\n"
    for name, line in fields(ClusterSettings).items()
)


@dataclass(frozen=True, kw_only=True)
class Slurm:
    """Work is done by jobs of a Slurm cluster. Options that are None are as the cluster file has them."""

    nodes: int | None = setting(None, "With --on slurm: the nodes that train the run together.", minimum=1, maximum=10_000)
    jobs: int | None = setting(
        None, "With --on slurm: into how many jobs the runs are divided; default: all.", minimum=1, maximum=10_000
    )
    gpus_per_node: int | None = setting(None, "With --on slurm: the number of GPUs of each node.", minimum=0, maximum=1024)
    time: str | None = setting(None, "With --on slurm: the time limit of a job, such as 4:00:00. A job goes on after it.")
    partition: str | None = setting(None, "With --on slurm: the partition; default: that of the cluster file.")
    dry_run: bool = setting(False, "With --on slurm: print the scripts, and train and submit nothing.")

    def settings(self) -> ClusterSettings:
        """The settings of the cluster file with these options."""
        return load(**{name: getattr(self, name) for name in fields(Slurm) if name != "dry_run"})

    def words(self) -> list[str]:
        """The words of a command that submits the same way."""
        return ["--on", "slurm", *words(replace(self, dry_run=False))]


def seconds_of(time: str) -> int:
    """The seconds of a time limit as Slurm writes it: 90, 90:00, 1:30:00, 2-0, 2-12:30."""
    if not (parts := _TIME.fullmatch(time.strip())):
        raise LaunchError(f"{time!r} is not a time limit; write minutes, h:m:s or days-hours, such as 90, 1:30:00 or 2-12")
    days, *numbers = (int(part) for part in parts.groups(default="0"))
    if parts["days"] is None and parts["third"] is None:  # without days, one or two numbers begin with the minutes
        numbers = [0, *numbers[:2]]
    hours, minutes, seconds = numbers
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def find_file() -> Path | None:
    """The cluster file: that of GLASSHOUSE_CLUSTER, of the current folder, or of the user; None if there is none."""
    if named := os.environ.get("GLASSHOUSE_CLUSTER"):
        if not Path(named).is_file():
            raise LaunchError(f"GLASSHOUSE_CLUSTER={named} is no file; write one: glasshouse sbatch --example > {named}")
        return Path(named)
    configuration, home = os.environ.get("XDG_CONFIG_HOME"), user_paths.home()
    folder = Path(configuration) if configuration else home and home / ".config"
    places = [Path(FILE), *([folder / "glasshouse" / FILE] if folder else [])]
    return next((path for path in places if path.is_file()), None)


def load(**changes: Any) -> ClusterSettings:
    """The settings of the cluster file, or the defaults, with the changes that are not None."""
    path = find_file()
    return (ClusterSettings() if path is None else read(path)).changed(**changes)


def read(path: Path) -> ClusterSettings:
    try:
        table = toml_text.read(path)
    except (OSError, ValueError) as error:
        raise LaunchError(f"the cluster file {path} cannot be read: {error}; correct or delete it") from None
    settings = asdict(ClusterSettings())
    for name, value in table.items():
        if name not in settings:
            meant = catalogue.did_you_mean(name, settings)
            raise LaunchError(f"the cluster file {path} has a wrong line {name!r}{meant}; it may have {', '.join(settings)}")
        kind = type(settings[name])
        line = tuple(value) if isinstance(value, list) else value
        if type(line) is not kind or (kind is tuple and not all(isinstance(text, str) for text in line)):
            raise LaunchError(f"in the cluster file {path} must be {_KINDS[kind]}", name, value)
        settings[name] = line
    return ClusterSettings(**settings)
