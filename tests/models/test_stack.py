"""The Transformer stack: sequences longer than its parts accept."""

from glasshouse.models.stack import SequenceTooLong
from tests.models.small_models import build, tokens
from tests.refusals import refused


def test_too_long_a_sequence_names_the_part_and_the_remedy():
    model = build(kind="encoder", attention="linformer", position="sinusoidal")
    with refused(SequenceTooLong, "12", "13"):
        model(tokens(1, 13))
    assert build(kind="encoder", attention="linformer", position="sinusoidal")(tokens(1, 5)).shape == (1, 5, 29)
