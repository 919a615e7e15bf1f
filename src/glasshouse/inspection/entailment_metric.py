"""The inference metric: does a translation follow from its reference, and the reference from it? A second run is the judge.

A judge is any classifier of pairs (premise, line break, hypothesis) whose classes are entailment, neutral and contradiction.
For runs on scenes the meaning of every text is known, and so is how well this metric follows it, beside BLEU and chrF.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document, Source
from glasshouse.data.sources.scenes import entailment_rules
from glasshouse.inspection import scene_outputs
from glasshouse.metrics import adequacy_correlation, translation
from glasshouse.metrics.metric import BLEU, CHRF, EXACT, EXAMPLES, Metric, Metrics
from glasshouse.records.progress_bar import say
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.classify import Classify
from glasshouse.tasks.translate import Translate

METRIC = "entailment"
METRICS = Metrics(
    [
        BLEU,
        CHRF,
        EXACT,
        Metric("entailment", "entailed", "{:.2%}", "higher"),
        Metric("entailment_both", "entailed both ways", "{:.2%}", "higher"),
        Metric("adequacy", "meaning kept", "{:.2%}", "higher"),
        EXAMPLES,
    ]
)
LABELS = entailment_rules.LABELS
ENTAILS = LABELS.index("entailment")
TRAIN_ONE = "train one with: glasshouse train scene-entailment"
# How many of its own pairs are looked at to see how a judge's sentences are written.
LOOKED_AT = 5000
# Beyond this share of unknown words a judge's verdicts are guesses, which a person should be told.
UNKNOWN = 0.1

Progress = Callable[[float], None]


class Judge:
    """A run that says whether a second text follows from a first."""

    def __init__(self, run: Run) -> None:
        task, labels = run.task, getattr(run.task, "labels", ())
        if not isinstance(task, Classify) or set(labels) != set(LABELS):
            told = f"tells {', '.join(labels)} apart" if labels else f"has the task {run.spec.task!r}"
            raise GlasshouseError(
                "not-a-judge", f"a judge tells {', '.join(LABELS)} apart, but {run.name} {told}; {TRAIN_ONE}"
            )
        self.run = run
        pairs = _pairs_of(run)
        sentences = [sentence for pair in pairs for sentence in pair.split("\n")]
        self.words = {word for sentence in sentences for word in _words(sentence)}
        # Captions that were learned with a full stop are judged with one.
        self.stop = "." if sentences and all(sentence.endswith(".") for sentence in sentences) else ""

    def probabilities(self, premises: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
        """(pairs, 3): the probability of each of the labels."""
        asked = [
            f"{self._closed(premise)}\n{self._closed(hypothesis)}"
            for premise, hypothesis in zip(premises, hypotheses, strict=True)
        ]
        # Each pair once, those of similar lengths together, so that little is padding.
        once = sorted(set(asked), key=lambda pair: (len(pair), pair))
        known = dict(zip(once, self.run.classify(once, batch=128), strict=True))
        return np.array([[known[pair][label] for label in LABELS] for pair in asked]).reshape(-1, len(LABELS))

    def unknown(self, texts: Sequence[str]) -> float:
        """The share of words that no pair had that it learned from; 0 where those are not known."""
        words = [word for text in texts for word in _words(text)]
        return sum(word not in self.words for word in words) / len(words) if words and self.words else 0.0

    def _closed(self, text: str) -> str:
        line = " ".join(text.split())
        return line if not self.stop or line.endswith((".", "!", "?")) else line + self.stop


def check(metric: str | None, judge: str | PathLike[str] | None) -> None:
    """Whether a metric can be asked for with this judge, or without one."""
    if metric not in (None, METRIC):
        raise GlasshouseError(
            "unknown-metric", f"metric={metric!r} is not known; choose {METRIC}, or leave it out for those of the run's task"
        )
    if metric is None and judge is not None:
        raise GlasshouseError(
            "judge-without-metric", f"judge={str(judge)!r} is asked for by the metric {METRIC} alone; add --metric {METRIC}"
        )
    if metric is not None and judge is None:
        raise GlasshouseError(
            "metric-without-judge", f"the metric {METRIC} needs a judge (--judge RUN): a run that infers; {TRAIN_ONE}"
        )


def measure(
    run: Run,
    judge: Run,
    data: str | PathLike[str] | None = None,
    examples: int = 500,
    progress: Progress = lambda share: None,
) -> dict[str, dict[str, float]]:
    """By split, or of a file of pairs: BLEU and chrF of a run's translations, and the shares that the judge finds entailed.

    `entailment` is the share of outputs that follow from their reference, `entailment_both` of those where the reference
    follows from the output too. Of runs on scenes there is more: the mean `adequacy` of the outputs; and over outputs of
    varied quality (see `varied`), how each metric's score of a single output goes with its known adequacy (see
    `agreement`), as `pearson.METRIC.KIND`, `spearman.METRIC.KIND` and `area.METRIC.KIND` with their intervals (`.low`,
    `.high`), and how often the judge itself is right (`judge.KIND`).
    """
    if not isinstance(run.task, Translate):
        raise GlasshouseError(
            "not-a-translator",
            f"the metric entailment is of translations, but {run.name} has the task {run.spec.task!r}; give a run that "
            "translates, for example of: glasshouse train scene-translator",
        )
    if examples < 1:
        raise GlasshouseError("bad-option", f"examples={examples} is not possible; choose 1 or more")
    asked, texts = Judge(judge), _held_out(run, data, examples)
    known = data is None and run.spec.data.source in scene_outputs.LANGUAGES
    found, parts = {}, len(texts) * (1 + known)
    for number, (name, pairs) in enumerate(texts.items()):
        done = number * (1 + known)
        sources, references = [pair.text for pair in pairs], [pair.fields["target"] for pair in pairs]
        written = run.translate(sources, progress=lambda share, done=done: progress((done + share) / parts))  # type: ignore[misc]
        outputs = [best[0].text if best else "" for best in written]
        found[name] = _judged(asked, outputs, references)
        if known:
            collected = scene_outputs.collect(
                run,
                sources,
                references,
                lambda share, done=done: progress((done + 1 + share) / parts),  # type: ignore[misc]
            )
            found[name] |= {
                "adequacy": scene_outputs.mean_adequacy(outputs, references),
                **_followed(asked, collected, references),
            }
    if (share := max(each["unknown_share"] for each in found.values())) > UNKNOWN:
        say(f"{share:.0%} of the words of the references are in no pair that {judge.name} learned from: it guesses there")
    return found


def _judged(judge: Judge, outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    forward, back = judge.probabilities(references, outputs), judge.probabilities(outputs, references)
    follows, both = forward.argmax(1) == ENTAILS, (forward.argmax(1) == ENTAILS) & (back.argmax(1) == ENTAILS)
    shares = {"entailment": float(follows.mean()), "entailment_both": float(both.mean())}
    return {**translation.scores(outputs, references), **shares, "unknown_share": judge.unknown(references)}


def _followed(judge: Judge, outputs: Sequence[scene_outputs.Output], references: Sequence[str]) -> dict[str, float]:
    """How each metric's scores of single outputs go with their adequacy, over all of them and over each kind."""
    texts, wanted = [each.text for each in outputs], [references[each.source] for each in outputs]
    forward, back = judge.probabilities(wanted, texts), judge.probabilities(texts, wanted)
    scores = {"entailment": forward[:, ENTAILS], "entailment_both": np.minimum(forward[:, ENTAILS], back[:, ENTAILS])}
    scores |= {name: np.array(values) for name, values in translation.sentence_scores(texts, wanted).items()}
    truth, kinds = np.array([each.adequacy for each in outputs]), np.array([each.kind for each in outputs])
    sources = np.array([each.source for each in outputs])
    labels = np.array([[LABELS.index(each.label), LABELS.index(each.back)] for each in outputs]).reshape(-1, 2)
    right = np.stack([forward.argmax(1), back.argmax(1)], axis=1) == labels
    found: dict[str, float] = {}
    for kind in ("all", *scene_outputs.KINDS):
        chosen = np.full(len(outputs), True) if kind == "all" else kinds == kind
        if not chosen.any():
            continue
        found |= {f"outputs.{kind}": float(chosen.sum()), f"judge.{kind}": float(right[chosen].mean())}
        of_kind = {name: values[chosen] for name, values in scores.items()}
        for name, statistics in adequacy_correlation.agreement(of_kind, truth[chosen], sources[chosen]).items():
            for statistic, each in statistics.items():
                key = f"{statistic}.{name}.{kind}"
                found |= {key: each.value, f"{key}.low": each.low, f"{key}.high": each.high}
    return found


def _held_out(run: Run, data: str | PathLike[str] | None, examples: int) -> dict[str, list[Document]]:
    """So many pairs of each held-out split, or of a file, at random and in their own order."""
    spec = run.spec.data
    if data is not None:
        spec = replace(spec, files=(str(data),), source="", validation=0.0, test=0.0)
    if not spec.source and not spec.files:
        raise DataError(
            "no-data", f"{run.name} was imported and has no text of its own; give a file of pairs with --data FILE"
        )
    source = prepared_data.source_of(spec, run.task.columns)
    names = {str(data): "train"} if data is not None else {split: split for split in source.splits if split != "train"}
    found = {name: _some(source, split, examples) for name, split in names.items()}
    if not any(found.values()):
        raise DataError("no-rows", f"{data or run.name} has no pairs to translate; give a file of pairs with --data FILE")
    return {name: pairs for name, pairs in found.items() if pairs}


def _some(source: Source, split: str, examples: int) -> list[Document]:
    pairs = list(source.documents(split))
    if len(pairs) <= examples:
        return pairs
    return [pairs[index] for index in np.sort(np.random.default_rng(0).choice(len(pairs), examples, replace=False))]


def _pairs_of(judge: Run) -> list[str]:
    """Some of the pairs that a judge learned from, as its tokenizer gives them back; none of an imported one."""
    if not judge.spec.data.source and not judge.spec.data.files:
        return []
    learned = prepared_data.prepare(judge.spec.data, judge.tokenizer, columns=judge.task.columns).splits["train"]
    return [judge.tokenizer.decode(learned.document(index).tolist()) for index in range(min(learned.documents, LOOKED_AT))]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
