"""What the words of a text contribute to its predicted class or number, by leaving them out one at a time.

Leave-one-out asks the model itself: how much less probable is the class, or how much smaller the number, without this word?
It needs no gradient, so it is the same for every kind of model. Of a pair, the words of both texts are left out. It looks at
one word at a time, so words that say the same thing can hide each other.

Whitespace stays as it is in the text, since to a model two spaces or a line break can be other tokens than one space.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from glasshouse.inspection import held_out_texts
from glasshouse.inspection.held_out_texts import HeldOutTexts
from glasshouse.records.progress_bar import bar
from glasshouse.results.report import ExplainedText, ExplainedWord, Section
from glasshouse.runs.run import Run

# Texts of so many words are explained: fewer leave nothing to explain, more are long to read.
FEWEST_WORDS, MOST_WORDS = 4, 40
# Texts that are predicted to choose from, and texts on the page of either kind: right and wrong.
CANDIDATES = 60
OF_EACH_KIND = 2


@dataclass(frozen=True)
class TrueText:
    """A text or a pair with what is true of it: its class, its classes, or its number."""

    text: str
    second: str | None
    classes: tuple[str, ...] = ()
    number: float | None = None


def collect(run: Run) -> Section:
    """Some right and some wrong predictions on held-out texts, explained; empty without held-out texts."""
    held_out = held_out_texts.find(run)
    if not isinstance(held_out, HeldOutTexts):
        return Section()
    candidates = list(islice(dict.fromkeys(_short_texts(run, held_out)), CANDIDATES))
    if not candidates:
        reason = f"no held-out text has {FEWEST_WORDS} to {MOST_WORDS} words"
        return Section(notes=(f"no contributions of words: {reason}",))
    second = [candidate.second or "" for candidate in candidates] if run.reads_pairs else None
    with bar("leaving out words") as show:
        predictions = run.predict([candidate.text for candidate in candidates], second)
        chosen = _choose(list(zip(candidates, predictions, strict=True)))
        explained = []
        for place, candidate in enumerate(chosen):
            show((1 + place) / (1 + len(chosen)))
            explained.append(explain(run, candidate))
    return Section(explained=tuple(explained))


def _short_texts(run: Run, held_out: HeldOutTexts) -> Iterator[TrueText]:
    for example in held_out.examples:
        document = held_out.documents[example]
        second = document.fields["second"] if run.reads_pairs else None
        if FEWEST_WORDS <= len(document.text.split()) + len((second or "").split()) <= MOST_WORDS:
            answer = run.whole_text_task.answer(held_out.shard, example)
            classes, number = ((), answer) if isinstance(answer, float) else (answer, None)
            yield TrueText(document.text, second, classes, number)


def _choose(predicted: list[tuple[TrueText, dict[str, Any]]]) -> list[TrueText]:
    """The most confident right and wrong predictions; of numbers, those with the smallest and the largest errors."""
    if "value" in predicted[0][1]:
        by_error = sorted(predicted, key=lambda pair: abs(pair[1]["value"] - (pair[0].number or 0.0)))
        count = min(OF_EACH_KIND, len(by_error) // 2 or 1)
        best, worst = by_error[:count], by_error[len(by_error) - count :][::-1]
        return list(dict.fromkeys(candidate for candidate, _ in [*best, *worst]))
    # A run with several classes a text may predict none. Such a text has no prediction to explain.
    answered = [pair for pair in predicted if pair[1].get("labels") != []] or predicted
    kinds: dict[bool, list[TrueText]] = {True: [], False: []}
    for candidate, prediction in sorted(answered, key=lambda pair: -_answer(pair[1])[1]):
        kinds[_answer(prediction)[0] in candidate.classes].append(candidate)
    return [*kinds[True][:OF_EACH_KIND], *kinds[False][:OF_EACH_KIND]]


def explain(run: Run, true: TrueText) -> ExplainedText:
    """Each word of a text or a pair, with the probability of the most probable class, or the number, minus what it is
    without the word."""
    first, second = true.text, true.second or ""
    pairs = [(first, second)]
    pairs += [(text, second) for text in without_each_word(first)]
    pairs += [(first, text) for text in without_each_word(second)]
    texts, others = map(list, zip(*pairs, strict=True))
    whole, *without = run.predict(texts, others if run.reads_pairs else None)
    answer, size = ("", whole["value"]) if "value" in whole else _answer(whole)
    values = [other["value"] if "value" in other else other["probabilities"][answer] for other in without]
    names = [*first.split(), *second.split()]
    words = tuple(ExplainedWord(word, size - value) for word, value in zip(names, values, strict=True))
    count = len(first.split())
    return ExplainedText(
        words=words[:count],
        second=words[count:],
        truth=f"{true.number:.4g}" if true.number is not None else ", ".join(true.classes),
        answer=answer or f"{size:.4g}",
        probability=size if answer else None,
        right=answer in true.classes if answer else None,
        deviation=run.whole_text_task.deviation,
        text=first,
    )


def without_each_word(text: str) -> list[str]:
    """The text without each of its words in turn, and without the whitespace after it; the rest is as it was.

    With the last word, the whitespace before it goes.
    """
    spans = [match.span() for match in re.finditer(r"\S+\s*", text)]
    texts = [text[:start] + text[end:] for start, end in spans]
    if spans:
        texts[-1] = text[: spans[-1][0]].rstrip() + text[len(text.rstrip()) :]
    return texts


def _answer(prediction: dict[str, Any]) -> tuple[str, float]:
    probabilities: dict[str, float] = prediction["probabilities"]
    answer = max(probabilities, key=probabilities.__getitem__)
    return answer, probabilities[answer]
