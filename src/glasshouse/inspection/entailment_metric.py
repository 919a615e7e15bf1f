"""The entailment metric: does the reference entail the translation, and the reverse? A second run is the judge.

A judge is any classifier of pairs (premise, line break, hypothesis) with the classes entailment, neutral and contradiction.
For scenes the meaning of every text is known. The metric is then itself evaluated: its correlation with adequacy is compared
with those of BLEU and chrF.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from random import Random

import numpy as np
import torch

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document
from glasshouse.data.sources.scenes import entailment, parser
from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.sampling_options import Sampling
from glasshouse.metrics import adequacy_correlation, translation
from glasshouse.metrics.metric import EXACT, EXAMPLES, Metrics, share
from glasshouse.metrics.translation import BLEU, CHRF
from glasshouse.records.progress_bar import part, say
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.base import Progress, no_progress
from glasshouse.tasks.classify import Classify
from glasshouse.tasks.translate import Translate

METRIC = "entailment"
METRICS = Metrics(
    [
        BLEU,
        CHRF,
        EXACT,
        share("entailment", "entailed"),
        share("entailment_both", "entailed both ways"),
        share("adequacy", "meaning kept"),
        EXAMPLES,
    ]
)
LABELS = entailment.LABELS
ENTAILMENT = LABELS.index("entailment")
TRAIN_A_JUDGE = "train one with: glasshouse train scene-entailment"
# Training pairs of a judge that are read to learn its vocabulary and its punctuation.
VOCABULARY_PAIRS = 5000
# Above this share of unknown words the predictions of a judge are unreliable, and the user is warned.
MOST_UNKNOWN = 0.1
# The kinds of outputs that are collected for scenes.
KINDS = ("own", "swapped", "reworded")
# The data sources whose references have a known meaning, and the language of the references.
LANGUAGES = {"german-scenes": "english", "scenes-german": "german"}
BEAMS = 4
TEMPERATURES = (1.0, 1.5, 2.0)
# The number of changed facts cycles through 0, ..., CHANGES - 1.
CHANGES = 4
SEED = 0


@dataclass(frozen=True)
class Output:
    """A candidate translation.

    source: the number of the source text.
    labels: whether the reference entails the output, and the output the reference (entailment, neutral or contradiction).
    """

    source: int
    kind: str
    text: str
    adequacy: float
    labels: tuple[str, str]


class Judge:
    """A run that predicts whether one text entails another.

    words: the words of its training pairs; empty for an imported run.
    full_stop: "." if all its training sentences end with one, else empty. It is added to the texts to be judged.
    """

    def __init__(self, run: Run) -> None:
        task, labels = run.task, getattr(run.task, "labels", ())
        if not isinstance(task, Classify) or set(labels) != set(LABELS):
            actual = f"the classes {', '.join(labels)}" if labels else f"task={run.spec.task!r}"
            needed = f"a judge is a classifier with the classes {', '.join(LABELS)}"
            raise GlasshouseError(f"{needed}, but {run.name} has {actual}; {TRAIN_A_JUDGE}")
        self.run = run
        sentences = [sentence for pair in _training_pairs(run) for sentence in pair.split("\n")]
        self.words = {word for sentence in sentences for word in _words(sentence)}
        self.full_stop = "." if sentences and all(sentence.endswith(".") for sentence in sentences) else ""

    def probabilities(self, premises: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
        """(pairs, 3): the probability of each label."""
        pairs = [
            f"{self._punctuate(premise)}\n{self._punctuate(hypothesis)}"
            for premise, hypothesis in zip(premises, hypotheses, strict=True)
        ]
        # Each distinct pair is classified once. Pairs of similar length share a batch, which saves padding.
        distinct = sorted(set(pairs), key=lambda pair: (len(pair), pair))
        predictions = dict(zip(distinct, self.run.classify(distinct, batch=128), strict=True))
        return np.array([[predictions[pair][label] for label in LABELS] for pair in pairs]).reshape(-1, len(LABELS))

    def unknown_share(self, texts: Sequence[str]) -> float:
        """The share of words that do not occur in the judge's training pairs; 0 if those are not known."""
        words = [word for text in texts for word in _words(text)]
        return sum(word not in self.words for word in words) / len(words) if words and self.words else 0.0

    def _punctuate(self, text: str) -> str:
        line = " ".join(text.split())
        return line if not self.full_stop or line.endswith((".", "!", "?")) else line + self.full_stop


def check_options(metric: str | None, judge: str | PathLike[str] | None) -> None:
    """Raise an error if the metric is unknown, or if only one of metric and judge is given."""
    if metric not in (None, METRIC):
        raise GlasshouseError(
            f"is not known; choose {METRIC}, or leave it out for the metrics of the task", "metric", metric
        )
    if metric is None and judge is not None:
        raise GlasshouseError(f"needs the metric {METRIC}; add --metric {METRIC}", "judge", str(judge))
    if metric is not None and judge is None:
        raise GlasshouseError(f"the metric {METRIC} needs a judge; add --judge RUN, or {TRAIN_A_JUDGE}")


def measure(
    run: Run,
    judge: Run,
    data: str | PathLike[str] | None = None,
    examples: int = 500,
    progress: Progress = no_progress,
) -> dict[str, dict[str, float]]:
    """Translate each held-out split, or a file of pairs, and compute BLEU, chrF and the shares of entailed translations.

    `entailment` is the share of translations that their reference entails; `entailment_both` is the share for which the
    translation also entails the reference. For scenes there are more metrics: the mean `adequacy` of the translations, and,
    over outputs of varied quality (see `scene_outputs`), the correlation of each metric's sentence scores with adequacy (see
    `adequacy_correlation`), as `pearson.METRIC.KIND`, `spearman.METRIC.KIND` and `area.METRIC.KIND` with their confidence
    intervals (`.low`, `.high`), and the accuracy of the judge (`judge.KIND`).
    """
    if not isinstance(run.task, Translate):
        raise GlasshouseError(f"{run.name} does not translate (task={run.spec.task!r}); train scene-translator")
    if examples < 1:
        raise GlasshouseError("is below 1; choose 1 or more", "examples", examples)
    entailment_judge, pairs_by_split = Judge(judge), _held_out_pairs(run, data, examples)
    known_meanings = data is None and run.spec.data.source in LANGUAGES
    metrics: dict[str, dict[str, float]] = {}
    for number, (split, pairs) in enumerate(pairs_by_split.items()):
        of_split = part(progress, number, len(pairs_by_split))
        sources, references = [pair.text for pair in pairs], [pair.fields["target"] for pair in pairs]
        translations = run.translate(sources, progress=part(of_split, 0, 1 + known_meanings))
        outputs = [n_best[0].text if n_best else "" for n_best in translations]
        metrics[split] = _corpus_metrics(entailment_judge, outputs, references)
        if known_meanings:
            collected = scene_outputs(run, sources, references, part(of_split, 1, 2))
            metrics[split]["adequacy"] = mean_adequacy(outputs, references)
            metrics[split] |= _correlation_metrics(entailment_judge, collected, references)
    if (share := max(values["unknown_share"] for values in metrics.values())) > MOST_UNKNOWN:
        say(
            f"{share:.0%} of the words in the references are not in the training pairs of {judge.name}: it may be unreliable"
        )
    return metrics


def _corpus_metrics(judge: Judge, outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    forward, reverse = judge.probabilities(references, outputs), judge.probabilities(outputs, references)
    entailed = forward.argmax(1) == ENTAILMENT
    both = entailed & (reverse.argmax(1) == ENTAILMENT)
    shares = {"entailment": float(entailed.mean()), "entailment_both": float(both.mean())}
    return {**translation.scores(outputs, references), **shares, "unknown_share": judge.unknown_share(references)}


def _correlation_metrics(judge: Judge, outputs: Sequence[Output], references: Sequence[str]) -> dict[str, float]:
    """The correlation of each metric's sentence scores with adequacy, over all outputs and over each kind of output."""
    texts, output_references = [output.text for output in outputs], [references[output.source] for output in outputs]
    forward, reverse = judge.probabilities(output_references, texts), judge.probabilities(texts, output_references)
    scores = {
        "entailment": forward[:, ENTAILMENT],
        "entailment_both": np.minimum(forward[:, ENTAILMENT], reverse[:, ENTAILMENT]),
    }
    scores |= {name: np.array(values) for name, values in translation.sentence_scores(texts, output_references).items()}
    adequacy, kinds = np.array([output.adequacy for output in outputs]), np.array([output.kind for output in outputs])
    sources = np.array([output.source for output in outputs])
    labels = np.array([[LABELS.index(label) for label in output.labels] for output in outputs]).reshape(-1, 2)
    correct = np.stack([forward.argmax(1), reverse.argmax(1)], axis=1) == labels
    metrics: dict[str, float] = {}
    for kind in ("all", *KINDS):
        selected = np.full(len(outputs), True) if kind == "all" else kinds == kind
        if not selected.any():
            continue
        metrics |= {f"outputs.{kind}": float(selected.sum()), f"judge.{kind}": float(correct[selected].mean())}
        kind_scores = {name: values[selected] for name, values in scores.items()}
        correlations = adequacy_correlation.correlations(kind_scores, adequacy[selected], sources[selected])
        for name, statistics in correlations.items():
            for statistic, estimate in statistics.items():
                key = f"{statistic}.{name}.{kind}"
                metrics |= {key: estimate.value, f"{key}.low": estimate.low, f"{key}.high": estimate.high}
    return metrics


def _held_out_pairs(run: Run, data: str | PathLike[str] | None, examples: int) -> dict[str, list[Document]]:
    """Up to `examples` random pairs of each held-out split, or of a file, in their original order."""
    spec = run.spec.data
    if data is not None:
        spec = replace(spec, files=(str(data),), source="", validation=0.0, test=0.0)
    if not spec.source and not spec.files:
        raise DataError(f"{run.name} was imported without data; pass a file of pairs with --data FILE")
    source = prepared_data.find_source(spec, run.task.columns)
    splits = {str(data): "train"} if data is not None else {split: split for split in source.splits if split != "train"}
    sampled = {}
    for name, split in splits.items():
        if pairs := list(source.documents(split)):
            count = min(len(pairs), examples)
            chosen = np.sort(np.random.default_rng(0).choice(len(pairs), count, replace=False))
            sampled[name] = [pairs[index] for index in chosen]
    if not sampled:
        raise DataError(f"{data or run.name} has no pairs to translate; pass a file of pairs with --data FILE")
    return sampled


def _training_pairs(judge: Run) -> list[str]:
    """The first training pairs of a judge, decoded from its tokens; empty if the judge was imported without data."""
    if not judge.spec.data.source and not judge.spec.data.files:
        return []
    shard = prepared_data.prepare(judge.spec.data, judge.tokenizer, columns=judge.task.columns).splits["train"]
    pairs = shard.texts(np.arange(min(shard.documents, VOCABULARY_PAIRS)))
    return list(map(judge.tokenizer.decode, pairs))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def scene_outputs(
    run: Run, sources: Sequence[str], references: Sequence[str], progress: Progress = no_progress
) -> list[Output]:
    """Translations of varied quality with known adequacy, which show how well a translation metric measures adequacy.

    A good translator of scenes makes few errors, so its best outputs cannot show whether a metric notices errors. There are
    three kinds of output for each source, and a text counts once per source and kind:

    - own: translations by the run: the best hypotheses of a beam search, and one sample at each of several temperatures;
    - swapped: the reference with 0 to 3 of its facts changed (kind, count, colour, relation) and the same wording;
    - reworded: the same changed meaning in a random wording, so that words differ even if the meaning is the same.
    """
    candidates: list[tuple[int, str, str]] = []
    halves = part(progress, 0, 2), part(progress, 1, 2)
    translations = run.translate(sources, beams=BEAMS, n_best=BEAMS, word_by_word=False, progress=halves[0])
    candidates += [(source, "own", best.text) for source, n_best in enumerate(translations) for best in n_best]
    for number, temperature in enumerate(TEMPERATURES):
        texts = sample(run, sources, Sampling(temperature=temperature, seed=SEED))
        candidates += [(source, "own", text) for source, text in enumerate(texts)]
        halves[1]((number + 1) / len(TEMPERATURES))
    for source, reference in enumerate(references):
        generator = Random(f"{SEED} {source} {reference}")
        language = LANGUAGES[run.spec.data.source]
        altered = parser.altered_captions(reference, language, source % CHANGES, generator)
        candidates += [(source, kind, text) for kind, text in altered.items()]
    outputs = (_label_output(*candidate, references[candidate[0]]) for candidate in dict.fromkeys(candidates))
    return [output for output in outputs if output]


@torch.inference_mode()
def sample(run: Run, texts: Sequence[str], sampling: Sampling, batch: int = 32) -> list[str]:
    """A sampled translation of each text. It depends only on the seed, the text and its index, not on the batch."""
    task = run.task
    assert isinstance(task, Translate)
    sources = [run.tokenizer.encode(text, specials=False).tolist() for text in texts]
    translations: list[str] = []
    for start in range(0, len(sources), batch):
        chunk, model = sources[start : start + batch], run.model
        if not task.decoder_only:
            inputs = task.encoder_inputs(chunk)
            model = model.condition_on(inputs["source"].to(run.device), inputs["lengths"].to(run.device))  # type: ignore[operator]
        engine = GenerationEngine(model, task.context, run.tokenizer.vocabulary)
        rows = engine.add_all(task.decoder_prompts(chunk), sampling, range(start, start + len(chunk)))
        for _ in range(task.max_lengths[1]):
            for row, sampled in engine.step() if engine.rows else ():
                if sampled.token == task.end:
                    engine.remove(row)
        for row in rows:
            end = row.generated.index(task.end) if task.end in row.generated else None
            translations.append(run.tokenizer.decode(row.generated[:end]))
    return translations


def _label_output(source: int, kind: str, text: str, reference: str) -> Output | None:
    """An output with its adequacy and labels; None if the reference cannot be parsed."""
    reference_meaning = parser.parse(reference)
    if reference_meaning is None:
        return None
    meaning = parser.parse(text)
    # A text without a meaning is labelled neutral in both directions.
    labels = ("neutral", "neutral")
    if meaning is not None:
        labels = entailment.label_pair(reference_meaning, meaning), entailment.label_pair(meaning, reference_meaning)
    return Output(source, kind, text, parser.adequacy(reference_meaning, text), labels)


def mean_adequacy(outputs: Sequence[str], references: Sequence[str]) -> float:
    """The mean adequacy of outputs: the share of its reference's facts that each keeps. Ignores unparsable references."""
    meanings = [(output, parser.parse(reference)) for output, reference in zip(outputs, references, strict=True)]
    adequacies = [parser.adequacy(meaning, output) for output, meaning in meanings if meaning is not None]
    return sum(adequacies) / len(adequacies) if adequacies else 0.0
