"""Claim: a GPT with a byte-pair vocabulary, trained on WikiText-2, writes fluent nonsense."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from glasshouse.baselines.language_models import NGramModel
from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.from_scratch import bpe, excerpts, ngram_scores, passages, verb_agreement
from glasshouse.claims.from_scratch.passages import PassageMeasure, Prompts
from glasshouse.claims.rules import higher, lower, not_higher, not_lower
from glasshouse.data import prepared_data
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run

GPT, UNTRAINED, TRIGRAM, REAL, MIDWAY = "gpt", "untrained", "trigram", "real", "midway"
STEPS = {GPT: 1000, UNTRAINED: 1}
WRITERS = {GPT: "the GPT", UNTRAINED: "an untrained GPT", TRIGRAM: "a trigram model", REAL: "real text"}
# Fluent text may differ from real text by this share of known words and of repeated 4-grams of words.
SHARE_MARGIN = 0.05
# Brackets out of order per passage. A passage has about 150 words.
BRACKET_MARGIN = 0.05
PASSAGES, LENGTH, VERBS = 128, 200, 1000
QUICK_STEPS = {GPT: 6, UNTRAINED: 1}
QUICK_PASSAGES, QUICK_LENGTH, QUICK_VERBS = 6, 20, 16
CURVE_POINTS = 100
Measured = dict[str, list[float]]  # measure -> its value for each passage
QUICK = (
    "training.precision=fp32",
    "training.threads=1",
    "training.batch=4",
    "evaluation.every=3",
    "data.vocabulary=600",
    "data.context=64",
    "model.width=16",
    "model.heads=2",
    "model.layers=1",
    "model.feed_forward=32",
)


def _steps_word(steps: Mapping[str, int]) -> str:
    return f"training.steps={','.join(map(str, steps.values()))}"


class GPTWikiText(Claim):
    """Compares a GPT with n-gram models, and its passages with real ones and with those of a trigram model."""

    group = GROUPS[3]
    statement = "A GPT over byte pairs, trained on WikiText-2, continues a text fluently (but without sense)."
    source = "course work on language models: the GPT assignment, its curves and its completions"
    reported = "curves, and completions of four beginnings: fluent nonsense"
    why = (
        "A language model learns first which words follow each other, then grammar, and meaning last. After a short "
        "training its text reads well and says nothing."
    )
    procedure = (
        "A GPT is trained on WikiText-2 for 1,000 steps, and a Kneser-Ney trigram model on the same tokens is its "
        "opponent, because trigram text is not fluent. The GPT must need fewer bits per byte of test text than the "
        "trigram model, choose more often the number of a verb (was or were, is or are, has or have) that the test "
        "text has, and leave fewer round brackets out of order in the passages that it writes: fewer than midway "
        "between real and trigram text. Its passages must also have about as many known words and as few repetitions "
        "as the passages that really follow. Passages and verbs count as a sample, like seeds. How well a passage "
        "keeps to its topic is shown beside it, since the claim says that the text makes no sense."
    )
    would_change = (
        "Measures of fluency that look further, such as the judgement of readers. A longer training: the recipe has "
        "four times as many steps."
    )
    data = PUBLIC_TEXT
    needs = ("wikitext-2",)
    looks = (6,)
    studies = (
        StudyPlan(
            "gpt",
            ("gpt-wikitext", _steps_word(STEPS), "evaluation.every=100"),
            metric="test.bits_per_byte",
            quick=QUICK,
        ),
    )
    quantities: ClassVar = {
        **{
            f"bits/{writer}": Quantity(f"bits per byte of test text, {name}", "test.bits_per_byte", "bits per byte", per=per)
            for writer, name, per in (
                *((writer, WRITERS[writer], "seed") for writer in STEPS),
                *((name, f"a {name} model", "") for name in ngram_scores.NAMES.values()),
            )
        },
        "word-perplexity": Quantity("perplexity per word of test text, the GPT", "test.word_perplexity"),
        **{
            f"verbs/{writer}": Quantity(
                f"verbs in the number of the test text, {WRITERS[writer]}", "share", "%", 100.0, higher_is_better=True
            )
            for writer in (GPT, UNTRAINED, TRIGRAM)
        },
        **{
            f"{measure}/{writer}": Quantity(f"{description}, {name}", "share", "%", 100.0)
            if measure != "brackets"
            else Quantity(f"{description}, {name}", "number", "per passage")
            for measure, description in passages.MEASURES.items()
            for writer, name in WRITERS.items()
        },
        f"brackets/{MIDWAY}": Quantity(
            f"{passages.MEASURES['brackets']}, midway between real text and a trigram model", "number", "per passage"
        ),
    }
    parts = (
        lower(f"bits/{GPT}", than=f"bits/{TRIGRAM}", margin=bpe.MARGIN, name="fewer bits per byte than a trigram model"),
        higher(
            f"verbs/{GPT}",
            than=f"verbs/{TRIGRAM}",
            margin=margins.ACCURACY,
            name="more verbs in the right number than a trigram model",
            items=True,
        ),
        lower(
            f"brackets/{GPT}",
            than=f"brackets/{MIDWAY}",
            margin=BRACKET_MARGIN,
            name="brackets out of order: closer to real text than to a trigram model's",
            items=True,
        ),
        not_lower(
            f"known/{GPT}",
            than=f"known/{REAL}",
            margin=SHARE_MARGIN,
            name="about as many known words as real text",
            items=True,
        ),
        not_higher(
            f"repeated/{GPT}",
            than=f"repeated/{REAL}",
            margin=SHARE_MARGIN,
            name="about as few repetitions as real text",
            items=True,
        ),
        higher(
            f"kept/{GPT}",
            than=f"kept/{TRIGRAM}",
            margin=margins.ACCURACY,
            name="keeps to its topic more than a trigram model",
            items=True,
            decides=False,
        ),
        lower(
            f"kept/{GPT}",
            than=f"kept/{REAL}",
            margin=SHARE_MARGIN,
            name="keeps to its topic less than real text",
            items=True,
            decides=False,
        ),
    )

    def measure(self, bench: Bench) -> Measurements:
        steps = QUICK_STEPS if bench.quick else STEPS
        arms = {writer: str(count) for writer, count in steps.items()}
        study = excerpts.with_excerpt(bench, "gpt", "wikitext-2", ("gpt-wikitext", _steps_word(steps))).study("gpt")
        runs = bench.finished_runs(study, arms[GPT])
        test = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer).splits["test"]
        trigram = ngram_scores.fit(runs[0], ngram_scores.TRIGRAM)
        series = {f"bits/{writer}": bench.values(study, arm, "test.bits_per_byte") for writer, arm in arms.items()}
        series["word-perplexity"] = bench.values(study, arms[GPT], "test.word_perplexity")
        units = series[f"bits/{GPT}"].values
        for order, name in ngram_scores.NAMES.items():
            model = trigram if order == ngram_scores.TRIGRAM else ngram_scores.fit(runs[0], order)
            bits = ngram_scores.score_split(model, test)["bits_per_byte"]
            series[f"bits/{name}"] = split_scores.same_for_every(units, bits)
        series |= _verb_series(bench, study, arms, trigram)
        series |= _passage_series(bench, study, arms, trigram)
        return Measurements(
            series,
            tuple(bench.facts(study)),
            tuple(_completions(runs[0], trigram, 10 if bench.quick else LENGTH // 4)),
            curves(runs[0].metrics),
        )


def _verb_series(bench: Bench, study: StudyResults, arms: Mapping[str, str], trigram: NGramModel) -> dict[str, Series]:
    """The share of verbs in the right number for each writer; empty if the text has no such verb."""
    run = bench.finished_runs(study, arms[GPT])[0]
    test = prepared_data.prepare(run.spec.data, run.tokenizer).splits["test"]
    count = QUICK_VERBS if bench.quick else VERBS
    choices = verb_agreement.find_choices(test, run.tokenizer, run.spec.data.context, count)
    if choices is None:
        return {}
    series = {}
    for writer, arm in arms.items():
        rows = split_scores.cached_rows(
            bench, study, arm, "verbs", lambda run: {"correct": verb_agreement.choose_by_run(run, choices)}
        )
        series[f"verbs/{writer}"] = split_scores.item_series({seed: row["correct"] for seed, row in rows.items()})
    correct = verb_agreement.choose_by_ngrams(trigram, choices)
    series[f"verbs/{TRIGRAM}"] = split_scores.same_for_every(series[f"verbs/{GPT}"].values, correct)
    return series


def _passage_series(bench: Bench, study: StudyResults, arms: Mapping[str, str], trigram: NGramModel) -> dict[str, Series]:
    """The measures of the passages of each writer. A trigram model writes other passages for each seed."""
    run = bench.finished_runs(study, arms[GPT])[0]
    count, length = (QUICK_PASSAGES, QUICK_LENGTH) if bench.quick else (PASSAGES, LENGTH)
    test = prepared_data.prepare(run.spec.data, run.tokenizer).splits["test"]
    prompts = passages.take_prompts(test, run.tokenizer, count, length)
    measure = PassageMeasure(document.text for document in prepared_data.find_source(run.spec.data).documents("train"))

    def measure_sampled(run: Run) -> Measured:
        samples = run.sample(prompts.texts, tokens=prompts.length, seed=run.spec.training.seed)
        return measure.measure(prompts.texts, [sample.text for sample in samples])

    by_writer: dict[str, dict[int, Measured]] = {
        writer: split_scores.cached_rows(bench, study, arm, "passages", measure_sampled) for writer, arm in arms.items()
    }
    # The trigram model is trained once. Its passages are drawn anew for each seed, so that they vary as those of the GPTs.
    by_writer[TRIGRAM] = split_scores.cached_rows(
        bench,
        study,
        arms[GPT],
        "trigram-passages",
        lambda of: measure.measure(prompts.texts, write_passages(trigram, run, prompts, of.spec.training.seed)),
    )
    by_writer[REAL] = dict.fromkeys(by_writer[GPT], measure.measure(prompts.texts, prompts.real))
    series = {
        f"{name}/{writer}": split_scores.item_series({unit: row[name] for unit, row in rows.items()})
        for writer, rows in by_writer.items()
        for name in passages.MEASURES
    }
    series[f"brackets/{MIDWAY}"] = midway(series[f"brackets/{REAL}"], series[f"brackets/{TRIGRAM}"])
    return series


def write_passages(model: NGramModel, run: Run, prompts: Prompts, seed: int) -> list[str]:
    """The passages that an n-gram model writes after the prompts. The end-of-text token ends one, as it does for a run."""
    generator = np.random.default_rng(seed)
    written = (
        model.sample(tokens.tolist(), prompts.length, generator, run.tokenizer.end_of_text) for tokens in prompts.tokens
    )
    return [run.tokenizer.decode(tokens) for tokens in written]


def midway(first: Series, second: Series) -> Series:
    """The mean of two series, item by item."""
    assert first.items is not None
    assert second.items is not None
    return split_scores.item_series(
        {
            unit: [(one + other) / 2 for one, other in zip(row, second.items[unit], strict=True)]
            for unit, row in first.items.items()
        }
    )


def curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[tuple[float, float], ...]]:
    """The training and validation loss by step, from a run's metric log."""
    by_name = {"training loss": "loss", "validation loss": "validation.loss"}
    points = {name: [(float(row["step"]), float(row[key])) for row in rows if key in row] for name, key in by_name.items()}
    return {name: tuple(line[:: max(len(line) // CURVE_POINTS, 1)]) for name, line in points.items()}


def _completions(run: Run, trigram: NGramModel, length: int) -> Iterator[str]:
    """The beginnings of the assignment, continued by a GPT and by the trigram model, each as a note."""
    beginnings = run.spec.evaluation.prompts
    for sample in run.sample(beginnings, tokens=length, temperature=0.8):
        yield f"the GPT at temperature 0.8: {' '.join(str(sample).split())}"
    tokens = tuple(run.tokenizer.encode(text, specials=False) for text in beginnings)
    prompts = Prompts(tokens, beginnings, (), length)
    for beginning, text in zip(beginnings, write_passages(trigram, run, prompts, 0), strict=True):
        yield f"the trigram model: {' '.join((beginning + text).split())}"
