"""Do the three test perplexities of the speeches differ because the training text mixes the speakers?

Whose sentences the training text holds is read from the labelled file, and the cause is tried by training on each speaker
alone, on an even mix and on the published mix, with equal amounts of text and the same words.
"""

import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glasshouse.claims import paired_questions, rules, split_scores
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
SPEAKERS = {name: name.lower().replace(". ", "-") for name in NAMES.values()}
REPORTED = {"Obama": 348.0, "H. Bush": 408.3, "W. Bush": 478.1}
# So little text is soon learned by heart: the best checkpoint by the validation text counts.
TRAINING = ("training.steps=200", "evaluation.every=20", "training.checkpoint_every=200", "evaluation.batch=256")
QUICK = (*split_scores.QUICK, "training.steps=4", "evaluation.every=4", "training.batch=4", "model.width=16")
Losses = Mapping[str, Mapping[str, paired_questions.BySeed]]  # arm -> speaker of the test text -> seed -> nats a token


class SpeakerGap(Claim):
    """Six training texts, three test texts."""

    statement = "The perplexities on the three speakers' test texts differ because the training text mixes the speakers."
    source = "course work: a language model from scratch"
    reported = "asserted of 348.0 (Obama), 408.3 (H. Bush) and 478.1 (W. Bush)"
    rule = (
        "The gap is the largest less the smallest loss of the three test texts. Five training texts have as many words as "
        "the speaker who has fewest (sentences of the test texts left out): each speaker alone, an even mix, and the "
        "published mix. If mixing is the cause, un-mixing closes the gap. Upheld where, with each speaker's model trained "
        "on that speaker alone, less than half is left of the gap of the published mix, and of that of the even mix as "
        "well: there no speaker is short of text, so nothing but mixing is undone. By the whole 95 % interval of the mean "
        "over seeds; refuted where more than half of one of them is left (at a level shared by the two); else undecided."
    )
    needs = ("speeches-text", "speeches")

    def try_it(self, bench: Bench) -> Finding:
        texts = training_texts()
        if bench.quick:
            del texts[WHOLE]
        recipes = _written(bench.folder, texts)
        study = bench.compare("texts", *map(str, recipes), metric="validation.loss", quick=QUICK)
        losses = {arm.name: _by_speaker(bench, study, arm.name) for arm in study.arms}
        gaps = all_gaps(losses)
        counted, total = _whose()
        shares = ", ".join(f"{name} {counted[name]:,}" for name in REPORTED)
        rows = [Evidence(f"lines of the published training text, of {total:,}, that the labelled files know", "", shares)]
        for arm in losses:
            figures = " / ".join(rules.figure(losses[arm][name]) for name in REPORTED)
            words = sum(len(line.split()) for line in texts[arm])
            rows.append(Evidence(f"loss on {' / '.join(REPORTED)}, trained on {arm} ({words:,} words)", "", figures))
        named = {
            WHOLE: "the whole published text",
            PUBLISHED: "the published mix",
            EVEN: "an even mix",
            ALONE: "each alone",
        }
        rows += [
            Evidence(f"gap in nats, {name}", _reported_gap(arm), rules.shown(gaps[arm]))
            for arm, name in named.items()
            if arm in gaps
        ]
        return Finding(
            verdict=caused_by_mixing(gaps),
            because=f"The gap in nats is {rules.interval(gaps[PUBLISHED])} with the published mix, "
            f"{rules.interval(gaps[EVEN])} with an even mix and {rules.interval(gaps[ALONE])} with each speaker alone, all "
            f"of as many words: un-mixing closes {100 * closed(gaps, PUBLISHED):.0f} % of the first and "
            f"{100 * closed(gaps, EVEN):.0f} % of the second. Of the published training lines that the labelled files "
            f"know, the speakers have: {shares}.",
            scope=f"the course's speeches; {rules.scope(study)}; the best checkpoint by a tenth of each text, held out",
            rows=tuple(rows),
            studies=(study.name,),
            notes=(
                "every model has the words of both published training files, so that losses compare; text by speaker is "
                "that of the labelled file, the only one that says whose a sentence is",
                "a gap that is the same for every speaker's own model is one of the test texts themselves",
            ),
        )


def training_texts() -> dict[str, list[str]]:
    """Arm -> its lines: the whole published text, and five of equal amounts."""
    tests = {line for lines in _test_lines().values() for line in lines}
    own: dict[str, list[str]] = {name: [] for name in SPEAKERS}
    for document in Speeches(0.0).documents("train"):
        if document.text not in tests:
            own[document.fields["label"]].append(document.text)
    published = [line for line in _published() if line not in tests]
    return {WHOLE: shuffled(published), **equal_amounts(own, published)}


def equal_amounts(own: Mapping[str, Iterable[str]], published: Iterable[str]) -> dict[str, list[str]]:
    """Arm -> lines, each with about as many words as the speaker who has fewest."""
    lines = {name: shuffled(each) for name, each in own.items()}
    words = min(sum(len(line.split()) for line in each) for each in lines.values())
    even = [line for each in lines.values() for line in shortened(each, words / len(lines))]
    alone = {SPEAKERS[name]: shortened(each, words) for name, each in lines.items()}
    return {PUBLISHED: shortened(shuffled(published), words), EVEN: shuffled(even), **alone}


def shuffled(lines: Iterable[str]) -> list[str]:
    """Each different line once, in an order that has nothing to do with where it stood and is always the same."""
    return sorted(set(lines), key=lambda line: hashlib.blake2b(line.encode(), digest_size=8).digest())


def shortened(lines: Sequence[str], words: float) -> list[str]:
    """The first lines, up to about so many words."""
    found, count = [], 0
    for line in lines:
        length = len(line.split())
        if count + length / 2 > words:
            break
        found.append(line)
        count += length
    return found


def all_gaps(losses: Losses) -> dict[str, dict[int, float]]:
    """Arm -> seed -> the largest less the smallest loss; "alone" takes each speaker's loss from that speaker's model."""
    alone = {name: losses[arm][name] for name, arm in SPEAKERS.items()}
    mixed = {arm: losses[arm] for arm in (WHOLE, PUBLISHED, EVEN) if arm in losses}
    return {arm: _gap(row) for arm, row in {**mixed, ALONE: alone}.items()}


def caused_by_mixing(gaps: Mapping[str, paired_questions.BySeed]) -> str:
    """The verdict on: each alone, less than half of the gap is left, of the published mix and of an even one."""
    half = {mix: {seed: gaps[mix][seed] / 2 - gap for seed, gap in gaps[ALONE].items()} for mix in (PUBLISHED, EVEN)}
    return rules.all_of(*(rules.beats(each, 0.0, higher_is_better=True, parts=2) for each in half.values()))


def closed(gaps: Mapping[str, paired_questions.BySeed], mix: str) -> float:
    """The share of a mix's gap that is gone when each speaker is trained alone, of means over seeds."""
    return 1 - statistics.fmean(gaps[ALONE].values()) / statistics.fmean(gaps[mix].values())


def _gap(row: Mapping[str, paired_questions.BySeed]) -> dict[int, float]:
    common = set.intersection(*(set(each) for each in row.values()))
    found = {}
    for seed in sorted(common):
        losses = [each[seed] for each in row.values()]
        found[seed] = max(losses) - min(losses)
    return found


def _reported_gap(arm: str) -> str:
    return f"{math.log(max(REPORTED.values()) / min(REPORTED.values())):.3f}" if arm == WHOLE else ""


def _written(folder: Path, texts: Mapping[str, Sequence[str]]) -> list[Path]:
    """A spec for each text, in the claim's folder."""
    tokenizer = folder / "words.json"
    both = DataSpec(source="speeches-text", tokenizer="words", vocabulary=8192, validation=0.0)
    prepared_data.tokenizer_for(both, SpeechesText(0.0)).save(tokenizer)
    found = []
    for arm, lines in texts.items():
        atomic_files.write_text(folder / f"{arm}.txt", "\n".join(lines) + "\n")
        data = {"files": [str(folder / f"{arm}.txt")], "tokenizer_file": str(tokenizer), "validation": 0.1, "test": 0.0}
        spec = resolve_spec.spec_of("speech-lm", *TRAINING, data=data)
        found.append(folder / f"{arm}.toml")
        atomic_files.write_text(found[-1], spec_files.to_toml(spec))
    return found


def _by_speaker(bench: Bench, study: StudyResults, arm: str) -> dict[str, dict[int, float]]:
    """Speaker -> seed -> loss on that speaker's test text."""

    def read(run: Run) -> dict[str, float]:
        paths = {name: TEST_TEXTS[name].locate("speeches-text") for name in REPORTED}
        return {name: run.evaluate(path)[str(path)]["loss"] for name, path in paths.items()}

    return split_scores.kept(bench, study, arm, "speakers", read)


def _published() -> list[str]:
    """The lines of the published training text."""
    return [line for document in SpeechesText(0.0).documents("train") for line in _lines(document.text)]


def _test_lines() -> dict[str, list[str]]:
    """Speaker -> the lines of the test text."""
    return {document.fields["speaker"]: _lines(document.text) for document in SpeechesText(0.0).documents("test")}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _whose() -> tuple[Counter[str], int]:
    """(speaker -> lines of the published training text that a labelled file knows as that speaker's, all lines)."""
    labels: dict[str, set[str]] = {line: {name} for name, lines in _test_lines().items() for line in lines}
    for split in ("train", "test"):
        for document in Speeches(0.0).documents(split):
            labels.setdefault(document.text, set()).add(document.fields["label"])
    lines = _published()
    return Counter(next(iter(found)) for line in lines if len(found := labels.get(line, set())) == 1), len(lines)
