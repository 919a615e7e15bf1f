"""A run as a language model: it continues texts, and answers chats through the plain chat template."""

import secrets
import time
from collections.abc import Generator, Sequence

from glasshouse.llms.chat_template import render_chat
from glasshouse.llms.language_model import Message, Options, Reply, last_reply
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


class RunModel:
    """A run whose model predicts the next token."""

    def __init__(self, run: Run, name: str | None = None) -> None:
        if not run.continues_text:
            raise GlasshouseError(
                "not-a-language-model",
                f"{run.name} is a model of kind {run.spec.model.kind!r} that cannot continue a text; use a decoder",
            )
        self.run, self.name = run, name or run.name
        self.context = run.spec.data.context

    def identity(self) -> str:
        """What distinguishes this model from one of the same name. A run that is trained further is another model."""
        return f"run {self.run.name}, step {self.run.model_step()}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat."""
        return len(self.run.new_completion(render_chat(messages)[0]).prompt_tokens)

    def complete(self, prompt: str, options: Options) -> Reply:
        return last_reply(self._stream(prompt, options, options.stop, strip=False))

    def chat(self, messages: Sequence[Message], options: Options) -> Reply:
        return last_reply(self.stream_chat(messages, options))

    def stream_chat(self, messages: Sequence[Message], options: Options) -> Generator[str, None, Reply]:
        prompt, stop = render_chat(messages)
        return self._stream(prompt, options, (*stop, *options.stop), strip=True)

    def _stream(self, prompt: str, options: Options, stop: Sequence[str], strip: bool) -> Generator[str, None, Reply]:
        """The continuation of a prompt in pieces; `strip` drops the white space at its start."""
        start = time.perf_counter()
        completion = self.run.new_completion(prompt)
        seed = secrets.randbits(62) if options.seed is None else options.seed
        pieces = self.run.stream(
            [completion],
            tokens=options.max_tokens,
            stop=stop,
            temperature=options.temperature,
            top_p=options.top_p,
            seed=seed,
        )
        text = ""
        for piece in pieces:
            new = piece.text if text or not strip else piece.text.lstrip()
            text += new
            if new:
                yield new
        seconds = time.perf_counter() - start
        return Reply(text, completion.finish, len(completion.prompt_tokens), len(completion.choices), seconds)
