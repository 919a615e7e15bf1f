"""The table [hardware] of a cluster file, and the shape of a cluster: what they may hold, and what is refused."""

import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from glasshouse.launching import cluster_hardware, cluster_settings
from glasshouse.launching.cluster_hardware import ClusterHardware, shape_of
from glasshouse.specs.errors import GlasshouseError, LaunchError
from tests.refusals import refused


def test_the_example_holds_the_defaults() -> None:
    lines = [line.removeprefix("# ") for line in cluster_hardware.EXAMPLE.splitlines() if " = " in line or "# [" in line]
    table = tomllib.loads("\n".join(lines))["hardware"]
    assert table == asdict(ClusterHardware())
    assert ClusterHardware.from_table(table, "here") == ClusterHardware()


def test_a_cluster_file_may_describe_the_hardware() -> None:
    Path("cluster.toml").write_text('partition = "gpu"\n[hardware]\ngpu = "A100"\ngpu_memory_gb = 80\n')
    settings = cluster_settings.read(Path("cluster.toml"))
    assert settings.partition == "gpu"
    assert settings.hardware == ClusterHardware(gpu="A100", gpu_memory_gb=80.0)


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        ("peak_tflop = 1", LaunchError, "peak_tflops"),
        ('peak_tflops = "fast"', LaunchError, "a number"),
        ("peak_tflops = true", LaunchError, "a number"),
        ("gpu = 200", LaunchError, "a text"),
        ("network_gb_per_second = -1", LaunchError, "network_gb_per_second=-1"),
        ("node_gb_per_second = 0", LaunchError, "node_gb_per_second=0"),
        ("node_gb_per_second = inf", LaunchError, "node_gb_per_second=inf"),
        ("node_latency_us = nan", LaunchError, "node_latency_us=nan"),
        ("achieved_share = 45", LaunchError, "achieved_share=45"),
        ("price_per_gpu_hour = -0.1", LaunchError, "price_per_gpu_hour"),
    ],
)
def test_a_bad_line_is_refused(line: str, kind: type[GlasshouseError], value: str) -> None:
    Path("mine.toml").write_text(f"[hardware]\n{line}\n")
    with refused(kind, value, "mine.toml"):
        cluster_settings.read(Path("mine.toml"))


def test_the_hardware_is_a_table() -> None:
    with refused(LaunchError, "hardware=3"):
        ClusterHardware.from_table(3, "here")


def test_the_shape() -> None:
    assert shape_of("8x8") == (8, 8)
    assert shape_of(" 128 × 4 ") == (128, 4)


@pytest.mark.parametrize("text", ["8x", "x8", "0x8", "8x0", "8", "", "-1x8", "8x8x8", "1.5x8", "cluster.toml"])
def test_other_shapes_are_refused(text: str) -> None:
    with refused(LaunchError, repr(text), "8x8"):
        shape_of(text)
