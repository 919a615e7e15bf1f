"""Streams of text: prompts in, text out as it is generated, up to a stop string, an end token or a number of tokens."""

import codecs
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glasshouse.generation.engine import GenerationEngine, SampledToken
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.tokenizers import Tokenizer


@dataclass
class Completion:
    """A prompt and its continuation.

    `finish` says why it ended: "length", "stop" (a stop string) or "end" (an end token, or nothing may follow).
    """

    prompt: str
    prompt_tokens: list[int]
    text: str = ""
    choices: list[SampledToken] = field(default_factory=list)
    finish: str = "length"

    def __str__(self) -> str:
        return self.prompt + self.text


@dataclass(frozen=True)
class TextPiece:
    """New text of one row. Text that may become a stop string, and incomplete characters, are held back."""

    row: int
    text: str


def encode_prompt(tokenizer: Tokenizer, prompt: str) -> list[int]:
    """The tokens of a prompt after the tokenizer's start tokens. An empty prompt becomes the end-of-text token."""
    before, _ = tokenizer.prefix_and_suffix
    ids = [int(token) for token in tokenizer.encode(prompt)]
    if ids[: len(before)] != before:  # the prompt may contain the start tokens already
        ids = before + ids
    return ids or [tokenizer.end_of_text or 0]


def stream(
    model: Any,
    tokenizer: Tokenizer,
    completions: Sequence[Completion],
    sampling: Sampling,
    tokens: int,
    context: int,
    stop: Sequence[str] = (),
    cached: bool = True,
    alternatives: int = 0,
    end_tokens: Collection[int] = (),
    constraint: TokenConstraint | None = None,
) -> Iterator[TextPiece]:
    """Extend the completions in place. Yield each new piece of text as soon as it cannot change any more.

    A text ends at a token of `end_tokens`, by default the end-of-text token. Ids beyond the tokenizer's vocabulary are
    never sampled. With a `constraint`, which must have the same end tokens, the continuation has its form, unless the number
    of tokens or a stop string ends it earlier.
    """
    prompts = [completion.prompt_tokens for completion in completions]
    engine = GenerationEngine(model, context, tokenizer.vocabulary, cached)
    rows = engine.add_all(prompts, sampling, alternatives=alternatives, constraint=constraint)
    if not end_tokens and tokenizer.end_of_text is not None:
        end_tokens = {tokenizer.end_of_text}
    decoders = [StreamDecoder(tokenizer, stop, end_tokens, tokens) for _ in completions]
    for row in rows:
        if row.finished:  # the constraint allows the empty text only
            completions[row.number].finish = "end"
            engine.remove(row)
    while engine.rows:
        for row, sampled in engine.step():
            if row.failed is not None:
                raise row.failed
            completion = completions[row.number]
            text, finish = decoders[row.number].add(sampled.token, row.finished)
            if finish is not None:
                completion.finish = finish
                engine.remove(row)
            if sampled.token not in end_tokens:
                completion.choices.append(sampled)
            if text:
                completion.text += text
                yield TextPiece(row.number, text)


class StreamDecoder:
    """From tokens to text: completes characters, and holds back text that could be the start of a stop string."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str], end_tokens: Collection[int], tokens: int) -> None:
        self.tokenizer, self.end_tokens, self.tokens_left = tokenizer, end_tokens, tokens
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stop = [text for text in stop if text]
        self.held_back = ""

    def add(self, token: int, complete: bool) -> tuple[str, str | None]:
        """Add a token. Return the text that is certain now, and why the text has ended, if it has (see `Completion`).

        `complete`: nothing may follow this token.
        """
        if token in self.end_tokens:
            return self.held_back + self.decoder.decode(b"", final=True), "end"
        self.tokens_left -= 1
        self.held_back += self.decoder.decode(self.tokenizer.token_bytes(token))
        stops = [index for text in self.stop if (index := self.held_back.find(text)) >= 0]
        if stops:
            return self.held_back[: min(stops)], "stop"
        if complete or not self.tokens_left:
            return self.held_back + self.decoder.decode(b"", final=True), "end" if complete else "length"
        uncertain = max((_overlap(self.held_back, text) for text in self.stop), default=0)
        certain = len(self.held_back) - uncertain
        text, self.held_back = self.held_back[:certain], self.held_back[certain:]
        return text, None


def _overlap(text: str, stop: str) -> int:
    """The length of the longest suffix of `text` that is a proper prefix of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
