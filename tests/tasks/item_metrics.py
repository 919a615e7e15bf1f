"""The check that every task's values per item must pass: their mean is the metric of the final evaluation."""

import numpy as np
import pytest

from glasshouse.data import prepared_data
from glasshouse.runs.run import Run


def check_item_values(run: Run, items: dict[str, int], metrics: set[str]) -> None:
    """`items` has the number of items of each split to check; `metrics` are all metrics that have values per item."""
    assert set(run.task.item_metrics) == metrics
    assert metrics <= run.task.metrics.keys()
    shards = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    reported = run.evaluate()
    for split, count in items.items():
        values = run.item_values(split)
        assert run.task.item_count(shards[split]) == count
        assert values.keys() == metrics
        for name in metrics:
            assert values[name].shape == (count,)
            assert np.mean(values[name]) == pytest.approx(reported[split][name], rel=1e-5, abs=1e-9), (split, name)
