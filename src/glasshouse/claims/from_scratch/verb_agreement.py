"""The agreement of verbs with their subjects: is `was` more probable than `were` where the text has `was`?

The subject may be many words away, so a model that sees two words must often guess (Linzen, Dupoux and Goldberg 2016). Knows
nothing of how a model was trained.
"""

from dataclasses import dataclass

import numpy as np
import torch

from glasshouse.baselines.language_models import NGramModel
from glasshouse.claims import split_scores
from glasshouse.claims.from_scratch import passages
from glasshouse.data.shards import Shard
from glasshouse.runs.run import Run
from glasshouse.tokenizers import Tokenizer

PAIRS = ((" was", " were"), (" is", " are"), (" has", " have"))


@dataclass(frozen=True)
class VerbChoices:
    """Places in a text where a verb stands: the tokens before it, the verb, and the same verb in the other number."""

    before: np.ndarray  # [place, token]
    verbs: np.ndarray
    others: np.ndarray


def find_choices(shard: Shard, tokenizer: Tokenizer, context: int, count: int) -> VerbChoices | None:
    """Up to `count` places at equal distances, each with `context` tokens before it; None if there is no such place.

    Only verbs that are a single token in both numbers are used.
    """
    other_number: dict[int, int] = {}
    for words in PAIRS:
        encoded = [tokenizer.encode(word, specials=False).tolist() for word in words]
        if all(len(ids) == 1 and ids != [tokenizer.unknown] for ids in encoded):
            singular, plural = encoded[0][0], encoded[1][0]
            other_number |= {singular: plural, plural: singular}
    tokens = passages.without_separators(shard)
    places = np.flatnonzero(np.isin(tokens, list(other_number)))
    places = places[places >= context]
    if not len(places):
        return None
    places = places[np.linspace(0, len(places) - 1, min(count, len(places))).astype(int)]
    before = np.stack([tokens[place - context : place] for place in places])
    verbs = tokens[places]
    return VerbChoices(before, verbs, np.array([other_number[int(verb)] for verb in verbs]))


@torch.inference_mode()
def choose_by_run(run: Run, choices: VerbChoices, batch: int = 32) -> list[float]:
    """1 for each place where a trained model finds the verb of the text more probable, otherwise 0."""
    correct = []
    for begin in range(0, len(choices.verbs), batch):
        rows = slice(begin, begin + batch)
        tokens = torch.from_numpy(choices.before[rows]).to(run.device)
        with split_scores.evaluation_precision(run):
            logits = run.model(tokens)[:, -1].float().cpu().numpy()
        index = np.arange(len(logits))
        correct += (logits[index, choices.verbs[rows]] > logits[index, choices.others[rows]]).astype(float).tolist()
    return correct


def choose_by_ngrams(model: NGramModel, choices: VerbChoices) -> list[float]:
    """1 for each place where an n-gram model finds the verb of the text more probable, otherwise 0."""
    verbs, others = (
        np.array([model.nats(text)[-1] for text in np.column_stack([choices.before, last])])
        for last in (choices.verbs, choices.others)
    )
    return (verbs < others).astype(float).tolist()
