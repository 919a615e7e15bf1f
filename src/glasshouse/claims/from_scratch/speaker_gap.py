"""Claim: the test perplexities of the three speakers differ because the training text mixes the speakers.

Training on each speaker alone, on an even mix and on the published mix, with equal amounts of text and the same vocabulary,
tests this cause. The labelled file tells which speaker a sentence of the training text belongs to.
"""

import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glasshouse.claims import paired_comparisons, rules, split_scores
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.data import prepared_data
from glasshouse.data.sources.speeches import NAMES, TEST_TEXTS, Speeches, SpeechesText
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.spec import DataSpec

WHOLE, PUBLISHED, EVEN, ALONE = "published-whole", "published", "mixed-evenly", "alone"
SPEAKERS = {name: name.lower().replace(". ", "-") for name in NAMES.values()}  # speaker -> arm
REPORTED = {"Obama": 348.0, "H. Bush": 408.3, "W. Bush": 478.1}
# These texts are short, and a model soon memorises them. So the checkpoint with the lowest validation loss is evaluated.
TRAINING = ("training.steps=200", "evaluation.every=20", "training.checkpoint_every=200", "evaluation.batch=256")
QUICK = (*split_scores.QUICK, "training.steps=4", "evaluation.every=4", "training.batch=4", "model.width=16")
Losses = Mapping[str, Mapping[str, paired_comparisons.BySeed]]  # arm -> speaker of the test text -> seed -> nats per token


class SpeakerGap(Claim):
    """Trains on six texts and evaluates on the three speakers' test texts."""

    statement = "The perplexities on the three speakers' test texts differ because the training text mixes the speakers."
    source = "course work: a language model from scratch"
    reported = "asserted of 348.0 (Obama), 408.3 (H. Bush) and 478.1 (W. Bush)"
    rule = (
        "The gap is the largest minus the smallest loss on the three test texts. Five training texts have as many words "
        "as the speaker with the fewest words, without sentences of the test texts: each speaker alone, an even mix, "
        "and the published mix. If mixing is the cause, training on each speaker alone closes the gap. The claim is "
        "upheld if, with each speaker's model trained on that speaker alone, less than half of the gap of the published "
        "mix is left, and less than half of the gap of the even mix. In the even mix no speaker has less text than "
        "another, so training alone removes nothing but the mixing. Both are judged by the whole 95 % confidence "
        "interval of the mean over seeds. The claim is refuted if more than half of one of the two gaps is left (at a "
        "level divided between the two). Otherwise it is undecided."
    )
    needs = ("speeches-text", "speeches")

    def run_experiment(self, bench: Bench) -> Finding:
        texts = training_texts()
        if bench.quick:
            del texts[WHOLE]
        recipes = _write_specs(bench.folder, texts)
        study = bench.compare("texts", *map(str, recipes), metric="validation.loss", quick=QUICK)
        losses = {arm.name: _losses_by_speaker(bench, study, arm.name) for arm in study.arms}
        gaps = all_gaps(losses)
        line_counts, total = _count_lines_by_speaker()
        counts_text = ", ".join(f"{name} {line_counts[name]:,}" for name in REPORTED)
        rows = [Evidence(f"lines of the published training text, of {total:,}, whose speaker is known", "", counts_text)]
        for arm in losses:
            figures = " / ".join(rules.format_plus_minus(losses[arm][name]) for name in REPORTED)
            words = sum(len(line.split()) for line in texts[arm])
            rows.append(Evidence(f"loss on {' / '.join(REPORTED)}, trained on {arm} ({words:,} words)", "", figures))
        descriptions = {
            WHOLE: "the whole published text",
            PUBLISHED: "the published mix",
            EVEN: "an even mix",
            ALONE: "each speaker alone",
        }
        rows += [
            Evidence(f"gap in nats, {description}", _reported_gap(arm), rules.format_with_seeds(gaps[arm]))
            for arm, description in descriptions.items()
            if arm in gaps
        ]
        return Finding(
            verdict=caused_by_mixing(gaps),
            because=f"The gap in nats is {rules.format_interval(gaps[PUBLISHED])} with the published mix, "
            f"{rules.format_interval(gaps[EVEN])} with an even mix and {rules.format_interval(gaps[ALONE])} with each "
            "speaker alone, all with the same number of words: training on each speaker alone closes "
            f"{100 * closed_share(gaps, PUBLISHED):.0f} % of the first gap and {100 * closed_share(gaps, EVEN):.0f} % "
            "of the second. Lines of the published training text whose speaker is known from other files: "
            f"{counts_text}.",
            scope=f"the course's speeches; {rules.study_scope(study)}; the best checkpoint by a held-out tenth of each text",
            rows=tuple(rows),
            studies=(study.name,),
            notes=(
                "every model has the vocabulary of both published training files, so that losses can be compared; the "
                "text of each speaker comes from the labelled file, the only one that names the speaker of a sentence",
                "a gap that remains with each speaker's own model is a property of the test texts themselves",
            ),
        )


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
    """Arm -> seed -> largest minus smallest loss. For "alone", each speaker's loss is that of the speaker's own model."""
    alone = {name: losses[arm][name] for name, arm in SPEAKERS.items()}
    mixed = {arm: losses[arm] for arm in (WHOLE, PUBLISHED, EVEN) if arm in losses}
    return {arm: _gap(by_speaker) for arm, by_speaker in {**mixed, ALONE: alone}.items()}


def caused_by_mixing(gaps: Mapping[str, paired_comparisons.BySeed]) -> str:
    """The verdict on: training on each speaker alone leaves less than half of each mix's gap (published and even)."""
    below_half = {mix: {seed: gaps[mix][seed] / 2 - gap for seed, gap in gaps[ALONE].items()} for mix in (PUBLISHED, EVEN)}
    return rules.all_of(*(rules.beats(values, 0.0, higher_is_better=True, parts=2) for values in below_half.values()))


def closed_share(gaps: Mapping[str, paired_comparisons.BySeed], mix: str) -> float:
    """The share of a mix's mean gap that is closed by training on each speaker alone."""
    return 1 - statistics.fmean(gaps[ALONE].values()) / statistics.fmean(gaps[mix].values())


def _gap(by_speaker: Mapping[str, paired_comparisons.BySeed]) -> dict[int, float]:
    common_seeds = set.intersection(*(set(by_seed) for by_seed in by_speaker.values()))
    gaps = {}
    for seed in sorted(common_seeds):
        losses = [by_seed[seed] for by_seed in by_speaker.values()]
        gaps[seed] = max(losses) - min(losses)
    return gaps


def _reported_gap(arm: str) -> str:
    return f"{math.log(max(REPORTED.values()) / min(REPORTED.values())):.3f}" if arm == WHOLE else ""


def _write_specs(folder: Path, texts: Mapping[str, Sequence[str]]) -> list[Path]:
    """Write a text file and a spec file for each arm, and return the paths of the specs."""
    tokenizer = folder / "words.json"
    both_files = DataSpec(source="speeches-text", tokenizer="words", vocabulary=8192, validation=0.0)
    prepared_data.load_or_train_tokenizer(both_files, SpeechesText(0.0)).save(tokenizer)
    paths = []
    for arm, lines in texts.items():
        atomic_files.write_text(folder / f"{arm}.txt", "\n".join(lines) + "\n")
        data = {"files": [str(folder / f"{arm}.txt")], "tokenizer_file": str(tokenizer), "validation": 0.1, "test": 0.0}
        spec = resolve_spec.spec_of("speech-lm", *TRAINING, data=data)
        paths.append(folder / f"{arm}.toml")
        atomic_files.write_text(paths[-1], spec_files.to_toml(spec))
    return paths


def _losses_by_speaker(bench: Bench, study: StudyResults, arm: str) -> dict[str, dict[int, float]]:
    """Speaker -> seed -> loss on that speaker's test text."""

    def losses(run: Run) -> dict[str, float]:
        paths = {name: TEST_TEXTS[name].locate("speeches-text") for name in REPORTED}
        return {name: run.evaluate(path)[str(path)]["loss"] for name, path in paths.items()}

    return split_scores.cached_by_seed(bench, study, arm, "speakers", losses)


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
