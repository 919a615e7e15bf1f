"""Migrations: specs that an older version wrote, converted to the current fields. docs/files.md states what stays readable.

`format` in a TOML file counts the changes of field names. A file without `format` has format 1.
"""

from collections.abc import Callable
from typing import Any

from glasshouse.specs.errors import SpecError

FORMAT = 3
Tables = dict[str, Any]

# Fields that every spec had in format 1, with their defaults. A part, a head or a kind of model declares them now.
OWN_SINCE_2 = {
    "model": {
        "encoder_layers": 0,
        "key_value_heads": 0,
        "feed_forward_layers": 1,
        "window": 0,
        "rank": 0,
        "rotary_base": 10000.0,
        "cell": "lstm",
        "bidirectional": False,
        "causal": False,
        "segments": 0,
    },
    "head": {
        "classes": 0,
        "pooling": "mean",
        "hidden": 0,
        "norm": "none",
        "naive_bayes": 0.0,
        "bias": False,
        "width": 0,
    },
}
RENAMED_SINCE_2 = {
    "training": {
        "accumulate": "gradient_accumulation",
        "average": "ema",
        "thawed": "unfrozen_by",
        "capture": "cuda_graph",
    },
    "evaluation": {"each_word": "word_by_word"},
}
# Positions whose code was added as it is, whatever the size of the embeddings. Trained weights need it as it was.
UNSCALED_UNTIL_2 = ("sinusoidal", "one-hot")


def migrated(tables: Tables, format: int) -> Tables:
    """Tables of an older format, converted to the current fields. A newer format is refused."""
    if not isinstance(format, int) or not 1 <= format <= FORMAT:
        raise SpecError(
            "newer-format",
            f"the spec has format={format!r}, but this version of Glasshouse reads the formats 1 to {FORMAT}; "
            "if a newer version wrote it, install that version",
        )
    for step in STEPS[format - 1 :]:
        tables = step(tables)
    return tables


def _from_1(tables: Tables) -> Tables:
    result = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for section, names in RENAMED_SINCE_2.items():
        table = result.get(section, {})
        for old, new in names.items():
            if old in table:
                table[new] = table.pop(old)
    if result.get("training", {}).get("freeze") == "encoder":
        result["training"]["freeze"] = "backbone"
    model = result.setdefault("model", {})
    max_ngram, buckets = model.pop("ngrams", 1), model.pop("ngram_buckets", 16384)
    if max_ngram > 1:
        model |= {"embedding": "ngram", "max_ngram": max_ngram, "ngram_buckets": buckets}
    image = model.pop("image", {})
    if model.get("kind") == "dual-encoder":
        image["patch_size"] = image.pop("patch", 8)
        model |= {name if name == "patch_size" else f"image_{name}": value for name, value in image.items()}
    head = dict(model.get("head", {}))
    for table, defaults in ((model, OWN_SINCE_2["model"]), (head, OWN_SINCE_2["head"])):
        for name, default in defaults.items():
            if table.get(name) == default:
                del table[name]
    if head:
        model["head"] = head
    return result


def _from_2(tables: Tables) -> Tables:
    model = tables.get("model", {})
    if not isinstance(model, dict) or model.get("position") not in UNSCALED_UNTIL_2:
        return tables
    return {**tables, "model": {"position_scale": 1.0, **model}}


# One step from each format to the next.
STEPS: tuple[Callable[[Tables], Tables], ...] = (_from_1, _from_2)
