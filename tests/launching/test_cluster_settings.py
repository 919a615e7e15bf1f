"""The cluster file: where it is found, what it may hold, and what is refused."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from glasshouse.launching import cluster_settings
from glasshouse.launching.cluster_settings import ClusterSettings, load, read, seconds_of
from glasshouse.specs.errors import LaunchError
from tests.refusals import refused


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder and an environment without cluster files."""
    monkeypatch.delenv("GLASSHOUSE_CLUSTER", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    (tmp_path / "configuration" / "glasshouse").mkdir(parents=True)
    return tmp_path


def test_the_first_file_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load() == ClusterSettings()
    (home / "configuration/glasshouse/cluster.toml").write_text('partition = "users"')
    assert load().partition == "users"
    Path("cluster.toml").write_text('partition = "folders"')
    assert load().partition == "folders"
    Path("named.toml").write_text('partition = "named"')
    monkeypatch.setenv("GLASSHOUSE_CLUSTER", "named.toml")
    assert load().partition == "named"
    assert load(partition="option", nodes=None).partition == "option"
    monkeypatch.setenv("GLASSHOUSE_CLUSTER", "missing.toml")
    with refused(LaunchError, "missing.toml"):
        load()


def test_the_example_names_every_setting_and_is_valid() -> None:
    Path("cluster.toml").write_text(cluster_settings.EXAMPLE)
    assert load().time == "4:00:00"
    lines = cluster_settings.EXAMPLE.splitlines()
    commented = [line.removeprefix("# ") for line in lines if " = " in line or line.startswith("# [")]
    Path("whole.toml").write_text("\n".join(commented))
    assert set(tomllib.loads("\n".join(commented))) == {field.name for field in fields(ClusterSettings)}
    assert read(Path("whole.toml")).changed().gpus_per_node == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('partitoin = "a"', "did you mean"),
        ("partition = 3", "a text in quotes"),
        ('nodes = "2"', "a whole number"),
        ("nodes = true", "a whole number"),
        ('setup = "module load cuda"', "a list of texts"),
        ("nodes =", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused(text: str, value: str) -> None:
    Path("cluster.toml").write_text(text)
    with refused(LaunchError, "cluster.toml", value):
        load()


def test_bad_values_are_refused() -> None:
    with refused(LaunchError, "nodes=0"):
        load(nodes=0)
    with refused(LaunchError, "partition"):
        load(partition="a b")
    with refused(LaunchError, "sbatch"):
        ClusterSettings(sbatch=("--a\nrm -rf /",)).changed()
    with refused(LaunchError, "90", "150"):
        load(time="1:30")
    assert load(time="2:31").time == "2:31"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("90:30", 5430), ("1:30:00", 5400), ("2-12", 216_000), ("1-2:30", 95_400), ("1-0:0:1", 86_401)],
)
def test_times_are_those_of_slurm(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "4h", "-1", "1:2:3:4", "1.5"])
def test_other_times_are_refused(text: str) -> None:
    with refused(LaunchError, repr(text)):
        seconds_of(text)


def test_processes() -> None:
    assert ClusterSettings().processes == 1
    assert ClusterSettings(nodes=2, gpus_per_node=4).processes == 8
    assert ClusterSettings(nodes=2, gpus_per_node=4, processes_per_node=1).processes == 2
    single = ClusterSettings(nodes=2, gpus_per_node=4).for_single_process()
    assert (single.processes, single.nodes, single.gpus_per_node) == (1, 1, 1)
