"""A debate: each model argues points for and against a topic, and answers the other model from the second round on.

Everything that is asked and answered is kept in a journal, so that a killed debate continues. What the points are worth is
measured elsewhere (debate_measures.py, debate_judge.py).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypedDict

from glasshouse.llms.answer_journal import AnswerJournal
from glasshouse.llms.language_model import LanguageModel, Message, Options
from glasshouse.metrics.text_overlap import content_stems
from glasshouse.specs.errors import GlasshouseError

FOR, AGAINST = SIDES = ("for", "against")
# The first of these that shares no word with the topic is the control topic, unless one is given.
CONTROL_TOPICS = ("school uniforms", "vegetable gardens", "daily newspapers", "wooden furniture")


@dataclass(frozen=True)
class DebateOptions:
    """What is debated by whom, and how.

    Each model argues `points` points for and as many against in each round, at each temperature. If there is a control
    topic, it argues one round about that too, at the first temperature: what points about different things have in common.
    """

    topic: str
    models: tuple[str, ...]
    points: int = 3
    rounds: int = 2
    temperatures: tuple[float, ...] = (0.7,)
    seed: int = 0
    max_tokens: int = 160
    control_topic: str = ""

    def __post_init__(self) -> None:
        if not content_stems(self.topic):
            raise GlasshouseError(
                "names nothing to argue about; write one, such as 'self-driving cars'", "topic", self.topic
            )
        if not self.models:
            raise GlasshouseError("a debate needs at least one model; name them with --models a,b")
        if len(set(self.models)) < len(self.models):
            raise GlasshouseError("has a model twice; name each model once", "models", ",".join(self.models))
        for name, value in (("points", self.points), ("rounds", self.rounds)):
            if value < 1:
                raise GlasshouseError("is below the minimum; choose 1 or more", name, value)
        if not self.temperatures or len(set(self.temperatures)) < len(self.temperatures):
            given = list(self.temperatures)
            raise GlasshouseError("must be one or more different values, such as 0.2,0.7", "temperatures", given)
        for temperature in self.temperatures:
            Options(self.max_tokens, temperature)
        if shared := set(content_stems(self.topic)) & set(content_stems(self.control_topic)):
            raise GlasshouseError(
                f"the control topic {self.control_topic!r} shares {min(shared)!r} with the topic {self.topic!r}, but it "
                "must be about something else; choose another with --control-topic"
            )


def default_control_topic(topic: str) -> str:
    """A topic that shares no word with this one."""
    stems = set(content_stems(topic))
    return next((other for other in CONTROL_TOPICS if not stems & set(content_stems(other))), "")


@dataclass(frozen=True)
class Turn:
    """Whose turn it is: a model argues one side of a topic. `number` counts its points of this side in this round from 1."""

    topic: str
    temperature: float
    round: int
    number: int
    side: str
    model: str

    @property
    def key(self) -> str:
        return json.dumps(astuple(self))

    @property
    def place(self) -> tuple[int, int, str]:
        """Where in a debate the turn is, whoever has it."""
        return self.round, self.number, self.side

    def __str__(self) -> str:
        return f"point {self.number} {self.side} in round {self.round}"

    def same_debate(self, other: "Turn") -> bool:
        return (self.topic, self.temperature) == (other.topic, other.temperature)


@dataclass(frozen=True)
class DebatePoint:
    """A point that a model made. `answers` is the turn of the opponent's argument that it answers."""

    turn: Turn
    text: str
    finish: str
    answers: Turn | None = None


def turns(options: DebateOptions) -> Iterator[Turn]:
    """All turns in order."""
    plan = [(options.topic, temperature, options.rounds) for temperature in options.temperatures]
    if options.control_topic:
        plan.append((options.control_topic, options.temperatures[0], 1))
    for topic, temperature, rounds in plan:
        places = product(range(1, rounds + 1), range(1, options.points + 1), SIDES, options.models)
        yield from (Turn(topic, temperature, *place) for place in places)


class KeptReply(TypedDict):
    """What every line of a debate's journal has after the first. It has more, for whoever reads it."""

    kind: str
    key: str
    text: str
    finish: str


class DebateJournal(AnswerJournal):
    """The replies of a debate by kind ("point" or "verdict") and key, in a file that begins with the options."""

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        super().__init__(path, KeptReply, lambda record: (record["kind"], record["key"]), asked)

    def reply(
        self,
        kind: str,
        key: str,
        model: LanguageModel,
        messages: Sequence[Message],
        options: Options,
        facts: Mapping[str, Any],
    ) -> KeptReply:
        """The reply that is kept, or else the model's, which is kept with these facts. The seed is one of its own."""
        if (kind, key) not in self.records:
            options = replace(options, seed=turn_seed(options.seed or 0, f"{kind} {key}"))
            reply = model.chat(messages, options)
            asked = {"seed": options.seed, "messages": [asdict(message) for message in messages]}
            answered = {"text": reply.text, "finish": reply.finish, "tokens": reply.tokens}
            self.add({"kind": kind, "key": key, **facts, **asked, **answered, "seconds": round(reply.seconds, 3)})
        record: KeptReply = self.records[kind, key]
        return record


def hold(
    options: DebateOptions,
    models: Sequence[LanguageModel],
    journal: DebateJournal,
    progress: Callable[[float], None] = lambda share: None,
) -> list[DebatePoint]:
    """Ask for every point that the journal does not have, and return all points in order.

    `models` are in the order of `options.models`.
    """
    by_name, order = dict(zip(options.models, models, strict=True)), list(turns(options))
    said: list[DebatePoint] = []
    for turn in order:
        answers = last_argument(turn, options.models, said)
        how = Options(options.max_tokens, turn.temperature, seed=options.seed)
        messages = prompt(turn, said, answers)
        reply = journal.reply("point", turn.key, by_name[turn.model], messages, how, asdict(turn))
        said.append(DebatePoint(turn, clean(reply["text"]), reply["finish"], answers.turn if answers else None))
        progress(len(said) / len(order))
    return said


def clean(text: str) -> str:
    """A reply without the reasoning that some models write first, and without line breaks."""
    return " ".join(without_reasoning(text).split())


def without_reasoning(text: str) -> str:
    return re.sub(r"(?s)<think>.*?(</think>|$)", "", text)


def last_argument(turn: Turn, models: Sequence[str], said: Sequence[DebatePoint]) -> DebatePoint | None:
    """The latest argument of the next model on the other side, from the second round on. A single model answers itself."""
    opponent = models[(models.index(turn.model) + 1) % len(models)]
    arguments = [
        point
        for point in said
        if point.turn.same_debate(turn) and point.turn.model == opponent and point.turn.side != turn.side and point.text
    ]
    return arguments[-1] if arguments and turn.round > 1 else None


def prompt(turn: Turn, said: Sequence[DebatePoint], answers: DebatePoint | None) -> list[Message]:
    """The messages that ask for one point. The model is told its earlier points of the same side."""
    earlier = [
        point.text
        for point in said
        if point.text and point.turn.same_debate(turn) and (point.turn.model, point.turn.side) == (turn.model, turn.side)
    ]
    lines = [f"Argue {turn.side} {turn.topic}."]
    if earlier:
        lines += ["Your earlier points, which you must not repeat:"]
        lines += [f"{number}. {text}" for number, text in enumerate(earlier, 1)]
    if answers is not None:
        lines += [f"Your opponent says: {answers.text}", "Answer this argument."]
    lines.append(f"Write your point {len(earlier) + 1} {turn.side} {turn.topic}.")
    system = f"You are in a debate about {turn.topic}. Write one argument of one to three sentences and nothing else."
    return [Message("system", system), Message("user", "\n".join(lines))]


def turn_seed(seed: int, key: str) -> int:
    """A seed of its own for everything that is asked, so that a debate that continues is the same debate."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {key}".encode(), digest_size=4).digest(), "big") >> 1
