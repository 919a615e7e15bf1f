"""Verdicts in plain words: who was ahead in how many seeds, by how much, and never more than the statistics say."""

import dataclasses
import math

import pytest

from glasshouse.metrics.metric import ACCURACY, EXAMPLES, LOSS, PERPLEXITY, Metrics
from glasshouse.metrics.regression import RMSE
from glasshouse.metrics.translation import BLEU
from glasshouse.results import plain_verdict
from glasshouse.verdicts.verdict import BETTER, NO_DIFFERENCE, UNDECIDED, WORSE, VerdictRule, judge

TOKENS = Metrics([LOSS, PERPLEXITY])
CLASSES = Metrics([ACCURACY, LOSS, EXAMPLES, BLEU, RMSE])


def values(mean: float, seeds: int = 8, spread: float = 0.01) -> dict[int, float]:
    """Values of seeds around a mean; arms with other means have other deviations."""
    return {seed: mean + spread * math.sin(7 * seed + 100 * mean) for seed in range(seeds)}


def plain(first: dict[int, float], other: dict[int, float], metric: str, metrics: Metrics, **rule) -> tuple[str, str]:
    """The word and the plain sentence of the verdict on `rotary`, beside the first arm `learned`."""
    shown = plain_verdict.plain_metric(metric, metrics)
    difference = judge({"learned": first, "rotary": other}, VerdictRule(higher_is_better=shown.higher_is_better, **rule))
    sentence = plain_verdict.sentence("rotary", "learned", other, first, difference["rotary"], shown)
    return difference["rotary"].word, sentence


def test_a_lower_loss_is_a_lower_perplexity() -> None:
    word, sentence = plain(values(math.log(17.7)), values(math.log(15.6)), "validation.loss", TOKENS)
    assert word == BETTER
    assert sentence == "rotary beat learned in 8 of 8 seeds: validation perplexity 15.6 instead of 17.7, 12 % lower"


def test_a_loss_without_perplexity_stays_a_loss() -> None:
    word, sentence = plain(values(0.5), values(0.4), "test.loss", CLASSES)
    assert word == BETTER
    assert sentence == "rotary beat learned in 8 of 8 seeds: test loss 0.399 instead of 0.501, 20 % lower"


def test_a_share_differs_by_points_and_higher_is_better() -> None:
    word, sentence = plain(values(0.80), values(0.85), "test.accuracy", CLASSES)
    assert word == BETTER
    assert sentence.startswith("rotary beat learned in 8 of 8 seeds: test accuracy 8")
    assert sentence.endswith("points higher")
    word, sentence = plain(values(0.85), values(0.80), "test.accuracy", CLASSES)
    assert word == WORSE
    assert sentence.startswith("rotary lost to learned in 8 of 8 seeds")
    assert sentence.endswith("points lower")


def test_a_score_that_is_no_share_differs_by_itself() -> None:
    _, sentence = plain(values(20.0), values(31.0), "test.bleu", CLASSES)
    assert sentence.endswith("test BLEU 31.0 instead of 20.0, 11 higher")


def test_a_large_ratio_is_told_in_times() -> None:
    _, sentence = plain(values(1.0), values(5.0), "test.rmse", CLASSES)
    assert sentence.endswith("5 times as high")


def test_seeds_that_contradict_are_counted() -> None:
    first = values(3.0)
    other = {seed: value - (0.1 + 0.04 * math.sin(seed) if seed else -0.02) for seed, value in first.items()}
    word, sentence = plain(first, other, "validation.loss", TOKENS)
    assert word == BETTER
    assert "in 7 of 8 seeds" in sentence


def test_an_undecided_verdict_does_not_say_beat() -> None:
    first = values(3.0)
    other = {seed: value - 0.02 + 0.05 * math.cos(2 * seed) for seed, value in first.items()}
    word, sentence = plain(first, other, "validation.loss", TOKENS)
    assert word == UNDECIDED
    assert sentence.startswith("rotary was ahead of learned in ")
    assert "chance alone can do that" in sentence
    assert not {"beat", "lost"} & set(sentence.split())


def test_an_arm_that_was_behind_is_said_to_be_behind() -> None:
    first = values(3.0)
    other = {seed: value + 0.01 + 0.05 * math.cos(2 * seed) for seed, value in first.items()}
    word, sentence = plain(first, other, "validation.loss", TOKENS)
    assert word == UNDECIDED
    behind = sum(other[seed] > first[seed] for seed in first)
    assert behind > 4
    assert sentence.startswith(f"rotary was behind learned in {behind} of 8 seeds: ")


@pytest.mark.parametrize(("seeds", "guess"), [(2, ""), (8, "about 300 more seeds would settle it")])
def test_seeds_that_would_settle_it_are_a_rough_guess_and_none_after_few(seeds: int, guess: str) -> None:
    first = values(3.0, seeds)
    other = {seed: value + 0.04 * math.cos(2 * seed) for seed, value in first.items()}
    difference = judge({"learned": first, "rotary": other}, VerdictRule())["rotary"]
    difference = dataclasses.replace(difference, word=UNDECIDED, more_seeds=321)
    shown = plain_verdict.plain_metric("validation.loss", TOKENS)
    sentence = plain_verdict.sentence("rotary", "learned", other, first, difference, shown)
    assert sentence.endswith(guess or "chance alone can do that")


def test_no_difference_names_the_margin_in_the_unit_of_the_figures() -> None:
    first = values(3.0)
    other = {seed: value + 0.001 * (-1) ** seed for seed, value in first.items()}
    word, sentence = plain(first, other, "validation.loss", TOKENS, margin=0.05)
    assert word == NO_DIFFERENCE
    assert sentence.startswith("rotary does as well as learned: validation perplexity ")
    assert "shown to be smaller than 5.1 %, the margin that matters" in sentence
    shares = {seed: 0.8 + 0.001 * (-1) ** seed for seed in first}
    _, sentence = plain(dict.fromkeys(first, 0.8), shares, "test.accuracy", CLASSES, margin=0.02)
    assert "smaller than 2 points" in sentence


def test_equal_arms_are_the_same_in_every_seed() -> None:
    word, sentence = plain(values(3.0), values(3.0), "validation.loss", TOKENS, margin=0.1)
    assert word == NO_DIFFERENCE
    assert sentence.startswith("rotary and learned are the same in every one of 8 seeds")


def test_diverged_seeds_are_named_and_left_out_of_both_means() -> None:
    other = values(math.log(15.6)) | {2: math.nan}
    _, sentence = plain(values(math.log(17.7)) | {2: 2.9}, other, "validation.loss", TOKENS)
    assert "in 7 of 7 seeds: validation perplexity 15.6 instead of 17.7" in sentence
    assert sentence.endswith("; 1 more seed diverged and cannot count")


def test_a_loss_beyond_any_perplexity_stays_a_loss() -> None:
    assert plain_verdict.plain_metric("test.loss", TOKENS, largest_value=80.0).title == "test loss"


@pytest.mark.parametrize(("pairs", "start"), [(1, "a first look: 1 seed is few"), (3, "a first look: 3 seeds are"), (4, "")])
def test_few_seeds_are_a_first_look(pairs: int, start: str) -> None:
    caution = plain_verdict.caution(pairs, quick=False)
    assert caution.startswith(start)
    assert bool(caution) == bool(start)


def test_a_quick_look_says_so_with_any_number_of_seeds() -> None:
    assert plain_verdict.caution(8, quick=True).startswith("a quick look")
