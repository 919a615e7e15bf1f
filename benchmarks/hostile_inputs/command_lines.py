"""Every command with wild options and arguments. Commands and their options are found in the program itself."""

import math
import random
from functools import cache
from typing import Any

from . import damage
from .samples import SPEED, STUDY
from .spec_values import BASES
from .trying import Kind, Place

TINY = ("--tokens", "4")
# Command -> words with which it works; the rest of every command line is wild.
GOOD: dict[str, list[str]] = {
    "demo": [],
    "train": ["demo-lm", *BASES["demo-lm"], "--device", "cpu"],
    "resume": ["lm"],
    "evaluate": ["lm", "--examples", "2"],
    "sample": ["lm", *TINY],
    "classify": ["classifier", "the sea"],
    "translate": ["translator", "the sea"],
    "describe": ["lm"],
    "prompt": ["lm"],
    "report": ["lm"],
    "card": ["lm"],
    "pages": [],
    "serve": ["lm", "--port", "0"],
    "look": ["lm", "--text", "the sea"],
    "lens": ["lm", "--text", "the sea"],
    "attribute": ["classifier", "--text", "the sea"],
    "patch": ["lm", "--clean", "the sea", "--corrupt", "the sun"],
    "heads": ["lm", "--examples", "2"],
    "prune": ["lm", "--name", "pruned", "--heads", "1", "--examples", "2"],
    "gradients": ["lm", "--examples", "2"],
    "compare": [*STUDY, "--device", "cpu"],
    "sweep": [*STUDY, "--device", "cpu"],
    "studies": ["study"],
    "claim": ["order-blind", "--dry-run"],
    "cancel": ["lm"],
    "sbatch": ["demo-lm", *SPEED],
    "features": ["classifier", "--task", "rows.tsv"],
    "few-shot": ["lm", "--task", "rows.tsv", "--examples", "2"],
    "augment": ["masked", "rows.tsv", "--output", "out.tsv"],
    "recover": ["lm", "--prompt", "the", "--count", "2"],
    "ask": ["lm", "the sea", "--max-tokens", "3"],
    "chat": ["lm", "--max-tokens", "3"],
    "grid": ["questions.toml", "--models", "lm", "--max-tokens", "2"],
    "debate": ["the sea", "--models", "lm,llama", "--rounds", "1", "--max-tokens", "2"],
    "import": ["llama2c/model.bin", "--tokenizer", "llama2c/tokenizer.bin"],
    "export": ["llama", "--to", "huggingface", "--output", "out"],
    "pack": ["lm"],
    "unpack": ["lm.tar.gz", "--name", "other"],
    "certify": ["lm"],
    "replay": ["lm"],
    "doctor": ["demo-lm", *BASES["demo-lm"]],
    "runs": [],
    "runs diff": ["lm", "masked"],
    "runs rename": ["lm", "other"],
    "runs delete": ["lm", "--yes"],
    "claims report": ["--record", "record"],
    "claims check": ["record"],
    "scale plan": ["demo-lm", "--budgets", "1e9,1e10", *BASES["demo-lm"]],
    "scale fit": ["curves.csv", "--budget", "1e15", "--resamples", "10"],
    "scale check": ["lm"],
    "data look": ["rows.tsv"],
    "data show": ["state-of-the-union"],
    "data get": ["state-of-the-union"],
    "data prepare": ["mine.txt", "--vocabulary", "270"],
    "tokenizer train": ["mine.txt", "--vocabulary", "270"],
    "tokenizer show": ["tokenizer.json", "--text", "the sea"],
}
SAMPLES = (
    "runs",
    "cache",
    "studies",
    "mine.txt",
    "rows.tsv",
    "questions.toml",
    "llama2c",
    "lm.tar.gz",
    "tokenizer.json",
    "record",
)
# These take minutes by design, and show a bar; a few tries are enough.
LONG = ("demo", "certify", "claim", "scale run")


@cache
def every_command() -> dict[str, Any]:
    """The words of each command -> the command."""
    import typer.main

    from glasshouse.cli.application import application

    found: dict[str, Any] = {}

    def walk(command: Any, path: tuple[str, ...]) -> None:
        if path:
            found[" ".join(path)] = command
        for name, inner in (getattr(command, "commands", None) or {}).items():
            walk(inner, (*path, name))

    walk(typer.main.get_command(application()), ())
    return found


@cache
def every_option() -> list[tuple[str, Any]]:
    """Every command with each of its options and arguments, in a mixed order."""
    pairs = [
        (name, parameter)
        for name, command in every_command().items()
        for parameter in command.params
        if parameter.name != "help" and name not in LONG
    ]
    pairs += [(name, parameter) for name in LONG for parameter in every_command()[name].params[:1]]
    random.Random(0).shuffle(pairs)
    return pairs


def wild_word(rng: random.Random, parameter: Any) -> str:
    """A value for an option: a wild one, or one near those that it takes."""
    draw = rng.random()
    if isinstance(parameter.default, int | float) and draw < 0.7:
        limits = (
            [limit for limit in (parameter.min, parameter.max) if limit is not None] if hasattr(parameter, "min") else []
        )
        sizes = (0, 1, -1, 2, 10, 1000, 10**6, 10**9, 10**12, 2**63, 10**400, 0.5, 1e-9, 1e300, math.inf, math.nan)
        return str(rng.choice((*sizes, *limits)))
    if draw < 0.45:
        return damage.wild_text(rng)
    if draw < 0.6:
        return str(damage.wild_number(rng))
    if draw < 0.75:
        return str(rng.choice((0, 1, -1, 2, 3, 10, 100, 1000, 10**6, 10**9, 0.5, 1e-9, 1.0)))
    if draw < 0.85:
        return rng.choice(
            ("lm", "classifier", "translator", "masked", "study", "mine.txt", "rows.tsv", "runs", "cpu", "auto", "all")
        )
    return str(parameter.default) if parameter.default is not None else "x"


@cache
def every_number() -> list[tuple[str, Any]]:
    """The options that take a number."""
    others = ("--seeds", "--max-seeds", "--batch", "--jobs", "--beams", "--shots", "--processes", "--nodes", "--first-seed")
    return [
        (name, one)
        for name, one in every_option()
        if one.param_type_name == "option"
        and (isinstance(one.default, int | float) or one.opts[0] in others)
        and not one.is_flag
    ]


def _write_curves(place: Place) -> None:
    lines = ["parameters,tokens,loss", *(f"{n},{n * 20},{2 + 100 / n**0.3}" for n in (1e4, 2e4, 4e4, 8e4, 1.6e5, 3.2e5))]
    (place.here / "curves.csv").write_text("\n".join(lines))


def large_number(rng: random.Random, number: int, place: Place) -> list[str]:
    """A command that would work, with one number far beyond every use."""
    place.take(*SAMPLES)
    _write_curves(place)
    options = every_number()
    name, one = options[number % len(options)]
    good = list(GOOD.get(name, []))
    if one.opts[0] in good:
        index = good.index(one.opts[0])
        del good[index : index + 2]
    sizes = (10**9, 10**6, 10**12, 2**63, 1e300, 10**400)
    return [*name.split(), *good, one.opts[0], str(sizes[number // len(options) % len(sizes)])]


def prepare(rng: random.Random, number: int, place: Place) -> list[str]:
    """A command that would work, with one or two wild words."""
    place.take(*SAMPLES)
    _write_curves(place)
    place.stdin = rng.choice(
        (b"", b"hello\n/quit\n", "\n".join(damage.wild_text(rng) for _ in range(4)).encode("utf-8", "replace"))
    )
    options = every_option()
    name, parameter = options[number % len(options)]
    words, good = name.split(), list(GOOD.get(name, []))
    for one in [parameter, *(rng.sample(every_command()[name].params, 1) if rng.random() < 0.3 else ())]:
        if one.name == "help":
            continue
        if one.param_type_name == "argument":
            places = [index for index, word in enumerate(good) if not word.startswith("-")]
            if places and rng.random() < 0.8:
                good[rng.choice(places[:2])] = wild_word(rng, one)
            else:
                good.append(wild_word(rng, one))
            continue
        option = rng.choice(one.opts)
        if option in good:
            index = good.index(option)
            del good[index : index + (1 if one.is_flag else 2)]
        good += [option] if one.is_flag else [option, wild_word(rng, one)]
    if rng.random() < 0.03:
        good = [damage.wild_text(rng) for _ in range(rng.randint(0, 5))]
    return [*words, *good]


KINDS = (Kind("command lines", 12, prepare), Kind("large numbers", 4, large_number))
