"""Activation patching: put activations of a clean text into the forward pass of a corrupt one, and see what returns.

The outcome is the logit of the clean text's prediction minus that of the corrupt text's; if both texts have the same
prediction, it is the logit of that. A patch restores 0 if the outcome stays that of the corrupt text, and 1 if it becomes
that of the clean one (Meng et al. 2022).

Axes: N copies, P places (tokens or heads), R predictions, V outputs, E the other axes of an activation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glasshouse.inspection.capture import capture, edit
from glasshouse.inspection.text_input import Prediction, TextInput
from glasshouse.models.head_pruning import attentions, layer_number, stack_title
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Progress, no_progress

# Places patched in one forward pass, which bounds the memory.
BATCH = 64
# A smaller difference between the outcomes of the two texts is rounding.
SMALLEST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class PatchMap:
    """The restored share for each layer and place: a token of the text, or a head."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    restored: np.ndarray  # (rows, columns)
    of_heads: bool = False  # whether the columns are heads instead of tokens


@dataclass(frozen=True)
class Patching:
    """The outcomes of both texts and the map of each kind of activation."""

    tokens: tuple[tuple[str, ...], tuple[str, ...]]  # of the clean and of the corrupt text
    clean: Prediction
    corrupt: Prediction
    clean_outcome: float
    corrupt_outcome: float
    maps: tuple[PatchMap, ...]


def patch(
    run: Run,
    clean: str,
    corrupt: str,
    position: int | None = None,
    target: str | None = None,
    against: str | None = None,
    progress: Progress = no_progress,
) -> Patching:
    """Patch every layer of the residual stream, attention and feed-forward part at every token, and every head.

    `position` is the prediction to look at, counted from 1; by default the last, or for a translator the first that differs.
    `target` and `against` name the two outputs of the outcome; by default the predictions of the two texts.
    """
    texts = TextInput(run, clean), TextInput(run, corrupt)
    lengths = [len(text.source) or text.prompt_length or len(text.ids) for text in texts]
    if lengths[0] != lengths[1]:
        raise GlasshouseError(f"the texts have {lengths[0]} and {lengths[1]} tokens and need equally many; replace words")
    start = texts[0].prompt_length
    if texts[0].source or start:
        # Both decoders read the clean translation, so that only the sources differ.
        texts[1].ids = texts[1].ids[:start] + texts[0].ids[start:]
        if position is None:
            position = _first_difference(*texts)
    predictions = [text.prediction(position, name) for text, name in zip(texts, (target, against), strict=True)]
    row, (answer, other) = predictions[0].row, (prediction.output for prediction in predictions)

    def outcome(logits_NRV: Tensor) -> Tensor:
        logits_NV = logits_NRV[:, row].float()
        return logits_NV[:, answer] - (logits_NV[:, other] if other != answer else 0.0)

    with torch.inference_mode():
        high, low = (float(outcome(text.forward())[0]) for text in texts)
        if abs(high - low) < SMALLEST_DIFFERENCE:
            raise GlasshouseError(f"both texts give {predictions[0].name!r} the logit {high:.4g}; choose other texts")
        kinds = _kinds(texts[0])
        probes = [probe for _, _, rows in kinds for _, probe in rows]
        with capture(run.model, *dict.fromkeys(probes)) as saved:
            texts[0].forward()
        maps, done = [], 0
        for title, tokens, rows in kinds:
            values = []
            for _, probe in rows:
                outcomes = _patch_each(texts[1], probe, saved[probe], outcome)
                values.append(((outcomes - low) / (high - low)).cpu().numpy())
                done += 1
                progress(done / len(probes))
            most = max(map(len, values), default=0)  # layers may differ in their number of heads
            table = np.array([np.pad(each, (0, most - len(each)), constant_values=np.nan) for each in values])
            columns = tokens or tuple(str(head + 1) for head in range(most))
            maps.append(PatchMap(title, tuple(name for name, _ in rows), columns, table, of_heads=not tokens))
    return Patching((texts[0].tokens, texts[1].tokens), predictions[0], predictions[1], high, low, tuple(maps))


@torch.inference_mode()
def _first_difference(clean: TextInput, corrupt: TextInput) -> int:
    """The first prediction of the translation that differs, counted from 1; the last one if none differs."""
    first = max(clean.prompt_length - 1, 0)
    different = (clean.forward()[0, first:].argmax(-1) != corrupt.forward()[0, first:].argmax(-1)).nonzero()
    return first + int(different[0]) + 1 if len(different) else len(clean.rows)


def _kinds(text: TextInput) -> list[tuple[str, tuple[str, ...], list[tuple[str, str]]]]:
    """Kinds of activations: the title, a place for each token or none for heads, and the (title, probe) of each row."""
    kinds = []
    for stack in text.stacks:
        of = f" of the {stack.prefix.rstrip('.')}" if len(text.stacks) > 1 else ""
        states = "state after a layer" if text.recurrent else f"residual stream{of} after a layer"
        kinds.append((states, stack.tokens, stack.stream_probes()))
        layers = [(f"layer {number}", name.removesuffix(".output")) for number, name in enumerate(stack.outputs, 1)]
        for part in ("attention", "cross_attention", "feed_forward"):
            if layers and getattr(text.model.get_submodule(layers[0][1]), part, None) is not None:
                rows = [(title, f"{name}.{part}") for title, name in layers]
                kinds.append((f"output of the {part.replace('_', '-')}{of}", stack.tokens, rows))
    heads = [
        (f"{stack_title(name)} layer {layer_number(name)}".lstrip(), f"{name}.mixed")
        for name in attentions(text.model)
        if name.startswith(text.model.text_stacks)
    ]
    return [*kinds, ("heads, at all tokens", (), heads)] if heads else kinds


def _patch_each(text: TextInput, probe: str, clean_1PE: Tensor, outcome: Callable[[Tensor], Tensor]) -> Tensor:
    """The outcome with the clean activation at each place in turn: at each token, or of each head at all tokens."""
    outcomes = []
    for begin in range(0, clean_1PE.shape[1], BATCH):
        places = torch.arange(begin, min(begin + BATCH, clean_1PE.shape[1]), device=clean_1PE.device)

        def insert(output_NPE: Tensor, places: Tensor = places) -> Tensor:
            edited = output_NPE.clone()
            edited[torch.arange(len(places)), places] = clean_1PE[0, places]
            return edited

        with edit(text.model, {probe: insert}):
            outcomes.append(outcome(text.forward(len(places))))
    return torch.cat(outcomes)
