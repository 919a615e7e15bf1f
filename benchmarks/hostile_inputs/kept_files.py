"""Damaged files of runs, studies and records of claims, and commands that read them."""

import hashlib
import json
import os
import random
import shutil
from pathlib import Path

from . import damage
from .samples import SPEED, STUDY
from .trying import Kind, Place

# Task of a run -> commands that use it.
USES = {
    "lm": [
        ["sample", "lm", "--tokens", "4", "--prompt", "the sea"],
        ["lens", "lm", "--text", "the sea"],
        ["train", "demo-lm", *SPEED, "training.start_from=lm", "--name", "next", "--device", "cpu", "--dry-run"],
        ["gradients", "lm", "--examples", "2"],
        ["ask", "lm", "the sea", "--max-tokens", "3"],
    ],
    "classifier": [["classify", "classifier", "the sea", "the sun"], ["attribute", "classifier", "--text", "the sea"]],
    "translator": [["translate", "translator", "the sea"], ["look", "translator", "--text", "the sea"]],
    "llama": [["export", "llama", "--to", "huggingface", "--output", "out"], ["look", "llama", "--text", "the sea"]],
}


def _any_use(name: str) -> list[list[str]]:
    other = "masked" if name != "masked" else "lm"
    return [
        ["runs"],
        ["runs", "--json"],
        ["runs", "diff", name, other],
        ["report", name],
        ["resume", name],
        ["card", name],
        ["pages"],
        ["pack", name],
        ["evaluate", name, "--examples", "3"],
    ]


def damage_run(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged file of a run, then a command."""
    name = rng.choice(list(USES))
    place.take(f"runs/{name}", "runs/masked", "cache", "mine.txt", "rows.tsv", "pairs.tsv")
    folder = place.here / "runs" / name
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html" and path.name != ".lock")
    chosen = files[number % len(files)]
    place.rewrite(str(chosen.relative_to(place.here)), rng)
    if chosen.name == "run.json" and rng.random() < 0.5:
        _set(chosen, status="interrupted")
    if chosen.parent.parent.name == "checkpoints" and rng.random() < 0.6:
        sign_checkpoint(chosen.parent)
        if rng.random() < 0.5:
            _set(folder / "run.json", status="interrupted")
    return list(rng.choice([*USES[name], *USES[name], *_any_use(name)]))


def _set(path: Path, **facts: object) -> None:
    """Change values of a JSON file, if it is one still."""
    try:
        path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    except (ValueError, TypeError, RecursionError):
        return


def sign_checkpoint(folder: Path) -> None:
    """Give a damaged checkpoint checksums that fit, as somebody would who means harm."""
    from glasshouse.records import checkpoint

    path = folder / "state.json"
    try:
        state = json.loads(path.read_text())
        for name in state["checksums"]:
            state["checksums"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        state.pop("digest", None)
        state["digest"] = checkpoint._digest(state)
        path.write_text(json.dumps(state))
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
        return


def damage_study(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged file of a study, then a command."""
    place.take("studies/study", "cache", "mine.txt")
    study = place.here / "studies" / "study"
    own = sorted(path for path in study.iterdir() if path.suffix in (".json", ".jsonl", ".toml"))
    of_runs = sorted(path for path in study.glob("*/*/*") if path.suffix in (".json", ".jsonl", ".toml"))
    chosen = own[number // 2 % len(own)] if number % 2 and own else rng.choice([*own, *of_runs])
    place.rewrite(str(chosen.relative_to(place.here)), rng)
    commands = [
        ["studies"],
        ["studies", "study"],
        ["studies", "study", "--json"],
        ["studies", "study", "--all-pairs"],
        ["report", "studies/study"],
        ["resume", "studies/study", "--device", "cpu"],
        ["pages"],
        ["compare", *STUDY, "--device", "cpu"],
        ["compare", "--replicate", "study", "--dry-run"],
    ]
    return rng.choice(commands)


def damage_record(rng: random.Random, number: int, place: Place) -> list[str]:
    """A damaged registration or damaged values of a claim, then a command."""
    place.take("record")
    files = sorted((place.here / "record").rglob("*.json"))
    place.rewrite(str(files[number % len(files)].relative_to(place.here)), rng, damage.damaged_json)
    if rng.random() < 0.3:
        # A trial that this machine has made itself lies in the studies folder.
        (place.here / "studies").mkdir()
        (place.here / "record").rename(place.here / "studies" / "claims")
        return rng.choice([["claims"], ["claims", "report", "--output", "out"], ["studies"], ["pages"]])
    return rng.choice([["claims", "check", "record"], ["claims", "report", "--record", "record", "--output", "out"]])


def special_files(rng: random.Random, number: int, place: Place) -> list[str]:
    """A pipe, a device, a link, a folder or an endless file in place of a kept file or folder, then a command."""
    of_study = number % 3 == 2
    name = rng.choice(list(USES))
    place.take(*(("studies/study",) if of_study else (f"runs/{name}", "runs/masked")), "cache", "mine.txt", "rows.tsv")
    top = place.here / ("studies/study" if of_study else f"runs/{name}")
    paths = sorted(path for path in top.rglob("*") if path.is_file() or rng.random() < 0.2)
    chosen = rng.choice([*paths, top / ".lock", top / "stop", top / "command.log"])
    if chosen.is_dir():
        shutil.rmtree(chosen)
    chosen.unlink(missing_ok=True)
    kind = rng.choice(["pipe", "device", "link to a file", "link to a folder", "folder", "sparse"])
    if kind == "pipe":
        os.mkfifo(chosen)
    elif kind == "folder":
        chosen.mkdir()
    elif kind == "sparse":
        chosen.touch()
        os.truncate(chosen, 20 * 2**30)
    else:
        outside = {
            "device": Path("/dev/zero"),
            "link to a file": place.samples / "mine.txt",
            "link to a folder": place.samples,
        }
        chosen.symlink_to(outside[kind])
    if not of_study and chosen.name != "run.json" and rng.random() < 0.5:
        _set(top / "run.json", status="interrupted")
    if of_study:
        commands = [["studies"], ["studies", "study"], ["report", "studies/study"], ["pages"]]
        return rng.choice(
            [*commands, ["resume", "studies/study", "--device", "cpu"], ["compare", *STUDY, "--device", "cpu"]]
        )
    changes = [["runs", "rename", name, "new"], ["runs", "delete", name, "--yes"], ["resume", name, "--device", "cpu"]]
    return list(rng.choice([*USES[name], *_any_use(name), *changes]))


KINDS = (
    Kind("files of runs", 18, damage_run),
    Kind("files of studies", 12, damage_study),
    Kind("records of claims", 3, damage_record),
    Kind("pipes, devices, links", 6, special_files),
)
