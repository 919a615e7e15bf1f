"""A language model behind an HTTP server that speaks the protocol of OpenAI."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from glasshouse.llms.http_endpoint import BrokenStream, HTTPEndpoint
from glasshouse.llms.language_model import Message, Options, Reply, Show
from glasshouse.specs.errors import GlasshouseError

# A rough guess, since the server's tokenizer is not known: an English token has about four characters.
CHARACTERS_PER_TOKEN = 4


class OpenAIModel:
    """One model of a server. `context` is the largest number of tokens of a chat with its answer; 0: not known."""

    def __init__(self, model: str, endpoint: HTTPEndpoint, name: str | None = None, context: int = 0) -> None:
        self.model, self.endpoint, self.name, self.context = model, endpoint, name or model, context

    def identity(self) -> str:
        return f"{self.model} at {self.endpoint.base_url}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """About how many tokens a chat has."""
        return sum(len(message.text) // CHARACTERS_PER_TOKEN + CHARACTERS_PER_TOKEN for message in messages)

    def chat(self, messages: Sequence[Message], options: Options, show: Show = None) -> Reply:
        said = [{"role": message.role, "content": message.text} for message in messages]
        asked = {name: value for name, value in asdict(options).items() if value is not None}
        body: dict[str, Any] = {"model": self.model, "messages": said, **asked}
        start = time.perf_counter()
        if show is None:
            return self._whole_reply(body, start)
        text, reason, pieces = "", None, 0
        usage: dict[str, Any] = {}
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        for event in self.endpoint.events("/chat/completions", streamed):
            usage = event.get("usage") or usage
            for choice in event.get("choices") or ():
                reason = choice.get("finish_reason") or reason
                piece = (choice.get("delta") or {}).get("content") or ""
                if piece:
                    text, pieces = text + piece, pieces + 1
                    show(piece)
        if reason is None:
            raise BrokenStream(self.endpoint.server)
        # A server that counts no tokens in a stream usually sends one a piece.
        tokens = int(usage.get("completion_tokens") or pieces)
        prompt_tokens = int(usage.get("prompt_tokens") or self.chat_tokens(messages))
        return Reply(text, _finish(reason), prompt_tokens, tokens, time.perf_counter() - start)

    def _whole_reply(self, body: dict[str, Any], start: float) -> Reply:
        response = self.endpoint.post("/chat/completions", body)
        try:
            choice = response["choices"][0]
            text = choice["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise GlasshouseError(f"{self.endpoint.server} answered without a message; check base_url") from None
        usage = response.get("usage") or {}
        counted = (int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
        return Reply(text or "", _finish(choice.get("finish_reason")), *counted, time.perf_counter() - start)


def _finish(reason: str | None) -> str:
    return "length" if reason == "length" else "end"
