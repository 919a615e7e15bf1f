"""Attention maps of a text: the weights of every layer and head, exactly as the model computed them.

A translator has the map of a source and its translation: by default the cross-attention, if the model has one.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.beam_search import BeamOptions
from glasshouse.inspection.capture import capture, probes
from glasshouse.inspection.text_input import token_texts
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.pages.report_content import AttentionMap
from glasshouse.parts.capabilities import Unsupported
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


def attention_map(run: Run, text: str | Sequence[int], attention: str = "") -> AttentionMap:
    """Weights (layers, heads, queries, keys) over the tokens of a text, truncated to the model's context.

    The text can be passed as token ids. For a translator this is `translation_map`, which explains `attention`.
    """
    if isinstance(run.task, Translate):
        return translation_map(run, text, attention)
    if attention:
        raise GlasshouseError(
            "bad-option",
            f"attention={attention!r} needs a run that translates, but the task of {run.name} is {run.spec.task!r}; "
            "leave it out",
        )
    ids = [int(token) for token in (run.tokenizer.encode(text) if isinstance(text, str) else text)]
    return _self_attention(run, ids[: run.spec.data.context])


@torch.inference_mode()
def translation_map(run: Run, source: str | Sequence[int], attention: str = "") -> AttentionMap:
    """Translate a source and return the attention weights.

    For an encoder-decoder, `attention` is "cross" (the default: from each generated token to the source tokens), "encoder"
    (self-attention of the source) or "decoder" (self-attention of the translation). A decoder-only translator has one map,
    the self-attention of `source <|translate|> target`. The whole text is translated as in the evaluation of the run.
    """
    task = run.task
    if not isinstance(task, Translate):
        raise GlasshouseError(
            "not-a-translator",
            f"{run.name} has task={run.spec.task!r}, but a translation map needs task='translate'; choose another run",
        )
    choices = ("decoder",) if task.decoder_only else tuple(PROBES)
    if attention and attention not in choices:
        raise GlasshouseError(
            "bad-option", f"{run.name} has no attention={attention!r}; choose {' or '.join(map(repr, choices))}"
        )
    encoded = run.tokenizer.encode(source, specials=False) if isinstance(source, str) else source
    ids = [int(token) for token in encoded][: task.max_lengths[0]]
    _check(run, ids)
    settings = run.spec.evaluation
    options = BeamOptions(settings.beams, settings.length_penalty, task.max_lengths[1])
    hypotheses = task.search(run.model, [ids], options)[0]
    target = list(hypotheses[0].tokens) if hypotheses else []
    if task.decoder_only:
        return _self_attention(run, task.decoder_prompts([ids])[0] + target)
    generated = [*target, task.end] if not hypotheses or hypotheses[0].ended else target
    # The input of the decoder is shifted by one: it generates a token from the tokens before it.
    decoder_tokens, inputs = [task.end, *generated[:-1]], task.encoder_inputs([ids])
    with capture(run.model, PROBES[attention or "cross"]) as activations:
        tensors = (inputs["source"], torch.tensor([decoder_tokens]), inputs["lengths"])
        run.model(*(tensor.to(run.device) for tensor in tensors))
    source_texts = token_texts(run, inputs["source"][0].tolist())
    if attention == "encoder":
        return AttentionMap(source_texts, _stack(activations))
    if attention == "decoder":
        return AttentionMap(token_texts(run, decoder_tokens), _stack(activations))
    return AttentionMap(token_texts(run, generated), _stack(activations), source_texts)


def unsupported_reason(run: Run) -> str:
    """Why the attention of a run has no weights over tokens; empty if it has them."""
    unsupported: Unsupported = catalogue.find("attention", run.spec.model.attention).unsupported
    return unsupported.get("rows") or unsupported.get("tokens", "")


def _check(run: Run, ids: list[int]) -> None:
    if not ids:
        raise GlasshouseError("empty-text", "an attention map needs at least one token, but the text is empty; pass a text")
    if reason := unsupported_reason(run):
        raise GlasshouseError("no-attention-weights", f"{run.name} has no attention map: {reason}")


def _self_attention(run: Run, ids: list[int]) -> AttentionMap:
    _check(run, ids)
    names = [name for name in probes(run.model) if name.split(".")[-2:] == ["attention", "weights"]]
    forward: Callable[[Tensor], Tensor] = run.model
    if isinstance(run.model, DualEncoder):
        forward, names = run.model.encode_text, [name for name in names if name.startswith("text.")]
    with torch.inference_mode(), capture(run.model, *names) as activations:
        forward(torch.tensor([ids], device=run.device))
    return AttentionMap(token_texts(run, ids), _stack(activations))


def _stack(activations: dict[str, Tensor]) -> np.ndarray:
    """The weights of all layers for the first sequence of the batch."""
    return torch.stack([layer[0].float().cpu() for layer in activations.values()]).numpy()
