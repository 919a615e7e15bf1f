"""Claims about language models, translation and pretraining: their rules on made-up numbers, and one trial as a whole."""

import math
from pathlib import Path

import numpy as np
import pytest

from glasshouse.claims import rules, trials
from glasshouse.claims.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.claims.from_scratch import bpe, gpt_wikitext, kneser_ney, passages
from glasshouse.claims.pretraining import arithmetic, frozen_head, mlm, mlm_steps, pretraining_domain, unfreezing
from glasshouse.claims.translation import decoder_only_nmt, nmt, nmt_loss_plots
from glasshouse.data.sources import pig_latin
from glasshouse.specs import catalogue
from glasshouse.tokenizers.words import Words
from tests.refusals import refused

NAMES = (
    "gpt-wikitext",
    "bpe",
    "nmt",
    "nmt-loss-plots",
    "decoder-only-nmt",
    "mlm",
    "mlm-steps",
    "frozen-head",
    "pretraining-domain",
    "unfreezing",
)
WIGGLE = (0.0, 0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015)


def seeds(mean: float, wiggle: float = 1.0, turned: int = 0) -> dict[int, float]:
    """Eight seeds around a mean; turned by some places, so that pairs do not move together."""
    return {seed: mean + wiggle * WIGGLE[(seed + turned) % len(WIGGLE)] for seed in range(len(WIGGLE))}


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_says_what_it_tries(name):
    claim = catalogue.find("claim", name)
    assert all(isinstance(getattr(claim, field), str) for field in ("statement", "source", "reported", "rule"))
    assert "undecided" in claim.rule


def test_more_data_is_judged_at_the_same_hidden_size_and_by_pairs():
    assert rules.direction(nmt.benefit(seeds(0.5), seeds(0.3, turned=3))) == UPHELD
    assert rules.direction(nmt.benefit(seeds(0.5), seeds(0.6, turned=3))) == REFUTED
    assert rules.direction(nmt.benefit(seeds(0.5, wiggle=3), seeds(0.5, wiggle=3))) == REFUTED  # no difference at all
    assert rules.direction(nmt.benefit({0: 0.5, 1: 0.6}, {0: 0.45, 1: 0.7})) == UNDECIDED


def test_what_the_wider_model_gains_more_is_a_difference_of_differences():
    losses = {
        (32, "small"): {0: 1.0, 1: 1.0},
        (32, "large"): {0: 0.9, 1: 0.8},
        (64, "small"): {0: 0.8, 1: 0.8, 2: 0.1},
        (64, "large"): {0: 0.3, 1: 0.5},
    }
    assert nmt.interaction(losses) == pytest.approx({0: 0.4, 1: 0.1})


def test_a_measured_loss_is_told_on_its_side_of_the_reported_one():
    assert nmt.beside(seeds(0.2), 0.478).endswith("below")
    assert nmt.beside(seeds(0.9), 0.478).endswith("above")
    assert nmt.beside(seeds(0.48), 0.478).endswith("not told apart")


def test_the_curves_rest_on_the_study_of_the_losses(tmp_path):
    plain = trials.Bench(tmp_path / "claims" / "nmt-loss-plots", 2)
    quick = trials.Bench(tmp_path / "claims" / "nmt-loss-plots" / "quick", 2, quick=True)
    assert nmt.at_home(plain).folder == tmp_path / "claims" / "nmt"
    assert nmt.at_home(quick).folder == tmp_path / "claims" / "nmt" / "quick"


def test_curves_are_ordered_by_their_ends_and_by_the_share_below(tmp_path):
    low, high = {0: [(1, 3.0), (2, 1.0)], 1: [(1, 5.0), (2, 1.0)]}, {0: [(1, 3.5), (2, 2.0)], 1: [(1, 3.5)]}
    assert nmt_loss_plots.mean_curve(low) == {1: 4.0, 2: 1.0}
    assert nmt_loss_plots.share_below(low, high) == 0.5
    judged = nmt_loss_plots.order(("lower", seeds(0.3)), ("higher", seeds(0.5, turned=2)))
    assert judged.word == "better"
    assert judged.sentence.startswith("lower is better than higher by 0.2")
    nmt_loss_plots.draw(tmp_path / "curves.svg", {"small list": {"h 32": high, "h 64": low}})
    assert "h 64" in (tmp_path / "curves.svg").read_text()


def test_the_sample_sentence_is_counted_by_seeds():
    right = pig_latin.translate(decoder_only_nmt.SENTENCE)
    assert right == "ethay airway onditioningcay isway orkingway"
    assert decoder_only_nmt.told([right, "ethay"]) == f"right in 1 of 2 seeds; the first wrote: {right}"
    assert decoder_only_nmt.told([]) == "not measured"


def test_masked_pretraining_must_beat_both_guesses_and_help():
    helps, none = mlm.worth(seeds(0.88), seeds(0.93, turned=3)), mlm.worth(seeds(0.88, 3), seeds(0.88, 3))
    assert mlm.decide(seeds(0.7), 0.1, 0.4, helps) == UPHELD
    assert mlm.decide(seeds(0.7), 0.1, 0.4, none) == REFUTED
    assert mlm.decide(seeds(0.3), 0.1, 0.4, helps) == REFUTED  # a bigram guesses better
    assert mlm.decide(seeds(0.7), 0.36, 0.4, helps) == REFUTED  # not far above the commonest
    assert mlm.decide({0: 0.7}, 0.1, 0.4, helps) == UNDECIDED


def test_guesses_are_learned_from_one_text_and_tried_on_another():
    learned = np.array([1, 1, 2, 1, 1, 2, 1, 1, 2])
    assert mlm.commonest(learned, np.array([1, 2, 2, 2])) == 0.25
    # After 2 stands 1; after 1 stands 1 three times and 2 three times, so the lower number is guessed.
    assert mlm.commonest_after(learned, np.array([2, 1, 2, 2])) == pytest.approx(1 / 3)
    assert mlm.averaged([{0: 1.0, 1: 3.0}, {0: 2.0}]) == {0: 1.5}


def test_convergence_is_a_share_of_a_curves_own_improvement():
    curve = [(100, 2.0), (200, 1.0), (300, 1.0)]
    assert mlm_steps.converged(5.0, curve, 0.5) == pytest.approx(100 * 2 / 3)  # on the way from 5 to 2
    assert mlm_steps.converged(5.0, curve, 0.75) == pytest.approx(100)
    assert mlm_steps.converged(5.0, curve, 0.95) == pytest.approx(180)
    assert mlm_steps.converged(5.0, [*curve, (400, 3.0)], 0.95) == pytest.approx(180)  # what it loses again does not count
    assert math.isnan(mlm_steps.converged(1.0, curve, 0.95))
    assert math.isnan(mlm_steps.converged(5.0, [], 0.95))
    scaled = [(step, 10 * loss) for step, loss in curve]
    assert mlm_steps.converged(50.0, scaled, 0.9) == pytest.approx(mlm_steps.converged(5.0, curve, 0.9))


def test_a_curve_that_still_falls_is_noticed():
    assert mlm_steps.late(5.0, [(25, 3.0), (50, 2.0), (75, 1.5), (100, 1.0)]) == pytest.approx(0.125)
    assert mlm_steps.late(5.0, [(25, 3.0), (50, 1.0), (75, 1.0), (100, 1.2)]) == 0


def test_the_loss_before_the_first_step_comes_from_the_log():
    rows = [{"step": 1, "loss": 6.0}, {"step": 2, "loss": 5.0}, {"step": 2, "validation.loss": 4.5}]
    assert mlm_steps.course(rows) == (6.0, [(2, 4.5)])


def test_more_steps_are_judged_by_pairs():
    assert rules.direction(mlm_steps.more_steps(seeds(300, 500), seeds(500, 500, turned=3)), "worse") == UPHELD
    assert rules.direction(mlm_steps.more_steps(seeds(500, 500), seeds(300, 500, turned=3)), "worse") == REFUTED


def test_a_frozen_head_must_be_less_accurate_and_faster():
    less = frozen_head.against_full(seeds(0.93), "frozen", seeds(0.86, turned=3))
    more = frozen_head.against_full(seeds(0.86), "frozen", seeds(0.93, turned=3))
    slow, fast = [0.07, 0.071, 0.069, 0.07], [0.03, 0.031, 0.03, 0.029]
    assert frozen_head.decide(less, frozen_head.faster(slow, fast)) == UPHELD
    assert frozen_head.decide(less, frozen_head.faster(fast, slow)) == REFUTED
    assert frozen_head.decide(more, frozen_head.faster(slow, fast)) == REFUTED


def test_kinds_of_pretraining_are_judged_over_pretrainings():
    arithmetic_means, tweets = {0: 0.93, 1: 0.92, 2: 0.94, 3: 0.93}, {0: 0.86, 1: 0.87, 2: 0.88, 3: 0.85}
    assert rules.direction(pretraining_domain.against(arithmetic_means, tweets), "worse") == UPHELD
    assert rules.direction(pretraining_domain.against(tweets, arithmetic_means), "worse") == REFUTED
    assert rules.direction(pretraining_domain.against({0: 0.93}, {0: 0.86}), "worse") == UNDECIDED
    assert pretraining_domain.mean({0: 0.5, 1: math.nan, 2: 0.7}) == pytest.approx(0.6)
    assert pretraining_domain.worth({0: 0.9, 1: 0.9}, {0: 0.8, 1: 0.8}).startswith("+10.0")


def test_gradual_unfreezing_may_fall_short_by_less_than_the_margin():
    accuracy = {unfreezing.ALL: seeds(0.93), unfreezing.HEAD: seeds(0.86), unfreezing.GRADUAL: seeds(0.928, turned=2)}
    against = unfreezing.against(accuracy, unfreezing.ALL, unfreezing.MARGIN)
    assert rules.as_good(against) == UPHELD
    assert rules.direction(unfreezing.against(accuracy, unfreezing.HEAD)) == UPHELD
    accuracy[unfreezing.GRADUAL] = seeds(0.85, turned=2)
    assert rules.as_good(unfreezing.against(accuracy, unfreezing.ALL, unfreezing.MARGIN)) == REFUTED


def test_settings_are_tried_on_a_model_and_a_refusal_is_told():
    fine, told = unfreezing.settings("presidents")
    assert fine
    assert "gradual" in told
    fine, told = unfreezing.settings("demo-lm")  # its head is the embedding
    assert not fine
    assert "head only refused" in told


def test_a_tokenizer_must_return_every_text():
    worse = nmt.benefit(seeds(0.5), seeds(0.6, turned=3))
    assert bpe.decide(0, 0, worse) == UPHELD
    assert bpe.decide(0, None, worse) == UPHELD  # the package is not installed
    assert bpe.decide(1, 0, worse) == REFUTED
    assert bpe.decide(0, 2, worse) == REFUTED
    assert bpe.decide(0, 0, None) == UNDECIDED
    texts = list(bpe.awkward(20))
    assert texts == list(bpe.awkward(20))
    words = Words.train(["a few words"], 16)
    assert bpe.not_returned(words, ["a few", "words  apart", *texts[:5]]) >= 1
    assert bpe.unknown(words, ["a few others"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_counted_probabilities_sum_to_one(order):
    draw = np.random.default_rng(order)
    learned = draw.integers(0, 5, 400) * draw.integers(0, 2, 400)
    for context in ([0, 0], [3, 1], [6, 6]):  # 6 is in the vocabulary and never stood there
        texts = [np.array([*context, token]) for token in range(7)]
        assert sum(math.exp(-kneser_ney.nats(learned, text, 7, order)[-1]) for text in texts) == pytest.approx(1)


def test_longer_counts_know_a_pattern_that_shorter_ones_do_not():
    text = np.tile([1, 2, 1, 3], 100)  # what follows 1 hangs on what stood before it
    means = {order: kneser_ney.nats(text, text, 5, order).mean() for order in (1, 2, 3)}
    assert means[3] < 0.1 < means[2] < means[1]


def test_passages_are_measured_word_by_word():
    assert passages.repeated([*"abcdabcd"]) == pytest.approx(1 / 5)
    assert passages.repeated([*"ab"]) == 0
    measure = passages.Measure(["a b c d e f g h i j"])
    found = measure.all(["zebra"], ["cut a b c d e f g h unknown zebra cut"])
    assert found["known"] == [0.8]
    assert found["copied"] == [pytest.approx(1 / 3)]
    assert found["kept"] == [0.5]  # the other rarer word of the second half is new


def test_fluency_takes_three_parts():
    bits, same, worse = [1.35, 1.36, 1.34], np.zeros(20), np.full(20, 0.2)
    wiggle = np.array(WIGGLE + WIGGLE)
    assert gpt_wikitext.decide(bits, 1.54, wiggle, wiggle) == UPHELD
    assert gpt_wikitext.decide(bits, 1.30, wiggle, wiggle) == REFUTED
    assert gpt_wikitext.decide(bits, 1.54, -worse, same) == REFUTED
    assert gpt_wikitext.decide(bits, 1.54, same, worse) == REFUTED
    assert gpt_wikitext.decide([1.35, 1.75], 1.54, same, same) == UNDECIDED


def test_nothing_to_start_from_is_said():
    with refused("all-diverged", "'pretraining'"):
        arithmetic.first([], "pretraining")


def test_a_quick_look_goes_through_and_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    case = trials.attempt("unfreezing", quick=True, device="cpu")
    assert case.trial is not None
    finding = case.trial.finding
    assert finding.verdict == UNDECIDED
    assert "quick look" in finding.scope
    told = {row.what: row.measured for row in finding.rows}
    assert told["always the commonest class, % of test right"] == "76.2"
    assert "(2 seeds)" in told["test accuracy, %, gradual"]
    assert (tmp_path / "studies/claims/unfreezing/quick/fine-tuning/study.json").exists()
