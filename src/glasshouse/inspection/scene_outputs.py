"""Translations of varied quality with known adequacy, on which metrics of translation can themselves be measured.

A good translator of scenes hardly errs, so that its best outputs cannot show whether a metric notices errors. Three kinds of
output are collected for each source:

- own: what the run writes, the best few of a beam search and a sample at each of several temperatures, which does err;
- swapped: the reference with 0 to 3 of its facts changed (kind, count, colour, relation), its wording kept;
- reworded: the same altered meaning in a wording drawn at random, so that words differ also where the meaning is the same.

The last two are made by the grammar of the scenes, not by the run. Each text counts once for a source and a kind.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch

from glasshouse.data.sources.scenes import alterations, entailment_rules, parser
from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.runs.run import Run
from glasshouse.tasks.translate import Translate

KINDS = ("own", "swapped", "reworded")
# The data sources whose references have a known meaning, and the language that those are in.
LANGUAGES = {"german-scenes": "english", "scenes-german": "german"}
BEAMS = 4
TEMPERATURES = (1.0, 1.5, 2.0)
CHANGES = 4
SEED = 0


@dataclass(frozen=True)
class Output:
    """A text offered as a translation of a source: which, of which kind, how adequate, and what truly holds of it.

    `label` is what follows from the reference for it, and `back` what follows from it for the reference.
    """

    source: int
    kind: str
    text: str
    adequacy: float
    label: str
    back: str


def collect(
    run: Run, sources: Sequence[str], references: Sequence[str], progress: Callable[[float], None] = lambda share: None
) -> list[Output]:
    """Every output for every source."""
    offered: list[tuple[int, str, str]] = []
    best = run.translate(sources, beams=BEAMS, n_best=BEAMS, word_by_word=False, progress=lambda share: progress(share / 2))
    offered += [(index, "own", each.text) for index, found in enumerate(best) for each in found]
    for number, temperature in enumerate(TEMPERATURES):
        texts = sample(run, sources, Sampling(temperature=temperature, seed=SEED))
        offered += [(index, "own", text) for index, text in enumerate(texts)]
        progress(0.5 + (number + 1) / len(TEMPERATURES) / 2)
    for index, reference in enumerate(references):
        chance = Random(f"{SEED} {index} {reference}")
        made = alterations.versions(reference, LANGUAGES[run.spec.data.source], index % CHANGES, chance)
        offered += [(index, kind, text) for kind, text in made.items()]
    return [found for each in dict.fromkeys(offered) if (found := _known(*each, references[each[0]]))]


@torch.inference_mode()
def sample(run: Run, texts: Sequence[str], sampling: Sampling, batch: int = 32) -> list[str]:
    """A translation of each text, drawn token by token; it depends on the seed and the text's place alone."""
    task = run.task
    assert isinstance(task, Translate)
    sources = [run.tokenizer.encode(text, specials=False).tolist() for text in texts]
    found: list[str] = []
    for begin in range(0, len(sources), batch):
        found += [run.tokenizer.decode(row) for row in _drawn(run, task, sources[begin : begin + batch], sampling, begin)]
    return found


def _drawn(run: Run, task: Translate, sources: list[list[int]], sampling: Sampling, begin: int) -> Iterator[list[int]]:
    """The tokens written for each of a few sources, the first of which has the number `begin`."""
    prompts, model = task.prompts(sources), run.model
    if not task.alone:
        given = task.given(sources)
        model = model.given(given["source"].to(run.device), given["lengths"].to(run.device))  # type: ignore[operator]
    numbers = list(range(begin, begin + len(sources)))
    rollout = Rollout(model, prompts, sampling, task.context, rows=numbers, vocabulary=run.tokenizer.vocabulary)
    for _ in range(task.rooms[1]):
        for row, choice in enumerate(rollout.advance()):
            if choice is not None and choice.token == task.end:
                rollout.stop(row)
        if not any(rollout.active):
            break
    for prompt, tokens in zip(prompts, rollout.tokens, strict=True):
        written = tokens[len(prompt) :]
        yield written[: written.index(task.end)] if task.end in written else written


def _known(source: int, kind: str, text: str, reference: str) -> Output | None:
    """What is known of an output; None where the reference has no meaning to compare it with."""
    meaning = parser.parse(reference)
    if meaning is None:
        return None
    said = parser.parse(text)
    # What says nothing follows from anything, and nothing from it; no caption does, so it is called open both ways.
    label, back = (
        ("neutral", "neutral")
        if said is None
        else (entailment_rules.judge(meaning, said), entailment_rules.judge(said, meaning))
    )
    return Output(source, kind, text, parser.adequacy(meaning, text), label, back)


def mean_adequacy(outputs: Sequence[str], references: Sequence[str]) -> float:
    """How much of their references' meaning outputs keep, on average."""
    meanings = [(output, parser.parse(reference)) for output, reference in zip(outputs, references, strict=True)]
    shares = [parser.adequacy(meaning, output) for output, meaning in meanings if meaning is not None]
    return sum(shares) / len(shares) if shares else 0.0
