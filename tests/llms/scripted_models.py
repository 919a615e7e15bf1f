"""Language models with known answers, and points of a debate from texts, for exact checks."""

from collections.abc import Callable, Sequence

from glasshouse.llms.debate_rounds import AGAINST, FOR, DebatePoint, Turn
from glasshouse.llms.language_model import Message, Options, Reply, Show

TOPIC = "self-driving cars"


class ScriptedModel:
    """Answers with a function of the last message, and keeps what it was asked."""

    context = 0

    def __init__(self, name: str, answer: Callable[[str], str]) -> None:
        self.name, self.answer = name, answer
        self.asked: list[tuple[Sequence[Message], Options]] = []

    def chat(self, messages: Sequence[Message], options: Options, show: Show = None) -> Reply:
        self.asked.append((messages, options))
        return Reply(self.answer(messages[-1].text), "end")

    def identity(self) -> str:
        return self.name

    def chat_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(message.text) for message in messages)


def points_of(
    model: str, pros: Sequence[str], cons: Sequence[str] = (), temperature: float = 0.7, topic: str = TOPIC
) -> list[DebatePoint]:
    """The points of a model in one round."""
    return [
        DebatePoint(Turn(topic, temperature, 1, number, side, model), text, "end")
        for side, texts in ((FOR, pros), (AGAINST, cons))
        for number, text in enumerate(texts, 1)
    ]
