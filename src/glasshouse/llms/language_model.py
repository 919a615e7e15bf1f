"""Language models, whoever runs them: how they answer a chat, and a chat with its transcript.

A model that was trained on plain text knows no roles. It gets a chat as one text, `User: ...`, then `Assistant:`, and its
answer ends where it would write the next message of the user.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from glasshouse.records.user_paths import StrPath
from glasshouse.specs import options
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec_fields import setting

STOP: Final = ("\nUser:",)


@dataclass(frozen=True)
class Message:
    """One message of a chat. `role` is "system", "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Options:
    """How to answer. Without a seed, an answer is drawn anew each time."""

    max_tokens: int = setting(256, "The largest number of tokens of an answer.", minimum=1, maximum=10**6)
    temperature: float = setting(0.7, "The sampling temperature; 0 is greedy decoding.", minimum=0)
    top_p: float = setting(
        1.0, "Sample from the most likely tokens whose probabilities sum to P; 1 turns this off.", above=0, maximum=1
    )
    seed: int | None = setting(None, "The random seed; default: another one each time.", minimum=0, maximum=2**63 - 1)

    def __post_init__(self) -> None:
        options.check(self)


@dataclass(frozen=True)
class GridOptions(Options):
    """How a grid of questions is asked."""

    seed: int = setting(0, "The random seed, from which every answer gets a seed of its own.", minimum=0, maximum=2**63 - 1)
    repeats: int = setting(5, "How often each model answers each question.", minimum=1, maximum=10**5)


@dataclass(frozen=True)
class Reply:
    """An answer. `finish`: "length" (max_tokens), "stop" (a stop string) or "end" (the model ended it)."""

    text: str
    finish: str
    prompt_tokens: int = 0
    tokens: int = 0
    seconds: float = field(default=0.0, compare=False)


# Receives each piece of an answer as it is made.
Show = Callable[[str], None] | None


class LanguageModel(Protocol):
    """A model that answers chats. `context` is in tokens; 0: not known."""

    name: str
    context: int

    def chat(self, messages: Sequence[Message], options: Options, show: Show = None) -> Reply:
        """Answer the last message of a chat."""

    def identity(self) -> str:
        """What distinguishes this model from one of the same name."""

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat, or about that."""


def render_chat(messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
    """The text before the answer, and the strings at which the answer ends.

    A system message is a paragraph without a speaker. The answer begins with a space, which a reader of it drops.
    """
    text = ""
    for message in messages:
        body = message.text.strip()
        text += f"{body}\n\n" if message.role == "system" else f"{message.role.capitalize()}: {body}\n"
    return f"{text}Assistant:", STOP


class ChatSession:
    """A chat. `dropped` is the number of messages of the last answer that did not fit into the context."""

    def __init__(self, model: LanguageModel, options: Options, system: str = "", transcript: StrPath | None = None) -> None:
        self.model, self.options, self.transcript = model, options, transcript
        self._start = [Message("system", system)] if system else []
        self.messages = list(self._start)
        self.dropped = self._answers = 0
        self._write(*map(_said, self._start))

    def reset(self) -> None:
        """Forget all messages except that of the system."""
        self.messages = list(self._start)
        self._write("(new chat)")

    def say(self, text: str, show: Show = None) -> Reply:
        """Send a message and return the answer. If the answer fails or is interrupted, the message is not kept."""
        question = Message("user", text)
        messages = self._fitting([*self.messages, question])
        seed = None if self.options.seed is None else self.options.seed + self._answers
        reply = self.model.chat(messages, replace(self.options, seed=seed), show)
        answer = Message("assistant", reply.text.strip())
        self._answers += 1
        self.messages += [question, answer]
        self._write(_said(question), _said(answer))
        return reply

    def _fitting(self, messages: list[Message]) -> list[Message]:
        """The messages without the oldest ones, so that there is room for an answer."""
        self.dropped, most, first = 0, self.options.max_tokens, len(self._start)
        context, name, tokens_of = self.model.context, self.model.name, self.model.chat_tokens
        if not context:
            return messages
        if context <= most:
            raise GlasshouseError(
                f"fills the context of {name}, which has {context} tokens; choose fewer", "max_tokens", most
            )
        while (tokens := tokens_of(messages)) > context - most and len(messages) > first + 1:
            messages = [*self._start, *messages[first + 2 :]]  # without a question and its answer
            self.dropped += 2
        if tokens > context - most:
            raise GlasshouseError(
                f"the message has {tokens} tokens, and {name} takes {context - most} besides an answer of {most}; write a "
                "shorter one, or choose fewer --max-tokens"
            )
        return messages

    def _write(self, *paragraphs: str) -> None:
        """Append to the transcript. It survives a kill."""
        if self.transcript is not None and paragraphs:
            with open(self.transcript, "a", encoding="utf-8", errors="replace") as file:
                file.write("".join(f"{paragraph}\n\n" for paragraph in paragraphs))
                file.flush()
                os.fsync(file.fileno())


def _said(message: Message) -> str:
    return f"{message.role.capitalize()}: {message.text}"
