"""A chat with a language model: the messages so far, and a transcript. The newest messages that fit the context are sent."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from glasshouse.llms.language_model import Message, NamedLanguageModel, Options, Reply, streamed_reply
from glasshouse.specs.errors import GlasshouseError

SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}


class ChatSession:
    """A chat. `dropped` is the number of messages of the last answer that did not fit into the context."""

    def __init__(
        self, model: NamedLanguageModel, options: Options, system: str = "", transcript: Path | None = None
    ) -> None:
        self.model, self.options, self.transcript = model, options, transcript
        self._start = [Message("system", system)] if system else []
        self.messages = list(self._start)
        self.dropped = self._answers = 0
        self._write(self._start)

    def reset(self) -> None:
        """Forget all messages except that of the system."""
        self.messages = list(self._start)
        self._write([], note="(new chat)")

    def say(self, text: str, show: Callable[[str], None] = lambda piece: None) -> Reply:
        """Send a message and return the answer. If the answer fails or is interrupted, the message is not kept."""
        question = Message("user", text)
        messages = self._fitting([*self.messages, question])
        options = self.options
        if options.seed is not None:
            options = replace(options, seed=options.seed + self._answers)
        reply = streamed_reply(self.model, messages, options, show)
        answer = Message("assistant", reply.text.strip())
        self._answers += 1
        self.messages += [question, answer]
        self._write([question, answer])
        return reply

    def _fitting(self, messages: list[Message]) -> list[Message]:
        """The messages without the oldest ones, until there is room for an answer."""
        start, rest = messages[: len(self._start)], messages[len(self._start) :]
        room = self.model.context - self.options.max_tokens
        if self.model.context and room <= 0:
            raise GlasshouseError(
                f"fills the context of {self.model.name}, which has {self.model.context} tokens; choose fewer",
                "max_tokens",
                self.options.max_tokens,
            )
        sent = rest
        while self.model.context and len(sent) > 1 and self.model.chat_tokens([*start, *sent]) > room:
            sent = sent[2:]  # a question with its answer
        self.dropped = len(rest) - len(sent)
        if self.model.context and (tokens := self.model.chat_tokens([*start, *sent])) > room:
            raise GlasshouseError(
                f"the message has {tokens} tokens, and {self.model.name} takes {room} besides an answer of "
                f"{self.options.max_tokens}; write a shorter one, or choose fewer --max-tokens"
            )
        return [*start, *sent]

    def _write(self, messages: list[Message], note: str = "") -> None:
        """Append to the transcript. What is written there survives a kill."""
        if self.transcript is None or not (messages or note):
            return
        with self.transcript.open("a", encoding="utf-8", errors="replace") as file:
            for message in messages:
                file.write(f"{SPEAKERS[message.role]}: {message.text}\n\n")
            file.write(f"{note}\n\n" if note else "")
            file.flush()
            os.fsync(file.fileno())
