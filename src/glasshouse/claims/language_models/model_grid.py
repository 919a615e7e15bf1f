"""Claim: larger language models answer right more often than small ones."""

import re
from pathlib import Path
from typing import ClassVar

from glasshouse.claims import split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import higher
from glasshouse.data.sources import calculations
from glasshouse.data.sources.calculations import OPERATIONS
from glasshouse.llms import grid_results
from glasshouse.llms.answer_grid import AnswerGrid, GridAnswer
from glasshouse.llms.language_model import GridOptions
from glasshouse.llms.model_list import ModelEntry
from glasshouse.llms.questions import NUMBER, REGEX, AnswerCheck, PromptQuestion
from glasshouse.records import progress_bar

# Arm -> width.
SIZES = {"small": 16, "middle": 48, "large": 128}
SMALL, MIDDLE, LARGE = SIZES
STEPS = 800
RATES = "training.learning_rate=2e-3,4e-3,8e-3,1.6e-2,3.2e-2,6.4e-2"
# Questions for each operation, repeats of each, and the most tokens of an answer.
QUESTIONS, REPEATS, TOKENS = 10, 3, 8
TEMPERATURE = 0.7
MARGIN = 0.05
TRAINED, NEW = ("questions of the training text", "questions in other words")
SPLITS = {TRAINED: "train", NEW: "test"}
REPORTED = PromptQuestion("reported", "What is 77 divided by 26?", checks=(AnswerCheck(NUMBER, 77 / 26, 0.01),))

# Split -> questions with what they ask for.
Asked = dict[str, list[tuple[str, calculations.Calculation]]]


def right(split: str, arm: str) -> str:
    """The key of the share of right answers."""
    return f"right/{split}/{arm}"


class ModelGrid(Claim):
    """Trains language models of three sizes on calculations, and asks them in one grid."""

    group = GROUPS[7]
    statement = (
        "Of several language models that answer the same questions, larger ones are right more often than small ones."
    )
    source = "course work on large language models: a grid of models and questions at temperature 0.7"
    reported = '"What is 77 divided by 26?": larger models right, small ones wrong (0.6667 and 3.14)'
    why = (
        "A larger model can memorise more answers. But the models of a grid differ in their training too, and a small model "
        "that was trained on the questions may beat a larger one that was not."
    )
    procedure = (
        f"Decoders of two layers and width {', '.join(map(str, SIZES.values()))} learn calculations with two numbers up to "
        f"{calculations.LARGEST} (plus, minus, times, divided by) from short chats, for {STEPS:,} steps on the same text, "
        "each with the best of six learning rates by validation loss over the whole chat. A grid asks every model "
        f"{QUESTIONS} questions of its training text for each operation, and as many held-out questions whose calculations "
        f"are in the training text in other wordings, {REPEATS} times each at temperature {TEMPERATURE:g}. Each model must "
        "give more right answers than the next smaller one, for both kinds of questions; questions are a random factor, "
        "crossed with seeds. An answer is right if it begins with the result, to two decimals for quotients. Beside it, the "
        "reported question, whose numbers are larger than those of the training text; the other reported questions are not "
        "asked."
    )
    would_change = (
        "Fewer training questions, which a small model can memorise too, or many more steps for it. Models that were "
        "trained on different texts: then size is not all that differs."
    )
    data = "generated data"
    looks = (8,)
    studies = (
        StudyPlan(
            "sizes",
            tuple(SIZES),
            metric="validation.loss",
            tune=RATES,
            recipes={
                arm: (
                    "characters",
                    "data.source=calculations",
                    "data.tokenizer=byte-pair",
                    "data.vocabulary=400",
                    "data.context=48",
                    f"model.width={width}",
                    "model.layers=2",
                    f"training.steps={STEPS}",
                )
                for arm, width in SIZES.items()
            },
            quick=(*split_scores.QUICK, "training.steps=2", "training.batch=8", "evaluation.every=2"),
        ),
    )
    quantities: ClassVar = {
        **{
            right(split, arm): Quantity(
                f"right answers to {setting}, width {width}", "share of answers", "%", 100.0, higher_is_better=True
            )
            for setting, split in SPLITS.items()
            for arm, width in SIZES.items()
        },
        **{
            f"{right(split, arm)}/{operation}": Quantity(
                f"right answers to {setting}, {operation}, width {width}", "share of answers", "%", 100.0, True
            )
            for setting, split in SPLITS.items()
            for operation in OPERATIONS
            for arm, width in SIZES.items()
        },
        **{
            f"reported/{arm}": Quantity(
                f"right answers to the reported question, width {width}", "share of answers", "%", 100.0, True
            )
            for arm, width in SIZES.items()
        },
    }
    parts = tuple(
        higher(
            right(split, larger),
            than=right(split, smaller),
            margin=MARGIN,
            name=f"the {larger} model is right more often than the {smaller} one",
            items=True,
            setting=setting,
        )
        for setting, split in SPLITS.items()
        for smaller, larger in ((SMALL, MIDDLE), (MIDDLE, LARGE))
    )
    figures = (
        LineFigure(
            "size",
            "width of the model",
            "right answers",
            {setting: {width: right(split, arm) for arm, width in SIZES.items()} for setting, split in SPLITS.items()},
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        study = bench.study("sizes")
        asked = {split: first_questions(split, 1 if bench.quick else QUESTIONS) for split in SPLITS.values()}
        runs = {arm: {run.spec.training.seed: run for run in bench.finished_runs(study, arm)} for arm in SIZES}
        seeds = sorted(set.intersection(*(set(by_seed) for by_seed in runs.values())))
        values: dict[str, dict[int, tuple[float, ...]]] = {}
        facts = bench.facts(study)
        for seed in seeds:
            paths = {arm: Path(by_seed[seed].folder.path) for arm, by_seed in runs.items()}
            answers = _ask(bench.folder / "grids" / f"seed-{seed}", paths, asked, seed, bench.device)
            for key, shares in _shares_right(answers, asked).items():
                values.setdefault(key, {})[seed] = shares
            if seed == seeds[0]:
                facts += [
                    (f"{answer.model}, first seed, {REPORTED.prompt}", repr(answer.text))
                    for answer in answers
                    if (answer.question, answer.repeat) == (REPORTED.name, 0)
                ]
        if len(seeds) < bench.seeds:
            facts.append(("seeds that were left out, because a model diverged", str(bench.seeds - len(seeds))))
        items = {right(split, arm) for split in asked for arm in SIZES}
        series = {
            key: split_scores.item_series(rows)
            if key in items
            else Series({seed: sum(row) / len(row) for seed, row in rows.items()})
            for key, rows in values.items()
        }
        return Measurements(series, tuple(facts))


def first_questions(split: str, count: int) -> list[tuple[str, calculations.Calculation]]:
    """The first questions of a split for each operation."""
    found = calculations.questions(split)
    return [each for operation in OPERATIONS for each in [pair for pair in found if pair[1][1] == operation][:count]]


def checked_question(text: str, calculation: calculations.Calculation) -> PromptQuestion:
    """A question whose answer must begin with the result, and not with a longer number."""
    pattern = rf"^{re.escape(calculations.answer(calculation))}(?!\.?\d)"
    return PromptQuestion(text, text, checks=(AnswerCheck(REGEX, pattern),))


def _ask(folder: Path, paths: dict[str, Path], asked: Asked, seed: int, device: str) -> list[GridAnswer]:
    """The answers of the models of one seed to all questions. A grid that was interrupted continues."""
    questions = [checked_question(*each) for split in asked.values() for each in split]
    models = [ModelEntry(arm, "run", str(path.absolute()), Path()) for arm, path in paths.items()]
    options = GridOptions(TOKENS, TEMPERATURE, repeats=REPEATS, seed=seed)
    grid = AnswerGrid([*questions, REPORTED], models, options, folder, device=device)
    cells = max(len(grid.cells()), 1)
    with progress_bar.bar(f"asking, seed {seed}") as show:
        grid.run(lambda event: show(len(grid.found) / cells))
    for error in grid.failed.values():
        raise error
    return grid.answers


def _shares_right(answers: list[GridAnswer], asked: Asked) -> dict[str, tuple[float, ...]]:
    """Key of a quantity -> the share of right answers to each question."""
    shares = {}
    for arm in SIZES:
        by_question = grid_results.right_by_question(answers, arm)
        for split, chosen in asked.items():
            shares[right(split, arm)] = tuple(by_question[text] for text, _ in chosen)
            for operation in OPERATIONS:
                own = tuple(by_question[text] for text, calculation in chosen if calculation[1] == operation)
                shares[f"{right(split, arm)}/{operation}"] = own
        shares[f"reported/{arm}"] = (by_question[REPORTED.name],)
    return shares
