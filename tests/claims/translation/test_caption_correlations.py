"""Correlations of metrics with adequacy: scores whose correlation is known, and a judge without errors."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from glasshouse.claims.translation import caption_correlations, edited_captions
from glasshouse.claims.translation.caption_correlations import CAPTIONS, LEVELS
from glasshouse.claims.translation.edited_captions import ANY, SAME, WORDINGS
from glasshouse.data.sources.scenes.entailment import LABELS


def test_spearman_is_a_rank_correlation_and_zero_for_a_constant_score():
    assert caption_correlations.spearman([1, 2, 30], [0.1, 0.2, 0.3]) == pytest.approx(1)
    assert caption_correlations.spearman([3, 2, 1], [0.1, 0.2, 0.3]) == pytest.approx(-1)
    assert caption_correlations.spearman([5, 5, 5], [0.1, 0.2, 0.3]) == 0


def test_a_score_that_is_the_adequacy_has_full_correlation_everywhere_and_its_opposite_the_reverse():
    test = edited_captions.make_test(1, 20)
    adequacy = {caption: caption.adequacy for caption in caption_correlations.all_captions(test)}
    measured = caption_correlations.correlations(test, 1, "x", adequacy, caption_correlations.mean_of(adequacy))
    assert set(measured) == {f"{level}/{wording}/x" for level, wording in product(LEVELS, WORDINGS)}
    assert list(measured.values()) == pytest.approx([1, 1, 1, 1])
    opposite = {caption: -value for caption, value in adequacy.items()}
    measured = caption_correlations.correlations(test, 1, "x", opposite, caption_correlations.mean_of(opposite))
    assert list(measured.values()) == pytest.approx([-1, -1, -1, -1])


def test_surface_overlap_follows_adequacy_better_in_the_wording_of_the_reference():
    scores = caption_correlations.score_surface(0, 20)
    for key in ("bleu", "chrf"):
        assert scores[f"{CAPTIONS}/{SAME}/{key}"] > scores[f"{CAPTIONS}/{ANY}/{key}"] + 0.2
        assert scores[f"mean/{key}/{SAME}/0"] == pytest.approx(1)
        assert scores[f"mean/{key}/{ANY}/0"] < 0.8
    assert scores[f"mean/rules/{ANY}/0"] == 1
    assert scores[f"mean/rules/{ANY}/1"] == 0


class RuleJudge:
    """Judges pairs by the rules of the scenes, without an error."""

    def probabilities(self, premises, hypotheses):
        pairs = zip(premises, hypotheses, strict=True)
        follows = [edited_captions.EditedCaption.of(premise, hypothesis).follows for premise, hypothesis in pairs]
        return np.array([[float(label == ("entailment" if yes else "neutral")) for label in LABELS] for yes in follows])


def test_a_judge_without_errors_has_the_scores_of_the_rules(monkeypatch):
    monkeypatch.setattr(caption_correlations, "Judge", lambda run: RuleJudge())
    run = SimpleNamespace(spec=SimpleNamespace(training=SimpleNamespace(seed=0)))
    scores, surface = caption_correlations.score_judge(run, 20, True), caption_correlations.score_surface(0, 20)
    for level, wording in product(LEVELS, WORDINGS):
        assert scores[f"{level}/{wording}/entailment"] == pytest.approx(surface[f"{level}/{wording}/rules"])
    assert (scores["paraphrase"], scores["omission"], scores["omission-both"], scores["shuffled"]) == (1, 1, 0, 0)
    assert abs(scores["other-reference"]) < 0.3
