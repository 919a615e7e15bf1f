"""Baselines of language models: an n-gram model and a compressor.

The n-gram model is Kneser-Ney over the run's tokens, of the best order on the validation split. It predicts the same tokens
as the run and scores them by the same rule, so both figures are comparable. The cost of a text for a compressor is the
compressed size of training text and text together, minus that of the training text alone.

Interpolated Kneser-Ney smoothing: p(w | h) = (max(c(h w) - d, 0) + d n(h) p(w | h')) / c(h). Here c(h w) is the count of
the n-gram h w (for shorter h: the number of different tokens before h w), c(h) the sum of c(h w) over w, n(h) the number of
different tokens after h, h' is h without its first token, and the discount d is estimated from the counts (Ney, Essen and
Kneser 1994; Chen and Goodman 1998). Below the unigrams, all tokens are equally likely.
"""

import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineData
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


@dataclass(frozen=True)
class _Counts:
    """The n-grams of one length, as sorted numbers (context * vocabulary + token), with their counts."""

    ngrams: np.ndarray
    counts: np.ndarray
    vocabulary: int

    @cached_property
    def discount(self) -> float:
        ones, twos = int((self.counts == 1).sum()), int((self.counts == 2).sum())
        return ones / (ones + 2 * twos) if ones and twos else 0.5

    @cached_property
    def contexts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(the contexts, sorted; the sum of the counts after each; the number of different tokens after each)."""
        contexts, context_of = np.unique(self.ngrams // self.vocabulary, return_inverse=True)
        return contexts, np.bincount(context_of, self.counts), np.bincount(context_of).astype(float)

    def interpolate(self, queries: np.ndarray, lower_order: np.ndarray) -> np.ndarray:
        """The probability of each query n-gram's last token, from its probability of one order lower."""
        contexts, sums, followers = self.contexts
        count = _look_up(self.ngrams, self.counts.astype(float), queries)
        context_count = _look_up(contexts, sums, queries // self.vocabulary)
        different = _look_up(contexts, followers, queries // self.vocabulary)
        numerator = np.maximum(count - self.discount, 0) + self.discount * different * lower_order
        return np.where(context_count > 0, numerator / np.maximum(context_count, 1), lower_order)

    def draw(self, context: int, generator: np.random.Generator) -> int | None:
        """A token after the context with the discounted counts as weights; None with the probability of the lower order."""
        begin, end = np.searchsorted(self.ngrams, [context * self.vocabulary, (context + 1) * self.vocabulary])
        if begin == end:
            return None
        cumulative = np.cumsum(self.counts[begin:end] - self.discount)
        drawn = generator.random() * float(self.counts[begin:end].sum())
        if drawn >= cumulative[-1]:
            return None
        return int(self.ngrams[begin + np.searchsorted(cumulative, drawn, side="right")] % self.vocabulary)


class NGramModel:
    """A Kneser-Ney model of one order: the probability of a token given the `order - 1` tokens before it."""

    def __init__(self, training: np.ndarray, vocabulary: int, order: int) -> None:
        if vocabulary**order > np.iinfo(np.int64).max:
            raise ValueError(f"{order}-grams of {vocabulary:,} tokens cannot be numbered in 64 bits")
        self.vocabulary, self.order = vocabulary, order
        self._by_length = []
        for length in range(1, order + 1):
            # The longest n-grams count by occurrence, shorter ones by the number of different tokens before them.
            ngrams = _text_ngrams(training, vocabulary, length)
            if length < order:
                ngrams = np.unique(_text_ngrams(training, vocabulary, length + 1)) % vocabulary**length
            self._by_length.append(_Counts(*np.unique(ngrams, return_counts=True), vocabulary))

    def nats(self, text: np.ndarray) -> np.ndarray:
        """-log p of each token of a text after the first."""
        probability = np.full(len(text) - 1, 1.0 / self.vocabulary)
        for length, counts in enumerate(self._by_length, 1):
            probability = counts.interpolate(_text_ngrams(text, self.vocabulary, length), probability)
        return -np.log(probability)

    def sample(
        self, prompt: Sequence[int], length: int, generator: np.random.Generator, end_token: int | None = None
    ) -> list[int]:
        """Continue a prompt of at least `order - 1` tokens by up to `length` tokens. The end token ends the text."""
        tokens = [int(token) for token in prompt]
        for _ in range(length):
            token = self._draw(tokens, generator)
            if token == end_token:
                break
            tokens.append(token)
        return tokens[len(prompt) :]

    def _draw(self, tokens: Sequence[int], generator: np.random.Generator) -> int:
        # Interpolation is a mixture: each order either gives the token or leaves it to the next lower order.
        for counts, length in zip(reversed(self._by_length), range(self.order, 0, -1), strict=True):
            context = 0
            for token in tokens[len(tokens) - length + 1 :]:
                context = context * self.vocabulary + token
            if (drawn := counts.draw(context, generator)) is not None:
                return drawn
        return int(generator.integers(self.vocabulary))


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
        {name: of_each.tolist() for name, of_each in values.items()},
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


def _text_ngrams(tokens: np.ndarray, vocabulary: int, length: int) -> np.ndarray:
    """The number of the n-gram that ends at each token after the first. Copies of the first token pad the text."""
    padded = np.concatenate([np.full(max(length - 2, 0), tokens[0]), tokens]).astype(np.int64)
    count = len(tokens) - 1
    numbers = np.zeros(count, np.int64)
    for back in range(length - 1, -1, -1):
        end = len(padded) - back
        numbers = numbers * vocabulary + padded[end - count : end]
    return numbers


def _look_up(keys: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The value of each query in a table with sorted keys; 0 for an unknown key."""
    index = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[index] == queries, values[index], 0.0)
