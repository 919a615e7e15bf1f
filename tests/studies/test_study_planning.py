"""Planning of a study: the notes on the study as a whole."""

from collections.abc import Callable

import pytest

from glasshouse.studies import study_planning
from glasshouse.studies.matching import MatchedArms
from glasshouse.studies.study_folder import Question


@pytest.mark.parametrize(("field", "same"), [("training.batch=4,8", False), ("model.layers=1,2", True)])
def test_the_note_on_batches_follows_the_specs(match: Callable[..., MatchedArms], field: str, same: bool) -> None:
    """The specs decide, because recipes may differ in fields that the command does not vary."""
    notes = list(study_planning._notes(Question("compare", ()), "validation.loss", match("steps", field).jobs, []))
    assert ("arms of one seed read the same batches in the same order" in notes) == same
    assert any("the arms read different batches" in note for note in notes) != same
