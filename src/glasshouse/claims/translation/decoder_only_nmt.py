"""Claim: a decoder alone translates better than an encoder with a decoder. Pig Latin, at as many parameters."""

from collections.abc import Sequence

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.translation.nmt import MARGIN, QUICK, STEPS
from glasshouse.data.sources import pig_latin
from glasshouse.pages.study_content import Arm
from glasshouse.runs.run import Run

BOTH, ALONE = "piglatin-encoder-decoder", "piglatin-decoder-only"
SENTENCE = "the air conditioning is working"


class DecoderOnlyNMT(Claim):
    """The same task as one sequence: source, a mark, target."""

    statement = "A decoder alone translates English to Pig Latin better than an encoder-decoder."
    source = "course work on translation: the same task as one sequence"
    reported = (
        "loss about 0.2 on the small list, below every encoder-decoder (0.478 and more), and the only one to get the sample "
        "sentence right; with about 260,000 parameters (h 128) against those of h 32 and 64"
    )
    rule = (
        "By validation loss a letter of the target, paired by seed, at as many parameters (the decoder's width is "
        "adjusted) and as many steps, each model with its own best of three learning rates: upheld where the decoder "
        f"alone is better, refuted where it is worse or shown to differ by less than {MARGIN:g} nats a letter, else "
        "undecided. Words exactly right and the sample sentence are shown and do "
        "not decide."
    )

    def try_it(self, bench: Bench) -> Finding:
        comparison = bench.compare(
            "matched-parameters",
            BOTH,
            ALONE,
            f"training.steps={STEPS}",
            metric="validation.loss",
            match="parameters",
            margin=MARGIN,
            tune=None if bench.quick else "training.learning_rate=7.5e-4,1.5e-3,3e-3",
            quick=(*QUICK, "data.context=16"),
        )
        both, alone = comparison.arms
        sentences = {arm.name: [_translated(run) for run in bench.runs(comparison, arm.name)] for arm in comparison.arms}
        rows = []
        for arm, loss, sentence in ((both, "0.478 (h 64)", "wrong"), (alone, "about 0.2 (h 128)", "right")):
            exact = {split: bench.values(comparison, arm.name, f"{split}.exact") for split in ("validation", "test")}
            rows += [
                Evidence(f"validation loss a letter, {_kind(arm)}", loss, rules.shown(arm.values)),
                Evidence(
                    f"test loss a letter, {_kind(arm)}",
                    "",
                    rules.shown(bench.values(comparison, arm.name, "test.loss")),
                ),
                Evidence(f"words exactly right, %, {_kind(arm)}", "", _exact(exact)),
                Evidence(f'"{SENTENCE}", {_kind(arm)}', sentence, told(sentences[arm.name])),
                Evidence(f"parameters, {_kind(arm)}", "260,000" if arm is alone else "", f"{arm.parameters:,}"),
                Evidence(f"training FLOPs, {_kind(arm)}", "", f"{arm.flops:.3g}"),
            ]
        difference = alone.difference
        because = f"{difference.sentence}." if difference else "Too few seeds came through to judge by."
        return Finding(
            verdict=rules.direction(difference),
            because=because.replace(ALONE, "The decoder alone", 1).replace(BOTH, "the encoder-decoder"),
            scope=(
                f"Pig Latin by rule, the small list; an encoder-decoder of width 64 and a decoder as large in parameters, "
                f"{both.steps:,} steps each, {len(both.seeds)} seeds"
            ),
            rows=tuple(rows),
            studies=(comparison.name,),
            notes=(
                "the loss is that of the target's letters and its end, for both; the reported decoder was asked for "
                "the letters of the source too",
                *(f"{_kind(arm)}: {note}" for arm in comparison.arms for note in arm.notes),
            ),
        )


def told(sentences: Sequence[str]) -> str:
    """In how many seeds the sentence was right, and what the first seed wrote."""
    if not sentences:
        return "not measured"
    right = sum(sentence == pig_latin.translate(SENTENCE) for sentence in sentences)
    return f"right in {right} of {len(sentences)} seeds; the first wrote: {sentences[0]}"


def _translated(run: Run) -> str:
    return run.translate([SENTENCE])[0][0].text


def _kind(arm: Arm) -> str:
    return "decoder alone" if arm.name == ALONE else "encoder-decoder"


def _exact(values: dict[str, dict[int, float]]) -> str:
    return ", ".join(f"{split} {rules.shown(found, '.1f', 100)}" for split, found in values.items())
