"""A run exported as an ONNX graph: onnxruntime gives the outputs of the run for batches of any size."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from glasshouse.interop import onnx_export
from glasshouse.specs.errors import CannotExport, GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from tests import needs
from tests.refusals import refused

from .onnx_models import ENCODER, FAST, SLOW, classifier
from .our_models import GPT2_LIKE, random_run

for package in onnx_export.PACKAGES:
    needs.package(package)


def compare(run, folder):
    """Export a run, and compare it on other inputs than the export itself does."""
    import onnxruntime

    onnx_export.export(run, folder)
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    generator = torch.Generator().manual_seed(2)
    for batch, length in ((1, 1), (1, 16), (5, 2), (2, 11)):
        inputs = onnx_export.random_inputs(run.model, batch, length, generator)
        with torch.inference_mode():
            ours = run.model(**inputs)
        if run.spec.model.head.kind == "regressor":
            ours = ours * 3 + 5
        (theirs,) = session.run(None, {onnx_export.input_name(name): value.numpy() for name, value in inputs.items()})
        assert np.abs(theirs - ours.numpy()).max() < 1e-4
    return session


@pytest.mark.parametrize("name", ["decoder", *needs.slow(*(name for name in FAST if name != "decoder"))])
def test_onnxruntime_gives_the_outputs_of_the_run(name, tmp_path):
    compare(random_run(FAST[name]), tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_every_kind_of_model(name, tmp_path):
    compare(random_run(SLOW[name]), tmp_path / "out")


@pytest.mark.slow
def test_a_classifier_with_its_labels_and_its_tokenizer(tmp_path):
    onnx = needs.package("onnx")
    tokenizer = BytePair.train(["to be or not to be, that is the question. " * 20], 280)
    run = random_run(replace(ENCODER, head=classifier()), tokenizer=tokenizer)
    run.folder.record(labels=["déjà", "no", "maybe"])
    session = compare(run, tmp_path / "out")
    assert [(given.name, len(given.shape)) for given in session.get_inputs()] == [("tokens", 2), ("lengths", 1)]
    assert [given.name for given in session.get_outputs()] == ["logits"]
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["labels"]) == ["déjà", "no", "maybe"]
    assert metadata["context"] == "16"
    assert onnx.load(tmp_path / "out/model.onnx").opset_import[0].version == onnx_export.OPSET
    assert (tmp_path / "out/tokenizer.json").read_text() == run.folder.tokenizer_file.read_text()


def test_a_graph_with_other_outputs_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "TOLERANCE", -1.0)
    with refused(CannotExport):
        onnx_export.export(random_run(FAST["recurrent"]), tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_part_without_an_operator(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "ACTIVATIONS", {})
    with refused(CannotExport, "IdentityCell", "model.cell=lstm"):
        onnx_export.export(random_run(FAST["recurrent"]), tmp_path / "out")


def test_without_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with refused(GlasshouseError, "pip install onnx onnxscript onnxruntime"):
        onnx_export.export(random_run(GPT2_LIKE), tmp_path / "out")
