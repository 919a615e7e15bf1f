"""Metrics of written texts: BLEU and chrF by sacrebleu, and exact matches. sacrebleu is imported on first use."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.metrics import metric
from glasshouse.metrics.metric import Metric, Metrics

# BLEU counts word n-grams up to this length.
BLEU_WORDS = 4


@dataclass(frozen=True)
class WrittenTexts:
    """Texts that a model has written, and their references. Without `outputs`, none were written."""

    outputs: Sequence[str] | None
    references: Sequence[str]

    @property
    def exact(self) -> np.ndarray:
        """Whether each text equals its reference."""
        pairs = zip(self.outputs or (), self.references, strict=True)
        return np.array([output == reference for output, reference in pairs], float)


def corpus_bleu(texts: WrittenTexts) -> float | None:
    """None if no reference is long enough for the longest n-grams, as in a list of single words."""
    if texts.outputs is None or not any(len(reference.split()) >= BLEU_WORDS for reference in texts.references):
        return None
    from sacrebleu.metrics import BLEU

    return BLEU().corpus_score(texts.outputs, [texts.references]).score


def corpus_chrf(texts: WrittenTexts) -> float | None:
    if texts.outputs is None:
        return None
    from sacrebleu.metrics import CHRF

    return CHRF().corpus_score(texts.outputs, [texts.references]).score


BLEU = Metric("bleu", "BLEU", "{:.2f}", "higher", most=100.0).of(corpus_bleu)
CHRF = Metric("chrf", "chrF", "{:.2f}", "higher", most=100.0).of(corpus_chrf)
EXACT = metric.EXACT.of(lambda texts: None if texts.outputs is None else texts.exact.mean(), lambda texts: texts.exact)
TRANSLATED = metric.count("translated", "texts translated").of(
    lambda texts: None if texts.outputs is None else len(texts.outputs)
)


def scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Every metric of these texts: BLEU and chrF (0 to 100), the share of exact matches, and the number of texts."""
    return Metrics([BLEU, CHRF, EXACT, TRANSLATED]).measure(WrittenTexts(outputs, references))


def signatures() -> dict[str, str]:
    """The sacrebleu signature of each metric, which records how it was computed."""
    from sacrebleu.metrics import BLEU, CHRF

    texts = {}
    for name, measure in (("bleu", BLEU()), ("chrf", CHRF())):
        measure.corpus_score(["a"], [["a"]])
        texts[name] = str(measure.get_signature())
    return texts


def sentence_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """BLEU and chrF (0 to 100) of each output. Sentence BLEU ignores n-gram lengths that a short output does not have."""
    from sacrebleu.metrics import BLEU, CHRF

    bleu, chrf = BLEU(effective_order=True), CHRF()
    pairs = list(zip(outputs, references, strict=True))
    return {
        "bleu": [bleu.sentence_score(output, [reference]).score for output, reference in pairs],
        "chrf": [chrf.sentence_score(output, [reference]).score for output, reference in pairs],
    }
