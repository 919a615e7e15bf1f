"""What Slurm's commands print, and how their errors reach a user. `tests/slurm` has the tests with a real Slurm."""

from pathlib import Path

import pytest

from glasshouse.launching import slurm
from glasshouse.launching.cluster_settings import ClusterSettings
from glasshouse.launching.slurm import Partition, QueuedJob
from glasshouse.specs.errors import LaunchError
from tests.refusals import refused

SINFO = """\
main*|2:00:00|2|16+|(null)
main*|2:00:00|6|64|gpu:a100:4(S:0-1)
long|7-00:00:00|4|32|gpu:2,license:1
debug|infinite|1|4|(null)
nonsense
"""
QUEUE = """\
12|3|RUNNING|1:02:03|None|norms
12|4|PENDING|2:00:00|Resources|norms
13|N/A|COMPLETED|INVALID|None|a|b
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for pretended commands of Slurm, the only one on the path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def pretend(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def pretend_to_print(folder: Path, name: str, text: str) -> None:
    pretend(folder, name, f"while read -r line; do echo \"$line\"; done <<'END'\n{text}END")


def test_partitions(programs: Path) -> None:
    pretend_to_print(programs, "sinfo", SINFO)
    main, long, debug = slurm.partitions()
    assert main == Partition("main", True, 7200, 8, 64, 4)
    assert (long.name, long.default, long.seconds, long.gpus) == ("long", False, 604_800, 2)
    assert (debug.seconds, debug.gpus) == (0, 0)


def test_the_queue(programs: Path) -> None:
    pretend_to_print(programs, "squeue", QUEUE)
    running, pending, completed = slurm.jobs()
    assert running == QueuedJob(12, 3, "RUNNING", "1:02:03", "None", "norms")
    assert running.active
    assert (pending.task, pending.reason) == (4, "Resources")
    assert (completed.task, completed.active, completed.name) == (-1, False, "a|b")


def test_no_slurm(programs: Path) -> None:
    assert not slurm.is_installed()
    with refused(LaunchError, "sinfo"):
        slurm.check(ClusterSettings())
    with refused(LaunchError, "sbatch"):
        slurm.submit(Path("job.sh"))


@pytest.mark.parametrize(
    "said",
    [
        "sinfo: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        "sinfo: error: fetch_config: DNS SRV lookup failed\n"
        "sinfo: error: _establish_config_source: failed to fetch config\n"
        "sinfo: fatal: Could not establish a configuration source",
        "slurm_load_partitions: Unable to contact slurm controller (connect failure)",
    ],
    ids=["no configuration", "no controller"],
)
def test_slurm_without_a_cluster(programs: Path, said: str) -> None:
    pretend(programs, "sinfo", f"while read -r line; do echo \"$line\" >&2; done <<'END'\n{said}\nEND\nexit 1")
    with refused(LaunchError, "sinfo", "login node", "leave out --on slurm") as caught:
        slurm.check(ClusterSettings())
    assert "DNS" not in str(caught.value)


def test_what_a_partition_cannot_give_is_refused(programs: Path) -> None:
    pretend_to_print(programs, "sinfo", SINFO)
    slurm.check(ClusterSettings(gpus_per_node=4, nodes=8, time="2:00:00", cpus_per_task=64))
    slurm.check(ClusterSettings(partition="debug", time="30-0"))
    with refused(LaunchError, "mian", "main", "long"):
        slurm.check(ClusterSettings(partition="mian"))
    with refused(LaunchError, "2:01:00", "main"):
        slurm.check(ClusterSettings(time="2:01:00"))
    with refused(LaunchError, "9 nodes", "8"):
        slurm.check(ClusterSettings(nodes=9))
    with refused(LaunchError, "5 GPUs"):
        slurm.check(ClusterSettings(gpus_per_node=5))
    with refused(LaunchError, "65 cores"):
        slurm.check(ClusterSettings(processes_per_node=65))


def test_what_sbatch_says_reaches_the_user(programs: Path) -> None:
    pretend(programs, "sbatch", "echo 'sbatch: error: Invalid account or account/partition' >&2; exit 1")
    with refused(LaunchError, "Invalid account"):
        slurm.submit(Path("job.sh"))
    pretend(programs, "sbatch", "echo '4711;cluster'")
    assert slurm.submit(Path("job.sh")) == 4711
    pretend(programs, "sbatch", "echo nothing")
    with refused(LaunchError, "nothing"):
        slurm.submit(Path("job.sh"))


def test_a_job_that_waits_for_another(programs: Path) -> None:
    pretend(programs, "sbatch", 'echo "$@" >&2; exit 1')
    with refused(LaunchError, "--dependency=afterok:12 --kill-on-invalid-dep=yes job.sh"):
        slurm.submit(Path("job.sh"), after=12)


def test_a_controller_that_does_not_answer(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(programs, "squeue", "exec /bin/sleep 20")
    monkeypatch.setattr(slurm, "TIMEOUT", 0.2)
    with refused(LaunchError, "squeue"):
        slurm.jobs()
