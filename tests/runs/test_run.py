"""An open run: evaluation of files, values per item, stop strings, and tasks that it does not have."""

import glasshouse
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.next_token import ITEM_TOKENS
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.training.small_runs import train_demo


def test_json_lines_are_evaluated_as_documents(text, tmp_path):
    run = train_demo(text)
    (tmp_path / "a.txt").write_text("The state of our union is strong.")
    (tmp_path / "a.jsonl").write_text('{"text": "The state of our union is strong.", "year": 1}\n')
    plain, rows = (run.evaluate(tmp_path / name) for name in ("a.txt", "a.jsonl"))
    assert next(iter(plain.values())) == next(iter(rows.values()))


def test_the_values_per_item_have_the_reported_metric_as_their_mean(text):
    run = train_demo(text)
    predictions = {split: int(run.facts["outcome"][split]["tokens"]) for split in ("validation", "test")}
    items = {split: -(-count // ITEM_TOKENS) for split, count in predictions.items()}
    check_item_values(run, items, {"loss", "bits_per_byte"})
    with refused(DataError, "'tests'", "validation"):
        run.item_values("tests")


def test_one_stop_string_need_not_be_a_list(text):
    run = train_demo(text, "training.steps=40", "training.learning_rate=0.01")
    one, several = (run.sample("The", tokens=40, temperature=0, stop=stop)[0] for stop in ("union", ["union"]))
    assert one.text == several.text


def test_a_language_model_can_neither_classify_nor_compare_pictures(text):
    run = train_demo(text, "training.steps=2", name="lm")
    with refused(GlasshouseError, "'next-token'", "'classify'"):
        run.classify(["union"])
    with refused(GlasshouseError):
        glasshouse.runs.prompt("lm", ["union"])
