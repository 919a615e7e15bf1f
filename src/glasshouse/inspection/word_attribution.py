"""What the words of a text contribute to its predicted class, by leaving them out one at a time.

Leave-one-out asks the model itself: how much less probable is the class without this word? It needs no gradient, so it is
the same for every kind of classifier. It looks at one word at a time, so words that say the same thing can hide each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glasshouse.inspection import held_out_texts
from glasshouse.pages.report_content import ExplainedText, ExplainedWord
from glasshouse.records.progress_bar import bar
from glasshouse.runs.run import Run

# Texts of so many words are explained: fewer leave nothing to explain, more are long to read.
FEWEST_WORDS, MOST_WORDS = 4, 40
# Texts that are classified to choose from, and texts on the page of either kind: right and wrong.
CANDIDATES = 60
OF_EACH_KIND = 2


@dataclass(frozen=True)
class WordAttributions:
    """The explained texts for a report."""

    texts: tuple[ExplainedText, ...]
    notes: tuple[str, ...] = ()


def collect(run: Run) -> WordAttributions | None:
    """The most confident right and wrong predictions on held-out texts, explained; None without texts, or for pairs."""
    if run.reads_pairs:
        return None
    held_out = held_out_texts.find(run)
    if held_out is None or isinstance(held_out, str):
        return None
    documents = [
        (" ".join(words), document.fields["label"])
        for document in held_out.documents
        if FEWEST_WORDS <= len(words := document.text.split()) <= MOST_WORDS
    ]
    candidates = list(dict.fromkeys(documents))[:CANDIDATES]
    with bar("leaving out words") as show:
        return WordAttributions(tuple(_explain_some(run, candidates, show))) if candidates else None


def _explain_some(run: Run, candidates: Sequence[tuple[str, str]], show: Callable[[float], None]) -> list[ExplainedText]:
    answers = [_most_probable(found) for found in run.classify([text for text, _ in candidates])]
    by_confidence = sorted(zip(candidates, answers, strict=True), key=lambda pair: -pair[1][1])
    right = [pair for pair in by_confidence if pair[0][1] == pair[1][0]]
    wrong = [pair for pair in by_confidence if pair[0][1] != pair[1][0]]
    chosen = [*right[:OF_EACH_KIND], *wrong[:OF_EACH_KIND]]
    explained = []
    for place, ((text, truth), _) in enumerate(chosen):
        show((1 + place) / (1 + len(chosen)))
        explained.append(explain(run, text, truth))
    return explained


def explain(run: Run, text: str, truth: str = "") -> ExplainedText:
    """Each word of a text, with the probability of the predicted class minus what it is without the word."""
    words = text.split()
    without = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    whole, *others = run.classify([" ".join(words), *without])
    answer, probability = _most_probable(whole)
    scored = [ExplainedWord(word, probability - other[answer]) for word, other in zip(words, others, strict=True)]
    return ExplainedText(tuple(scored), truth, answer, probability)


def _most_probable(probabilities: dict[str, float]) -> tuple[str, float]:
    answer = max(probabilities, key=probabilities.__getitem__)
    return answer, probabilities[answer]
