"""Translation metrics: BLEU and chrF by sacrebleu, and the share of exact matches. sacrebleu is imported on first use."""

from collections.abc import Sequence

# BLEU counts word n-grams up to this length.
BLEU_WORDS = 4


def scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Corpus BLEU and chrF (0 to 100), and the share of outputs that equal their reference.

    BLEU is left out if no reference is long enough for its longest n-grams, as in a list of single words.
    """
    from sacrebleu.metrics import BLEU, CHRF

    exact = sum(output == reference for output, reference in zip(outputs, references, strict=True)) / len(outputs)
    metrics = {
        "chrf": CHRF().corpus_score(outputs, [references]).score,
        "exact": exact,
        "translated": float(len(outputs)),
    }
    if any(len(reference.split()) >= BLEU_WORDS for reference in references):
        metrics["bleu"] = BLEU().corpus_score(outputs, [references]).score
    return metrics


def signatures() -> dict[str, str]:
    """The sacrebleu signature of each metric, which records how it was computed."""
    from sacrebleu.metrics import BLEU, CHRF

    texts = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        metric.corpus_score(["a"], [["a"]])
        texts[name] = str(metric.get_signature())
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
