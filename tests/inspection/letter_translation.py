"""Tiny translators that reverse words of a few letters."""

from pathlib import Path

import numpy as np

import glasshouse
from glasshouse.runs.run import Run

END = "<|endoftext|>"
# A prompt with characters that HTML escapes.
PROMPT = 'say "abc" & <i>go</i>'


def train_translator(kind: str = "encoder-decoder", name: str = "pairs", **changes: dict) -> Run:
    """A few steps on words and their reversals. `changes` are fields of a section of the spec; pairs.tsv is the data."""
    generator = np.random.default_rng(0)
    words = ["".join(generator.choice(list("abcd"), generator.integers(2, 6))) for _ in range(60)]
    # The prompt is one of the pairs, so that the tokenizer has all its characters.
    lines = [f"{word}\t{word[::-1]}\n" for word in words] + [f"{PROMPT}\t{PROMPT}\n"]
    Path("pairs.tsv").write_text("".join(lines))
    sections = {
        "data": {
            "files": [str(Path("pairs.tsv").absolute())],
            "tokenizer": "characters",
            "vocabulary": 64,
            "context": 32,
            "test": 0.4,
        },
        "model": {"kind": kind, "width": 16, "layers": 2, "heads": 2, "feed_forward": 32},
        "training": {"steps": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
        "evaluation": {"every": 2, "prompts": [PROMPT]},
    }
    sections = {section: {**fields, **changes.get(section, {})} for section, fields in sections.items()}
    return glasshouse.train("translator", name=name, device="cpu", **sections)
