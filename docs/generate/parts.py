"""Generates `docs/reference/parts.md`, the list of all parts, from their docstrings."""

from glasshouse.models import part_list
from glasshouse.parts.capabilities import CAPABILITIES

HEAD = """# Parts

This page is generated from the docstrings of the parts (`make pages`); a test checks that it is current. `glasshouse parts
FAMILY` prints the same text. A part is a class in `glasshouse.parts` or `glasshouse.models` that receives other parts. Its
name is a value of a field in a spec. Capabilities decide which parts can be combined: a part has every capability that it
does not declare as unsupported. `models.check` rejects a model that needs a capability which one of its parts lacks, and
gives the reason. One battery of tests (`tests/parts/test_battery.py`, [its results](../battery.md)) checks every part for
every capability.

Relative attention is dot-product attention, or any attention whose scores accept a bias, with `model.position=relative` or
`relative-buckets`. Cross-attention is any attention whose keys and values come from another sequence
(`glasshouse.parts.CrossAttention`); every encoder-decoder uses it.

A feed-forward part without a gate can have several inner layers, all of the size `model.feed_forward`, with the activation
after each: `model.feed_forward_layers=2`. A gated part (`swiglu`) has one inner layer.

An encoder can also embed n-grams: `model.embedding=ngram model.max_ngram=2` adds bigrams, hashed into `model.ngram_buckets`
vectors. An encoder without blocks (`model.layers=0`) is a bag of words and bigrams, as in fastText, and a baseline for a
Transformer. A classifier can be combined with naive Bayes over the same tokens (`model.head.naive_bayes=1`), which helps on
small data sets.

Axes and sizes: n sequence length, h (or D) width, H heads, E head width, B batch.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## Capabilities", "", *(f"- **{name}**: {meaning}" for name, meaning in CAPABILITIES.items())]
    for family, field in part_list.FAMILIES.items():
        lines += ["", f"## {family.replace('_', '-')}: `{field}`"]
        for entry in part_list.parts_of(family):
            lines += ["", f"### `{entry.word}`", "", f"`{entry.name}`. {entry.source}".strip(), "", entry.about]
            if entry.unsupported:
                lines += ["", *(f"- lacks *{name}*: {reason}" for name, reason in entry.unsupported.items())]
    return "\n".join(lines) + "\n"
