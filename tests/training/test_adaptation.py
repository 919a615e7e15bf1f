"""Defaults adapt to the user's own data: a small text trains without a word of advice, and what the user names stays."""

from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.data.documents import Document, Source
from glasshouse.data.prepared_data import find_source
from glasshouse.specs.errors import SpecError
from glasshouse.tokenizers.base import VocabularyTooLarge
from glasshouse.training import adaptation
from glasshouse.training.job import Job
from tests.refusals import refused

CPU = torch.device("cpu")
WORDS = [*"abcdefghijk", "cat", "sat", "mat", "birds", "house", "river"]


def text(path, words):
    """A text of so many words, in lines."""
    lines = [" ".join(WORDS[(index * 7 + word * word) % len(WORDS)] for word in range(10)) for index in range(words // 10)]
    path.write_text("\n".join(lines) + "\n")
    return path


class Rows(Source):
    """So many rows of ten words."""

    def __init__(self, count, words=10):
        self.count, self.words = count, words

    def documents(self, split):
        shares = {"train": 0.8, "validation": 0.1, "test": 0.1}
        for index in range(round(self.count * shares[split])):
            yield Document(f"{split} {index} " + "word " * (self.words - 2), fields={"label": "a"})

    def fingerprint(self):
        return str(self.count)


@pytest.mark.parametrize("words", [200, 2000, 20_000])
def test_a_small_text_trains_with_the_defaults(tmp_path, words):
    file = text(tmp_path / "mine.txt", words)
    job = Job.prepare(glasshouse.runs.spec_of("language-model", f"data.files={file}"), CPU)
    data = job.spec.data
    assert data.vocabulary <= 4096
    assert data.context <= 128
    assert job.steps <= 1000
    assert adaptation.EVALUATIONS - 1 <= job.steps / job.spec.evaluation.every <= adaptation.EVALUATIONS
    assert data.adapt == (), "the spec of a run says what was trained, and a resumed run does not adapt again"
    for name in ("data.vocabulary", "evaluation.every"):
        assert any(note.startswith(f"{name}=") for note in job.notes)
    assert all(shard.tokens_count > data.context for shard in job.prepared.splits.values())


def test_a_large_text_of_few_words_gets_the_vocabulary_that_it_can_fill(tmp_path):
    file = text(tmp_path / "mine.txt", 400_000)
    assert file.stat().st_size > adaptation.LARGE_TEXT
    job = Job.prepare(glasshouse.runs.spec_of("language-model", f"data.files={file}"), CPU)
    assert job.spec.data.vocabulary < 400
    assert any("no more different pieces" in note for note in job.notes)


def test_what_cannot_adapt_is_refused(tmp_path):
    with refused(SpecError, "true", "data.vocabulary"):
        glasshouse.train("demo-lm", f"data.files={text(tmp_path / 'a.txt', 1000)}", "data.adapt=true", device="cpu")


def test_what_the_user_names_stays_and_is_refused_if_it_does_not_fit(tmp_path):
    file = text(tmp_path / "mine.txt", 2000)
    spec = glasshouse.runs.spec_of("language-model", f"data.files={file}", "data.vocabulary=4096")
    with refused(VocabularyTooLarge, "4096"):
        Job.prepare(spec, CPU)
    spec = glasshouse.runs.spec_of("language-model", f"data.files={file}", training={"steps": 7}, model={"width": 96})
    adapted = Job.prepare(spec, CPU).spec
    assert (adapted.training.steps, adapted.model.width, adapted.model.layers) == (7, 96, 4)


def test_a_small_set_of_pairs_trains_with_the_defaults(tmp_path):
    pairs = [f"{one} {two}\t{two} {one}s" for one in WORDS for two in WORDS]
    (tmp_path / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    job = Job.prepare(glasshouse.runs.spec_of("translator", f"data.files={tmp_path / 'pairs.tsv'}"), CPU)
    assert job.spec.data.vocabulary < 4096


def test_recipes_with_data_of_their_own_do_not_adapt(tmp_path):
    assert glasshouse.runs.spec_of("demo-lm").data.adapt == ()
    file = text(tmp_path / "mine.txt", 2000)
    assert glasshouse.runs.spec_of("demo-lm", f"data.files={file}").data.adapt == ()
    assert "data.vocabulary" in glasshouse.runs.spec_of("language-model", f"data.files={file}").data.adapt


def test_the_number_of_rows_decides_epochs_shares_and_evaluations():
    spec = glasshouse.runs.spec_of("classifier", "data.files=none.tsv", "data.tokenizer=words")
    few, _ = adaptation.adapt(spec, Rows(100), ("label",))
    many, _ = adaptation.adapt(spec, Rows(3000), ("label",))
    assert few.data.validation > many.data.validation == spec.data.validation
    assert few.training.epochs > many.training.epochs
    huge = adaptation.DataFacts(bytes=10**8, rows=10**6, words=10)
    changes = adaptation._Changes(spec)
    adaptation._adapt_to_rows(changes, huge)
    steps = changes.spec.training.epochs * 0.8 * huge.rows / spec.training.batch
    assert steps == pytest.approx(max(adaptation.MOST_ROW_STEPS, 0.8 * huge.rows / spec.training.batch), rel=0.01)
    assert steps / changes.spec.evaluation.every == pytest.approx(adaptation.EVALUATIONS, rel=0.01)


@pytest.mark.parametrize(("named", "every"), [("training.steps=40", 4), ("training.steps=5000", 500)])
@pytest.mark.parametrize("recipe", ["classifier", "language-model"])
def test_the_evaluations_adapt_to_steps_that_the_user_names(tmp_path, recipe, named, every):
    file = text(tmp_path / "mine.txt", 2000)
    spec = glasshouse.runs.spec_of(recipe, f"data.files={file}", "data.tokenizer=words", named)
    source, columns = (Rows(200), ("label",)) if recipe == "classifier" else (find_source(spec.data), ())
    adapted, notes = adaptation.adapt(spec, source, columns)
    assert adapted.training.steps == spec.training.steps
    assert adapted.evaluation.every == every
    assert any(note.startswith(f"evaluation.every={every} ") for note in notes)
    kept, _ = adaptation.adapt(
        glasshouse.runs.spec_of(recipe, f"data.files={file}", "data.tokenizer=words", named, "evaluation.every=7"),
        source,
        columns,
    )
    assert kept.evaluation.every == 7


def test_the_evaluations_of_fine_tuning_adapt_to_epochs_that_the_user_names():
    spec = glasshouse.runs.spec_of("classifier", "data.files=none.tsv", "data.tokenizer=words", "training.epochs=2")
    spec = replace(spec, data=replace(spec.data, adapt=adaptation.adaptable(["training.epochs"], fine_tuned=True)))
    adapted, _ = adaptation.adapt(spec, Rows(3200), ("label",))
    steps = 2 * 3200 * (1 - adapted.data.validation - adapted.data.test) / adapted.training.batch
    assert steps / adapted.evaluation.every == pytest.approx(adaptation.EVALUATIONS, rel=0.1)


def test_long_texts_get_a_longer_context_up_to_a_limit():
    spec = glasshouse.runs.spec_of("classifier", "data.files=none.tsv", "data.tokenizer=words")
    for words, context in ((10, spec.data.context), (120, 144), (5000, adaptation.LARGEST_CONTEXT)):
        adapted, notes = adaptation.adapt(spec, Rows(1000, words), ("label",))
        assert adapted.data.context == context
        assert any(note.startswith("data.context=") for note in notes) == (context != spec.data.context)


def test_fields_that_belong_together_stay_together():
    assert "model.layers" not in adaptation.adaptable(["model.width"])
    assert "training.epochs" not in adaptation.adaptable(["training.steps"])
    assert "data.vocabulary" not in adaptation.adaptable(["data.tokenizer"])
    assert set(adaptation.adaptable([])) == set(adaptation.ADAPTABLE)


def test_runs_of_one_group_get_the_same_values(tmp_path):
    file = text(tmp_path / "mine.txt", 2000)
    spec = glasshouse.runs.spec_of("language-model", f"data.files={file}")
    job = Job.prepare(spec, CPU)
    other = job.with_spec(glasshouse.runs.spec_of("language-model", f"data.files={file}", "training.seed=1"))
    assert other.spec.data == job.spec.data
    assert other.spec.training.steps == job.spec.training.steps


def test_fine_tuning_adapts_rate_freezing_and_batch():
    fields = adaptation.adaptable(["training.batch"], fine_tuned=True)
    assert "training.freeze" in fields
    assert "training.batch" not in fields
    spec = glasshouse.runs.spec_of("classifier", "data.files=none.tsv", "data.tokenizer=words")
    spec = replace(spec, data=replace(spec.data, adapt=fields))
    few, _ = adaptation.adapt(spec, Rows(200), ("label",))
    many, _ = adaptation.adapt(spec, Rows(5000), ("label",))
    assert (few.training.freeze, many.training.freeze) == ("backbone", "none")
    assert few.training.learning_rate > many.training.learning_rate
    assert few.training.batch == many.training.batch == spec.training.batch


def test_few_rows_train_the_head_and_many_train_everything():
    few, some, many = (
        adaptation.fine_tuning_settings(rows, 25)
        for rows in (adaptation.FEW_ROWS.rows - 1, adaptation.SOME_ROWS.rows - 1, adaptation.SOME_ROWS.rows)
    )
    assert few["training.freeze"] == "backbone"
    assert (some["training.freeze"], some["training.layer_decay"] < 1) == ("none", True)
    assert (many["training.freeze"], many["training.layer_decay"]) == ("none", 1)
    rates = [each["training.learning_rate"] for each in (few, some, many)]
    assert rates == sorted(rates, reverse=True), "the less is trained, the faster"


@pytest.mark.parametrize(("mean_length", "batch"), [(5, 32), (128, 32), (129, 16), (256, 16), (400, 8), (5000, 8)])
def test_long_texts_come_in_small_batches(mean_length, batch):
    assert adaptation.fine_tuning_settings(5000, mean_length)["training.batch"] == batch


@pytest.mark.parametrize("rows", [1, 40, 299, 300, 1999, 2000, 10**6])
def test_epochs_and_evaluations_stay_within_limits(rows):
    found = adaptation.fine_tuning_settings(rows, 25)
    steps = found["training.epochs"] * rows / found["training.batch"]
    assert 3 <= found["training.epochs"] <= adaptation.regime(rows).most_epochs
    assert 1 <= found["evaluation.every"] <= max(steps, 1)
    if found["training.epochs"] > 3:
        assert steps <= adaptation.LEAST_STEPS * 1.1


def test_every_setting_is_a_field_of_the_spec():
    words = [f"{name}={value}" for name, value in adaptation.fine_tuning_settings(500, 25).items()]
    spec = glasshouse.runs.spec_of("classifier", "data.files=mine.tsv", *words)
    assert spec.training.layer_decay == adaptation.SOME_ROWS.layer_decay
