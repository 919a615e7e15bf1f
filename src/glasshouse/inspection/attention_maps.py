"""Attention maps of a text: the weights of every layer and head, exactly as the model computed them.

A translator has the map of a source and its translation: by default the cross-attention, if the model has one.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from glasshouse.inspection.capture import capture, matching_probes, probes
from glasshouse.inspection.text_input import TextInput, token_texts
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.results.report import AttentionMap
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.translate import Translate

# The probes of the attention weights in each part of an encoder-decoder.
PROBES = {
    "cross": "decoder.blocks.*.cross_attention.attention.weights",
    "encoder": "encoder.blocks.*.attention.weights",
    "decoder": "decoder.blocks.*.attention.weights",
}


@torch.inference_mode()
def attention_map(run: Run, text: str | Sequence[int], attention: str = "", layer: int | None = None) -> AttentionMap:
    """Weights (layers, heads, queries, keys) over the tokens of a text; with `layer`, counted from 1, of that layer alone.

    The text can be passed as token ids, which are truncated to the model's context. A translator translates the whole text
    as in the evaluation of the run. For an encoder-decoder, `attention` is "cross" (the default: from each generated token
    to the source tokens), "encoder" (self-attention of the source) or "decoder" (self-attention of the translation). A
    decoder-only translator has one map, the self-attention of `source <|translate|> target`.
    """
    if reason := unsupported_reason(run):
        raise GlasshouseError(
            f"{run.name} has no attention map: {reason}; glasshouse lens, attribute and patch show what it does instead"
        )
    task = run.task
    if not isinstance(task, Translate):
        if attention:
            problem = f"needs a run that translates, and {run.name} has task={run.spec.task!r}; leave it out"
            raise GlasshouseError(problem, "attention", attention)
        ids = TextInput(run, text).ids if isinstance(text, str) else [int(token) for token in text]
        return _self_attention(run, ids[: run.spec.data.context], layer)
    choices = ("decoder",) if task.decoder_only else tuple(PROBES)
    if attention and attention not in choices:
        raise GlasshouseError(f"{run.name} has no attention={attention!r}; choose {' or '.join(map(repr, choices))}")
    opened = TextInput(run, text)
    if task.decoder_only:
        return _self_attention(run, opened.ids, layer)
    # The input of the decoder is shifted by one: it generates a token from the tokens before it.
    decoder_tokens = [task.end, *opened.generated[:-1]]
    weights = _weights(
        run, run.model, matching_probes(run.model, PROBES[attention or "cross"]), layer, opened.source, decoder_tokens
    )
    if attention in ("encoder", "decoder"):
        return AttentionMap(token_texts(run, opened.source if attention == "encoder" else decoder_tokens), weights)
    return AttentionMap(token_texts(run, opened.generated), weights, token_texts(run, opened.source))


def unsupported_reason(run: Run) -> str:
    """Why the attention of a run has no weights over tokens; empty if it has them."""
    unsupported: dict[str, str] = catalogue.find("attention", run.spec.model.attention).unsupported
    return unsupported.get("rows") or unsupported.get("tokens", "")


def _self_attention(run: Run, ids: list[int], layer: int | None) -> AttentionMap:
    if not ids:
        raise GlasshouseError("an attention map needs at least one token, but the text is empty; pass a text")
    read = [name for name in probes(run.model) if name.startswith(run.model.text_stacks)]
    names = [name for name in read if name.split(".")[-2:] == ["attention", "weights"]]
    forward = run.model.encode_text if isinstance(run.model, DualEncoder) else run.model
    return AttentionMap(token_texts(run, ids), _weights(run, forward, names, layer, ids))


def _weights(
    run: Run, forward: Callable[..., Tensor], names: list[str], layer: int | None, *inputs: list[int]
) -> np.ndarray:
    """The weights (layers, heads, queries, keys) at these probes; a head that was pruned has NaN."""
    if layer is not None:
        if not 1 <= layer <= len(names):
            raise GlasshouseError(f"{run.name} has no layer {layer}; choose 1 to {len(names)}")
        names = [names[layer - 1]]
    with capture(run.model, *names) as activations:
        forward(*(torch.tensor([ids], device=run.device) for ids in inputs))
    layers = []
    for name, weights_BHQK in activations.items():
        attention = name.removesuffix(".weights")
        weights_HQK = weights_BHQK[0].float().cpu().numpy()
        removed = [head for head in run.spec.model.pruned_heads if head.rpartition(".")[0] == attention]
        whole = np.full((len(weights_HQK) + len(removed), *weights_HQK.shape[1:]), np.nan, np.float32)
        whole[[head for head in range(len(whole)) if f"{attention}.{head + 1}" not in removed]] = weights_HQK
        layers.append(whole)
    return np.stack(layers)
