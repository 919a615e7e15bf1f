"""Every part as one page, `docs/parts.md`, from the docstrings of the parts."""

from glasshouse.models import part_list
from glasshouse.parts.capabilities import CAPABILITIES

HEAD = """# Parts

This page is generated from the parts' own docstrings (`make docs`); a test checks that it is current. `glasshouse parts
FAMILY` says the same. Every part is a class in `glasshouse.parts` or `glasshouse.models` that receives other parts, and a
word that a spec may use. Which parts go together is decided by laws: a part obeys those it does not refuse, `models.check`
refuses a model built against a refusal, with the reason, and one battery of tests (`tests/parts/test_battery.py`,
[its outcome](battery.md)) holds every part to its laws and to its refusals.

Relative attention is dot-product attention (or any whose scores take a bias) with `model.position=relative` or
`relative-buckets`; cross-attention is any attention whose keys and values come from another sequence
(`glasshouse.parts.CrossAttention`), and stands in every encoder-decoder.

Every feed-forward part that is not gated may have several inner layers, all of the size `model.feed_forward`, with its
activation after each: `model.feed_forward_layers=2`. A gated one (`swiglu`) has one.

An encoder's embeddings can be of runs of tokens too (`model.ngrams=2` for pairs, hashed into `model.ngram_buckets` vectors),
and it can do without blocks (`model.layers=0`): then it is a bag of words and pairs of words, as in fastText, and what a
Transformer must beat. What an encoder's classifier answers can be joined with naive Bayes over the same tokens
(`model.head.naive_bayes=1`), which helps where texts are few.

Axes and sizes: n sequence length, h (or D) width, H heads, E head width, B batch.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## Laws", "", *(f"- **{law}**: {meaning}" for law, meaning in CAPABILITIES.items())]
    for family, field in part_list.FAMILIES.items():
        lines += ["", f"## {family.replace('_', '-')}: `{field}`"]
        for entry in part_list.family(family):
            lines += ["", f"### `{entry.word}`", "", f"`{entry.name}`. {entry.source}".strip(), "", entry.about]
            if entry.unsupported:
                lines += ["", *(f"- does not obey *{law}*: {reason}" for law, reason in entry.unsupported.items())]
    return "\n".join(lines) + "\n"
