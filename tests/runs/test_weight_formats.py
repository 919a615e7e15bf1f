"""Number formats of a run's weights: each generates, and what cannot be is refused."""

import pytest
import torch

import glasshouse
from glasshouse import models
from glasshouse.runs import weight_formats
from glasshouse.runs.weight_formats import FORMATS
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import ModelSpec
from tests.refusals import refused


@pytest.fixture
def run(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the log. " * 30)
    sizes = ("data.vocabulary=270", "data.context=16", "model.width=16", "model.layers=1", "model.heads=2")
    fixed = ("training.steps=2", "training.threads=1", "training.precision=fp32")
    return glasshouse.train("language-model", f"data.files={text}", *sizes, *fixed, name="small", device="cpu")


def test_every_format_generates(run):
    whole = run.sample("the cat", tokens=6, temperature=0)[0]
    for name in FORMATS:
        opened = glasshouse.open_run("small", device="cpu", dtype=name)
        assert opened.dtype == name
        [completion] = opened.sample("the cat", tokens=6, temperature=0)
        assert len(completion.choices) == 6
        assert completion.choices[0].log_probability == pytest.approx(whole.choices[0].log_probability, abs=0.3)


def test_what_cannot_be_is_refused(run):
    with refused(GlasshouseError, "float16", "int8"):
        glasshouse.open_run("small", device="cpu", dtype="float16")
    with refused(GlasshouseError, "for a CPU", "bfloat16"):
        weight_formats.check("int8", torch.device("cuda"))
    encoder = models.build(ModelSpec(kind="encoder", width=16, layers=1), 9, 8)
    with refused(GlasshouseError, "decoders", "reader"):
        weight_formats.convert(encoder, "int8", "reader")
