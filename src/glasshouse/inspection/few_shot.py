"""Few-shot classification: a language model reads labelled examples in its context and scores each label as a continuation.

Nothing is trained. All texts of a round have the same examples in their prompts, so rounds differ only in the examples. With
fewer shots, the examples are the first of those with more shots.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor

from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.records.progress_bar import part
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.base import Progress, no_progress

TEMPLATE = "Text: {text}\nLabel: {label}\n\n"
# The level of the two-sided confidence intervals.
LEVEL = 0.95
BATCH = 16


@dataclass(frozen=True)
class Shots:
    """Accuracy with one number of examples in the context: of each draw, their mean, and its confidence interval.

    cut: how many of the `prompts` were truncated to the context. A truncated prompt loses its earliest examples and, if that
        is not enough, the beginning of the text.
    shown: the mean number of complete examples in a prompt.
    """

    shots: int
    accuracies: tuple[float, ...]
    mean: float
    low: float
    high: float
    prompts: int
    cut: int
    shown: float


@dataclass(frozen=True)
class FewShot:
    """Accuracy for each number of shots. `majority` is the accuracy of always predicting the most frequent class."""

    labels: tuple[str, ...]
    texts: int
    split: str
    majority: float
    calibrated: bool
    by_shots: tuple[Shots, ...]


class Template:
    """The format of an example. A query is an example up to its label; a space before the label belongs to the label.

    Byte-pair tokens start with a space. So the tokens of "Label: yes" are those of "Label:" and " yes", but not those of
    "Label: " and "yes".
    """

    def __init__(self, template: str) -> None:
        parts = re.split(r"\{(text|label)\}", template)
        if parts[1::2] != ["text", "label"]:
            raise GlasshouseError(f"the template {template!r} must contain {{text}} once and then {{label}} once; change it")
        self.before, self.between, self.after = parts[::2]

    def example(self, text: str, label: str) -> str:
        return f"{self.before}{text}{self.between}{label}{self.after}"

    def query(self, text: str) -> str:
        return f"{self.before}{text}{self.between}".rstrip(" ")

    def answer(self, label: str) -> str:
        return self.between[len(self.between.rstrip(" ")) :] + label


def measure(
    run: Run,
    splits: Mapping[str, LabelledTexts],
    shots: Sequence[int] = (0, 1, 2, 4, 8),
    examples: int = 200,
    draws: int = 3,
    template: str = TEMPLATE,
    calibrate: bool = False,
    seed: int = 0,
    progress: Progress = no_progress,
) -> FewShot:
    """Accuracy on held-out texts for each number of shots, over several random draws of examples.

    `calibrate` divides the probability of a label by its probability after an empty text (Zhao et al., Calibrate Before Use,
    2021). This removes the advantage of frequent and short labels.
    """
    example_template, train = Template(template), splits["train"]
    split = "test" if len(splits["test"]) else "validation"
    queries = splits[split].sample(examples, seed)
    if not len(queries):
        raise DataError("no rows are held out for evaluation; add rows")
    if not shots or min(shots) < 0 or max(shots) > len(train) or draws < 1:
        numbers = ", ".join(map(str, shots))
        raise GlasshouseError(
            f"and draws={draws} are not possible; choose shots from 0 to {len(train)}, and 1 draw or more", "shots", numbers
        )
    if not run.continues_text:
        raise GlasshouseError(
            f"{run.name} has task={run.spec.task!r} and does not continue a text; choose a run with task='next-token'"
        )
    labels = tuple(sorted({*train.labels, *queries.labels}))
    truth = np.array([labels.index(label) for label in queries.labels])
    label_tokens = _tokenize_labels(run, example_template, labels)
    writer = _PromptWriter(run, example_template, max(map(len, label_tokens)))
    orders = [np.random.default_rng([seed, draw]).permutation(len(train)) for draw in range(draws)]
    # Zero shots need one round only, because there are no examples to draw.
    rounds = [(count, draw) for count, draw in product(shots, range(draws)) if count or not draw]
    accuracies: dict[int, list[float]] = {count: [] for count in shots}
    prompts: dict[int, list[_Prompt]] = {count: [] for count in shots}
    for number, (count, draw) in enumerate(rounds):
        drawn = [example_template.example(train.texts[index], train.labels[index]) for index in orders[draw][:count]]
        round_prompts = [writer.write(drawn, text) for text in queries.texts]
        scores = _score_labels(run, round_prompts, label_tokens, part(progress, number, len(rounds)))
        if calibrate:
            scores -= _score_labels(run, [writer.write(drawn, "")], label_tokens)
        accuracies[count].append(float((scores.argmax(1) == truth).mean()))
        prompts[count] += round_prompts
    majority = max(Counter(queries.labels).values()) / len(queries)
    by_shots = tuple(_summarise(count, accuracies[count], prompts[count]) for count in accuracies)
    return FewShot(labels, len(queries), split, majority, calibrate, by_shots)


@dataclass(frozen=True)
class _Prompt:
    tokens: list[int]
    kept: int  # number of complete examples
    truncated: bool


class _PromptWriter:
    """Writes prompts that leave room for the longest label in the context."""

    def __init__(self, run: Run, template: Template, longest: int) -> None:
        self.tokenizer, self.template = run.tokenizer, template
        # In training, a document starts with this token.
        start = self.tokenizer.document_start
        self.prefix = self.tokenizer.prefix_and_suffix[0] or [token for token in [start] if token is not None]
        self.room = run.spec.data.context - len(self.prefix) - longest
        if self.room < 1:
            raise DataError(f"a label of {longest} tokens leaves no room in the context {run.spec.data.context}; shorten it")

    def write(self, examples: Sequence[str], text: str) -> _Prompt:
        """The examples and the query. If they do not fit, the earliest examples are left out first."""
        query, *tokenized_examples = (
            self.tokenizer.encode(each, specials=False).tolist() for each in (self.template.query(text), *examples)
        )
        kept, room = 0, self.room - len(query)
        for example in reversed(tokenized_examples):
            room -= len(example)
            if room < 0:
                break
            kept += 1
        kept_tokens = [token for example in tokenized_examples[len(examples) - kept :] for token in example]
        truncated = kept < len(examples) or len(query) > self.room
        return _Prompt([*self.prefix, *(kept_tokens + query)[-self.room :]], kept, truncated)


def _tokenize_labels(run: Run, template: Template, labels: tuple[str, ...]) -> list[list[int]]:
    label_tokens = [run.tokenizer.encode(template.answer(label), specials=False).tolist() for label in labels]
    seen: dict[tuple[int, ...], str] = {}
    for label, tokens in zip(labels, label_tokens, strict=True):
        if other := seen.get(tuple(tokens)):
            raise DataError(f"the labels {other!r} and {label!r} have the same tokens in {run.name}; choose other labels")
        if not tokens:
            raise DataError(f"the label {label!r} has no tokens; choose another label")
        seen[tuple(tokens)] = label
    return label_tokens


@torch.inference_mode()
def _score_labels(
    run: Run, prompts: Sequence[_Prompt], label_tokens: list[list[int]], progress: Progress = no_progress
) -> np.ndarray:
    """The log-probability of each label (column) after each prompt (row), summed over the tokens of the label.

    Labels that differ only in their last token share a row of the batch: the prompt and the other tokens, the stem.
    """
    stems = list(dict.fromkeys(tuple(tokens[:-1]) for tokens in label_tokens))
    scores = np.zeros((len(prompts), len(label_tokens)))
    jobs = [(row, stem) for row in range(len(prompts)) for stem in stems]
    model = run.model
    for start in range(0, len(jobs), BATCH):
        batch = jobs[start : start + BATCH]
        sequences = [[*prompts[row].tokens, *stem] for row, stem in batch]
        longest = max(map(len, sequences))
        # Padding is at the end, where no earlier token attends to it.
        padded = [sequence + [0] * (longest - len(sequence)) for sequence in sequences]
        features = model.features(torch.tensor(padded, device=run.device))  # type: ignore[operator]
        for index, (row, stem) in enumerate(batch):
            first = len(prompts[row].tokens) - 1
            logits: Tensor = model.project(features[index, first : first + len(stem) + 1])  # type: ignore[operator]
            log_probabilities = logits.float().log_softmax(-1).cpu()
            for column, tokens in enumerate(label_tokens):
                if tuple(tokens[:-1]) == stem:
                    scores[row, column] = float(log_probabilities[range(len(tokens)), tokens].sum())
        progress(min(1.0, (start + BATCH) / len(jobs)))
    return scores


def _summarise(shots: int, accuracies: list[float], prompts: list[_Prompt]) -> Shots:
    """The mean and its confidence interval by Student's t over the draws. A single draw has an interval of width zero."""
    mean, half = float(np.mean(accuracies)), 0.0
    if len(accuracies) > 1:
        from scipy import stats

        half = float(stats.t.ppf((1 + LEVEL) / 2, len(accuracies) - 1) * stats.sem(accuracies))
    truncated, shown = sum(prompt.truncated for prompt in prompts), float(np.mean([prompt.kept for prompt in prompts]))
    interval = (max(mean - half, 0.0), min(mean + half, 1.0))
    return Shots(shots, tuple(accuracies), mean, *interval, len(prompts), truncated, shown)
