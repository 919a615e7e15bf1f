"""Baselines of language models: an n-gram model and a compressor.

The n-gram model is Kneser-Ney over the run's tokens, of the best order on the validation split. It predicts the same tokens
as the run and scores them by the same rule, so both figures are comparable. The cost of a text for a compressor is the
compressed size of training text and text together, minus that of the training text alone.
"""

import lzma
from collections.abc import Iterable, Iterator

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineData
from glasshouse.baselines.kneser_ney import NGramModel
from glasshouse.data.shards import Shard
from glasshouse.formatting import size, with_article
from glasshouse.tasks.next_token import NextToken, TokenScores

NAME, TITLE = "n-gram", "an n-gram model (Kneser-Ney)"
# Limits that keep the model of a large text within seconds. The last training tokens are used.
MOST_TRAINING_TOKENS = 4_000_000
MOST_CHOICE_TOKENS = 200_000
MOST_HELD_OUT_TOKENS = 8_000_000
ORDERS = range(2, 9)
DEFAULT_ORDER = 3
# The last bytes of the training text and the first of the held-out text are used.
MOST_TRAINING_BYTES = 3_000_000
MOST_HELD_OUT_BYTES = 500_000


def language_models(data: BaselineData) -> Iterator[Baseline]:
    yield best_ngram_model(data)
    yield from compressor(data)


def best_ngram_model(data: BaselineData) -> Baseline:
    training, held_out = data.prepared.splits["train"], data.prepared.splits[data.held_out]
    if held_out.tokens_count > MOST_HELD_OUT_TOKENS:
        return Baseline(NAME, TITLE, note=f"not computed: {held_out.tokens_count:,} tokens would take minutes")
    if training.tokens_count < 2:
        return Baseline(NAME, TITLE, note="cannot be trained: there is no training text")
    tokens = np.asarray(training.tokens[-MOST_TRAINING_TOKENS:], np.int64)
    vocabulary = data.prepared.tokenizer.vocabulary
    choice = data.prepared.splits[data.choice] if data.choice else None
    model, validation = _choose_order(tokens, vocabulary, choice)
    note = f"trained on the last {len(tokens):,} of {training.tokens_count:,} tokens"
    metrics, values = NextToken.metrics.results(token_scores(model, np.asarray(held_out.tokens, np.int64), held_out))
    return Baseline(
        NAME,
        with_article(f"{model.order}-gram model (Kneser-Ney)"),
        {name: metrics[name] for name in ("loss", "perplexity", "bits_per_byte")},
        validation,
        {"order": model.order},
        note if len(tokens) < training.tokens_count else "",
        values,
    )


def token_scores(model: NGramModel, tokens: np.ndarray, shard: Shard) -> TokenScores:
    """The losses of these tokens of a split; separators are not scored."""
    scored = ~np.isin(tokens[1:], list(shard.separators))
    return TokenScores(np.where(scored, model.nats(tokens), 0.0), scored, shard)


def _choose_order(tokens: np.ndarray, vocabulary: int, choice: Shard | None) -> tuple[NGramModel, dict[str, float]]:
    """The model of the order after which the loss on the validation split stops falling, and that loss."""
    possible = [order for order in ORDERS if vocabulary**order <= np.iinfo(np.int64).max and order < len(tokens)] or [1]
    if choice is None or choice.tokens_count < 2:
        return NGramModel(tokens, vocabulary, min(DEFAULT_ORDER, possible[-1])), {}
    text = np.asarray(choice.tokens[:MOST_CHOICE_TOKENS], np.int64)
    best: tuple[NGramModel, float] | None = None
    for order in possible:
        model = NGramModel(tokens, vocabulary, order)
        loss = token_scores(model, text, choice).loss
        if best is not None and loss >= best[1]:
            break
        best = model, loss
    assert best is not None
    return best[0], {"loss": best[1]}


def compressor(data: BaselineData) -> Iterator[Baseline]:
    training = last_bytes(text.text for text in data.documents("train"))
    held_out, total = first_bytes(text.text for text in data.documents(data.held_out))
    if not held_out:
        return
    remarks = []
    if len(training) == MOST_TRAINING_BYTES:
        remarks.append(f"has seen the last {size(len(training))} of the training text")
    if len(held_out) < total:
        remarks.append(f"measured on the first {size(len(held_out))} of {size(total)}")
    cost = len(lzma.compress(training + held_out)) - len(lzma.compress(training))
    yield Baseline("xz", "xz", {"bits_per_byte": 8 * cost / len(held_out)}, note=", ".join(remarks))


def last_bytes(texts: Iterable[str], most: int = MOST_TRAINING_BYTES) -> bytes:
    """The last `most` bytes of a text. Not much more than these are in memory."""
    kept = bytearray()
    for text in texts:
        kept += text.encode()
        if len(kept) > 2 * most:
            del kept[:-most]
    return bytes(kept[-most:])


def first_bytes(texts: Iterable[str], most: int = MOST_HELD_OUT_BYTES) -> tuple[bytes, int]:
    """The first `most` bytes of a text, and the size of the whole."""
    kept, total = bytearray(), 0
    for text in texts:
        encoded = text.encode()
        total += len(encoded)
        kept += encoded[: most - len(kept)]
    return bytes(kept), total
