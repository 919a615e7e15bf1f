"""What the words of a text contribute to its predicted class or number, by leaving them out one at a time.

Leave-one-out asks the model itself: how much less probable is the class, or how much smaller the number, without this word?
It needs no gradient, so it is the same for every kind of model. Of a pair, the words of both texts are left out. It looks at
one word at a time, so words that say the same thing can hide each other.

Whitespace stays as it is in the text, since to a model two spaces or a line break can be other tokens than one space.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from glasshouse.inspection import held_out_texts
from glasshouse.inspection.held_out_texts import HeldOutTexts
from glasshouse.records.progress_bar import bar
from glasshouse.results.report import ExplainedText, ExplainedWord
from glasshouse.runs.run import Run

# Texts of so many words are explained: fewer leave nothing to explain, more are long to read.
FEWEST_WORDS, MOST_WORDS = 4, 40
# Texts that are predicted to choose from, and texts on the page of either kind: right and wrong.
CANDIDATES = 60
OF_EACH_KIND = 2


@dataclass(frozen=True)
class WordAttributions:
    """The explained texts for a report. If there are none, `notes` says why."""

    texts: tuple[ExplainedText, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrueText:
    """A text or a pair with what is true of it: its class, its classes, or its number."""

    text: str
    second: str | None
    classes: tuple[str, ...] = ()
    number: float | None = None


def collect(run: Run) -> WordAttributions | None:
    """Some right and some wrong predictions on held-out texts, explained; None without held-out texts."""
    held_out = held_out_texts.find(run)
    if held_out is None or isinstance(held_out, str):
        return None
    candidates: list[TrueText] = []
    for candidate in _short_texts(run, held_out):
        if len(candidates) == CANDIDATES:
            break
        candidates += [candidate] if candidate not in candidates else []
    if not candidates:
        reason = f"no held-out text has {FEWEST_WORDS} to {MOST_WORDS} words"
        return WordAttributions(notes=(f"no contributions of words: {reason}",))
    with bar("leaving out words") as show:
        return WordAttributions(tuple(_explain_some(run, candidates, show)))


def _short_texts(run: Run, held_out: HeldOutTexts) -> Iterator[TrueText]:
    for example in held_out.examples:
        document = held_out.documents[example]
        first, second = document.text.split(), document.fields["second"].split() if run.reads_pairs else []
        if not FEWEST_WORDS <= len(first) + len(second) <= MOST_WORDS:
            continue
        texts = document.text, document.fields["second"] if run.reads_pairs else None
        answer = run.whole_text_task.answer(held_out.shard, example)
        yield TrueText(*texts, number=answer) if isinstance(answer, float) else TrueText(*texts, classes=answer)


def _explain_some(run: Run, candidates: Sequence[TrueText], show: Callable[[float], None]) -> list[ExplainedText]:
    second = [candidate.second or "" for candidate in candidates] if run.reads_pairs else None
    predictions = run.predict([candidate.text for candidate in candidates], second)
    chosen = _choose(list(zip(candidates, predictions, strict=True)))
    explained = []
    for place, candidate in enumerate(chosen):
        show((1 + place) / (1 + len(chosen)))
        explained.append(explain(run, candidate))
    return explained


def _choose(predicted: list[tuple[TrueText, dict[str, Any]]]) -> list[TrueText]:
    """The most confident right and wrong predictions; of numbers, those with the smallest and the largest errors."""
    if "value" in predicted[0][1]:
        by_error = sorted(predicted, key=lambda pair: abs(pair[1]["value"] - (pair[0].number or 0.0)))
        count = min(OF_EACH_KIND, len(by_error) // 2 or 1)
        best, worst = by_error[:count], by_error[len(by_error) - count :][::-1]
        return list(dict.fromkeys(candidate for candidate, _ in [*best, *worst]))
    by_confidence = sorted(predicted, key=lambda pair: -_answer(pair[1])[1])
    # A run with several classes a text may predict none. Such a text has no prediction to explain.
    by_confidence = [pair for pair in by_confidence if pair[1].get("labels") != []] or by_confidence
    right = [candidate for candidate, prediction in by_confidence if _answer(prediction)[0] in candidate.classes]
    wrong = [candidate for candidate, prediction in by_confidence if _answer(prediction)[0] not in candidate.classes]
    return [*right[:OF_EACH_KIND], *wrong[:OF_EACH_KIND]]


def explain(run: Run, true: TrueText) -> ExplainedText:
    """Each word of a text or a pair, with the probability of the most probable class, or the number, minus what it is
    without the word."""
    first, second = true.text.split(), (true.second or "").split()
    pairs = [(true.text, true.second or "")]
    pairs += [(text, true.second or "") for text in without_each_word(true.text)]
    pairs += [(true.text, text) for text in without_each_word(true.second or "")]
    texts, others = map(list, zip(*pairs, strict=True))
    whole, *without = run.predict(texts, others if run.reads_pairs else None)
    answer, size = ("", whole["value"]) if "value" in whole else _answer(whole)
    values = [other["value"] if "value" in other else other["probabilities"][answer] for other in without]
    words = [ExplainedWord(word, size - value) for word, value in zip([*first, *second], values, strict=True)]
    return ExplainedText(
        words=tuple(words[: len(first)]),
        second=tuple(words[len(first) :]),
        truth=f"{true.number:.4g}" if true.number is not None else ", ".join(true.classes),
        answer=answer or f"{size:.4g}",
        probability=size if answer else None,
        right=answer in true.classes if answer else None,
        deviation=run.whole_text_task.deviation,
        text=true.text,
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
    """The most probable class and its probability."""
    probabilities: dict[str, float] = prediction["probabilities"]
    answer = max(probabilities, key=probabilities.__getitem__)
    return answer, probabilities[answer]
