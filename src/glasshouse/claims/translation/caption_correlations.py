"""Correlations of metrics with the known adequacy of edited captions: BLEU, chrF, exact entailment and a trained judge."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from random import Random

import numpy as np

from glasshouse.claims.translation import edited_captions
from glasshouse.claims.translation.edited_captions import ANY, CHANGES, CaptionTest, EditedCaption
from glasshouse.data.sources.scenes.entailment import LABELS
from glasshouse.inspection.entailment_metric import Judge
from glasshouse.metrics import adequacy_correlation, translation
from glasshouse.runs.run import Run

ENTAILMENT = LABELS.index("entailment")
CAPTIONS, TRANSLATORS = LEVELS = ("captions", "translators")
SURFACE = {"bleu": "BLEU", "chrf": "chrF"}
# The made-up translators: every error rate with every share of captions in any wording.
ERROR_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
ANY_WORDING_SHARES = (0.0, 0.5, 1.0)

Scores = Mapping[EditedCaption, float]
ScoreAll = Callable[[Sequence[EditedCaption]], float]


def score_surface(seed: int, references: int) -> dict[str, float]:
    """The correlations of BLEU, chrF and exact entailment with adequacy on the captions of a seed, and mean scores."""
    test = edited_captions.make_test(seed, references)
    scores: dict[EditedCaption, dict[str, float]] = {}
    for caption in all_captions(test):
        [bleu], [chrf] = translation.sentence_scores([caption.text], [caption.reference]).values()
        scores[caption] = {"bleu": bleu / 100, "chrf": chrf / 100, "rules": float(caption.follows)}

    def corpus(key: str) -> ScoreAll:
        def score(captions: Sequence[EditedCaption]) -> float:
            texts, expected = ([caption.text for caption in captions], [caption.reference for caption in captions])
            return translation.scores(texts, expected).get(key, 0.0)

        return score

    by_key = {key: {caption: row[key] for caption, row in scores.items()} for key in (*SURFACE, "rules")}
    translators = {"bleu": corpus("bleu"), "chrf": corpus("chrf"), "rules": mean_of(by_key["rules"])}
    adequacy = {caption: caption.adequacy for caption in scores}
    return {
        key: value
        for name, table in by_key.items()
        for key, value in correlations(test, seed, name, table, translators[name]).items()
    } | mean_scores(test, {"adequacy": adequacy, **by_key})


def score_judge(run: Run, references: int, everything: bool) -> dict[str, float]:
    """The correlations of a judge's entailment with adequacy on the captions of its seed.

    With `everything`, also those of entailment in both directions, a control, and what the judge says of faulty captions.
    """
    seed, judge = run.spec.training.seed, Judge(run)
    test = edited_captions.make_test(seed, references)
    forward = _probabilities(judge, all_captions(test))
    entailment = {caption: row[ENTAILMENT] for caption, row in forward.items()}
    judged = {caption: float(row.argmax() == ENTAILMENT) for caption, row in forward.items()}
    measured = correlations(test, seed, "entailment", entailment, mean_of(judged))
    if not everything:
        return measured
    reverse = _probabilities(judge, all_captions(test), reverse=True)
    both = {caption: min(probability, reverse[caption][ENTAILMENT]) for caption, probability in entailment.items()}
    judged_both = {caption: judged[caption] * (reverse[caption].argmax() == ENTAILMENT) for caption in judged}
    captions = [caption for changes in CHANGES for caption in test.edited[ANY][changes]]
    others = [
        EditedCaption(other.reference, caption.text, caption.adequacy, caption.follows, caption.follows_both)
        for changes in CHANGES
        for caption, other in zip(test.edited[ANY][changes], _turned(test.edited[ANY][changes]), strict=True)
    ]
    by_other = _probabilities(judge, others)
    return {
        **measured,
        **correlations(test, seed, "both", both, mean_of(judged_both)),
        **mean_scores(test, {"entailment": judged}),
        "other-reference": spearman([by_other[other][ENTAILMENT] for other in others], [one.adequacy for one in captions]),
        "paraphrase": mean_of(judged)(test.edited[ANY][0]),
        "omission": mean_of(judged)(test.omissions),
        "omission-both": mean_of(judged_both)(test.omissions),
        "shuffled": mean_of(judged)(test.shuffled),
    }


def correlations(
    test: CaptionTest,
    seed: int,
    name: str,
    scores: Scores,
    score_all: ScoreAll,
) -> dict[str, float]:
    """Setting and name -> the correlation with adequacy, over single captions and over whole translators."""
    measured = {}
    for wording in edited_captions.WORDINGS:
        captions = [caption for changes in CHANGES for caption in test.edited[wording][changes]]
        adequacies = [caption.adequacy for caption in captions]
        measured[f"{CAPTIONS}/{wording}/{name}"] = spearman([scores[caption] for caption in captions], adequacies)
        generator = Random(f"translators {seed}")
        translators = [
            edited_captions.translate_badly(test, error_rate, share, generator)
            for error_rate in ERROR_RATES
            for share in (ANY_WORDING_SHARES if wording == ANY else (0.0,))
        ]
        means = [statistics.fmean(caption.adequacy for caption in translator) for translator in translators]
        measured[f"{TRANSLATORS}/{wording}/{name}"] = spearman(list(map(score_all, translators)), means)
    return measured


def mean_scores(test: CaptionTest, tables: Mapping[str, Scores]) -> dict[str, float]:
    """Name, wording and number of wrong facts -> the mean score of these captions."""
    return {
        f"mean/{name}/{wording}/{changes}": mean_of(scores)(captions)
        for name, scores in tables.items()
        for wording, by_changes in test.edited.items()
        for changes, captions in by_changes.items()
    }


def spearman(scores: Sequence[float], adequacies: Sequence[float]) -> float:
    """Spearman's correlation; 0 if the scores are all equal, because then they follow nothing."""
    estimates = adequacy_correlation.correlations({"score": np.array(scores)}, np.array(adequacies), draws=0)["score"]
    return estimates["spearman"].value if estimates else 0.0


def mean_of(scores: Scores) -> ScoreAll:
    """A score of several captions: the mean of their own scores."""
    return lambda captions: statistics.fmean(scores[caption] for caption in captions) if captions else 0.0


def all_captions(test: CaptionTest) -> list[EditedCaption]:
    """Every distinct caption of a test with its reference."""
    edited = [caption for by_changes in test.edited.values() for captions in by_changes.values() for caption in captions]
    return list(dict.fromkeys([*edited, *test.omissions, *test.shuffled]))


def _probabilities(
    judge: Judge, captions: Sequence[EditedCaption], reverse: bool = False
) -> dict[EditedCaption, np.ndarray]:
    references, texts = [caption.reference for caption in captions], [caption.text for caption in captions]
    rows = judge.probabilities(texts, references) if reverse else judge.probabilities(references, texts)
    return dict(zip(captions, rows, strict=True))


def _turned(captions: Sequence[EditedCaption]) -> list[EditedCaption]:
    """The captions in an order in which each stands in the place of its neighbour."""
    return [*captions[1:], *captions[:1]]
