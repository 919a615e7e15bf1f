"""What the experiments need of a language model: an answer to a chat or the continuation of a text, whoever runs it."""

from collections.abc import Iterator, Sequence
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
        """The answer in pieces, as they are made."""
