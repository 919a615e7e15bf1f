"""Devices: the CPU can be picked, and a device that is unknown or missing is refused."""

import torch

from glasshouse.specs.errors import GlasshouseError
from glasshouse.training import devices
from tests.refusals import refused


def test_the_cpu_can_be_picked():
    assert devices.pick("cpu").type == "cpu"


def test_an_unknown_or_missing_device_is_refused(monkeypatch):
    with refused(GlasshouseError):
        devices.pick("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with refused(GlasshouseError):
        devices.pick("cuda")


def test_a_number_of_threads_holds_within_its_block():
    before = torch.get_num_threads()
    with devices.threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with devices.threads(0):
            assert torch.get_num_threads() == before + 1, "0 keeps torch's number"
    assert torch.get_num_threads() == before
