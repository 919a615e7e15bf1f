"""BART: the embeddings of source and target must be equal."""

import torch
from safetensors.torch import load_file

from glasshouse.interop import huggingface
from glasshouse.specs.errors import CannotImport
from tests.interop.transformers_models import rewrite_tensors, save_random_model, seed_with
from tests.refusals import refused


def test_different_embeddings_of_source_and_target_are_refused(tmp_path):
    save_random_model("BartForConditionalGeneration", seed_with("BartForConditionalGeneration", tied=False), tmp_path)
    name = "model.decoder.embed_tokens.weight"
    rewrite_tensors(tmp_path, lambda tensors: {**tensors, name: tensors[name] + 1})
    with refused(CannotImport):
        huggingface.read(tmp_path)
    # Files from releases of transformers before 5 have the shared embedding alone.
    rewrite_tensors(tmp_path, lambda tensors: {n: t for n, t in tensors.items() if "embed_tokens" not in n})
    shared = load_file(tmp_path / "model.safetensors")["model.shared.weight"]
    assert torch.equal(huggingface.read(tmp_path).tensors["embedding.weight"], shared)
