"""Translations for the report of a translator: its prompts, held-out pairs with references, and an attention map."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.inspection import held_out_texts
from glasshouse.inspection.attention_maps import attention_map, unsupported_reason
from glasshouse.metrics.translation import signatures
from glasshouse.results.report import AttentionMap, Translated, Translations
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.translate import Translate

# Pairs on the page. Errors are more informative than correct translations, so half of the pairs are errors if possible.
MOST_PAIRS = 12
# Held-out pairs that are translated to choose from.
CANDIDATES = 200


@dataclass(frozen=True)
class TranslationSamples:
    """The translations for a report. If something is missing, `notes` says why."""

    translations: Translations
    attention: AttentionMap | None = None
    notes: tuple[str, ...] = ()


def collect(run: Run, map_tokens: int) -> TranslationSamples:
    """Translate the recipe's prompts and held-out pairs. Each side of the attention map has at most `map_tokens` tokens."""
    task = run.task
    assert isinstance(task, Translate)
    prompts = tuple(dict.fromkeys(run.spec.evaluation.prompts))
    translated_prompts = [
        Translated(text, hypotheses[0].text)
        for text, hypotheses in zip(prompts, run.translate(prompts), strict=True)
        if hypotheses
    ]
    pairs, summary, notes = _held_out_pairs(run, task)
    metric_signatures = tuple((task.metrics[metric].title, signature) for metric, signature in signatures().items())
    translations = Translations(tuple(translated_prompts), pairs, summary, metric_signatures if pairs else ())
    if task.word_by_word(run.spec.evaluation):
        notes = (
            *notes,
            "BLEU counts n-grams of up to four words, so it is 0 for single words; it is left out of the metrics above",
        )
    texts = [translated.source for translated in (*translated_prompts, *pairs)]
    if unsupported_reason(run) or not texts:
        return TranslationSamples(translations, None, notes)
    attention = _attention_map(run, task, texts, map_tokens)
    if attention is None:
        notes = (*notes, "no attention map: every text translated here is too long for a readable map")
    return TranslationSamples(translations, attention, notes)


def choose_pairs(exact: np.ndarray) -> list[int]:
    """The indices of the pairs to show, in order: the first wrong and the first exactly right translations."""
    wrong, right = np.flatnonzero(~exact), np.flatnonzero(exact)
    most_wrong = max(MOST_PAIRS // 2, MOST_PAIRS - len(right))
    shown_wrong = wrong[:most_wrong]
    return sorted([*shown_wrong.tolist(), *right[: MOST_PAIRS - len(shown_wrong)].tolist()])


def _held_out_pairs(run: Run, task: Translate) -> tuple[tuple[Translated, ...], str, tuple[str, ...]]:
    """(pairs, their summary, notes), from the test split, or from the validation split if the test split is empty."""
    data, missing = run.spec.data, "no held-out translations"
    if not (data.source or data.files):
        return (), "", ()
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=task.columns)
    except (GlasshouseError, OSError) as error:
        return (), "", (f"{missing}: {error}",)
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return (), "", (f"{missing}: the data has changed since the run was trained",)
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return (), "", ()
    translated = _translate_shard(run, task, prepared.splits[split])
    exact = np.array([pair.exact for pair in translated])
    first = "first " if len(translated) < prepared.splits[split].documents else ""
    summary = f"of the {first}{len(translated):,} {split} pairs, {int(exact.sum()):,} are exactly right"
    unique = held_out_texts.distinct(range(len(translated)), lambda index: translated[index], len(translated))
    return tuple(translated[unique[place]] for place in choose_pairs(exact[unique])), summary, ()


def _translate_shard(run: Run, task: Translate, shard: Shard) -> list[Translated]:
    """The first pairs of a shard, translated as in evaluation."""
    examples = np.arange(min(shard.documents, CANDIDATES))
    texts = task.written(run.model, shard, examples, run.spec.evaluation)
    return [
        Translated(shard.originals[index], text, shard.target.originals[index])
        for index, text in zip(examples.tolist(), texts, strict=True)
    ]


def _attention_map(run: Run, task: Translate, texts: Iterable[str], most_tokens: int) -> AttentionMap | None:
    """The map of the longest text that is short enough to read, or of the longest word if the run translates by words."""
    by_word = task.word_by_word(run.spec.evaluation)
    sources = [word for text in texts for word in (text.split() if by_word else [text])]
    encoded = [run.tokenizer.encode(source, specials=False) for source in dict.fromkeys(sources)]
    limit = most_tokens // 2 if task.decoder_only else most_tokens
    readable = [tokens for tokens in encoded if 0 < len(tokens) < limit]
    if not readable:
        return None
    whole = attention_map(run, max(readable, key=len).tolist())
    # In a causal map the first rows attend to no later column, so both axes can be truncated.
    keys = whole.weights.shape[3] if whole.sources else most_tokens
    weights = whole.weights[:, :, :most_tokens, :keys]
    return replace(whole, tokens=whole.tokens[:most_tokens], weights=weights)
