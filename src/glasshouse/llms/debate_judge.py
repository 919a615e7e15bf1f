"""A model as the judge of a debate: which of two arguments is better?

Each pair is asked about twice, with the arguments in either order. That shows whether a judge goes by the order alone. A
verdict that cannot be read is counted and not guessed.
"""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from glasshouse.llms.debate_rounds import DebateJournal, DebatePoint, without_reasoning
from glasshouse.llms.language_model import LanguageModel, Message, Options
from glasshouse.verdicts import mean_intervals
from glasshouse.verdicts.mean_intervals import MeanWithInterval

# Enough for "Argument A is better, because ...".
MAX_TOKENS = 64


@dataclass(frozen=True)
class JudgedPair:
    """Two arguments for the same side of different models, and the verdicts on them: "A", "B" or None if unreadable.

    `verdict` was given with the point `first` as A, `swapped` with `second` as A.
    """

    first: DebatePoint
    second: DebatePoint
    verdict: str | None
    swapped: str | None


@dataclass(frozen=True)
class JudgeSummary:
    """What a judge found.

    wins: model -> the share of verdicts that it won, over pairs with two readable verdicts. order_bias: the share of these
    pairs in which the judge chose the same position in both orders; 0 means that order does not matter, and a judge that
    guesses has 0.5. chose_first: the share of their verdicts that are "A". Intervals count a pair as one unit.
    """

    judge: str
    wins: dict[str, MeanWithInterval]
    order_bias: MeanWithInterval
    chose_first: float
    pairs: int
    verdicts: int
    unreadable: int


def pairs(points: Sequence[DebatePoint]) -> list[tuple[DebatePoint, DebatePoint]]:
    """The points of different models that were made at the same place of the debate. Empty points are left out."""
    places: dict[tuple[object, ...], list[DebatePoint]] = {}
    for point in points:
        turn = point.turn
        if point.text:
            places.setdefault((turn.topic, turn.temperature, turn.place), []).append(point)
    return [pair for members in places.values() for pair in itertools.combinations(members, 2)]


def judge_points(
    name: str,
    judge: LanguageModel,
    points: Sequence[DebatePoint],
    journal: DebateJournal,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[JudgedPair]:
    """Ask for every verdict that the journal does not have."""

    def ask(a: DebatePoint, b: DebatePoint) -> str | None:
        key = json.dumps([name, a.turn.key, b.turn.key])
        facts = {"judge": name, "A": asdict(a.turn), "B": asdict(b.turn)}
        return read_verdict(journal.reply("verdict", key, judge, prompt(a, b), how, facts)["text"])

    how = Options(MAX_TOKENS, temperature=0.0, seed=seed)
    chosen, judged = pairs(points), []
    for first, second in chosen:
        judged.append(JudgedPair(first, second, ask(first, second), ask(second, first)))
        progress(len(judged) / len(chosen))
    return judged


def prompt(a: DebatePoint, b: DebatePoint) -> list[Message]:
    """The messages that ask which of two arguments is better."""
    turn = a.turn
    system = f"You judge a debate about {turn.topic}. Answer with one letter, A or B, and nothing else."
    lines = [f"Here are two arguments {turn.side} {turn.topic}.", f"Argument A: {a.text}", f"Argument B: {b.text}"]
    return [Message("system", system), Message("user", "\n\n".join([*lines, "Which argument is better, A or B?"]))]


def read_verdict(text: str) -> str | None:
    """The letter of a verdict, or None if it cannot be read.

    Either the letter stands alone at the start, or "argument", "answer", "option", "verdict" or "choice" names it and names
    no other. "A good argument" is no verdict.
    """
    text = without_reasoning(text)
    alone = re.match(r"[\W_]*([AB])(?=[\W_]*$|[.,:;)\]*\"'\n\u2014-])", text)
    if alone:
        return alone.group(1)
    named = set(
        re.findall(r"(?i:argument|answer|option|verdict|choice)(?:\s+is)?[\s:*\"'(]*([AB])\b(?!\s+(?!is\b)[a-z])", text)
    )
    return named.pop() if len(named) == 1 else None


def summarise(judge: str, judged: Sequence[JudgedPair]) -> JudgeSummary:
    """Count the wins and measure the order bias."""
    complete = [pair for pair in judged if pair.verdict and pair.swapped]
    wins: dict[str, list[float]] = {point.turn.model: [] for pair in judged for point in (pair.first, pair.second)}
    for pair in complete:
        won = ((pair.verdict == "A") + (pair.swapped == "B")) / 2
        wins[pair.first.turn.model].append(won)
        wins[pair.second.turn.model].append(1 - won)
    letters = [letter for pair in complete for letter in (pair.verdict, pair.swapped)]
    unreadable = sum(letter is None for pair in judged for letter in (pair.verdict, pair.swapped))
    return JudgeSummary(
        judge,
        {model: mean_intervals.share(values) for model, values in wins.items()},
        mean_intervals.share([float(pair.verdict == pair.swapped) for pair in complete]),
        letters.count("A") / len(letters) if letters else mean_intervals.NAN,
        len(judged),
        2 * len(judged),
        unreadable,
    )
