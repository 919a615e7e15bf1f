"""Damaged models and tokenizers of other programs, and the commands that import them."""

import random

from . import damage
from .trying import Kind, Place


def damage_folder(rng: random.Random, number: int, place: Place) -> list[str]:
    """A Hugging Face folder with a damaged configuration, tokenizer or file of weights, or with an index of weights."""
    place.take("huggingface")
    folder = place.here / "huggingface"
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    if number % 6 == 0:
        weights = "model.safetensors"
        names = ["a", "../../x", "b" * 5000, "/etc/passwd", weights, 3, None]
        index = {"metadata": {}, "weight_map": {damage.wild_text(rng): rng.choice(names) for _ in range(rng.randint(0, 4))}}
        (folder / f"{weights}.index.json").write_bytes(damage.damaged_json(rng, __import__("json").dumps(index).encode()))
        if rng.random() < 0.7:
            (folder / weights).rename(folder / "a")
    else:
        place.rewrite(f"huggingface/{files[number % len(files)]}", rng)
    return ["import", "huggingface", "--name", "new"]


def damage_file(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged GGUF or llama2.c file, or a damaged tokenizer."""
    draw = number % 4
    if draw < 2 and (place.samples / "llama.gguf").exists():
        place.take("llama.gguf")
        place.rewrite("llama.gguf", rng, damage.damaged_bytes if draw else _damaged_start)
        return ["import", "llama.gguf", "--name", "new"]
    if draw == 3:
        place.take("tokenizer.json", "mine.txt")
        place.rewrite("tokenizer.json", rng)
        train = ["train", "language-model", "data.files=mine.txt", "data.tokenizer_file=tokenizer.json", "--dry-run"]
        return rng.choice([["tokenizer", "show", "tokenizer.json", "--text", "the sea"], train])
    place.take("llama2c")
    place.rewrite(f"llama2c/{rng.choice(('model.bin', 'model.bin', 'tokenizer.bin'))}", rng)
    return ["import", "llama2c/model.bin", "--name", "new", "--tokenizer", "llama2c/tokenizer.bin"]


def _damaged_start(rng: random.Random, data: bytes) -> bytes:
    """Damage in the first kilobytes, where sizes and counts are."""
    length = rng.choice((64, 512, 4096))
    return damage.damaged_bytes(rng, data[:length]) + data[length:]


KINDS = (Kind("Hugging Face folders", 7, damage_folder), Kind("GGUF, llama2.c, tokenizers", 7, damage_file))
