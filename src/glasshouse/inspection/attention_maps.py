"""The attention maps of a text: every layer's and head's weights, exactly as the model computed them.

Of a translator it is the map of a translation: by default that of cross-attention, where its model has such.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.beam_search import Beams
from glasshouse.inspection.capture import capture, probes
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.pages.report_content import AttentionMap
from glasshouse.parts.capabilities import Unsupported
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.translate import Translate

# Which probes hold the weights of each attention of an encoder-decoder.
PROBES = {
    "cross": "decoder.blocks.*.cross_attention.attention.weights",
    "encoder": "encoder.blocks.*.attention.weights",
    "decoder": "decoder.blocks.*.attention.weights",
}


def attention_map(run: Run, text: str | Sequence[int], of: str = "") -> AttentionMap:
    """Weights (layers, heads, queries, keys) over the tokens of a text, or given tokens, cut to the model's context.

    A translating run translates the text (whole, as its evaluation does); see `translation_map` for what `of` chooses.
    """
    if isinstance(run.task, Translate):
        return translation_map(run, text, of)
    if of:
        raise GlasshouseError("bad-option", f"of={of!r} is for a run that translates, and {run.name} does not; leave it out")
    ids = [int(token) for token in (run.tokenizer.encode(text) if isinstance(text, str) else text)]
    return _square(run, ids[: run.spec.data.context])


@torch.inference_mode()
def translation_map(run: Run, source: str | Sequence[int], of: str = "") -> AttentionMap:
    """The attention of a source and what the run translates it to.

    Of an encoder-decoder, `of` is "cross" (the default: each token as it is written, over the tokens of the source),
    "encoder" (the source over itself) or "decoder" (what was written so far over itself). A decoder alone has one square
    map, of `source <|translate|> target`.
    """
    task = run.task
    if not isinstance(task, Translate):
        raise GlasshouseError(
            "not-a-translator", f"{run.name} does not translate: its task is {run.spec.task!r}, not 'translate'"
        )
    choices = ("decoder",) if task.alone else tuple(PROBES)
    if of and of not in choices:
        raise GlasshouseError("bad-option", f"{run.name} has no attention called {of!r}; choose {' or '.join(choices)}")
    encoded = run.tokenizer.encode(source, specials=False) if isinstance(source, str) else source
    ids = [int(token) for token in encoded][: task.rooms[0]]
    _check(run, ids)
    settings = run.spec.evaluation
    best = task.search(run.model, [ids], Beams(settings.beams, settings.length_penalty, task.rooms[1]))[0]
    target = list(best[0].tokens) if best else []
    if task.alone:
        return _square(run, task.prompts([ids])[0] + target)
    # A row of the decoder has read the tokens before the one that it writes.
    written = [*target, task.end] if not best or best[0].ended else target
    read, given = [task.end, *written[:-1]], task.given([ids])
    with capture(run.model, PROBES[of or "cross"]) as seen:
        run.model(*(tokens.to(run.device) for tokens in (given["source"], torch.tensor([read]), given["lengths"])))
    looked_at = _texts(run, given["source"][0].tolist())
    if of == "encoder":
        return AttentionMap(looked_at, _stacked(seen))
    if of == "decoder":
        return AttentionMap(_texts(run, read), _stacked(seen))
    return AttentionMap(_texts(run, written), _stacked(seen), looked_at)


def refusal(run: Run) -> str:
    """Why the attention of a run has no weights over tokens, or nothing where it has them."""
    unsupported: Unsupported = catalogue.find("attention", run.spec.model.attention).unsupported
    return unsupported.get("rows") or unsupported.get("tokens", "")


def _check(run: Run, ids: list[int]) -> None:
    if not ids:
        raise GlasshouseError("empty-text", "an attention map needs at least one token; give a text")
    if why := refusal(run):
        raise GlasshouseError("no-attention-weights", f"{run.name} has no attention map: {why}")


def _square(run: Run, ids: list[int]) -> AttentionMap:
    _check(run, ids)
    names = [name for name in probes(run.model) if name.split(".")[-2:] == ["attention", "weights"]]
    read: Callable[[Tensor], Tensor] = run.model
    if isinstance(run.model, DualEncoder):
        read, names = run.model.of_text, [name for name in names if name.startswith("text.")]
    with torch.inference_mode(), capture(run.model, *names) as seen:
        read(torch.tensor([ids], device=run.device))
    return AttentionMap(_texts(run, ids), _stacked(seen))


def _stacked(seen: dict[str, Tensor]) -> np.ndarray:
    return torch.stack([layer[0].float().cpu() for layer in seen.values()]).numpy()


def _texts(run: Run, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(run.tokenizer.token_bytes(token).decode("utf-8", "replace") for token in ids)
