"""The content of a report rejects values whose shapes do not fit together."""

import numpy as np
import pytest

from glasshouse.results.report import AttentionMap, Confusion, Curve
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 1, 3, 4), (1, 1, 2, 2), (0, 1, 3, 3)])
def test_attention_weights_must_fit_their_tokens(shape: tuple[int, ...]) -> None:
    with refused(GlasshouseError):
        AttentionMap(("a", "b", "c"), np.zeros(shape))


def test_a_curve_needs_as_many_steps_as_values() -> None:
    with refused(GlasshouseError):
        Curve("loss", [1, 2], [1])


def test_a_confusion_matrix_must_fit_its_labels() -> None:
    with refused(GlasshouseError):
        Confusion(("a",), np.zeros((2, 2)), "texts")
