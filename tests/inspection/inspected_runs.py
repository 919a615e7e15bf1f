"""One small run of every kind of model, for the tests that look inside models."""

from pathlib import Path
from typing import Any

import glasshouse
from glasshouse.runs.run import Run

from . import labelled_rows, letter_translation

SENTENCE = "the cat sat on the mat and the dog ran after the cat while it was late. "
SIZES = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32}
TRAINING = {"steps": 6, "epochs": 0.0, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 1e-2}
# Name -> changes of a character-level language model.
LANGUAGE_MODELS: dict[str, dict[str, Any]] = {
    "capped": {"norm": "rms", "position": "rotary", "query_key_norm": True, "head": {"softcap": 3.0}},
    "rms-rotary": {"norm": "rms", "position": "rotary", "activation": "swiglu"},
    "post-norm-alibi": {"norm": "layer", "position": "alibi", "connection": "post-norm", "bias": True},
    "batch-norm": {"norm": "batch", "position": "learned", "bias": True},
    "no-norm": {"norm": "none", "position": "sinusoidal"},
    "grouped-query": {"heads": 4, "attention": "grouped-query", "position": "rotary"},
    "additive": {"attention": "additive", "position": "relative"},
    "performer": {"attention": "performer", "position": "learned"},
    "recurrent": {"kind": "recurrent", "position": "none", "cell": "gru"},
}
# The kinds that only the slow tests train.
SLOW = ("batch-norm", "no-norm", "performer", "grouped-query", "additive", "decoder-translator", "dual-encoder")
KINDS = (*LANGUAGE_MODELS, "masked", "classifier", "encoder-decoder", "decoder-translator", "dual-encoder")
# A text of each kind of run, and another of as many tokens.
TEXTS = dict.fromkeys(KINDS, ("the cat sat", "the dog ran")) | {
    "masked": ("the <|mask|>at sat", "the <|mask|>og ran"),
    "classifier": ("apple pear plum", "saw drill rasp"),
    "encoder-decoder": ("abca", "dbca"),
    "decoder-translator": ("abca", "dbca"),
    "dual-encoder": ("a red circle", "a blue star"),
}


def train_kind(name: str, folder: Path) -> Run:
    """Train the run of this kind for a few steps; `folder` receives its data."""
    text = folder / "text.txt"
    text.write_text(SENTENCE * 60)
    data = {"files": [str(text)], "tokenizer": "characters", "vocabulary": 64, "context": 24}
    evaluation = {"every": 6, "tokens": 200, "prompts": ["the"], "sample_tokens": 4}
    sections = {"data": data, "training": TRAINING, "evaluation": evaluation}
    if name in LANGUAGE_MODELS:
        model: dict[str, Any] = {**SIZES, **LANGUAGE_MODELS[name]}
        return glasshouse.train("language-model", name=name, device="cpu", model=model, **sections)
    if name == "masked":
        return glasshouse.train("masked-model", name=name, device="cpu", model=SIZES, **sections)
    if name == "classifier":
        rows = folder / "rows.tsv"
        rows.write_text("".join(f"{label}\t{line}\n" for label, line in labelled_rows.rows()))
        model = {**SIZES, "dropout": 0.0, "head": {"hidden": 8}}
        files = {"files": [str(rows)], "source": ""}
        return glasshouse.train(
            "classifier", name=name, device="cpu", data=files, model=model, training=TRAINING, evaluation={"every": 6}
        )
    if name == "dual-encoder":
        model = {**SIZES, "image_layers": 1}
        return glasshouse.train(
            "scene-clip", name=name, device="cpu", model=model, training={**TRAINING, "steps": 2}, evaluation={"every": 6}
        )
    kind = "decoder" if name == "decoder-translator" else "encoder-decoder"
    return letter_translation.train_translator(kind, name)
