"""How good translations are: BLEU and chrF as sacrebleu counts them, and the share that is exactly right."""

from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF

# The longest runs of words that BLEU counts.
BLEU_WORDS = 4


def scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """BLEU and chrF (0 to 100) of a whole text, and the share of outputs that equal their reference.

    BLEU counts runs of four words; where no reference has four, as in a list of single words, it is left out.
    """
    exact = sum(output == reference for output, reference in zip(outputs, references, strict=True)) / len(outputs)
    found = {
        "chrf": CHRF().corpus_score(outputs, [references]).score,
        "exact": exact,
        "translated": float(len(outputs)),
    }
    if any(len(reference.split()) >= BLEU_WORDS for reference in references):
        found["bleu"] = BLEU().corpus_score(outputs, [references]).score
    return found


def signatures() -> dict[str, str]:
    """How those were counted, in sacrebleu's words, for whoever wants to compare."""
    found = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        metric.corpus_score(["a"], [["a"]])
        found[name] = str(metric.get_signature())
    return found


def sentence_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """BLEU and chrF (0 to 100) of each output by itself; orders of n-grams that a short output has none of do not count."""
    bleu, chrf = BLEU(effective_order=True), CHRF()
    pairs = list(zip(outputs, references, strict=True))
    return {
        "bleu": [bleu.sentence_score(output, [reference]).score for output, reference in pairs],
        "chrf": [chrf.sentence_score(output, [reference]).score for output, reference in pairs],
    }
