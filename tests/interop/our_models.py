"""Runs of our own, with random weights, that have the form of a Hugging Face architecture."""

import json
from dataclasses import replace
from pathlib import Path

import torch

from glasshouse import models
from glasshouse.interop import imported_model
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.runs.run import Run
from glasshouse.specs.spec import HeadSpec, ModelSpec
from glasshouse.tokenizers.byte_pair import BytePair

from .transformers_models import VOCABULARY

GPT2_LIKE = ModelSpec(width=12, layers=2, heads=3, position="learned")
ENCODER = ModelSpec(
    kind="encoder",
    width=12,
    heads=3,
    layers=2,
    position="learned",
    connection="post-norm",
    embedding_norm=True,
    activation="gelu-exact",
)
# Specs of ours, and the architecture that each is exported as.
OURS: dict[str, tuple[str, ModelSpec]] = {
    "gpt-2 without biases": ("GPT2LMHeadModel", GPT2_LIKE),
    "gpt-2 with biases, untied": ("GPT2LMHeadModel", replace(GPT2_LIKE, bias=True, tied=False, activation="relu")),
    "llama": ("LlamaForCausalLM", ModelSpec(width=16, layers=2, heads=4, norm="rms", activation="swiglu")),
    "llama with groups": (
        "LlamaForCausalLM",
        ModelSpec(width=12, layers=1, heads=2, norm="rms", activation="swiglu", attention="grouped-query", head_width=4),
    ),
    "bert": ("BertForMaskedLM", ENCODER),
    "bert with its biases": (
        "BertForMaskedLM",
        replace(ENCODER, bias=True, own={"segments": 2}, head=HeadSpec(own={"bias": True})),
    ),
    "bert without a head": ("BertModel", replace(ENCODER, activation="relu", head=HeadSpec("pooled"))),
    "distilbert": (
        "DistilBertForSequenceClassification",
        replace(
            ENCODER,
            activation="gelu",
            epsilon=1e-12,
            head=HeadSpec("classifier", own={"classes": 3, "pooling": "first", "hidden": 12}),
        ),
    ),
    "bart": (
        "BartForConditionalGeneration",
        replace(ENCODER, kind="encoder-decoder", own={"encoder_layers": 1}, activation="relu", tied=False),
    ),
    "clip": (
        "CLIPModel",
        ModelSpec(
            kind="dual-encoder",
            width=12,
            heads=2,
            layers=1,
            position="learned",
            activation="gelu-sigmoid",
            own={"causal": True, "image_size": 8, "patch_size": 4, "image_width": 18, "image_heads": 3, "image_norm": True},
            head=HeadSpec(own={"pooling": "last"}),
        ),
    ),
}


def random_run(model: ModelSpec, name: str = "run", context: int = 16, tokenizer: BytePair | None = None) -> Run:
    """A run with random weights, including its biases and norms."""
    vocabulary = tokenizer.vocabulary if tokenizer else VOCABULARY
    built = models.build(model, vocabulary, context)
    generator = torch.Generator().manual_seed(0)
    tensors = {n: t + 0.3 * torch.randn(t.shape, generator=generator) for n, t in built.state_dict().items()}
    document = None
    if tokenizer:
        tokenizer.save("tokenizer.json")
        document = json.loads(Path("tokenizer.json").read_text())
    imported = ImportedModel(model, context, vocabulary, tensors, document, "a test")
    return Run(imported_model.save_as_run(imported, name), device="cpu")
