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
# Fluent text may differ from real text by this share of known words and of repeated 4-grams of words.
MARGIN = 0.05
PASSAGES, LENGTH = 64, 100
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


class GPTWikiText(Claim):
    """Compares a GPT with n-gram models, and the passages that it writes with real passages."""

    statement = "A GPT over byte pairs, trained on WikiText-2, continues a text fluently (but without sense)."
    source = "course work on language models: the GPT assignment, its curves and its completions"
    reported = "curves, and completions of four beginnings: fluent nonsense"
    needs = ("wikitext-2",)
    seeds = 3
    rule = (
        "Only the fluency is judged. It has three parts. First, on the test text the whole confidence interval of the "
        "GPT's bits per byte is below that of a Kneser-Ney trigram model over the same tokens. The other two parts "
        "compare passages that the GPT writes after prompts from the test text (sampled at temperature 1) with the "
        f"passages that really follow. Second, the share of known words is at most {100 * MARGIN:g} percentage points "
        "lower, with the whole interval. Third, the share of 4-grams of words that occur earlier in the passage is at "
        f"most {100 * MARGIN:g} percentage points higher, with the whole interval. The claim is upheld if all parts "
        "hold, refuted if one certainly does not, otherwise undecided. Whether the text is nonsense is left to the "
        "reader of the completions; how well it keeps to its topic is shown."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        excerpt = passages.write_excerpt(bench.folder, "wikitext-2") if bench.quick else ""
        quick = (f"data.files=[{excerpt}]", *QUICK)
        overrides = (f"training.steps={STEPS}", "evaluation.every=100")
        runs = [
            bench.train(f"seed-{seed}", "gpt-wikitext", *overrides, f"training.seed={seed}", quick=quick)
            for seed in range(bench.seeds)
        ]
        ngram_bits: dict[str, float] = bench.cached("counting-models", lambda: ngram_bits_per_byte(runs[0]))
        count, length = (6, 20) if bench.quick else (PASSAGES, LENGTH)
        shares = bench.cached(f"passages-{bench.seeds}", lambda: passages.compare(runs, count, length))
        outcomes = [run.facts["outcome"] for run in runs]
        bits = [outcome["test"]["bits_per_byte"] for outcome in outcomes]
        differences = {name: np.subtract(shares["written"][name], shares["real"][name]) for name in passages.SHARES}
        for name, curves in pictures(runs[0].metrics).items():
            # Perplexity falls by a factor of hundreds in the first steps; a log scale keeps the later steps readable.
            figures.curves(curves, bench.folder / name, log=name == "perplexity.svg")
        rows = [
            *(Evidence(f"test bits per byte, {ORDERS[order]}", "", f"{ngram_bits[str(order)]:.3f}") for order in ORDERS),
            Evidence("test bits per byte, GPT", "", rules.format_with_seeds(bits)),
            Evidence(
                "test perplexity per word, GPT",
                "",
                rules.format_with_seeds([outcome["test"]["word_perplexity"] for outcome in outcomes]),
            ),
            Evidence(
                "validation perplexity per word, GPT",
                "",
                rules.format_with_seeds([outcome["validation"]["word_perplexity"] for outcome in outcomes]),
            ),
        ]
        for name, description in passages.SHARES.items():
            means = (f"{100 * np.mean(shares[writer][name]):.1f}" for writer in ("written", "real"))
            rows.append(Evidence(f"{description}, %", "", " written by the GPT, ".join(means) + " real"))
        samples = runs[0].sample(runs[0].spec.evaluation.prompts, tokens=length // 2, temperature=0.8)
        model = runs[0].spec.model
        known, repeated = (rules.format_interval(differences[name].tolist(), "+.1f", 100) for name in ("known", "repeated"))
        return Finding(
            verdict=decide(bits, ngram_bits["3"], differences["known"], differences["repeated"]),
            because=(
                f"Test bits per byte are {rules.format_interval(bits)}; those of a trigram model are "
                f"{ngram_bits['3']:.3f}. Differences from real text in percentage points: known words {known}; repeated "
                f"4-grams of words {repeated}."
            ),
            scope=(
                f"WikiText-2; {runs[0].spec.data.vocabulary:,} tokens, width {model.width}, {model.layers} layers, "
                f"{runs[0].spec.training.steps:,} steps (the recipe has more), {len(runs)} seeds; {count} passages of "
                f"{length} tokens from each seed"
            ),
            rows=tuple(rows),
            pictures=tuple(pictures(runs[0].metrics)),
            notes=(
                "the claim's folder contains the runs: seed-0, seed-1 and so on",
                *(f"continued at temperature 0.8: {' '.join(str(sample).split())}" for sample in samples),
            ),
        )


def decide(bits: Sequence[float], trigram: float, known: np.ndarray, repeated: np.ndarray) -> str:
    """The verdict on the three parts. `bits` are by seed; the differences (written - real) are by passage."""
    return rules.all_of(
        rules.beats(bits, trigram, higher_is_better=False, parts=3),
        rules.beats(known.tolist(), -MARGIN, higher_is_better=True, parts=3),
        rules.beats(repeated.tolist(), MARGIN, higher_is_better=False, parts=3),
    )


def ngram_bits_per_byte(run: Run) -> dict[str, float]:
    """Order -> test bits per byte of an n-gram model over the run's tokens. Separator tokens are not scored."""
    splits = prepared_data.prepare(run.spec.data, run.tokenizer).splits
    training, text = (np.asarray(splits[split].tokens, np.int64) for split in ("train", "test"))
    scored = ~np.isin(text[1:], list(splits["test"].separators))
    return {
        str(order): bits_per_byte(
            float(kneser_ney.nats(training, text, run.tokenizer.vocabulary, order)[scored].sum()), splits["test"].bytes
        )
        for order in ORDERS
    }


def pictures(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Curve, ...]]:
    """File name -> the curves from a run's metric log that it shows."""
    training = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    validation = [(row["step"], row["validation.loss"]) for row in rows if "validation.loss" in row]

    def curves(transform: Any) -> tuple[Curve, ...]:
        return tuple(
            Curve(name, [step for step, _ in points], [transform(loss) for _, loss in points])
            for name, points in (("training", training), ("validation", validation))
        )

    return {"loss.svg": curves(float), "perplexity.svg": curves(lambda loss: math.exp(min(loss, 10.0)))}
