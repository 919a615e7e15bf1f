"""The n-gram baseline of language models: Kneser-Ney over the run's tokens, of the best order on the validation split.

It predicts the same tokens as the run and scores them by the same rule, so both figures are comparable.
"""

from collections.abc import Iterator

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineData
from glasshouse.baselines.kneser_ney import NGramModel
from glasshouse.data.shards import Shard
from glasshouse.formatting import with_article
from glasshouse.metrics.perplexity import bits_per_byte, perplexity
from glasshouse.tasks.next_token import window_values

NAME, TITLE = "n-gram", "an n-gram model (Kneser-Ney)"
# Limits that keep the model of a large text within seconds. The last training tokens are used.
MOST_TRAINING_TOKENS = 4_000_000
MOST_CHOICE_TOKENS = 200_000
MOST_HELD_OUT_TOKENS = 8_000_000
ORDERS = range(2, 9)
DEFAULT_ORDER = 3


def best_ngram_model(data: BaselineData) -> Iterator[Baseline]:
    """The model of the best order."""
    training, held_out = data.prepared.splits["train"], data.prepared.splits[data.held_out]
    if held_out.tokens_count > MOST_HELD_OUT_TOKENS:
        yield Baseline(NAME, TITLE, note=f"not computed: {held_out.tokens_count:,} tokens would take minutes")
        return
    if training.tokens_count < 2:
        yield Baseline(NAME, TITLE, note="cannot be trained: there is no training text")
        return
    tokens = np.asarray(training.tokens[-MOST_TRAINING_TOKENS:], np.int64)
    vocabulary = data.prepared.tokenizer.vocabulary
    choice = data.prepared.splits[data.choice] if data.choice else None
    model, validation = _choose_order(tokens, vocabulary, choice)
    note = f"trained on the last {len(tokens):,} of {training.tokens_count:,} tokens"
    losses, count = token_losses(model, np.asarray(held_out.tokens, np.int64), held_out)
    yield Baseline(
        NAME,
        with_article(f"{model.order}-gram model (Kneser-Ney)"),
        {
            "loss": float(losses.sum() / count),
            "perplexity": perplexity(float(losses.sum() / count)),
            "bits_per_byte": bits_per_byte(float(losses.sum()), held_out.bytes),
        },
        validation,
        {"order": model.order},
        note if len(tokens) < training.tokens_count else "",
        window_values(losses, count, held_out),
    )


def token_losses(model: NGramModel, tokens: np.ndarray, shard: Shard) -> tuple[np.ndarray, int]:
    """The loss in nats of each token after the first, and the number of scored ones; a separator has loss 0."""
    scored = ~np.isin(tokens[1:], list(shard.separators))
    return np.where(scored, model.nats(tokens), 0.0), max(int(scored.sum()), 1)


def _choose_order(tokens: np.ndarray, vocabulary: int, choice: Shard | None) -> tuple[NGramModel, dict[str, float]]:
    """The model of the order after which the loss on the validation split stops falling, and that loss."""
    possible = [order for order in ORDERS if vocabulary**order <= np.iinfo(np.int64).max and order < len(tokens)] or [1]
    if choice is None or choice.tokens_count < 2:
        return NGramModel(tokens, vocabulary, min(DEFAULT_ORDER, possible[-1])), {}
    text = np.asarray(choice.tokens[:MOST_CHOICE_TOKENS], np.int64)
    best: tuple[NGramModel, float] | None = None
    for order in possible:
        model = NGramModel(tokens, vocabulary, order)
        losses, count = token_losses(model, text, choice)
        loss = float(losses.sum() / count)
        if best is not None and loss >= best[1]:
            break
        best = model, loss
    assert best is not None
    return best[0], {"loss": best[1]}
