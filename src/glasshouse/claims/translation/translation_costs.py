"""What a translation costs: FLOPs of a source and its target, and tokens that a decoder reads while it writes."""

import statistics
from typing import Any

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.runs.run import Run
from glasshouse.tasks.translate import Translate


def count_flops(run: Run) -> dict[str, float]:
    """FLOPs of the forward pass over a test phrase and its translation of mean lengths, special tokens included."""
    task: Any = run.task
    test = _test_pairs(run)
    source, target = (round(statistics.fmean(len(text) for text in side.originals)) for side in (test, test.target))
    model: Any = run.model
    return {"flops": model.flops(source + target + 2) if task.decoder_only else model.flops(target + 1, source + 1)}


def tokens_read_again(run: Run, cached: bool = True) -> float:
    """How many more tokens a decoder reads than there are while it writes the translation of the first test phrase."""
    task = run.task
    assert isinstance(task, Translate)
    test = _test_pairs(run)
    [prompt] = task.decoder_prompts(test.texts(np.arange(1)))
    target = test.target.texts(np.arange(1))[0][: task.max_lengths[1]]
    read = 0

    def count(module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        nonlocal read
        read += inputs[0].numel()

    model: Any = run.model
    hook = model.embedding.register_forward_hook(count)
    try:
        decoder = IncrementalDecoder(model, [prompt], task.context, cached)
        for token in target:
            decoder.logits()
            decoder.append(0, token)
    finally:
        hook.remove()
    # The last token is written and never read.
    return float(read - len(prompt) - len(target) + 1)


def _test_pairs(run: Run) -> Shard:
    return prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits["test"]
