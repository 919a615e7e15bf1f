"""Wild names of runs, studies, files, folders and labels, and wild values of the program's environment variables."""

import random

from . import damage
from .samples import SPEED, STUDY
from .spec_values import BASES
from .trying import Kind, Place

FOLDERS = ("RUNS", "STUDIES", "CACHE", "DATA", "JOBS", "CLUSTER", "MIRROR")


def wild_names(rng: random.Random, number: int, place: Place) -> list[str]:
    """A run, a study, a file or a label with a wild name."""
    wild = damage.wild_text(rng)
    draw = number % 8
    if draw == 0:
        place.take("mine.txt", "cache")
        return ["train", "demo-lm", *BASES["demo-lm"], "--name", wild, "--device", "cpu"]
    if draw == 1:
        place.take("mine.txt", "cache")
        words = [word for word in STUDY if word not in ("--name", "study")]
        return ["compare", *words, "--name", wild, "--device", "cpu", *rng.choice(([], [], ["--dry-run"]))]
    if draw == 2:
        place.take("runs/lm")
        return rng.choice((["runs", "rename", "lm", wild], ["runs", "delete", wild, "--yes"], ["runs", "diff", "lm", wild]))
    if draw == 3:
        return rng.choice(
            (["sample", wild], ["resume", wild], ["report", wild], ["studies", wild], ["pack", wild], ["pages", wild])
        )
    if draw == 4:
        # A file with a wild name, where the file system allows it.
        name = wild.replace("/", "_").replace("\0", "")[:60] + rng.choice((".txt", ".tsv", ".csv", ""))
        place.take("mine.txt")
        try:
            (place.here / "mine.txt").rename(place.here / name)
        except (OSError, UnicodeError):
            name = "mine.txt"
        return rng.choice((["data", "look", name], ["tokenizer", "train", name, "--vocabulary", "270"]))
    if draw == 5:
        # Labels: the classes of a trained classifier.
        place.take("cache")
        labels = [damage.wild_text(rng).replace("\t", " ").replace("\n", " ") or "x" for _ in range(rng.randint(1, 4))]
        rows = [f"{label}\tthe sea is {label} {index}" for index in range(12) for label in labels]
        (place.here / "rows.tsv").write_text("\n".join(rows), errors="replace")
        words = [word for word in BASES["classifier"] if not word.startswith("data.vocabulary")]
        return ["train", "classifier", *words, "data.vocabulary=262", "--name", "new", "--device", "cpu"]
    if draw == 6:
        # A folder of a run with a wild name, in a list.
        place.take("runs/lm")
        name = wild.replace("/", "_").replace("\0", "")[:60]
        try:
            (place.here / "runs" / "lm").rename(place.here / "runs" / name)
        except (OSError, UnicodeError):
            name = "lm"
        return rng.choice(
            (["runs"], ["runs", "--filter", wild], ["pages"], ["report", name], ["sample", name, "--tokens", "2"])
        )
    place.take("runs/lm", "runs/classifier", "cache", "mine.txt", "rows.tsv")
    return rng.choice(
        (
            ["sample", "lm", "--tokens", "3", "--prompt", wild],
            ["classify", "classifier", wild],
            ["classify", "classifier", wild, "--json"],
            ["lens", "lm", "--text", wild],
            ["ask", "lm", wild, "--max-tokens", "2"],
            ["look", "lm", "--text", wild],
        )
    )


def wild_environment(rng: random.Random, number: int, place: Place) -> list[str]:
    """A folder of the program that is a file, is missing, cannot be made, or has a wild name."""
    place.take("runs/lm", "mine.txt", "cache", "studies")
    (place.here / "file").write_text("a file")
    values = ("file", "file/below", "", "missing/deep", "/proc/x", "/dev/null", "relative", "~", damage.wild_text(rng))
    place.environment[f"GLASSHOUSE_{FOLDERS[number % len(FOLDERS)]}"] = rng.choice(values)
    return rng.choice(
        (
            ["runs"],
            ["studies"],
            ["pages"],
            ["sample", "lm", "--tokens", "2"],
            ["train", "demo-lm", *BASES["demo-lm"], "--device", "cpu"],
            ["compare", *STUDY, "--device", "cpu"],
            ["sbatch", "demo-lm", *SPEED],
            ["jobs"],
            ["data"],
            ["claims"],
            ["unpack", "lm.tar.gz"],
            ["tokenizer", "train", "mine.txt", "--vocabulary", "270"],
        )
    )


KINDS = (Kind("names", 7, wild_names), Kind("environment", 3, wild_environment))
