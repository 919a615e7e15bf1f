"""The intact files that are damaged: small runs, a study, user data, models of other programs. Made once, by the program."""

import gzip
import importlib.util
import json
import os
import random
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

SPEED = ("training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.every=2")
LENGTHS = ("evaluation.tokens=200", "evaluation.sample_tokens=4")
SIZE = ("model.width=16", "model.layers=2", "model.heads=2", "model.feed_forward=16")
CHARACTERS = ("data.tokenizer=characters", "data.context=24")
LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu")
ENCODER = ("training.epochs=0", "training.start_from=", "data.vocabulary=280", "data.context=24")
# Name of a run -> the words that train it.
RUNS = {
    "lm": ("demo-lm", *SPEED, *LENGTHS, *SIZE, *CHARACTERS, "data.files=mine.txt", "training.checkpoint_every=1"),
    "llama": (
        "language-model",
        *SPEED,
        *LENGTHS,
        *SIZE,
        *LLAMA,
        "data.vocabulary=280",
        "data.context=24",
        "data.files=mine.txt",
    ),
    "classifier": ("classifier", *SPEED, *SIZE, *ENCODER, "data.files=rows.tsv"),
    "translator": ("translator", *SPEED, *SIZE, *CHARACTERS, "data.files=pairs.tsv", "training.epochs=0"),
    "masked": ("masked-model", *SPEED, *SIZE, "data.vocabulary=280", "data.context=24", "data.files=mine.txt"),
}
STUDY = (
    *(
        "demo-lm",
        "model.layers=1,2",
        *SPEED,
        *LENGTHS,
        "model.width=16",
        "model.heads=2",
        *CHARACTERS,
        "data.files=mine.txt",
    ),
    *("--seeds", "2", "--replicas", "off", "--name", "study"),
)
LLMS = """\
[models.own]
model = "run:lm"
context = 24
price_per_million = { prompt = 0.5, tokens = 1.5 }

[models.remote]
model = "openai:some-model"
base_url = "http://127.0.0.1:9/v1"
key_env = "SOME_KEY"
requests_per_minute = 60
timeout = 2
vocabulary = 300
"""
QUESTIONS = """\
[[questions]]
name = "rivers"
prompt = "Name a river."
system = "Be short."
check = { contains = "Rhine" }

[[questions]]
name = "division"
prompt = "What is 77 divided by 26?"
checks = [{ number = 2.9615, tolerance = 0.01 }, { regex = 'a+b', ignore_case = true }]
"""
CLUSTER = """\
partition = "gpu"
account = "us"
time = "4:00:00"
nodes = 2
gpus_per_node = 4
cpus_per_task = 8
memory = "32G"
processes_per_node = 0
jobs = 0
save_seconds = 90
setup = ["module load cuda"]
python = "python3"
container = "apptainer exec --nv glasshouse.sif"
sbatch = ["--constraint=a100"]
"""


def has(package: str) -> bool:
    """Whether an optional package is installed."""
    return importlib.util.find_spec(package) is not None


def some_words(rng: random.Random, count: int) -> str:
    return " ".join(
        rng.choice(("the", "sea", "sun", "is", "blue", "warm", "and", "wet", "bright", "salt")) for _ in range(count)
    )


def write_user_data(folder: Path) -> None:
    """Texts, tables and lists in every format that needs no further package, and in those whose package is installed."""
    rng = random.Random(0)
    lines = [some_words(rng, 12) for _ in range(200)]
    text = "\n".join(lines) + "\n"
    (folder / "mine.txt").write_text(text)
    (folder / "mine.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    labelled = [(("warm", "wet")[index % 2], line) for index, line in enumerate(lines[:60])]
    (folder / "rows.tsv").write_text("".join(f"{label}\t{line}\n" for label, line in labelled))
    table = "text,label,value,labels\n" + "".join(f'"{line}",{label},{len(line)},{label}|x\n' for label, line in labelled)
    (folder / "rows.csv").write_text(table)
    rows = [json.dumps({"text": line, "label": label, "value": 1.5}) for label, line in labelled]
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode(), mtime=0))
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in lines[:60]))
    (folder / "rows.json").write_text("[" + ",".join(rows) + "]")
    if has("zstandard"):
        import zstandard

        (folder / "mine.txt.zst").write_bytes(zstandard.compress(text.encode()))
    if has("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {"text": [line for _, line in labelled], "label": [label for label, _ in labelled]}
        pq.write_table(pa.table(columns), folder / "rows.parquet")


def write_llama2c(folder: Path) -> None:
    """A llama2.c model with random weights, and its tokenizer file."""
    from glasshouse.interop import llama2c

    sizes = (8, 12, 2, 2, 1, 300, 16)
    count = llama2c.number_count(llama2c.tensor_shapes(dict(zip(llama2c.SIZES, sizes, strict=True)), tied=True))
    weights = np.random.default_rng(0).normal(size=count).astype("<f4")
    folder.mkdir()
    (folder / "model.bin").write_bytes(struct.pack("<7i", *sizes) + weights.tobytes())
    letters = [bytes([65 + index // 26]) + bytes([97 + index % 26]) for index in range(41)]
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(f"<0x{byte:02X}>".encode() for byte in range(256)), *letters]
    records = b"".join(struct.pack("<fi", -float(rank), len(piece)) + piece for rank, piece in enumerate(pieces))
    (folder / "tokenizer.bin").write_bytes(struct.pack("<i", max(map(len, pieces))) + records)


def make(folder: Path, call: Callable[[list[str]], int]) -> None:
    """Write every sample into `folder`, by commands where a command makes it. `call` runs one and returns its status."""

    def command(*words: str) -> None:
        if status := call([*words]):
            raise SystemExit(f"a sample could not be made: glasshouse {' '.join(words)} ended with status {status}")

    os.chdir(folder)
    write_user_data(folder)
    for name, words in RUNS.items():
        command("train", *words, "--name", name, "--device", "cpu")
    command("compare", *STUDY, "--device", "cpu")
    command("pack", "lm", "--output", "lm.tar.gz")
    command("export", "llama", "--to", "huggingface", "--output", "huggingface")
    if has("gguf"):
        command("export", "llama", "--to", "gguf", "--output", "llama.gguf")
    write_llama2c(folder / "llama2c")
    command("tokenizer", "train", "mine.txt", "--vocabulary", "280", "--output", "tokenizer.json")
    (folder / "spec.toml").write_text((folder / "runs" / "llama" / "spec.toml").read_text())
    for name, content in {"llms.toml": LLMS, "questions.toml": QUESTIONS, "cluster.toml": CLUSTER}.items():
        (folder / name).write_text(content)
    record = Path(__file__).resolve().parents[2] / "docs" / "claims"
    for part in ("registry", "values"):
        for path in sorted((record / part).glob("*.json"))[:3] if (record / part).is_dir() else ():
            (folder / "record" / part).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / "record" / part / path.name)
    sys.stdout.flush()
