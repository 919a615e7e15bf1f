"""A folder in which the command lines of the documentation can be typed: the files and small runs that they name."""

import gzip
import json
import random
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from tests.cli.program import call, some_text, worked

SPEED = ("training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.every=2")
LANGUAGE_MODEL = ("data.vocabulary=300", "data.context=64", "model.width=16", "model.layers=2", "model.heads=4")
LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu", "model.attention=grouped-query")
ENCODER = ("model.width=16", "model.layers=2", "model.heads=2", "model.feed_forward=32")
# Name of a run -> the words that train it.
RUNS = {
    "demo-lm": ("demo-lm", "data.files=mine.txt", *LANGUAGE_MODEL),
    "presidents": ("presidents", *ENCODER),
    "piglatin-encoder-decoder": ("piglatin-encoder-decoder", "model.width=16", "model.heads=2"),
    "multi30k": ("translator", "data.files=pairs.tsv", "data.vocabulary=300", "data.context=48", *ENCODER),
    "scene-clip": ("scene-clip", "model.width=16", "model.image_width=16", "model.image_layers=1"),
    "scene-describer": ("scene-describer", "model.width=16", "model.layers=1", "model.heads=2"),
    "scene-translator": ("scene-translator", *ENCODER),
    "scene-entailment": ("scene-entailment", *ENCODER),
    "arithmetic-pretrain": ("arithmetic-pretrain", *ENCODER),
    "masked": ("masked-model", "data.files=mine.txt", "data.vocabulary=300", "data.context=32", *ENCODER),
    "pair-classifier": ("pair-classifier", "data.files=mine.csv", *ENCODER),
    "stories": ("language-model", "data.files=mine.txt", *LANGUAGE_MODEL, *LLAMA),
}
# Another name of a run, in lines about runs of the reader.
COPIES = {
    "small": "stories",
    "large": "stories",
    "a": "stories",
    "b": "demo-lm",
    "c": "stories",
    "bert": "masked",
    "my-encoder": "masked",
    "masked-model": "masked",
    "speech-pretrain": "masked",
}
QUESTIONS = '[[questions]]\nname = "rivers"\nprompt = "Name a river."\n'


def write_files(folder: Path) -> None:
    """The files of the reader, with the names that the pages use."""
    text = many_words()
    for name in ("mine.txt", "corpus.txt", "other.txt", "a.txt", "speeches.txt", "tales.txt"):
        (folder / name).write_text(text)
    words = text.split()
    lines = [" ".join(words[start : start + 12]) for start in range(0, len(words), 12)]
    for name in ("lines.txt", "english.txt", "german.txt"):
        (folder / name).write_text("\n".join(lines[:900]))
    rows = [json.dumps({"text": some_text(20, seed), "body": some_text(20, seed)}) for seed in range(100)]
    for name in ("more.jsonl.gz", "b.jsonl.gz", "b.txt.gz"):
        (folder / name).write_bytes(gzip.compress("\n".join(rows).encode()))
    labelled = [(label, f"{label}{seed % 3} {some_text(6, seed, ' ')}") for seed in range(60) for label in ("ba", "do")]
    for name in ("mine.tsv", "rows.tsv"):
        (folder / name).write_text("".join(f"{label}\t{words}\n" for label, words in labelled))
    (folder / "reviews.tsv").write_text("".join(f"{words}\t{label}\n" for label, words in labelled))
    (folder / "mine.csv").write_text(many_columns(labelled))
    (folder / "texts").mkdir()
    (folder / "texts" / "one.txt").write_text(text)
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in lines[:900]))
    (folder / "speech.json").write_text(json.dumps({"type": "object", "properties": {"year": {"type": "integer"}}}))
    for name in ("mine.toml", "questions.toml"):
        (folder / name).write_text(QUESTIONS)
    write_pictures(folder)
    write_measurements(folder)


def many_columns(labelled: list[tuple[str, str]]) -> str:
    """A table with a column for each kind of target, with the names that the pages use."""
    rows = ["text,body,topic,label,labels,second,value,tags"]
    for number, (label, words) in enumerate(labelled):
        tags = " ".join("name" if index == 0 else "other" for index, _ in enumerate(words.split()))
        several = f"{label}|long" if number % 3 else label
        rows.append(f"{words},{words},{label},{label},{several},{words},{number % 7 + 0.5},{tags}")
    return "\n".join(rows) + "\n"


def many_words() -> str:
    """A text from which a vocabulary of the usual size can be made."""
    generator = random.Random(0)
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(3, 9))) for _ in range(6000)]
    return "".join(generator.choice(words) + generator.choice("     \n") for _ in range(20000))


def write_pictures(folder: Path) -> None:
    """Pictures of noise with captions of one to three words."""
    noise = np.random.default_rng(0)
    colours = ("red", "green", "blue")
    lines = []
    for number in range(40):
        Image.fromarray(noise.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(folder / f"{number}.png")
        lines.append(f"{number}.png\ta {colours[number % 3]} thing {number % 5}\n")
    (folder / "pictures.tsv").write_text("".join(lines))
    for name in ("photo.png", "fish.png"):
        shutil.copyfile(folder / "0.png", folder / name)


def write_measurements(folder: Path) -> None:
    """Losses by a law, with the columns of the pages and of the program's own tables."""
    rows = ["N,D,L,parameters,tokens,loss,width,millions,val_loss"]
    for budget in (1e15 * 4**power for power in range(4)):
        for factor in (0.3, 0.6, 1.0, 1.7, 3.0):
            size = factor * (budget / 6 / 20) ** 0.5
            tokens = budget / 6 / size
            loss = 1.69 + 406.4 * size**-0.34 + 410.7 * tokens**-0.28
            figures = f"{size:.6g},{tokens:.6g},{loss:.6f}"
            rows.append(f"{figures},{figures},{size:.6g},{tokens / 1e6:.6g},{loss:.6f}")
    for name in ("measurements", "old", "new", "a", "b", "curves"):
        (folder / f"{name}.csv").write_text("\n".join(rows))


def make(folder: Path) -> None:
    """Fill the current folder: files, runs, exported models, a list of models."""
    write_files(folder)
    for name, words in RUNS.items():
        worked(call("train", *words, *SPEED, "--name", name, "--device", "cpu"))
    for name, original in COPIES.items():
        shutil.copytree(folder / "runs" / original, folder / "runs" / name)
    (folder / "downloads").mkdir()
    worked(call("export", "stories", "--to", "gguf", "--output", "model.gguf"))
    worked(call("export", "stories", "--to", "huggingface", "--output", "downloads/gpt2"))
