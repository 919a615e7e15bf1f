"""Resolved specs: the spec of a run that started from another run reproduces it, and file names are absolute."""

import glasshouse
from glasshouse.runs import resolve_spec
from glasshouse.specs import spec_files
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused
from tests.training import small_runs


def test_a_spec_keeps_its_changes_against_the_run_to_start_from(tmp_path):
    small_runs.pretrain(tmp_path)
    changes = ("model.layers=2", "data.tokenizer=characters", "data.vocabulary=64")
    run = small_runs.fine_tune(tmp_path / "rows.tsv", *changes)
    again = glasshouse.runs.spec_of(str(run.folder.spec_file), "training.seed=1")
    assert again.model == run.spec.model
    assert (again.data.tokenizer, again.data.tokenizer_file) == ("characters", "")
    assert any("another tokenizer" in note for note in run.facts["plan"]["notes"])
    assert "embedding.weight" in run.facts["start"]["new"]


def test_file_names_become_absolute(tmp_path):
    """The `runs` fixture makes the temporary folder the current folder."""
    spec = glasshouse.runs.spec_of("language-model", "data.files=mine.txt", "data.tokenizer_file=tokenizer.json")
    assert spec.data.files == (str(tmp_path / "mine.txt"),)
    assert spec.data.tokenizer_file == str(tmp_path / "tokenizer.json")


def test_names_of_other_programs_are_accepted_and_told_once(capsys):
    resolve_spec._tell_alias.cache_clear()
    for _ in range(2):
        spec = resolve_spec.spec_of(
            "demo-lm", "lr=0.5", "batch_size=3", "n_layer=2", "n_head=2", "n_embd=32", "dropout=0.25"
        )
    found = spec.training.learning_rate, spec.training.batch, spec.model.layers, spec.model.heads, spec.model.width
    assert found == (0.5, 3, 2, 2, 32)
    assert spec.model.dropout == 0.25
    assert capsys.readouterr().err.splitlines().count("lr is training.learning_rate") == 1
    with refused(GlasshouseError, "training.learning_rate"):
        resolve_spec.spec_of("demo-lm", "training.lr=1e-3")
    with refused(GlasshouseError, "training.learning_rate"):
        resolve_spec.spec_of("demo-lm", "lr=-1")


def test_a_setting_under_another_name_does_not_adapt(tmp_path):
    (tmp_path / "mine.txt").write_text("some text " * 50)
    spec = resolve_spec.spec_of("language-model", f"data.files={tmp_path / 'mine.txt'}", "n_embd=48")
    assert "model.width" not in spec.data.adapt


def test_the_interval_of_a_single_run_adapts_unless_it_is_named(tmp_path):
    def adapts(*words: str, **sections: dict) -> bool:
        return "evaluation.every" in resolve_spec.run_spec(*words, **sections).data.adapt

    assert adapts("demo-lm", "training.steps=800")
    assert adapts("piglatin-encoder-decoder"), "its steps are counted in epochs"
    assert not adapts("demo-lm", "evaluation.every=400")
    assert not adapts("demo-lm", evaluation={"every": 400})
    assert not adapts("demo-lm", "training.patience=2"), "patience counts evaluations"
    assert resolve_spec.spec_of("demo-lm").data.adapt == (), "the arms of studies and claims are resolved so"
    file = tmp_path / "mine.toml"
    file.write_text(spec_files.to_toml(resolve_spec.spec_of("demo-lm")))
    assert not adapts(str(file))
