"""The attention maps of a text: every layer's and head's weights, exactly as the model computed them."""

from collections.abc import Sequence

import torch

from glasshouse.inspection.capture import capture, probes
from glasshouse.pages.content import AttentionMap
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError


def attention_map(run: Run, text: str | Sequence[int]) -> AttentionMap:
    """Weights (layers, heads, queries, keys) over the tokens of a text, or given tokens, cut to the model's context."""
    tokenizer = run.tokenizer
    tokens = tokenizer.encode(text) if isinstance(text, str) else text
    ids = [int(token) for token in tokens][: run.spec.data.context]
    if not ids:
        raise GlasshouseError("an attention map needs at least one token; give a text")
    names = [name for name in probes(run.model) if name.split(".")[-2:] == ["attention", "weights"]]
    refuses = catalogue.find("attention", run.spec.model.attention).refuses
    for law in ("rows", "tokens"):
        if law in refuses:
            raise GlasshouseError(f"{run.name} has no attention map: {refuses[law]}")
    with torch.inference_mode(), capture(run.model, *names) as seen:
        run.model(torch.tensor([ids], device=run.device))
    weights = torch.stack([layer[0].float().cpu() for layer in seen.values()]).numpy()
    return AttentionMap(tuple(tokenizer.token_bytes(token).decode("utf-8", "replace") for token in ids), weights)
