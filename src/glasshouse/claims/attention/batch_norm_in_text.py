"""Does batch norm do badly in language models? Against layer norm and RMS norm, from small batches to large ones."""

import copy
import math
from collections.abc import Mapping

from torch import nn

from glasshouse.claims import paired_questions, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge_family
from glasshouse.pages import line_figure
from glasshouse.pages.study_content import StudyResults
from glasshouse.runs.run import Run

LAYER, RMS, BATCH = "layer", "rms", "batch"
SIZES = (4, 16, 64, 256)
RULE = VerdictRule(margin=paired_questions.TOKEN_MARGIN)
ITSELF = "by the statistics of the text itself"


class BatchNormInText(Claim):
    """Trains a decoder with each norm at each batch size, and looks at what batch norm's running statistics do."""

    statement = "Batch norm does badly in language models."
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    rule = (
        "One recipe with layer, RMS and batch norm at batches of 4, 16, 64 and 256, each arm at its own best learning rate, "
        "chosen on the validation text; batch norm against layer norm by test loss, paired by seed, Holm over the four "
        "sizes. Upheld where batch norm is worse at every size; refuted where at one of them it is better, or shown to "
        "differ by less than 0.02 nats a token; else undecided. What is measured is the trained model, which normalises by "
        "the statistics it has run up and so sees no later token."
    )

    def try_it(self, bench: Bench) -> Finding:
        sizes, norms = (SIZES[:2], (LAYER, BATCH)) if bench.quick else (SIZES, (LAYER, RMS, BATCH))
        grid = (f"training.batch={','.join(map(str, sizes))}", f"model.norm={','.join(norms)}")
        study = bench.compare(
            "norms",
            *("demo-lm", "data.context=32", "training.steps=300", "evaluation.every=50", "evaluation.batch=256", *grid),
            metric="test.loss",
            tune=None if bench.quick else "training.learning_rate=1e-3,4e-3,1.6e-2",
            quick=(*split_scores.QUICK, *split_scores.QUICK_TEXT, "training.steps=6", "evaluation.every=6"),
        )
        losses = {norm: {batch: bench.values(study, name_of(batch, norm), "test.loss") for batch in sizes} for norm in norms}
        found = compared(losses, BATCH)
        picture = bench.folder / "norms.svg"
        line_figure.draw(
            {norm: paired_questions.spans(rows) for norm, rows in losses.items()},
            picture,
            "batch",
            "test loss, nats a token",
        )
        rows = [
            Evidence(f"test loss, batch of {batch}, {norm} norm", "", rules.shown(losses[norm][batch]))
            for batch in sizes
            for norm in norms
        ]
        rows += [
            Evidence(f"{norm} norm against layer norm, batch of {batch}", "", paired_questions.told(each))
            for norm in norms[1:]
            for batch, each in compared(losses, norm).items()
        ]
        rows += _leaks(bench, study, losses)
        said = "; ".join(f"batch of {batch}: {paired_questions.told(each)}" for batch, each in found.items())
        return Finding(
            verdict=does_badly(found),
            because=f"Batch norm against layer norm by test loss: {said}.",
            scope=f"State of the Union addresses, windows of 32 tokens; {rules.scope(study)}",
            rows=tuple(rows),
            studies=(study.name,),
            pictures=(picture.name,),
            notes=(
                "in training batch norm's mean and deviation are those of all tokens of the batch, later ones of the same "
                "text included, so that its training loss may profit from what it is to predict; the trained model uses "
                "running means instead, and its loss by the statistics of the text itself, shown for comparison, is not one "
                "that a language model can have",
                "batches differ in size, so sizes do not compare with each other: at 256 as many steps read 64 times the "
                "text",
                *(f"{arm.name}: {note}" for arm in study.arms for note in arm.notes),
            ),
        )


def name_of(batch: int, norm: str) -> str:
    """The study's arm."""
    return f"batch={batch}, norm={norm}"


def compared(losses: Mapping[str, Mapping[int, paired_questions.BySeed]], norm: str) -> dict[str, Difference]:
    """Batch size -> a norm against layer norm, corrected over the sizes."""
    return judge_family({str(batch): (losses[LAYER][batch], losses[norm][batch]) for batch in losses[LAYER]}, RULE)


def does_badly(found: Mapping[str, Difference]) -> str:
    """The verdict on: it is worse at every size; `found` is corrected already."""
    return rules.all_of(*(rules.direction(each, wanted="worse") for each in found.values()))


def _leaks(bench: Bench, study: StudyResults, losses: Mapping[str, Mapping[int, paired_questions.BySeed]]) -> list[Evidence]:
    """Batch norm's test loss by the statistics of the text it is measured on, future included."""
    found = []
    for batch, by_running in losses[BATCH].items():
        if any(map(math.isfinite, by_running.values())):
            by_itself = split_scores.kept(bench, study, name_of(batch, BATCH), "itself", _by_the_text_itself)["loss"]
            pairs = {seed: by_running[seed] - by_itself[seed] for seed in by_itself}
            shown = f"{rules.shown(by_itself)}; running statistics cost {rules.shown(pairs)}"
            found.append(Evidence(f"test loss, batch of {batch}, batch norm {ITSELF}", "", shown))
    return found


def _by_the_text_itself(run: Run) -> dict[str, float]:
    """A run on its test text with batch norm as it is in training: mean and deviation of what is read at once."""
    model = copy.deepcopy(run.model)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean = module.running_var = None
            module.track_running_stats = False
    return split_scores.score(run, model, "test")
