"""Language models of this machine: runs, and GGUF files in llama.cpp. They answer a chat by continuing the text of it."""

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from glasshouse.interop.gguf_file import GGUF
from glasshouse.llms.http_endpoint import BrokenStream, HTTPEndpoint
from glasshouse.llms.language_model import Message, Options, Reply, Show, render_chat
from glasshouse.llms.llama_cpp_server import start_server
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError

FINISHES = {"limit": "length", "word": "stop", "eos": "end"}
# llama.cpp's seeds have 32 bits, and the largest means "any".
SEEDS = 2**32 - 1
# The beginning and the end of a file identify it.
IDENTIFYING_BYTES = 1 << 20
# Takes the next piece of a continuation.
Add = Callable[[str], None]


class ContinuingModel(ABC):
    """A model that continues texts, and answers a chat by continuing the text of it."""

    name: str

    def chat(self, messages: Sequence[Message], options: Options, show: Show = None) -> Reply:
        start, text = time.perf_counter(), ""
        prompt, stop = self.render(messages)

        def add(piece: str) -> None:
            nonlocal text
            new = piece if text else piece.lstrip()
            text += new
            if new and show is not None:
                show(new)

        finish, prompt_tokens, tokens = self.generate(prompt, options, stop, add)
        return Reply(text, finish, prompt_tokens, tokens, time.perf_counter() - start)

    def render(self, messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        """The text of a chat, and the strings at which the answer ends."""
        return render_chat(messages)

    @abstractmethod
    def generate(self, prompt: str, options: Options, stop: Sequence[str], add: Add) -> tuple[str, int, int]:
        """Add the continuation of a prompt piece by piece; returns its finish, and the tokens of prompt and answer."""


class RunModel(ContinuingModel):
    """A run whose model predicts the next token."""

    def __init__(self, run: Run, name: str | None = None) -> None:
        if not run.continues_text:
            raise GlasshouseError(
                f"{run.name} is a model of kind {run.spec.model.kind!r} that cannot continue a text; use a decoder"
            )
        self.run, self.name = run, name or run.name
        self.context = run.spec.data.context

    def identity(self) -> str:
        """A run that is trained further is another model."""
        return f"run {self.run.name}, step {self.run.model_step()}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        return len(self.run.new_completion(self.render(messages)[0]).prompt_tokens)

    def generate(self, prompt: str, options: Options, stop: Sequence[str], add: Add) -> tuple[str, int, int]:
        completion = self.run.new_completion(prompt)
        seed = secrets.randbits(62) if options.seed is None else options.seed
        for piece in self.run.stream(
            [completion], options.max_tokens, stop, temperature=options.temperature, top_p=options.top_p, seed=seed
        ):
            add(piece.text)
        return completion.finish or "end", len(completion.prompt_tokens), len(completion.choices)


class GGUFModel(ContinuingModel):
    """A GGUF file. llama.cpp is started when it is first asked."""

    def __init__(self, path: Path, name: str | None = None, device: str = "auto", context: int = 0) -> None:
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
        """The size of the file and a hash of its ends."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            ends = file.read(IDENTIFYING_BYTES)
            file.seek(max(size - IDENTIFYING_BYTES, 0))
            ends += file.read()
        return f"GGUF file of {size} bytes, {blake2b(ends, digest_size=8).hexdigest()}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        body = {"content": self.render(messages)[0], "add_special": True, "parse_special": True}
        return len(self._endpoint.post("/tokenize", body)["tokens"])

    def render(self, messages: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
        if not self.has_template:
            return super().render(messages)
        body = {"messages": [{"role": message.role, "content": message.text} for message in messages]}
        return str(self._endpoint.post("/apply-template", body)["prompt"]), ()

    def generate(self, prompt: str, options: Options, stop: Sequence[str], add: Add) -> tuple[str, int, int]:
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
            add(event.get("content", ""))
            if event.get("stop"):
                finish = FINISHES.get(event["stop_type"], "end")
                return finish, int(event["tokens_evaluated"]), int(event["tokens_predicted"])
        raise BrokenStream(self.name)
