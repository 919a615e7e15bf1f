"""Translations for the report of a translator: its prompts, held-out pairs with references, and an attention map."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.inspection.attention_maps import attention_map, unsupported_reason
from glasshouse.inspection.held_out_texts import HeldOutTexts
from glasshouse.metrics.translation import signatures
from glasshouse.results.report import AttentionMap, Section, Translated, Translations
from glasshouse.runs.run import Run
from glasshouse.tasks.translate import Translate

# Pairs on the page. Errors are more informative than correct translations, so half of the pairs are errors if possible.
MOST_PAIRS = 12
# Held-out pairs that are translated to choose from.
CANDIDATES = 200


def collect(run: Run, map_tokens: int) -> Section:
    """Translate the recipe's prompts and held-out pairs. Each side of the attention map has at most `map_tokens` tokens."""
    task = run.task
    assert isinstance(task, Translate)
    prompts = tuple(dict.fromkeys(run.spec.evaluation.prompts))
    translated_prompts = [
        Translated(text, hypotheses[0].text)
        for text, hypotheses in zip(prompts, run.translate(prompts), strict=True)
        if hypotheses
    ]
    held_out, pairs, summary, notes = held_out_texts.find(run), list[Translated](), "", list[str]()
    if isinstance(held_out, HeldOutTexts):
        pairs, summary = _held_out_pairs(held_out, task)
    elif held_out:
        notes.append(f"no held-out translations: {held_out}")
    named = tuple((task.metrics[metric].title, signature) for metric, signature in signatures().items()) if pairs else ()
    if task.word_by_word(run.spec.evaluation):
        notes.append(
            "BLEU counts n-grams of up to four words, so it is 0 for single words; it is left out of the metrics above"
        )
    texts = [translated.source for translated in (*translated_prompts, *pairs)]
    attention: AttentionMap | None = None
    if texts and not unsupported_reason(run):
        attention = _attention_map(run, task, texts, map_tokens)
        if attention is None:
            notes.append("no attention map: every text translated here is too long for a readable map")
    translations = Translations(tuple(translated_prompts), tuple(pairs), summary, named)
    return Section(notes=tuple(notes), translations=translations, attention=attention)


def _held_out_pairs(held_out: HeldOutTexts, task: Translate) -> tuple[list[Translated], str]:
    """Some of the first pairs of the split, translated as in evaluation, and how many of these are right."""
    run, shard = held_out.run, held_out.shard
    examples = np.arange(min(shard.documents, CANDIDATES))
    texts = task.written(run.model, shard, examples, run.spec.evaluation)
    translated = [
        Translated(shard.originals[index], text, shard.target.originals[index])
        for index, text in zip(examples.tolist(), texts, strict=True)
    ]
    exact = np.array([pair.exact for pair in translated])
    first = "first " if len(translated) < shard.documents else ""
    summary = f"of the {first}{len(translated):,} {held_out.split} pairs, {int(exact.sum()):,} are exactly right"
    unique = held_out_texts.distinct(range(len(translated)), translated.__getitem__, len(translated))
    return [
        translated[unique[place]] for place in sorted(held_out_texts.wrong_and_right(exact[unique], MOST_PAIRS))
    ], summary


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
