"""A GGUF file as a language model, run by llama.cpp. Chats go through the template of the file, if it has one."""

import secrets
from collections.abc import Generator, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from glasshouse.interop.gguf_file import GGUF
from glasshouse.llms.http_endpoint import BrokenStream, HTTPEndpoint
from glasshouse.llms.language_model import ContinuingModel, Message, Options, check_messages
from glasshouse.llms.llama_cpp_server import start_server
from glasshouse.specs.errors import GlasshouseError

FINISHES = {"limit": "length", "word": "stop", "eos": "end"}
# llama.cpp's seeds have 32 bits, and the largest means "any".
SEEDS = 2**32 - 1
# The beginning and the end of a file identify it.
IDENTIFYING_BYTES = 1 << 20


class GGUFModel(ContinuingModel):
    """A GGUF file. llama.cpp is started when it is first asked."""

    def __init__(self, path: Path, name: str | None = None, device: str = "auto", context: int = 0) -> None:
        if not path.is_file():
            raise GlasshouseError(f"the GGUF file {path} does not exist; check the path")
        self.path, self.name, self.device = path, name or path.stem, device
        metadata = GGUF(path).metadata
        self.has_template = "tokenizer.chat_template" in metadata
        trained = metadata.get(f"{metadata.get('general.architecture')}.context_length", 0)
        self.context = context or int(trained)
        self._asked_context = context

    @cached_property
    def _endpoint(self) -> HTTPEndpoint:
        return start_server(self.path, self._asked_context, self.device)

    def identity(self) -> str:
        """What distinguishes this model from one of the same name: the size of the file and a hash of its ends."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            ends = file.read(IDENTIFYING_BYTES)
            file.seek(max(size - IDENTIFYING_BYTES, 0))
            ends += file.read()
        return f"GGUF file of {size} bytes, {blake2b(ends, digest_size=8).hexdigest()}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat."""
        body = {"content": self.render(messages)[0], "add_special": True, "parse_special": True}
        return len(self._endpoint.post("/tokenize", body)["tokens"])

    def render(self, messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        if not self.has_template:
            return super().render(messages)
        check_messages(messages)
        body = {"messages": [{"role": message.role, "content": message.text} for message in messages]}
        return str(self._endpoint.post("/apply-template", body)["prompt"]), ()

    def pieces(self, prompt: str, options: Options, stop: Sequence[str]) -> Generator[str, None, tuple[str, int, int]]:
        body = {
            "prompt": prompt,
            "n_predict": options.max_tokens,
            "temperature": options.temperature,
            "top_p": options.top_p,
            "samplers": ["temperature", "top_p"],
            "seed": (secrets.randbits(62) if options.seed is None else options.seed) % SEEDS,
            "stop": list(stop),
            "stream": True,
            "cache_prompt": False,  # the same seed gives the same text, whatever was asked before
        }
        for event in self._endpoint.events("/completion", body):
            yield event.get("content", "")
            if event.get("stop"):
                finish = FINISHES.get(event["stop_type"], "end")
                return finish, int(event["tokens_evaluated"]), int(event["tokens_predicted"])
        raise BrokenStream(self.name)
