"""The claim speaker-gap: its training texts, and its rule on made-up losses."""

import pytest

from glasshouse.claims.from_scratch import speaker_gap
from tests.claims.example_values import NOISE, close_values


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
    for arm, gap in (("published", published), ("mixed-evenly", even)):
        losses[arm] = {
            "Obama": close_values(5.8),
            "H. Bush": close_values(5.8 + gap / 2),
            "W. Bush": close_values(5.8 + gap),
        }
    for place, (name, arm) in enumerate(speaker_gap.SPEAKERS.items()):
        losses[arm] = {other: close_values(99.0) for other in speaker_gap.SPEAKERS}
        losses[arm][name] = close_values(5.8 + alone * place / 2)
    return losses


@pytest.mark.parametrize(
    ("published", "even", "alone", "verdict"),
    [
        (0.30, 0.30, 0.05, "upheld"),
        (0.30, 0.30, 0.29, "refuted"),  # the texts themselves differ
        (0.30, 0.06, 0.05, "refuted"),  # a speaker missing from the published mix explains its gap; mixing does not
        (0.30, 0.10, 0.05, "undecided"),
    ],
)
def test_mixing_is_the_cause_only_if_training_on_each_speaker_alone_closes_the_gap(published, even, alone, verdict):
    gaps = speaker_gap.all_gaps(make_losses(published, even, alone))
    assert gaps["alone"][0] == pytest.approx(alone, abs=1e-3)
    assert speaker_gap.closed_share(gaps, "published") == pytest.approx(1 - alone / published, abs=0.02)
    if verdict == "undecided":  # about half of the gap is left, with noise
        gaps["alone"] = {seed: gap + 0.02 * NOISE[seed] for seed, gap in gaps["alone"].items()}
    assert speaker_gap.caused_by_mixing(gaps) == verdict
