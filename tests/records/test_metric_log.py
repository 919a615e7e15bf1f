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


def test_some_rows_of_a_long_log_keep_its_ends_and_its_evaluations(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in range(1, 1001):
        metric_log.append(path, {"step": step, "loss": 1 / step})
        if step % 100 == 0:
            metric_log.append(path, {"step": step, "validation.loss": 2 / step})
    rows = metric_log.some_rows(path.read_bytes(), 20)
    assert len(rows) <= 20 + 10 + 3
    assert rows[0] == {"step": 1, "loss": 1.0}
    assert rows[-1] == {"step": 1000, "validation.loss": 0.002}
    assert [row["step"] for row in rows if "validation.loss" in row] == list(range(100, 1001, 100))
    assert [row["step"] for row in rows] == sorted(row["step"] for row in rows)
    truncated = path.read_bytes()[:-10]
    assert metric_log.some_rows(truncated, 20)[-1] == {"step": 1000, "loss": 0.001}
    assert metric_log.some_rows(b"", 20) == []


def test_some_rows_of_many_evaluations_are_few(tmp_path):
    rows = b"".join(b'{"step": %d, "validation.loss": 1.5}\n' % step for step in range(1, 2001))
    found = metric_log.some_rows(rows, 30)
    assert len(found) < 100
    assert found[-1]["step"] == 2000


def test_the_tail_has_the_last_row_and_the_last_evaluation(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert metric_log.tail_rows(path) == []
    metric_log.append(path, {"step": 5, "validation.loss": 3.0}, {"step": 6, "loss": 2.5}, {"step": 7, "loss": 2.0})
    with open(path, "a") as file:
        file.write('{"step": 8, "lo')
    tail = metric_log.tail_rows(path)
    assert tail[0] == {"step": 5, "validation.loss": 3.0}
    assert tail[-1] == {"step": 7, "loss": 2.0}
