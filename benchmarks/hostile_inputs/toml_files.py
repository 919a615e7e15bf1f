"""Damaged TOML files that a user writes: lists of language models, questions, cluster settings, specs."""

import random

from .trying import Kind, Place


def prepare(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged TOML file, then a command that reads it."""
    name = ("llms.toml", "questions.toml", "cluster.toml", "spec.toml")[number % 4]
    place.take(name, "mine.txt", "runs/lm", "cache")
    place.rewrite(name, rng)
    commands = {
        "llms.toml": [
            ["ask", "own", "the sea", "--max-tokens", "3"],
            ["ask", "remote", "the sea", "--max-tokens", "3"],
            ["grid", "--models", "own", "--max-tokens", "2", "--output", "out"],
            ["debate", "the sea", "--models", "own,own", "--rounds", "1", "--max-tokens", "2", "--output", "out"],
            ["recover", "remote", "--prompt", "the", "--count", "2"],
        ],
        "questions.toml": [["grid", "questions.toml", "--models", "lm", "--max-tokens", "2", "--output", "out"]],
        "cluster.toml": [
            ["sbatch", "demo-lm", "data.files=mine.txt"],
            ["train", "demo-lm", "data.files=mine.txt", "--on", "slurm", "--dry-run"],
            ["sbatch", "demo-lm", "data.files=mine.txt", "--time", "2-0"],
        ],
        "spec.toml": [
            ["train", "spec.toml", "--dry-run", "--device", "cpu"],
            ["sbatch", "spec.toml"],
            ["recipes", "spec.toml"],
        ],
    }
    return rng.choice(commands[name])


KINDS = (Kind("TOML files", 8, prepare),)
