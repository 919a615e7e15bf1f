"""Migrations: a spec of every earlier format is read, and a newer format is refused.

What a checkpoint of format 1 needs is tested in tests/training/test_run_progress.py and test_resume.py.
"""

import tomllib

import pytest

from glasshouse.records import run_folder
from glasshouse.specs import declared, migrations, recipes, spec_files
from tests.refusals import refused
from tests.specs.example_spec import BASE
from tests.specs.format_1 import CLASSIFIER, DUAL_ENCODER


def test_a_classifier_of_format_1_is_read():
    expected = spec_files.from_tables(
        {
            "task": "classify",
            "data": {
                "files": ["rows.tsv"],
                "tokenizer": "words",
                "vocabulary": 500,
                "context": 24,
                "validation": 0.1,
                "test": 0.1,
            },
            "model": {
                "kind": "encoder",
                "width": 32,
                "layers": 2,
                "attention": "local-window",
                "window": 5,
                "rotary_base": 500.0,
                "embedding": "ngram",
                "max_ngram": 3,
                "ngram_buckets": 1024,
                "bias": True,
                "dropout": 0.1,
                "initialisation": 1.0,
                "head": {"classes": 4, "pooling": "max", "hidden": 16, "naive_bayes": 0.5},
            },
            "training": {
                "epochs": 2.0,
                "gradient_accumulation": 4,
                "learning_rate": 0.002,
                "class_weights": ["balanced"],
                "ema": 0.99,
                "freeze": "backbone",
                "unfrozen_by": 0.25,
                "layer_decay": 0.9,
                "patience": 3,
                "seed": 7,
                "precision": "fp32",
                "threads": 1,
                "cuda_graph": False,
            },
            "evaluation": {"every": 50},
        }
    )
    assert spec_files.from_toml(CLASSIFIER, "spec.toml") == expected


def test_a_dual_encoder_of_format_1_is_read():
    """Its inner table `model.image` became fields of `model`."""
    spec = spec_files.from_toml(DUAL_ENCODER, "spec.toml")
    expected = {
        "image_size": 48,
        "image_channels": 1,
        "patch_size": 12,
        "image_width": 96,
        "image_layers": 3,
        "image_heads": 6,
        "image_feed_forward": 200,
        "image_norm": True,
    }
    assert {name: declared.value_of(spec, f"model.{name}") for name in expected} == expected
    assert declared.value_of(spec, "model.head.width") == 40
    assert (spec.task, spec.model.embedding, spec.training.cuda_graph) == ("match", "token", True)


def test_a_translator_of_format_1_keeps_translating_word_by_word():
    tables = {"task": "translate", "evaluation": {"each_word": True, "beams": 4}}
    assert migrations.migrated(tables, 1)["evaluation"] == {"word_by_word": True, "beams": 4}
    assert tables["evaluation"] == {"each_word": True, "beams": 4}, "the tables that were read stay unchanged"


@pytest.mark.parametrize("format", [1, 2])
@pytest.mark.parametrize("position", ["sinusoidal", "one-hot"])
def test_a_fixed_code_of_an_earlier_format_keeps_its_factor(position, format):
    tables = {"model": {"position": position, "width": 64}}
    assert migrations.migrated(tables, format)["model"] == {"position": position, "width": 64, "position_scale": 1.0}
    assert tables == {"model": {"position": position, "width": 64}}, "the tables that were read stay unchanged"
    assert migrations.migrated(tables, 3) == tables


def test_no_other_position_gets_a_factor():
    tables = {"model": {"position": "learned", "width": 64}}
    assert migrations.migrated(tables, 2) == tables
    assert migrations.migrated({"task": "classify"}, 2) == {"task": "classify"}


def test_a_spec_of_format_2_with_sinusoidal_positions_is_read_with_its_factor_and_a_new_one_without():
    text = spec_files.to_toml(spec_files.override(BASE, ["model.position=sinusoidal"]))
    assert declared.value_of(spec_files.from_toml(text, "spec.toml"), "model.position_scale") == 0.0
    new_fields = ("position_scale", "embedding_deviation")
    old = "\n".join(line for line in text.splitlines() if not line.startswith(new_fields)).replace(
        "format = 3", "format = 2"
    )
    spec = spec_files.from_toml(old, "spec.toml")
    assert declared.value_of(spec, "model.position_scale") == 1.0
    assert spec_files.from_toml(spec_files.to_toml(spec), "spec.toml") == spec
    # Another position has no such factor.
    assert "position_scale" not in spec_files.override(spec, ["model.position=learned"]).model.own


@pytest.mark.parametrize("text", [CLASSIFIER, DUAL_ENCODER], ids=["classifier", "dual encoder"])
def test_a_spec_of_format_1_equals_its_writing_in_the_current_format(text):
    spec = spec_files.from_toml(text, "spec.toml")
    current = spec_files.in_current_format(text)
    assert current != text
    assert tomllib.loads(current)["format"] == migrations.FORMAT
    assert spec_files.from_toml(current, "spec.toml") == spec
    assert spec_files.in_current_format(current) == current


def test_the_spec_file_of_a_run_of_format_1_is_read_wherever_a_recipe_is():
    run = run_folder.create(BASE, "old", "old")
    run.spec_file.write_text(CLASSIFIER)
    run.record(format=1)
    spec = spec_files.from_toml(CLASSIFIER, "spec.toml")
    assert run_folder.find("old").spec() == spec
    assert recipes.spec(str(run.spec_file)) == spec
    assert run.tables()["training"]["gradient_accumulation"] == 4
    assert run.spec_file.read_text() == CLASSIFIER, "the file stays as it is"


def test_a_file_of_the_user_has_the_current_format(tmp_path):
    """An old field in it is a mistake and not a migration."""
    path = tmp_path / "mine.toml"
    path.write_text('[data]\nsource = "shakespeare"\n[training]\nsteps = 3\naccumulate = 2\n')
    with refused("unknown-field", "training.accumulate"):
        recipes.spec(str(path))


@pytest.mark.parametrize("format", [migrations.FORMAT + 1, 0, -1, "2", 1.5])
def test_an_unknown_format_is_refused(format):
    with refused("newer-format", f"format={format!r}"):
        migrations.migrated({"task": "classify"}, format)


def test_a_spec_file_of_a_newer_format_is_refused_by_name():
    text = spec_files.to_toml(BASE).replace(f"format = {migrations.FORMAT}", f"format = {migrations.FORMAT + 1}")
    with refused("newer-format", "spec.toml"):
        spec_files.from_toml(text, "spec.toml")
