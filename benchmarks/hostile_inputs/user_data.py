"""Damaged texts, tables and lists, and commands that read them."""

import gzip
import json
import random

from . import damage
from .samples import ENCODER, SIZE, SPEED
from .trying import Kind, Place

FILES = ("mine.txt", "mine.txt.gz", "rows.tsv", "rows.csv", "rows.jsonl", "rows.jsonl.gz", "rows.json", "pairs.tsv")
EXTRA = ("mine.txt.zst", "rows.parquet")


def _rows(rng: random.Random) -> bytes:
    """A table or a list that was never intact: odd rows, columns, labels and quotes."""
    text, label = damage.wild_text, damage.wild_text
    rows = rng.randint(0, 40)
    draw = rng.randrange(6)
    if draw == 0:
        lines = [f"{label(rng)}\t{text(rng)}" for _ in range(rows)]
    elif draw == 1:
        lines = ["text,label", *(f'"{text(rng)}",{label(rng)}' for _ in range(rows))]
    elif draw == 2:
        lines = [json.dumps({"text": damage.wild_value(rng), "label": damage.wild_value(rng)}) for _ in range(rows)]
    elif draw == 3:
        lines = [json.dumps({label(rng): text(rng)}) for _ in range(rows)]
    elif draw == 4:
        lines = ["\t".join(["a"] * rng.randint(0, 2000)) for _ in range(rows)]
    else:
        lines = ["a" * rng.choice((1, 10**6, 10**7))] * rng.choice((1, 2))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def prepare(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged data file, then a command that reads it."""
    names = [*FILES, *(name for name in EXTRA if (place.samples / name).exists())]
    name = names[number % len(names)]
    place.take(name)
    draw = rng.random()
    if draw < 0.25:
        data = _rows(rng)
        place.rewrite(name, rng, lambda _, __: gzip.compress(data) if name.endswith(".gz") else data)
    elif name.endswith(".gz") and draw < 0.6:
        inner = name.removesuffix(".gz")
        place.rewrite(name, rng, lambda r, d: gzip.compress(damage.damaged_like(r, inner, gzip.decompress(d))))
    else:
        place.rewrite(name, rng)
    if rng.random() < 0.1:
        (place.here / name).write_bytes(gzip.compress(b"a" * rng.choice((10**8, 3 * 10**8)), 1))
        target = name if name.endswith(".gz") else f"{name}.gz"
        (place.here / name).rename(place.here / target)
        name = target
    speed = (*SPEED, *SIZE, "--device", "cpu", "--name", "new")
    commands = [
        ["data", "look", name],
        ["data", "look", name, "--recipe", "classifier"],
        ["train", "language-model", f"data.files={name}", "data.vocabulary=270", "data.context=16", *speed, "--dry-run"],
        ["train", "classifier", f"data.files={name}", *ENCODER, *speed],
        ["train", "language-model", f"data.files={name}", "data.tokenizer=characters", "data.context=16", *speed],
        ["train", "translator", f"data.files={name}", "data.vocabulary=270", "data.context=16", "training.epochs=0", *speed],
        ["train", "regressor", f"data.files={name}", *ENCODER, *speed, "--dry-run"],
        ["tokenizer", "train", name, "--vocabulary", "270"],
        ["data", "prepare", name, "--vocabulary", "270", "--output", "prepared"],
    ]
    if rng.random() < 0.35:
        place.take("cache", "runs/lm", "runs/classifier", "runs/translator")
        commands = [
            ["evaluate", "lm", "--data", name],
            ["evaluate", "classifier", "--data", name],
            ["classify", "classifier", "--file", name],
            ["classify", "classifier", "--file", name, "--output", "out.csv"],
            ["translate", "translator", "--file", name],
            ["features", "classifier", "--task", name],
            ["few-shot", "lm", "--task", name, "--examples", "4"],
        ]
    return rng.choice(commands)


KINDS = (Kind("user data", 15, prepare),)
