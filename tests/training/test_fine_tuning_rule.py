"""The rule of fine-tuning: what is trained with few and with many rows, and how large batches are."""

import pytest

from glasshouse import spec_of
from glasshouse.training import fine_tuning_rule
from glasshouse.training.fine_tuning_rule import FEW_ROWS, SOME_ROWS, settings


def test_few_rows_train_the_head_and_many_train_everything():
    few, some, many = (settings(rows, 25) for rows in (FEW_ROWS - 1, SOME_ROWS - 1, SOME_ROWS))
    assert few["training.freeze"] == "backbone"
    assert (some["training.freeze"], some["training.layer_decay"] < 1) == ("none", True)
    assert (many["training.freeze"], many["training.layer_decay"]) == ("none", 1)
    rates = [each["training.learning_rate"] for each in (few, some, many)]
    assert rates == sorted(rates, reverse=True), "the less is trained, the faster"


@pytest.mark.parametrize(("mean_length", "batch"), [(5, 32), (128, 32), (129, 16), (256, 16), (400, 8), (5000, 8)])
def test_long_texts_come_in_small_batches(mean_length, batch):
    assert settings(5000, mean_length)["training.batch"] == batch


@pytest.mark.parametrize("rows", [1, 40, 299, 300, 1999, 2000, 10**6])
def test_epochs_and_evaluations_stay_within_limits(rows):
    found = settings(rows, 25)
    steps = found["training.epochs"] * rows / found["training.batch"]
    assert 3 <= found["training.epochs"] <= fine_tuning_rule.regime(rows).most_epochs
    assert 1 <= found["evaluation.every"] <= max(steps, 1)
    if found["training.epochs"] > 3:
        assert steps <= fine_tuning_rule.LEAST_STEPS * 1.1


def test_every_setting_is_a_field_of_the_spec():
    words = [f"{name}={value}" for name, value in settings(500, 25).items()]
    spec = spec_of("classifier", "data.files=mine.tsv", *words)
    assert spec.training.layer_decay == fine_tuning_rule.LOWER_BLOCKS_LESS.layer_decay
