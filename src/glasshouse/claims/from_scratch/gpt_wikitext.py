"""Claim: a GPT with a byte-pair vocabulary, trained on WikiText-2, writes fluent nonsense."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.from_scratch import kneser_ney, passages
from glasshouse.data import prepared_data
from glasshouse.metrics.perplexity import bits_per_byte
from glasshouse.pages import figures
from glasshouse.pages.report_content import Curve
from glasshouse.runs.run import Run

STEPS = 1000
ORDERS = {1: "unigram", 2: "bigram", 3: "trigram"}
# By how much of its words, or of its runs of words, generated text may differ from real text and still be fluent.
MARGIN = 0.05
PASSAGES, LENGTH = 64, 100


class GPTWikiText(Claim):
    """A GPT against models that only count, and what it writes against what people wrote."""

    statement = "A GPT over byte pairs, trained on WikiText-2, continues a text fluently (but without sense)."
    source = "course work on language models: the GPT assignment, its curves and its completions"
    reported = "curves, and completions of four beginnings: fluent nonsense"
    needs = ("wikitext-2",)
    seeds = 3
    rule = (
        "What is judged is that it is fluent. Three parts: on the test text the whole interval of its bits per byte "
        "lies below those of a Kneser-Ney trigram over the same tokens; and of the passages it writes after beginnings "
        "from the test text (drawn at temperature 1), against the passages that really follow, the share of known "
        f"words is no more than {100 * MARGIN:g} points lower and the share of runs of four words that stood there "
        f"before no more than {100 * MARGIN:g} points higher, with the whole interval. Upheld where all are so, refuted "
        "where one is certainly not, else undecided. That it is nonsense is left to the reader of the completions; how "
        "well it keeps to its subject is shown."
    )

    def try_it(self, bench: Bench) -> Finding:
        text = passages.excerpt(bench.folder, "wikitext-2") if bench.quick else ""
        quick = (f"data.files=[{text}]", *QUICK)
        overrides = (f"training.steps={STEPS}", "evaluation.every=100")
        runs = [
            bench.train(f"seed-{seed}", "gpt-wikitext", *overrides, f"training.seed={seed}", quick=quick)
            for seed in range(bench.seeds)
        ]
        counted: dict[str, float] = bench.once("counting-models", lambda: counting(runs[0]))
        many, length = (6, 20) if bench.quick else (PASSAGES, LENGTH)
        written = bench.once(f"passages-{bench.seeds}", lambda: passages.compare(runs, many, length))
        outcomes = [run.facts["outcome"] for run in runs]
        bits = [outcome["test"]["bits_per_byte"] for outcome in outcomes]
        differences = {name: np.subtract(written["written"][name], written["real"][name]) for name in passages.SHARES}
        for name, curves in pictures(runs[0].metrics).items():
            # Perplexities fall by a factor of hundreds in the first steps, and all that matters comes after.
            figures.curves(curves, bench.folder / name, log=name == "perplexity.svg")
        rows = [
            *(Evidence(f"test bits per byte, {ORDERS[order]}", "", f"{counted[str(order)]:.3f}") for order in ORDERS),
            Evidence("test bits per byte, GPT", "", rules.shown(bits)),
            Evidence(
                "test perplexity a word, GPT",
                "",
                rules.shown([each["test"]["word_perplexity"] for each in outcomes]),
            ),
            Evidence(
                "validation perplexity a word, GPT",
                "",
                rules.shown([e["validation"]["word_perplexity"] for e in outcomes]),
            ),
        ]
        for name, told in passages.SHARES.items():
            means = (f"{100 * np.mean(written[who][name]):.1f}" for who in ("written", "real"))
            rows.append(Evidence(f"{told}, %", "", " written, ".join(means) + " real"))
        samples = runs[0].sample(runs[0].spec.evaluation.prompts, tokens=length // 2, temperature=0.8)
        model = runs[0].spec.model
        return Finding(
            verdict=decide(bits, counted["3"], differences["known"], differences["repeated"]),
            because=(
                f"Test bits per byte are {rules.interval(bits)}, where a trigram has {counted['3']:.3f}. Against real text, "
                f"points of known words: {rules.interval(differences['known'].tolist(), '+.1f', 100)}; of runs said before: "
                f"{rules.interval(differences['repeated'].tolist(), '+.1f', 100)}."
            ),
            scope=(
                f"WikiText-2; {runs[0].spec.data.vocabulary:,} tokens, width {model.width}, {model.layers} layers, "
                f"{runs[0].spec.training.steps:,} steps (the recipe has more), {len(runs)} seeds; {many} passages of "
                f"{length} tokens from each seed"
            ),
            rows=tuple(rows),
            pictures=tuple(pictures(runs[0].metrics)),
            notes=(
                "the runs are one after another in the claim's folder: seed-0 and so on",
                *(f"continued at temperature 0.8: {' '.join(str(sample).split())}" for sample in samples),
            ),
        )


QUICK = (
    "training.steps=6",
    "training.precision=fp32",
    "training.threads=1",
    "training.batch=4",
    "evaluation.every=3",
    "data.vocabulary=400",
    "data.context=64",
    "model.width=32",
    "model.heads=2",
    "model.layers=1",
    "model.feed_forward=64",
)


def decide(bits: Sequence[float], trigram: float, known: np.ndarray, repeated: np.ndarray) -> str:
    """The verdict on the three parts, from bits per byte by seed and differences (written - real) by passage."""
    return rules.all_of(
        rules.beats(bits, trigram, higher_is_better=False, parts=3),
        rules.beats(known.tolist(), -MARGIN, higher_is_better=True, parts=3),
        rules.beats(repeated.tolist(), MARGIN, higher_is_better=False, parts=3),
    )


def counting(run: Run) -> dict[str, float]:
    """Order -> test bits per byte of a model that counts the run's own tokens; marks between texts are not scored."""
    splits = prepared_data.prepare(run.spec.data, run.tokenizer).splits
    learned, text = (np.asarray(splits[split].tokens, np.int64) for split in ("train", "test"))
    scored = ~np.isin(text[1:], list(splits["test"].marks))
    return {
        str(order): bits_per_byte(
            float(kneser_ney.nats(learned, text, run.tokenizer.vocabulary, order)[scored].sum()), splits["test"].bytes
        )
        for order in ORDERS
    }


def pictures(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Curve, ...]]:
    """The curves of a run's log by the name of the picture that shows them."""
    training = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    validation = [(row["step"], row["validation.loss"]) for row in rows if "validation.loss" in row]

    def curves(scale: Any) -> tuple[Curve, ...]:
        named = (("training", training), ("validation", validation))
        return tuple(Curve(name, [s for s, _ in points], [scale(loss) for _, loss in points]) for name, points in named)

    return {"loss.svg": curves(float), "perplexity.svg": curves(lambda loss: math.exp(min(loss, 10.0)))}
