"""Streams of text: prompts in, text out as it is generated, up to a stop string, an end token or a number of tokens."""

import codecs
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glasshouse.generation.engine import GenerationEngine, Row, SampledToken
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

    def end(row: Row, finish: str) -> None:
        completions[row.number].finish = finish
        engine.remove(row)

    for generating in rows:
        if generating.finished:  # the constraint allows the empty text only
            end(generating, "end")
    if not end_tokens and tokenizer.end_of_text is not None:
        end_tokens = {tokenizer.end_of_text}
    decoders = [StreamDecoder(tokenizer, stop) for _ in completions]
    while engine.rows:
        for generating, sampled in engine.step():
            row = generating.number
            if generating.failed is not None:
                raise generating.failed
            completion = completions[row]
            if sampled.token in end_tokens:
                end(generating, "end")
                continue
            completion.choices.append(sampled)
            text, stopped = decoders[row].add(sampled.token)
            if stopped or generating.finished or len(completion.choices) == tokens:
                end(generating, "stop" if stopped else "end" if generating.finished else "length")
            if text:
                completion.text += text
                yield TextPiece(row, text)
    for row, completion in enumerate(completions):
        if completion.finish != "stop" and (rest := decoders[row].rest()):
            completion.text += rest
            yield TextPiece(row, rest)


class StreamDecoder:
    """From tokens to text: completes characters, and holds back text that could be the start of a stop string."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stop = [text for text in stop if text]
        self.held_back = ""

    def add(self, token: int) -> tuple[str, bool]:
        """Add a token. Return the text that is certain now, and whether a stop string was reached."""
        self.held_back += self.decoder.decode(self.tokenizer.token_bytes(token))
        stops = [index for text in self.stop if (index := self.held_back.find(text)) >= 0]
        if stops:
            return self.held_back[: min(stops)], True
        uncertain = max((_overlap(self.held_back, text) for text in self.stop), default=0)
        certain = len(self.held_back) - uncertain
        text, self.held_back = self.held_back[:certain], self.held_back[certain:]
        return text, False

    def rest(self) -> str:
        """The text that is still held back at the end."""
        return self.held_back + self.decoder.decode(b"", final=True)


def _overlap(text: str, stop: str) -> int:
    """The length of the longest suffix of `text` that is a proper prefix of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
