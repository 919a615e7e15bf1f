"""Names of other programs that overrides accept."""

import pytest

from glasshouse.specs import aliases, declared, recipes


def test_every_alias_is_a_field_of_an_encoder_or_decoder() -> None:
    spec = recipes.spec("demo-lm")
    for field in aliases.ALIASES.values():
        section, _, name = field.rpartition(".")
        assert name in declared.fields_of(spec, section), field


@pytest.mark.parametrize(
    ("word", "full"),
    [
        ("lr=1e-3", "training.learning_rate=1e-3"),
        ("n_layer = 2,4", "model.layers= 2,4"),
        ("lr", "training.learning_rate"),
        ("model.width=lr=3", "model.width=lr=3"),
        ("training.lr=1", "training.lr=1"),
        ("task=classify", "task=classify"),
    ],
)
def test_only_the_name_is_replaced(word: str, full: str) -> None:
    assert aliases.with_full_name(word) == full
