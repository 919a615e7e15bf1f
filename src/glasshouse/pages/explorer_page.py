"""The explorer: a page on which a reader follows a token through a model, step by step. Knows nothing of models."""

import base64

import numpy as np

from glasshouse import formatting
from glasshouse.pages import template
from glasshouse.results.exploration import Exploration, Step
from glasshouse.specs.errors import GlasshouseError

# A page holds every number in four bytes.
MOST_NUMBERS = 12_000_000


def render(content: Exploration) -> str:
    numbers = sum(
        step.array.size for step in (*content.before, *(s for layer in content.layers for s in layer), *content.after)
    )
    if numbers > MOST_NUMBERS:
        limit = f"a page holds at most {MOST_NUMBERS:,}"
        raise GlasshouseError(f"this text has {numbers:,} numbers on its way, and {limit}; choose a shorter one")
    names = {"tokens": content.tokens, "sources": content.sources, "outputs": content.outputs}
    data = {
        **{name: list(map(formatting.visible, texts)) for name, texts in names.items()},
        "ids": content.ids,
        "heads": content.heads,
        "predicts": content.predicts,
        "before": list(map(_packed, content.before)),
        "layers": [list(map(_packed, layer)) for layer in content.layers],
        "after": list(map(_packed, content.after)),
    }
    return template.fill(
        "explorer.html",
        styles=("page.css", "explorer.css"),
        scripts=("page.js", "explorer.js"),
        content=content,
        tokens=data["tokens"],
        data=data,
    )


def _packed(step: Step) -> dict[str, object]:
    values = np.ascontiguousarray(step.array, dtype="<f4")
    numbers = base64.b64encode(values.tobytes()).decode("ascii")
    fields = {name: value for name, value in vars(step).items() if name != "array"}
    return {**fields, "shape": values.shape, "numbers": numbers}
