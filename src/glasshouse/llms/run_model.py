"""A run as a language model: it continues texts, and answers chats through the plain chat template."""

import secrets
from collections.abc import Generator, Sequence

from glasshouse.llms.language_model import ContinuingModel, Message, Options
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


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
        """What distinguishes this model from one of the same name. A run that is trained further is another model."""
        return f"run {self.run.name}, step {self.run.model_step()}"

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        """The number of tokens of a chat."""
        return len(self.run.new_completion(self.render(messages)[0]).prompt_tokens)

    def pieces(self, prompt: str, options: Options, stop: Sequence[str]) -> Generator[str, None, tuple[str, int, int]]:
        completion = self.run.new_completion(prompt)
        seed = secrets.randbits(62) if options.seed is None else options.seed
        for piece in self.run.stream(
            [completion],
            options.max_tokens,
            stop,
            temperature=options.temperature,
            top_p=options.top_p,
            seed=seed,
        ):
            yield piece.text
        return completion.finish or "end", len(completion.prompt_tokens), len(completion.choices)
