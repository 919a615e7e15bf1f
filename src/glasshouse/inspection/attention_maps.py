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
from glasshouse.parts.capabilities import Unsupported
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


def attention_map(run: Run, text: str | Sequence[int], attention: str = "", layer: int | None = None) -> AttentionMap:
    """Weights (layers, heads, queries, keys) over the tokens of a text; with `layer`, counted from 1, of that layer alone.

    The text can be passed as token ids, which are truncated to the model's context. For a translator this is
    `translation_map`, which explains `attention`.
    """
    if isinstance(run.task, Translate):
        return translation_map(run, text, attention, layer)
    if attention:
        raise GlasshouseError(
            f"needs a run that translates, but the task of {run.name} is {run.spec.task!r}; leave it out",
            "attention",
            attention,
        )
    _check_weights(run)
    ids = TextInput(run, text).ids if isinstance(text, str) else [int(token) for token in text]
    return _self_attention(run, ids[: run.spec.data.context], layer)


@torch.inference_mode()
def translation_map(run: Run, source: str | Sequence[int], attention: str = "", layer: int | None = None) -> AttentionMap:
    """Translate a source and return the attention weights.

    For an encoder-decoder, `attention` is "cross" (the default: from each generated token to the source tokens), "encoder"
    (self-attention of the source) or "decoder" (self-attention of the translation). A decoder-only translator has one map,
    the self-attention of `source <|translate|> target`. The whole text is translated as in the evaluation of the run.
    """
    task = run.task
    if not isinstance(task, Translate):
        raise GlasshouseError(
            f"{run.name} has task={run.spec.task!r}, but a translation map needs task='translate'; choose another run"
        )
    choices = ("decoder",) if task.decoder_only else tuple(PROBES)
    if attention and attention not in choices:
        raise GlasshouseError(f"{run.name} has no attention={attention!r}; choose {' or '.join(map(repr, choices))}")
    _check_weights(run)
    text = TextInput(run, source)
    if task.decoder_only:
        return _self_attention(run, text.ids, layer)
    # The input of the decoder is shifted by one: it generates a token from the tokens before it.
    decoder_tokens = [task.end, *text.generated[:-1]]
    names = matching_probes(run.model, PROBES[attention or "cross"])
    with capture(run.model, *_chosen(run, names, layer)) as activations:
        run.model(*(torch.tensor([ids], device=run.device) for ids in (text.source, decoder_tokens)))
    source_texts = token_texts(run, text.source)
    if attention == "encoder":
        return AttentionMap(source_texts, _stack(run, activations))
    if attention == "decoder":
        return AttentionMap(token_texts(run, decoder_tokens), _stack(run, activations))
    return AttentionMap(token_texts(run, text.generated), _stack(run, activations), source_texts)


def unsupported_reason(run: Run) -> str:
    """Why the attention of a run has no weights over tokens; empty if it has them."""
    unsupported: Unsupported = catalogue.find("attention", run.spec.model.attention).unsupported
    return unsupported.get("rows") or unsupported.get("tokens", "")


def _check_weights(run: Run) -> None:
    if reason := unsupported_reason(run):
        raise GlasshouseError(
            f"{run.name} has no attention map: {reason}; glasshouse lens, attribute and patch show what it does instead"
        )


def _check_not_empty(ids: list[int]) -> None:
    if not ids:
        raise GlasshouseError("an attention map needs at least one token, but the text is empty; pass a text")


def _chosen(run: Run, names: list[str], layer: int | None) -> list[str]:
    if layer is None:
        return names
    if not 1 <= layer <= len(names):
        raise GlasshouseError(f"{run.name} has no layer {layer}; choose 1 to {len(names)}")
    return [names[layer - 1]]


def _self_attention(run: Run, ids: list[int], layer: int | None) -> AttentionMap:
    _check_not_empty(ids)
    names = [name for name in probes(run.model) if name.split(".")[-2:] == ["attention", "weights"]]
    forward: Callable[[Tensor], Tensor] = run.model
    if isinstance(run.model, DualEncoder):
        forward, names = run.model.encode_text, [name for name in names if name.startswith("text.")]
    with torch.inference_mode(), capture(run.model, *_chosen(run, names, layer)) as activations:
        forward(torch.tensor([ids], device=run.device))
    return AttentionMap(token_texts(run, ids), _stack(run, activations))


def _stack(run: Run, activations: dict[str, Tensor]) -> np.ndarray:
    """The weights (layers, heads, queries, keys) for the first sequence of the batch; a head that was pruned has NaN."""
    layers = []
    for name, weights_BHQK in activations.items():
        attention = name.removesuffix(".weights")
        weights_HQK = weights_BHQK[0].float().cpu().numpy()
        pruned = [head for head in run.spec.model.pruned_heads if head.rpartition(".")[0] == attention]
        removed = {int(head.rpartition(".")[2]) - 1 for head in pruned}
        whole = np.full((len(weights_HQK) + len(removed), *weights_HQK.shape[1:]), np.nan, np.float32)
        whole[[head for head in range(len(whole)) if head not in removed]] = weights_HQK
        layers.append(whole)
    return np.stack(layers)
