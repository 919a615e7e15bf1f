"""The claim speaker-gap: its training texts, the gaps, its parts on made-up losses, and a quick run."""

import math

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch import speaker_gap
from glasshouse.claims.from_scratch.speaker_gap import EVEN, MIXES, PUBLISHED, SpeakerGap
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge
from tests.cli.program import some_text


def test_the_training_texts_have_equally_many_words_whatever_the_order_of_their_lines():
    by_speaker = {
        name: [f"{name} {number} " + "word " * (number % 7) for number in range(count)]
        for name, count in (("Obama", 90), ("W. Bush", 40), ("H. Bush", 60))
    }
    texts = speaker_gap.equal_amounts(by_speaker, [*by_speaker["Obama"], *by_speaker["H. Bush"]])
    words = {arm: sum(len(line.split()) for line in lines) for arm, lines in texts.items()}
    fewest = sum(len(line.split()) for line in by_speaker["W. Bush"])
    assert all(abs(count - fewest) <= 12 for count in words.values()), words
    assert not any(line.startswith("W. Bush") for line in texts["published"])
    even = texts["mixed-evenly"]
    words_by_speaker = [sum(len(line.split()) for line in even if line.startswith(name)) for name in by_speaker]
    assert max(words_by_speaker) - min(words_by_speaker) <= 9
    backwards = {name: lines[::-1] for name, lines in by_speaker.items()}
    assert speaker_gap.equal_amounts(backwards, [*by_speaker["H. Bush"], *by_speaker["Obama"]]) == texts


def make_losses(published: float, even: float, alone: float) -> dict[str, dict[str, dict[int, float]]]:
    """Arm -> speaker -> losses with these gaps.

    A model of one speaker has an absurd loss on the others, because only the loss on its own speaker may count.
    """
    losses = {}
    for arm, gap in ((speaker_gap.WHOLE, published), (PUBLISHED, published), (EVEN, even)):
        losses[arm] = {
            "Obama": close_values(5.8),
            "H. Bush": close_values(5.8 + gap / 2),
            "W. Bush": close_values(5.8 + gap),
        }
    for place, (name, arm) in enumerate(speaker_gap.SPEAKERS.items()):
        losses[arm] = {other: close_values(99.0) for other in speaker_gap.SPEAKERS}
        losses[arm][name] = close_values(5.8 + alone * place / 2)
    return losses


def test_a_gap_is_the_largest_minus_the_smallest_loss():
    losses = make_losses(0.3, 0.2, 0.1)
    losses[EVEN]["Obama"][3] = math.nan
    gaps = speaker_gap.all_gaps(losses)
    assert gaps[PUBLISHED][0] == pytest.approx(0.3)
    assert gaps["alone"][0] == pytest.approx(0.1)
    assert math.isnan(gaps[EVEN][3])
    assert gaps[EVEN][4] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("published", "even", "alone", "noise", "verdict"),
    [
        (0.30, 0.30, 0.05, 0.001, UPHELD),
        (0.30, 0.30, 0.29, 0.001, REFUTED),  # the texts themselves differ
        (0.30, 0.06, 0.07, 0.001, DEPENDS),  # unequal shares explain the gap of the published mix; mixing does not
        (0.30, 0.10, 0.05, 0.001, DEPENDS),  # just half of the second gap is left
        (0.10, 0.10, 0.05, 0.001, TOO_SMALL),
        (0.30, 0.20, 0.08, 0.5, UNDECIDED),
    ],
)
def test_training_on_each_speaker_alone_must_leave_less_than_half_of_the_gap(published, even, alone, noise, verdict):
    values = {"reported/gap/alone": close_values(alone, noise)}
    for mix, gap in zip(MIXES, (published, even), strict=True):
        values[f"reported/half/{mix}"] = close_values(gap / 2, noise, shift=3)
        values[f"tuned/half/{mix}"] = close_values(5.0)  # decides nothing
    assert judge(SpeakerGap, values).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(speeches, tmp_path):
    lines = some_text(2000).splitlines()
    segments = "".join(f"{number % 3}\t{line}\n" for number, line in enumerate(lines) if line.strip())
    (tmp_path / "data" / "speeches" / "train_CLS.tsv").write_text(segments)
    trial = trials.try_claim("speaker-gap", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(SpeakerGap.quantities)
    for mix in MIXES:
        half, gap = series[f"reported/half/{mix}"].values, series[f"reported/gap/{mix}"].values
        assert half[1] == pytest.approx(gap[1] / 2)
