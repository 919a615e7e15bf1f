"""Settings that parts declare: they join the spec that names the part, with their defaults."""

from glasshouse.specs import declared, spec_files
from glasshouse.specs.errors import SpecError
from tests.refusals import refused
from tests.specs.example_spec import BASE


def test_a_setting_exists_only_with_the_part_that_declares_it():
    assert "window" not in declared.fields_of(BASE, "model")
    local = spec_files.override(BASE, ["model.attention=local-window", "model.window=5"])
    assert declared.value_of(local, "model.window") == 5
    assert "window" not in declared.fields_of(spec_files.override(local, ["model.attention=dot-product"]), "model")


def test_equal_models_have_equal_specs():
    """Defaults are filled in, so it does not matter whether a spec writes them."""
    written = spec_files.model_spec(attention="local-window", window=0)
    assert written == spec_files.model_spec(attention="local-window")
    assert hash(written) == hash(spec_files.model_spec(attention="local-window"))


def test_declarations_name_every_part_with_a_setting():
    owners = [owner for owner, _ in declared.declarations("model")["window"]]
    assert "model.attention=local-window" in owners


def test_a_task_adds_its_settings_to_the_section_of_training():
    assert "temperature" not in declared.fields_of(BASE, "training")
    embed = spec_files.override(BASE, ["task=embed", "training.temperature=0.5"])
    assert declared.value_of(embed, "training.temperature") == 0.5
    assert spec_files.from_toml(spec_files.to_toml(embed), "spec.toml") == embed
    assert "temperature" not in spec_files.override(embed, ["task=classify"]).training.own
    with refused(SpecError, "training.temperature", "task=embed", "task='classify'"):
        spec_files.override(BASE, ["task=classify", "training.temperature=0.5"])
