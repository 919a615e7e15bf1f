"""The metric log: truncated lines are skipped, and rows after a step are deleted."""

from glasshouse.records import metric_log


def test_a_truncated_line_is_skipped_and_rows_after_a_step_are_deleted(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in range(1, 5):
        metric_log.append(path, {"step": step, "loss": 1 / step})
    with open(path, "a") as file:
        file.write('{"step": 5, "lo')
    assert [row["step"] for row in metric_log.read(path)] == [1, 2, 3, 4]
    metric_log.rewind(path, 2)
    assert metric_log.column(metric_log.read(path), "loss") == ([1, 2], [1, 0.5])


def test_a_column_has_only_the_rows_with_its_metric(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metric_log.append(path, {"step": 1, "loss": 2.0}, {"step": 1, "validation.loss": 3.0}, {"step": 2, "loss": None})
    assert metric_log.column(metric_log.read(path), "loss") == ([1], [2.0])
    assert metric_log.read(tmp_path / "missing.jsonl") == []


def test_the_last_row_is_the_last_complete_one(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert metric_log.last_row(path) == {}
    metric_log.append(path, *({"step": step, "loss": 0.5} for step in range(1, 500)))
    with open(path, "a") as file:
        file.write('{"step": 500, "lo')
    assert metric_log.last_row(path) == {"step": 499, "loss": 0.5}
