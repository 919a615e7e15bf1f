"""What a grid shows: the accuracy of each model, the agreement of its repeats, tokens, time and cost, and which is better.

Accuracy and agreement are for questions like these, so questions are the sample. Models are compared by the paired tests of
studies, question by question. Scores of few questions are mostly 0 or 1, so a verdict also needs an exact test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from glasshouse.formatting import p_value, rounded
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.verdicts import proportions, verdict
from glasshouse.verdicts.proportions import Proportion
from glasshouse.verdicts.verdict import Difference, VerdictRule

ALPHA = 0.05
# Accuracies that differ by less are called no different.
MARGIN = 0.05


@dataclass(frozen=True)
class ModelScore:
    """One model. `accuracy` is None without checked answers, `agreement` without repeats, `cost` without prices."""

    model: str
    answers: int  # that were made; cached ones do not count
    passed: int
    checked: int
    accuracy: Proportion | None
    agreement: Proportion | None
    tokens: int
    seconds: float
    cost: float | None


@dataclass(frozen=True)
class ModelComparison:
    """The accuracy of a model less that of the first, over the questions that both answered."""

    model: str
    first: str
    word: str  # better, worse, no difference, undecided
    sentence: str
    questions: int
    difference: float
    low: float
    high: float
    p: float  # the larger of the paired t-test's and the exact test's, corrected for the number of models


@dataclass(frozen=True)
class GridResults:
    """The results of the answers so far."""

    scores: tuple[ModelScore, ...]
    comparisons: tuple[ModelComparison, ...]


def results_of(grid: AnswerGrid) -> GridResults:
    """The results of a grid, from the answers that it has."""
    answers = grid.answers
    names = [model.name for model in grid.models]
    scores = tuple(_score(name, [answer for answer in answers if answer.model == name]) for name in names)
    by_model = {name: right_by_question(answers, name) for name in names}
    return GridResults(scores, tuple(_compare(by_model)))


def agreement_of(answers: Sequence[GridAnswer]) -> float:
    """The share of pairs of answers to one question that agree: both pass the check, or their texts are the same."""
    pairs = list(combinations([None if answer.passed else _plain(answer.text) for answer in answers], 2))
    return sum(one == other for one, other in pairs) / len(pairs)


def _plain(text: str) -> str:
    """A text without differences of case and white space."""
    return " ".join(text.casefold().split())


def _score(model: str, answers: Sequence[GridAnswer]) -> ModelScore:
    fresh = [answer for answer in answers if not answer.cached]
    checked = [answer for answer in fresh if answer.passed is not None]
    costs = [answer.cost for answer in fresh if answer.cost is not None]
    return ModelScore(
        model,
        len(fresh),
        sum(bool(answer.passed) for answer in checked),
        len(checked),
        _accuracy(checked),
        _agreement(fresh),
        sum(answer.tokens for answer in fresh),
        sum(answer.seconds for answer in fresh),
        sum(costs) if costs else None,
    )


def _accuracy(checked: Sequence[GridAnswer]) -> Proportion | None:
    questions = list(_grouped(checked).values())
    if not questions:
        return None
    shares = [sum(bool(answer.passed) for answer in answers) / len(answers) for answers in questions]
    return proportions.from_questions(shares, min(map(len, questions)), ALPHA)


def _agreement(fresh: Sequence[GridAnswer]) -> Proportion | None:
    several = [answers for answers in _grouped(fresh).values() if len(answers) > 1]
    if not several:
        return None
    # Pairs without a common answer are independent.
    pairs = min(len(answers) for answers in several) // 2
    return proportions.from_questions([agreement_of(answers) for answers in several], pairs, ALPHA)


def _grouped(answers: Sequence[GridAnswer]) -> dict[str, list[GridAnswer]]:
    groups: dict[str, list[GridAnswer]] = {}
    for answer in answers:
        groups.setdefault(answer.question, []).append(answer)
    return groups


def right_by_question(answers: Sequence[GridAnswer], model: str) -> dict[str, float]:
    """Question -> the share of right answers."""
    own = [answer for answer in answers if answer.model == model and answer.passed is not None and not answer.cached]
    return {name: sum(bool(a.passed) for a in group) / len(group) for name, group in _grouped(own).items()}


def _compare(by_model: Mapping[str, Mapping[str, float]]) -> list[ModelComparison]:
    names = list(by_model)
    # The numbers of the questions take the place of seeds.
    questions = list(dict.fromkeys(question for shares in by_model.values() for question in shares))
    tables = {
        name: {questions.index(question): share for question, share in shares.items()} for name, shares in by_model.items()
    }
    if not questions or len(names) < 2:
        return []
    judged = verdict.judge(tables, VerdictRule(ALPHA, MARGIN, higher_is_better=True))
    return [_comparison(name, names[0], tables, difference, len(judged)) for name, difference in judged.items()]


def _comparison(
    name: str, first: str, tables: Mapping[str, Mapping[int, float]], judged: Difference, comparisons: int
) -> ModelComparison:
    """The verdict, unless so few questions cannot show it.

    A t-test takes equal differences for certain ones. So a difference also needs the exact test of signs, and no difference
    at all needs so many questions that a share of `MARGIN` of them would have shown one.
    """
    common = sorted(tables[name].keys() & tables[first].keys())
    differences = [tables[name][number] - tables[first][number] for number in common]
    p = max(judged.adjusted_p, min(proportions.sign_flip_p(differences) * comparisons, 1.0))
    word, few = judged.word, False
    if word in (verdict.BETTER, verdict.WORSE):
        few = p > ALPHA
    elif word == verdict.NO_DIFFERENCE and not any(differences):
        few = proportions.largest_unseen_share(len(differences), ALPHA / comparisons) > MARGIN
    word = verdict.UNDECIDED if few else word
    low, high = max(judged.low, -1.0), min(judged.high, 1.0)
    sentence = _sentence(name, first, word, judged, (low, high), p, few)
    return ModelComparison(name, first, word, sentence, judged.pairs, judged.mean, low, high, p)


def _sentence(name: str, first: str, word: str, judged: Difference, ends: tuple[float, float], p: float, few: bool) -> str:
    questions = "1 question" if judged.pairs == 1 else f"{judged.pairs} questions"
    if judged.pairs < 2:
        return f"{name} is undecided against {first}: {questions} with a check in both, and a paired test needs 2"
    size, low, high = (rounded(value, (ends[1] - ends[0]) / 2) for value in (judged.mean, *ends))
    found = f"difference {size}, 95 % interval {low} to {high}"
    if ends[0] == ends[1]:
        found = f"a difference of {judged.mean:+.2g} in each" if judged.mean else "the same accuracy in each"
    shown = p_value(p)
    found += f"; p {shown if shown.startswith('<') else f'= {shown}'}"
    if word == verdict.UNDECIDED:
        more = f"; about {judged.more_seeds:,} more questions would settle it" if judged.more_seeds else ""
        return (
            f"{name} is undecided against {first} on {questions} ({found}){'; these are too few to tell' if few else more}"
        )
    if word == verdict.NO_DIFFERENCE:
        return f"{name}: no difference from {first} larger than {MARGIN:g} on {questions} ({found})"
    return f"{name} is {word} than {first} on {questions} ({found})"
