"""Translations of varied quality with known adequacy, which show how well a translation metric measures adequacy.

A good translator of scenes makes few errors, so its best outputs cannot show whether a metric notices errors. Three kinds of
output are collected for each source:

- own: translations by the run: the best hypotheses of a beam search, and one sample at each of several temperatures;
- swapped: the reference with 0 to 3 of its facts changed (kind, count, colour, relation) and the same wording;
- reworded: the same changed meaning in a random wording, so that words differ even if the meaning is the same.

The grammar of the scenes makes the last two kinds, without the run. A text counts once per source and kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch

from glasshouse.data.sources.scenes import entailment, parser
from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.sampling_options import Sampling
from glasshouse.records.progress_bar import part
from glasshouse.runs.run import Run
from glasshouse.tasks.base import Progress, no_progress
from glasshouse.tasks.translate import Translate

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


def collect(run: Run, sources: Sequence[str], references: Sequence[str], progress: Progress = no_progress) -> list[Output]:
    """Every output for every source."""
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
