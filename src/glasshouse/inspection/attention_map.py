"""The attention maps of a text: every layer's and head's weights, exactly as the model computed them."""

import torch

from glasshouse.inspection.capture import capture
from glasshouse.pages.content import AttentionMap
from glasshouse.runs.run import Run


def attention_map(run: Run, text: str) -> AttentionMap:
    """Weights (layers, heads, queries, keys) over a text's tokens, cut to the model's context."""
    tokenizer = run.tokenizer
    ids = [int(token) for token in tokenizer.encode(text)][: run.spec.data.context]
    pattern = "blocks.*.attention.weights"
    with torch.inference_mode(), capture(run.model, pattern) as seen:
        run.model(torch.tensor([ids], device=run.device))
    weights = torch.stack([layer[0].float().cpu() for layer in seen.values()]).numpy()
    return AttentionMap(tuple(tokenizer.token_bytes(token).decode("utf-8", "replace") for token in ids), weights)
