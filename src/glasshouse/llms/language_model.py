"""What the experiments need of a language model: an answer to a chat or the continuation of a text, whoever runs it."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from glasshouse.specs.errors import GlasshouseError


@dataclass(frozen=True)
class Message:
    """One message of a chat. `role` is "system", "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Options:
    """How to answer. Without a seed, an answer is drawn anew each time. Temperature 0 is greedy decoding."""

    max_tokens: int = 256
    temperature: float = 0.7
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, value, valid, rule in (
            ("max_tokens", self.max_tokens, self.max_tokens >= 1, "1 or more"),
            ("temperature", self.temperature, 0 <= self.temperature < float("inf"), "0 (greedy) or more"),
            ("top_p", self.top_p, 0 < self.top_p <= 1, "a value above 0 and at most 1"),
        ):
            if not valid:
                raise GlasshouseError("bad-option", f"{name}={value} is out of range; choose {rule}")


@dataclass(frozen=True)
class Reply:
    """An answer. `finish`: "length" (max_tokens), "stop" (a stop string) or "end" (the model ended it)."""

    text: str
    finish: str
    prompt_tokens: int = 0
    tokens: int = 0
    seconds: float = field(default=0.0, compare=False)


class LanguageModel(Protocol):
    """A model that continues texts and answers chats."""

    name: str

    def complete(self, prompt: str, options: Options) -> Reply:
        """Continue a text."""

    def chat(self, messages: Sequence[Message], options: Options) -> Reply:
        """Answer the last message of a chat."""

    def stream_chat(self, messages: Sequence[Message], options: Options) -> Iterator[str]:
        """The answer in pieces, as they are made. The iterator may return a `Reply` when it ends, with what was counted."""


def streamed_reply(
    model: LanguageModel, messages: Sequence[Message], options: Options, show: Callable[[str], None] = lambda piece: None
) -> Reply:
    """Answer a chat; `show` receives each piece as it comes. Tokens are 0 where the model does not count them."""
    start, pieces = time.perf_counter(), model.stream_chat(messages, options)
    text = ""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            if isinstance(end.value, Reply):
                return end.value
            return Reply(text, "end", seconds=time.perf_counter() - start)
        text += piece
        show(piece)


def last_reply(pieces: Generator[str, None, Reply]) -> Reply:
    """The reply with which a stream ends."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
