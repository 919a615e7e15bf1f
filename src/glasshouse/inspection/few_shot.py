"""Few-shot classification: a language model is shown labelled examples in its context and scores each label as what follows.

Nothing is trained. One draw of examples serves every text of a round, so that rounds differ in their examples alone; the
examples of fewer shots are the first of those of more.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from glasshouse.inspection.labelled_texts import Labelled
from glasshouse.pages import figures
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError

TEMPLATE = "Text: {text}\nLabel: {label}\n\n"
# Two-sided 95 % intervals.
LEVEL = 0.95
ROWS_AT_ONCE = 16


@dataclass(frozen=True)
class Shots:
    """Accuracy with so many examples: of each draw, their mean and its interval.

    `cut` prompts of `prompts` were longer than the context: they lost their earliest examples, and where that was not enough
    the beginning of the text itself. `shown` is how many whole examples a prompt kept on average.
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
    """Accuracy against the number of shots, beside always giving the commonest class of the same texts."""

    labels: tuple[str, ...]
    texts: int
    split: str
    majority: float
    calibrated: bool
    by_shots: tuple[Shots, ...]


@dataclass(frozen=True)
class Template:
    """How an example is written. A query is an example up to its label; space before the label belongs to the label.

    Byte-pair tokens begin with a space, so "Label:" and " yes" are the tokens of "Label: yes", and "Label: " and "yes" not.
    """

    text: str

    def __post_init__(self) -> None:
        if self.text.count("{text}") != 1 or self.text.count("{label}") != 1:
            raise GlasshouseError("bad-template", f"the template {self.text!r} must have {{text}} once and {{label}} once")
        if self.text.index("{text}") > self.text.index("{label}"):
            raise GlasshouseError(
                "bad-template", f"the template {self.text!r} has {{label}} before {{text}}; what follows must be the label"
            )

    def example(self, text: str, label: str) -> str:
        before, rest = self.text.split("{text}")
        between, after = rest.split("{label}")
        return before + text + between + label + after

    def query(self, text: str) -> str:
        return self.example(text, "{label}").rsplit("{label}", 1)[0].rstrip(" ")

    def answer(self, label: str) -> str:
        before = self.text.split("{label}")[0]
        return before[len(before.rstrip(" ")) :] + label


def measure(
    run: Run,
    splits: Mapping[str, Labelled],
    shots: Sequence[int] = (0, 1, 2, 4, 8),
    examples: int = 200,
    draws: int = 3,
    template: str = TEMPLATE,
    calibrate: bool = False,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> FewShot:
    """Accuracy on some held-out texts for each number of shots, over several draws of examples.

    `calibrate` divides a label's probability by what it has with an empty text in its place (Zhao et al., Calibrate Before
    Use, 2021), so that a label is not chosen for being common or short.
    """
    form, pool = Template(template), splits["train"]
    split = "test" if len(splits["test"]) else "validation"
    asked = splits[split].sample(examples, seed)
    if not len(asked):
        raise DataError("nothing-held-out", "no rows are held out to ask about; give more of them")
    if not shots or min(shots) < 0 or max(shots) > len(pool) or draws < 1:
        given = ", ".join(map(str, shots))
        raise GlasshouseError(
            "bad-shots", f"shots={given} and draws={draws}; choose shots from 0 to {len(pool)}, and 1 draw or more"
        )
    if not run.continues_text:
        raise GlasshouseError(
            "not-a-language-model",
            f"{run.name} does not continue a text (task={run.spec.task!r}); give one of task='next-token'",
        )
    labels = tuple(sorted({*pool.labels, *asked.labels}))
    answers = _answers(run, form, labels)
    truth = np.array([labels.index(label) for label in asked.labels])
    prompter = _Prompter(run, form, max(map(len, answers)))
    orders = [np.random.default_rng([seed, draw]).permutation(len(pool)) for draw in range(draws)]
    # Without examples there is nothing to draw.
    rounds = [(count, draw) for count, draw in product(shots, range(draws)) if count or not draw]
    accuracies: dict[int, list[float]] = {count: [] for count in shots}
    prompts: dict[int, list[_Prompt]] = {count: [] for count in shots}
    for number, (count, draw) in enumerate(rounds):
        shown = [form.example(pool.texts[index], pool.labels[index]) for index in orders[draw][:count]]
        made = [prompter.prompt(shown, text) for text in asked.texts]
        scores = _scores(run, made, answers, lambda share, done=number: progress((done + share) / len(rounds)))  # type: ignore[misc]
        if calibrate:
            scores -= _scores(run, [prompter.prompt(shown, "")], answers)
        accuracies[count].append(float((scores.argmax(1) == truth).mean()))
        prompts[count] += made
    majority = max(Counter(asked.labels).values()) / len(asked)
    by_shots = tuple(_summary(count, accuracies[count], prompts[count]) for count in accuracies)
    return FewShot(labels, len(asked), split, majority, calibrate, by_shots)


def draw(found: FewShot, path: str | Path) -> None:
    """Accuracy against shots as a picture, SVG or PNG by suffix."""
    measured = {float(each.shots): (each.mean, each.low, each.high) for each in found.by_shots}
    figures.shares(measured, ("always the commonest", found.majority), path, "examples in the context", "accuracy")


@dataclass(frozen=True)
class _Prompt:
    tokens: list[int]
    kept: int  # whole examples
    cut: bool


class _Prompter:
    """Writes prompts that leave room for the longest label."""

    def __init__(self, run: Run, template: Template, longest: int) -> None:
        self.tokenizer, self.template = run.tokenizer, template
        # A document begins with this mark in training.
        beginning = self.tokenizer.beginning
        self.before = self.tokenizer.frame[0] or ([] if beginning is None else [beginning])
        self.room = run.spec.data.context - len(self.before) - longest
        if self.room < 1:
            raise DataError(
                "label-too-long",
                f"the longest label has {longest} tokens, which leaves no room in the context of {run.name} "
                f"({run.spec.data.context}); shorten the labels or choose a run with a longer context",
            )

    def prompt(self, shown: Sequence[str], text: str) -> _Prompt:
        """The examples and the query. Where they are too long, examples go first, the earliest before the others."""
        query = self._tokens(self.template.query(text))
        parts = [self._tokens(example) for example in shown]
        kept, room = 0, self.room - len(query)
        for part in reversed(parts):
            room -= len(part)
            if room < 0:
                break
            kept += 1
        chosen = [token for part in parts[len(parts) - kept :] for token in part]
        cut = kept < len(parts) or len(query) > self.room
        return _Prompt([*self.before, *(chosen + query)[-self.room :]], kept, cut)

    def _tokens(self, text: str) -> list[int]:
        return [int(token) for token in self.tokenizer.encode(text, specials=False)]


def _answers(run: Run, template: Template, labels: tuple[str, ...]) -> list[list[int]]:
    """The tokens of each label, which must tell them apart."""
    answers = [[int(token) for token in run.tokenizer.encode(template.answer(label), specials=False)] for label in labels]
    seen: dict[tuple[int, ...], str] = {}
    for label, tokens in zip(labels, answers, strict=True):
        if other := seen.get(tuple(tokens)):
            raise DataError(
                "labels-alike",
                f"the labels {other!r} and {label!r} are the same tokens to {run.name}; choose other words for them, "
                "or a run whose tokenizer knows them",
            )
        if not tokens:
            raise DataError("label-without-tokens", f"the label {label!r} has no tokens; choose another word for it")
        seen[tuple(tokens)] = label
    return answers


@torch.inference_mode()
def _scores(
    run: Run, prompts: Sequence[_Prompt], answers: list[list[int]], progress: Callable[[float], None] = lambda share: None
) -> np.ndarray:
    """The log-probability of each label (a column) after each prompt (a row): the sum of those of its tokens.

    Labels that differ in their last token alone share a row of the batch, so labels of one token cost one row a prompt.
    """
    stems = list(dict.fromkeys(tuple(answer[:-1]) for answer in answers))
    found = np.zeros((len(prompts), len(answers)))
    jobs = [(row, stem) for row in range(len(prompts)) for stem in stems]
    model = run.model
    for begin in range(0, len(jobs), ROWS_AT_ONCE):
        some = jobs[begin : begin + ROWS_AT_ONCE]
        rows = [[*prompts[row].tokens, *stem] for row, stem in some]
        longest = max(map(len, rows))
        # Padding stands at the end, where no earlier token sees it.
        tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=run.device)
        features = model.features(tokens)  # type: ignore[operator]
        for index, (row, stem) in enumerate(some):
            first = len(prompts[row].tokens) - 1
            logits: Tensor = model.project(features[index, first : first + len(stem) + 1])  # type: ignore[operator]
            likely = logits.float().log_softmax(-1).cpu()
            for column, answer in enumerate(answers):
                if tuple(answer[:-1]) == stem:
                    found[row, column] = float(likely[range(len(answer)), answer].sum())
        progress(min(1.0, (begin + ROWS_AT_ONCE) / len(jobs)))
    return found


def _summary(shots: int, accuracies: list[float], prompts: list[_Prompt]) -> Shots:
    """The mean and, by Student's t over the draws, its interval; a single draw has none, and stands alone."""
    mean, half = float(np.mean(accuracies)), 0.0
    if len(accuracies) > 1:
        from scipy import stats

        half = float(stats.t.ppf((1 + LEVEL) / 2, len(accuracies) - 1) * stats.sem(accuracies))
    cut, shown = sum(prompt.cut for prompt in prompts), float(np.mean([prompt.kept for prompt in prompts]))
    interval = (max(mean - half, 0.0), min(mean + half, 1.0))
    return Shots(shots, tuple(accuracies), mean, *interval, len(prompts), cut, shown)
