"""Opens language models by name: `run:NAME` is one of the runs."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from glasshouse.llms.language_model import LanguageModel, Message, Options, Reply
from glasshouse.runs.run import Run


class RunModel:
    """A run that continues texts. A chat is the text of its messages."""

    def __init__(self, name: str, run: Run) -> None:
        self.name, self.run = name, run

    def complete(self, prompt: str, options: Options) -> Reply:
        start = time.perf_counter()
        completion = self.run.sample(
            prompt,
            tokens=options.max_tokens,
            stop=options.stop,
            temperature=options.temperature,
            top_p=options.top_p,
            seed=options.seed or 0,
        )[0]
        counts = len(completion.prompt_tokens), len(completion.choices)
        return Reply(completion.text, completion.finish, *counts, time.perf_counter() - start)

    def chat(self, messages: Sequence[Message], options: Options) -> Reply:
        return self.complete("\n".join(message.text for message in messages) + "\n", options)

    def stream_chat(self, messages: Sequence[Message], options: Options) -> Iterator[str]:
        yield self.chat(messages, options).text


def open_language_model(name: str, file: Path | None = None, device: str = "auto") -> LanguageModel:
    """The model of this name."""
    run = Run(name.removeprefix("run:"), device)
    _ = run.spec
    return RunModel(name, run)
