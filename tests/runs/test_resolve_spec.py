"""Resolved specs: the spec of a run that started from another run reproduces it, and file names are absolute."""

import glasshouse
from tests.training import small_runs


def test_a_spec_keeps_its_changes_against_the_run_to_start_from(tmp_path):
    small_runs.pretrain(tmp_path)
    changes = ("model.layers=2", "data.tokenizer=characters", "data.vocabulary=64")
    run = small_runs.fine_tune(tmp_path / "rows.tsv", *changes)
    again = glasshouse.spec_of(str(run.folder.spec_file), "training.seed=1")
    assert again.model == run.spec.model
    assert (again.data.tokenizer, again.data.tokenizer_file) == ("characters", "")
    assert any("another tokenizer" in note for note in run.facts["plan"]["notes"])
    assert "embedding.weight" in run.facts["start"]["new"]


def test_file_names_become_absolute(tmp_path):
    """The `runs` fixture makes the temporary folder the current folder."""
    spec = glasshouse.spec_of("language-model", "data.files=mine.txt", "data.tokenizer_file=tokenizer.json")
    assert spec.data.files == (str(tmp_path / "mine.txt"),)
    assert spec.data.tokenizer_file == str(tmp_path / "tokenizer.json")
