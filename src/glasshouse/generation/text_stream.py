"""Text from a rollout: prompts in, text out as it comes, ended by a stop string, the end-of-text mark or a length."""

import codecs
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glasshouse.generation.rollout import Choice, Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.tokenizers import Tokenizer


@dataclass
class Completion:
    """What a prompt was continued with. `finish` is "length", "stop" or "end"."""

    prompt: str
    prompt_tokens: list[int]
    text: str = ""
    choices: list[Choice] = field(default_factory=list)
    finish: str = "length"

    def __str__(self) -> str:
        return self.prompt + self.text


@dataclass(frozen=True)
class Piece:
    """New text of one row. Text that may yet become a stop string, or half a character, is held back."""

    row: int
    text: str


def encode_prompt(tokenizer: Tokenizer, prompt: str) -> list[int]:
    """A prompt's tokens, after those that its tokenizer begins a text with; an empty prompt begins a new document."""
    before, _ = tokenizer.frame
    ids = [int(token) for token in tokenizer.encode(prompt)]
    if ids[: len(before)] != before:  # a prompt may have written them itself
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
    ends: Collection[int] = (),
) -> Iterator[Piece]:
    """Extend completions in place, giving each new piece of text as soon as it is certain.

    A token of `ends`, by default the tokenizer's end-of-text mark, ends a text. Ids that a model has and its tokenizer has
    not are never chosen.
    """
    prompts = [c.prompt_tokens for c in completions]
    rollout = Rollout(model, prompts, sampling, context, cached, alternatives, vocabulary=tokenizer.vocabulary)
    if not ends and tokenizer.end_of_text is not None:
        ends = {tokenizer.end_of_text}
    writers = [_Writer(tokenizer, stop) for _ in completions]
    for _ in range(tokens):
        if not any(rollout.active):
            break
        for row, choice in enumerate(rollout.advance()):
            if choice is None:
                continue
            completion = completions[row]
            if choice.token in ends:
                completion.finish = "end"
                rollout.stop(row)
                continue
            completion.choices.append(choice)
            text, stopped = writers[row].add(choice.token)
            if stopped:
                completion.finish = "stop"
                rollout.stop(row)
            if text:
                completion.text += text
                yield Piece(row, text)
    for row, completion in enumerate(completions):
        if completion.finish != "stop" and (rest := writers[row].rest()):
            completion.text += rest
            yield Piece(row, rest)


class _Writer:
    """Tokens to text: bytes to whole characters, with a tail held back while it could begin a stop string."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stop = [text for text in stop if text]
        self.held = ""

    def add(self, token: int) -> tuple[str, bool]:
        self.held += self.decoder.decode(self.tokenizer.token_bytes(token))
        found = [at for text in self.stop if (at := self.held.find(text)) >= 0]
        if found:
            return self.held[: min(found)], True
        tail = max((_overlap(self.held, text) for text in self.stop), default=0)
        text, self.held = self.held[: len(self.held) - tail], self.held[len(self.held) - tail :]
        return text, False

    def rest(self) -> str:
        return self.held + self.decoder.decode(b"", final=True)


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
