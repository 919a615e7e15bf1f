"""What the experiments need of a language model: an answer to a chat or the continuation of a text, whoever runs it.

A model that was trained on plain text knows no roles. It gets a chat as one text, `User: ...`, then `Assistant:`, and its
answer ends where it would write the next message of the user.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from glasshouse.specs.errors import GlasshouseError

SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
ROLES: Final = ("system", *SPEAKERS)
STOP: Final = ("\nUser:",)


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
                raise GlasshouseError(f"is out of range; choose {rule}", name, value)


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


class NamedLanguageModel(LanguageModel, Protocol):
    """A language model that knows its context (in tokens; 0: not known) and what distinguishes it."""

    context: int

    def identity(self) -> str:
        """What distinguishes this model from one of the same name."""

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat, or about that."""


def streamed_reply(
    model: LanguageModel, messages: Sequence[Message], options: Options, show: Callable[[str], None] = lambda piece: None
) -> Reply:
    """Answer a chat; `show` receives each piece as it comes. Tokens are 0 where the model does not count them."""
    return read_reply(model.stream_chat(messages, options), show)


def read_reply(pieces: Iterator[str], show: Callable[[str], None] = lambda piece: None) -> Reply:
    """The reply with which a stream ends, or else the text of its pieces."""
    start, text = time.perf_counter(), ""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            if isinstance(end.value, Reply):
                return end.value
            return Reply(text, "end", seconds=time.perf_counter() - start)
        text += piece
        show(piece)


def render_chat(messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
    """The text before the answer, and the strings at which the answer ends.

    A system message is a paragraph without a speaker. The answer begins with a space, which a reader of it drops.
    """
    check_messages(messages)
    text = ""
    for message in messages:
        body = message.text.strip()
        text += f"{body}\n\n" if message.role == "system" else f"{SPEAKERS[message.role]}: {body}\n"
    return f"{text}{SPEAKERS['assistant']}:", STOP


def check_messages(messages: Sequence[Message]) -> None:
    """Refuse an empty chat and an unknown role."""
    if not messages:
        raise GlasshouseError("a chat has no messages; write at least one message of the user")
    for message in messages:
        if message.role not in ROLES:
            raise GlasshouseError(f"of a message is not known; choose one of: {', '.join(ROLES)}", "role", message.role)
