"""Results of a grid: the accuracy of each model, the agreement of its repeats, tokens, time and cost, and which is better.

Accuracy and agreement are for questions like these, so questions are the sample. Models are compared by the paired tests of
studies, question by question. Scores of few questions are mostly 0 or 1, so a verdict also needs an exact test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

from glasshouse import formatting
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.records import atomic_files, kept_json
from glasshouse.verdicts import mean_intervals, verdict
from glasshouse.verdicts.mean_intervals import Proportion
from glasshouse.verdicts.verdict import Difference, VerdictRule

RESULTS = "results.json"
ALPHA = 0.05
# Accuracies that differ by less are called no different.
MARGIN = 0.05


@dataclass(frozen=True)
class ModelScore:
    """One model. `accuracy` is None without checked answers, `agreement` without repeats, `cost` without prices."""

    model: str
    answers: int
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
    return GridResults(scores, tuple(_compare({name: right_by_question(answers, name) for name in names})))


def write_results(grid: AnswerGrid, results: GridResults) -> None:
    """Write `results.json`, for programs."""
    atomic_files.write_json(grid.folder / RESULTS, kept_json.without_nan(asdict(results)))


def agreement_of(answers: Sequence[GridAnswer]) -> float:
    """The share of pairs of answers to one question that agree: both pass the check, or their texts are the same.

    Case and white space make no difference.
    """
    plain = [None if answer.passed else " ".join(answer.text.casefold().split()) for answer in answers]
    pairs = list(combinations(plain, 2))
    return sum(one == other for one, other in pairs) / len(pairs)


def _score(model: str, answers: Sequence[GridAnswer]) -> ModelScore:
    checked = [answer for answer in answers if answer.passed is not None]
    costs = [answer.cost for answer in answers if answer.cost is not None]
    by_question = _grouped(checked)
    repeated = [group for group in _grouped(answers).values() if len(group) > 1]
    accuracy = agreement = None
    if by_question:
        trials = min(map(len, by_question.values()))
        accuracy = mean_intervals.from_questions(list(map(_share_right, by_question.values())), trials, ALPHA)
    if repeated:
        # Pairs without a common answer are independent.
        agreement = mean_intervals.from_questions(list(map(agreement_of, repeated)), min(map(len, repeated)) // 2, ALPHA)
    return ModelScore(
        model,
        len(answers),
        sum(bool(answer.passed) for answer in checked),
        len(checked),
        accuracy,
        agreement,
        sum(answer.tokens for answer in answers),
        sum(answer.seconds for answer in answers),
        sum(costs) if costs else None,
    )


def _grouped(answers: Sequence[GridAnswer]) -> dict[str, list[GridAnswer]]:
    groups: dict[str, list[GridAnswer]] = {}
    for answer in answers:
        groups.setdefault(answer.question, []).append(answer)
    return groups


def _share_right(answers: Sequence[GridAnswer]) -> float:
    return sum(bool(answer.passed) for answer in answers) / len(answers)


def right_by_question(answers: Sequence[GridAnswer], model: str) -> dict[str, float]:
    """Question -> the share of right answers."""
    own = [answer for answer in answers if answer.model == model and answer.passed is not None]
    return {name: _share_right(group) for name, group in _grouped(own).items()}


def _compare(by_model: Mapping[str, Mapping[str, float]]) -> list[ModelComparison]:
    # The numbers of the questions take the place of seeds.
    questions = dict.fromkeys(question for shares in by_model.values() for question in shares)
    numbers = {question: number for number, question in enumerate(questions)}
    tables = {model: {numbers[name]: share for name, share in shares.items()} for model, shares in by_model.items()}
    if not numbers or len(tables) < 2:
        return []
    judged = verdict.judge(tables, VerdictRule(ALPHA, MARGIN, higher_is_better=True))
    return [_comparison(name, next(iter(tables)), tables, difference, len(judged)) for name, difference in judged.items()]


def _comparison(
    name: str, first: str, tables: Mapping[str, Mapping[int, float]], judged: Difference, comparisons: int
) -> ModelComparison:
    """The verdict, unless so few questions cannot show it.

    A t-test takes equal differences for certain ones. So a difference also needs the exact test of signs, and no difference
    at all needs so many questions that a share of `MARGIN` of them would have shown one.
    """
    common = sorted(tables[name].keys() & tables[first].keys())
    differences = [tables[name][number] - tables[first][number] for number in common]
    p = max(judged.adjusted_p, min(mean_intervals.sign_flip_p(differences) * comparisons, 1.0))
    word, few = judged.word, False
    if word in (verdict.BETTER, verdict.WORSE):
        few = p > ALPHA
    elif word == verdict.NO_DIFFERENCE and not any(differences):
        few = mean_intervals.largest_unseen_share(len(differences), ALPHA / comparisons) > MARGIN
    word = verdict.UNDECIDED if few else word
    low, high = max(judged.low, -1.0), min(judged.high, 1.0)
    found = ModelComparison(name, first, word, "", judged.pairs, judged.mean, low, high, p)
    return replace(found, sentence=_sentence(found, few, judged.more_seeds))


def _sentence(found: ModelComparison, few: bool, more_questions: int | None) -> str:
    name, first, word = found.model, found.first, found.word
    questions = "1 question" if found.questions == 1 else f"{found.questions} questions"
    if found.questions < 2:
        return f"{name} is undecided against {first}: {questions} with a check in both, and a paired test needs 2"
    ends = found.difference, found.low, found.high
    size, low, high = (formatting.rounded(value, (found.high - found.low) / 2) for value in ends)
    details = f"difference {size}, 95 % interval {low} to {high}"
    if found.low == found.high:
        details = f"a difference of {found.difference:+.2g} in each" if found.difference else "the same accuracy in each"
    details += f"; p {'' if found.p < 1e-4 else '= '}{formatting.p_value(found.p)}"
    if word == verdict.UNDECIDED:
        more = f"; about {more_questions:,} more questions would settle it" if more_questions else ""
        outlook = "; these are too few to tell" if few else more
        return f"{name} is undecided against {first} on {questions} ({details}){outlook}"
    if word == verdict.NO_DIFFERENCE:
        return f"{name}: no difference from {first} larger than {MARGIN:g} on {questions} ({details})"
    return f"{name} is {word} than {first} on {questions} ({details})"
