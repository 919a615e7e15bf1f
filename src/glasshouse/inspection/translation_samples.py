"""What a translator writes: its prompts, some held-out pairs beside their references, and where it looks meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.inspection.attention_maps import attention_map, refusal
from glasshouse.metrics.translation import signatures
from glasshouse.pages.report_content import AttentionMap, Translated, Translations
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.translate import Translate

# More are not read. Wrong ones tell more than right ones, so half of them are wrong where so many are found.
MOST_PAIRS = 12
LOOKED_THROUGH = 200


@dataclass(frozen=True)
class TranslationSamples:
    """What there is to show, and what a person should know where there is nothing."""

    translations: Translations
    attention: AttentionMap | None = None
    notes: tuple[str, ...] = ()


def look(run: Run, map_tokens: int) -> TranslationSamples:
    """The recipe's prompts and held-out pairs, translated, with an attention map of at most `map_tokens` tokens a side."""
    task = run.task
    assert isinstance(task, Translate)
    prompts = run.spec.evaluation.prompts
    written = [Translated(text, best[0].text) for text, best in zip(prompts, run.translate(prompts), strict=True) if best]
    pairs, where, notes = _held_out(run, task)
    counted = tuple((task.metrics[metric].title, signature) for metric, signature in signatures().items())
    translations = Translations(tuple(written), pairs, where, counted if pairs else ())
    if run.spec.evaluation.word_by_word:
        notes = (*notes, "BLEU counts runs of up to four words and is 0 of single ones: it is not among the figures above")
    texts = [each.source for each in (*written, *pairs)]
    if refusal(run) or not texts:
        return TranslationSamples(translations, None, notes)
    attention = _map(run, task, texts, map_tokens)
    if attention is None:
        notes = (*notes, "there is no attention map: each of the texts translated here is too long to be read in one")
    return TranslationSamples(translations, attention, notes)


def choose(exact: np.ndarray) -> list[int]:
    """Which to show of texts that are exactly right or not: the first ones of both kinds, in their order."""
    wrong, right = np.flatnonzero(~exact), np.flatnonzero(exact)
    half = MOST_PAIRS // 2
    most_wrong = max(half, MOST_PAIRS - len(right))
    chosen = wrong[:most_wrong]
    return sorted([*chosen.tolist(), *right[: MOST_PAIRS - len(chosen)].tolist()])


def _held_out(run: Run, task: Translate) -> tuple[tuple[Translated, ...], str, tuple[str, ...]]:
    """Pairs of the test split, or of the validation split where there is no other; where they are from; and notes."""
    data, lack = run.spec.data, "there are no held-out translations to show"
    if not (data.source or data.files):
        return (), "", ()
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=task.columns)
    except (GlasshouseError, OSError) as error:
        return (), "", (f"{lack}: {error}",)
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return (), "", (f"{lack}: the text has changed since the run was trained",)
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return (), "", ()
    found = _translated(run, task, prepared.splits[split])
    exact = np.array([each.exact for each in found])
    first = "first " if len(found) < prepared.splits[split].documents else ""
    where = f"of the {first}{len(found):,} {split} pairs, {int(exact.sum()):,} are exactly right"
    return tuple(found[index] for index in choose(exact)), where, ()


def _translated(run: Run, task: Translate, shard: Shard) -> list[Translated]:
    """The first pairs, translated as in evaluation."""
    examples = np.arange(min(shard.documents, LOOKED_THROUGH))
    # Of similar lengths together, so that little is padding.
    order = examples[np.argsort(task.example_lengths(shard)[examples], kind="stable")]
    texts = dict(zip(order.tolist(), task.written(run.model, shard, order, run.spec.evaluation), strict=True))
    return [Translated(shard.originals[index], texts[index], shard.target.originals[index]) for index in examples.tolist()]


def _map(run: Run, task: Translate, texts: Iterable[str], most: int) -> AttentionMap | None:
    """Of the first text that is short enough to be read in a map; of its longest word where each word stands alone."""
    for text in texts:
        source = max(text.split(), key=len, default="") if run.spec.evaluation.word_by_word else text
        tokens = run.tokenizer.encode(source, specials=False)
        if 0 < len(tokens) < (most // 2 if task.alone else most):
            found = attention_map(run, source)
            # Rows can be left out, and a row of a causal map looks at nothing beyond itself.
            keys = found.weights.shape[3] if found.sources else most
            return replace(found, tokens=found.tokens[:most], weights=found.weights[:, :, :most, :keys])
    return None
