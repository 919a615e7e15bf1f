"""Translation metrics agree with those of sacrebleu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from glasshouse.metrics import translation


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["a b c d e", "a b", "x"]), st.sampled_from(["a b c d e", "b a"])), min_size=1))
def test_the_metrics_are_those_of_sacrebleu(pairs):
    outputs, references = zip(*pairs, strict=True)
    scores = translation.scores(outputs, references)
    if "a b c d e" in references:
        assert scores["bleu"] == pytest.approx(BLEU().corpus_score(list(outputs), [list(references)]).score)
    else:
        assert "bleu" not in scores
    assert scores["exact"] == pytest.approx(np.mean([output == reference for output, reference in pairs]))
    assert "version" in translation.signatures()["bleu"]
