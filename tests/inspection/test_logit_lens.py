"""The logit lens of every kind of model."""

import pytest

import glasshouse
from glasshouse.inspection.logit_lens import lens
from glasshouse.inspection.text_input import TextInput
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .inspected_runs import TEXTS


def test_the_last_stage_is_the_models_own_prediction(inspected):
    text = TextInput(inspected, TEXTS[inspected.name][0])
    result = lens(text)
    prediction = text.prediction()
    assert result.stages[0] == "embedding"
    assert result.rows == text.rows
    last = result.cells[-1][prediction.row]
    assert (last.name, last.rank) == (prediction.name, 1)
    assert last.probability == pytest.approx(prediction.probability, abs=1e-5)
    assert all(cell.probability >= cell.probability_of_final - 1e-6 for row in result.cells for cell in row)


@pytest.mark.parametrize("inspected", ["rms-rotary", "classifier"], indirect=True)
def test_a_figure_is_written_and_a_wrong_suffix_is_refused_first(inspected, tmp_path):
    text = TEXTS[inspected.name][0]
    glasshouse.lens(inspected.folder.path, text, tmp_path / "lens.png", device="cpu")
    assert (tmp_path / "lens.png").stat().st_size > 1000
    with refused(GlasshouseError):
        glasshouse.lens("no-run", text, tmp_path / "lens.pdf")
