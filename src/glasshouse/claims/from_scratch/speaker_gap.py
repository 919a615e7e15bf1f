"""Claim: the test perplexities of the three speakers differ because the training text mixes the speakers.

Training on each speaker alone, on an even mix and on the published mix, with equal amounts of text and the same vocabulary,
tests this cause. The labelled file tells which speaker a sentence of the training text belongs to.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from glasshouse.claims import margins, split_scores
from glasshouse.claims.claim import GROUPS, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import lower
from glasshouse.data import prepared_data
from glasshouse.data.sources.speeches import NAMES, TEST_TEXTS, Speeches, SpeechesText
from glasshouse.records import atomic_files
from glasshouse.results.study import StudyResults
from glasshouse.runs.run import Run
from glasshouse.specs.spec import DataSpec

WHOLE, PUBLISHED, EVEN, ALONE = "published-whole", "published", "mixed-evenly", "alone"
SPEAKERS = {name: name.lower().replace(". ", "-") for name in NAMES.values()}  # speaker -> arm
TEXTS = (WHOLE, PUBLISHED, EVEN, *SPEAKERS.values())
REPORTED = {"Obama": 348.0, "H. Bush": 408.3, "W. Bush": 478.1}
DESCRIPTIONS = {
    WHOLE: "the whole published text",
    PUBLISHED: "the published mix",
    EVEN: "an even mix",
    ALONE: "each speaker alone",
}
MIXES = {PUBLISHED: "the published mix", EVEN: "an even mix"}
RATES = {"reported": "the reported learning rate", "tuned": "tuned learning rates"}
OVERRIDES = {"reported": ("training.learning_rate=1e-3",), "tuned": ()}
TUNE = {"reported": None, "tuned": "training.learning_rate=5e-4,1e-3,2e-3,4e-3"}
# These texts are short, and a model soon memorises them. So the checkpoint with the lowest validation loss is evaluated.
TRAINING = (
    "training.steps=200",
    "evaluation.every=20",
    "training.checkpoint_every=200",
    "evaluation.batch=256",
    "evaluation.stride=32",
)
DATA = ("data.source=", "data.tokenizer_file={folder}/words.json", "data.validation=0.1", "data.test=0")
QUICK = (*split_scores.QUICK, "training.steps=4", "evaluation.every=4", "training.batch=4", "model.width=16")
BySeed = Mapping[int, float]
Losses = Mapping[str, Mapping[str, BySeed]]  # arm -> speaker of the test text -> seed -> nats per token


class SpeakerGap(Claim):
    """Trains on six texts and evaluates on the three speakers' test texts."""

    group = GROUPS[3]
    statement = "The perplexities on the three speakers' test texts differ because the training text mixes the speakers."
    source = "course work: a language model from scratch"
    reported = "asserted of 348.0 (Obama), 408.3 (H. Bush) and 478.1 (W. Bush)"
    why = (
        "The published training text has much of one speaker and little of another. A model of the mix may know some "
        "speakers better than others."
    )
    procedure = (
        "The gap is the largest minus the smallest loss on the three test texts. The course's language model is "
        "trained on texts of equal size, without sentences of the test texts: each speaker alone, an even mix, and the "
        "published mix. If mixing is the cause, training on each speaker alone leaves less than half of the gap. This "
        "is judged for the gap of the published mix, in which speakers have unequal shares, and for that of the even "
        "mix, in which training alone removes nothing but the mixing. Tuned learning rates are shown beside it."
    )
    would_change = (
        "More text of each speaker: with equal amounts every text is as short as that of the speaker with the fewest "
        "words. Other test texts: a gap that remains with each speaker's own model is a property of the test texts "
        "themselves."
    )
    needs = ("speeches-text", "speeches")
    studies = tuple(
        StudyPlan(
            f"texts-{rate}",
            TEXTS,
            metric="validation.loss",
            tune=TUNE[rate],
            quick=QUICK,
            recipes={
                text: ("speech-lm", *TRAINING, *OVERRIDES[rate], *DATA, f"data.files=[{{folder}}/{text}.txt]")
                for text in TEXTS
            },
        )
        for rate in RATES
    )
    quantities: ClassVar = {
        **{
            f"{rate}/{text}/{name}": Quantity(
                f"loss on {name}, trained on {text.replace('-', ' ')}, {where}", "loss", "nats per token"
            )
            for rate, where in RATES.items()
            for text in TEXTS
            for name in REPORTED
        },
        **{
            f"{rate}/gap/{text}": Quantity(
                f"gap, {description}, {where}",
                "largest minus smallest loss",
                "nats per token",
                reported=f"{math.log(max(REPORTED.values()) / min(REPORTED.values())):.3f}"
                if (rate, text) == ("reported", WHOLE)
                else "",
            )
            for rate, where in RATES.items()
            for text, description in DESCRIPTIONS.items()
        },
        **{
            f"{rate}/half/{mix}": Quantity(f"half of the gap, {name}, {where}", "half of the gap", "nats per token")
            for rate, where in RATES.items()
            for mix, name in MIXES.items()
        },
    }
    parts = tuple(
        lower(
            f"{rate}/gap/{ALONE}",
            than=f"{rate}/half/{mix}",
            margin=margins.TOKEN_LOSS,
            name=f"each speaker alone leaves less than half of the gap of {name}",
            setting=f"the gap of {name}" + ("" if rate == "reported" else f", {where}"),
            decides=rate == "reported",
        )
        for rate, where in RATES.items()
        for mix, name in MIXES.items()
    )

    def measure(self, bench: Bench) -> Measurements:
        texts = training_texts()
        write_data(bench.folder, texts)
        series: dict[str, Series] = {}
        facts = []
        for rate in RATES:
            study = bench.study(f"texts-{rate}", folder=str(bench.folder.absolute()))
            losses = {text: _losses_by_speaker(bench, study, text) for text in TEXTS}
            gaps = all_gaps(losses)
            series |= {f"{rate}/{text}/{name}": Series(losses[text][name]) for text in TEXTS for name in REPORTED}
            series |= {f"{rate}/gap/{text}": Series(gap) for text, gap in gaps.items()}
            series |= {f"{rate}/half/{mix}": Series({seed: gap / 2 for seed, gap in gaps[mix].items()}) for mix in MIXES}
            facts += bench.facts(study)
        counts, total = _count_lines_by_speaker()
        facts.append(
            (
                f"lines of the published training text, of {total:,}, whose speaker is known",
                ", ".join(f"{name} {counts[name]:,}" for name in REPORTED),
            )
        )
        facts += [(f"words of the text {text}", f"{sum(len(line.split()) for line in texts[text]):,}") for text in TEXTS]
        return Measurements(series, tuple(facts))


def training_texts() -> dict[str, list[str]]:
    """Arm -> its lines: the whole published text, and five texts with equal numbers of words."""
    tests = {line for lines in _test_lines().values() for line in lines}
    by_speaker: dict[str, list[str]] = {name: [] for name in SPEAKERS}
    for document in Speeches(0.0).documents("train"):
        if document.text not in tests:
            by_speaker[document.fields["label"]].append(document.text)
    published = [line for line in _published_lines() if line not in tests]
    return {WHOLE: shuffle(published), **equal_amounts(by_speaker, published)}


def equal_amounts(by_speaker: Mapping[str, Iterable[str]], published: Iterable[str]) -> dict[str, list[str]]:
    """Arm -> lines, each text with about as many words as the speaker with the fewest words."""
    shuffled = {name: shuffle(lines) for name, lines in by_speaker.items()}
    words = min(sum(len(line.split()) for line in lines) for lines in shuffled.values())
    even = [line for lines in shuffled.values() for line in truncate(lines, words / len(shuffled))]
    alone = {SPEAKERS[name]: truncate(lines, words) for name, lines in shuffled.items()}
    return {PUBLISHED: truncate(shuffle(published), words), EVEN: shuffle(even), **alone}


def shuffle(lines: Iterable[str]) -> list[str]:
    """The distinct lines, ordered by a hash: always the same order, whatever the order of the input."""
    return sorted(set(lines), key=lambda line: hashlib.blake2b(line.encode(), digest_size=8).digest())


def truncate(lines: Sequence[str], words: float) -> list[str]:
    """The first lines, up to about this number of words."""
    kept, count = [], 0
    for line in lines:
        length = len(line.split())
        if count + length / 2 > words:
            break
        kept.append(line)
        count += length
    return kept


def all_gaps(losses: Losses) -> dict[str, dict[int, float]]:
    """Text -> seed -> largest minus smallest loss. For "alone", each speaker's loss is that of the speaker's own model."""
    alone = {name: losses[text][name] for name, text in SPEAKERS.items()}
    return {**{text: _gap(losses[text]) for text in (WHOLE, PUBLISHED, EVEN)}, ALONE: _gap(alone)}


def _gap(by_speaker: Mapping[str, BySeed]) -> dict[int, float]:
    """Seed -> largest minus smallest loss; NaN if a run of the seed diverged."""
    gaps = {}
    for seed in next(iter(by_speaker.values())):
        losses = [by_seed[seed] for by_seed in by_speaker.values()]
        gaps[seed] = max(losses) - min(losses) if all(map(math.isfinite, losses)) else math.nan
    return gaps


def write_data(folder: Path, texts: Mapping[str, Sequence[str]]) -> None:
    """Write a file for each training text, and a tokenizer with the vocabulary of both published training files."""
    both_files = DataSpec(source="speeches-text", tokenizer="treebank-words", vocabulary=8192, validation=0.0)
    prepared_data.Preparation(both_files, SpeechesText(0.0)).tokenizer().save(folder / "words.json")
    for text, lines in texts.items():
        atomic_files.write_text(folder / f"{text}.txt", "\n".join(lines) + "\n")


def _losses_by_speaker(bench: Bench, study: StudyResults, text: str) -> dict[str, dict[int, float]]:
    """Speaker -> seed -> loss on that speaker's test text."""

    def losses(run: Run) -> dict[str, float]:
        paths = {name: TEST_TEXTS[name].locate("speeches-text") for name in REPORTED}
        return {name: run.evaluate(path)[str(path)]["loss"] for name, path in paths.items()}

    return split_scores.cached_by_seed(bench, study, text, "speakers", losses)


def _published_lines() -> list[str]:
    """The lines of the published training text."""
    return [line for document in SpeechesText(0.0).documents("train") for line in _lines(document.text)]


def _test_lines() -> dict[str, list[str]]:
    """Speaker -> the lines of the test text."""
    return {document.fields["speaker"]: _lines(document.text) for document in SpeechesText(0.0).documents("test")}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _count_lines_by_speaker() -> tuple[Counter[str], int]:
    """(speaker -> lines of the published training text that belong to this speaker only, all lines).

    The speaker of a line is known if it occurs in a labelled file or in a test text.
    """
    speakers: dict[str, set[str]] = {line: {name} for name, lines in _test_lines().items() for line in lines}
    for split in ("train", "test"):
        for document in Speeches(0.0).documents(split):
            speakers.setdefault(document.text, set()).add(document.fields["label"])
    lines = _published_lines()
    counts = Counter(next(iter(names)) for line in lines if len(names := speakers.get(line, set())) == 1)
    return counts, len(lines)
