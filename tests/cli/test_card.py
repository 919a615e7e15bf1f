"""`glasshouse card`."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np

import glasshouse
from glasshouse.records import item_values
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError

from .program import call, refused, worked


def test_the_card_of_a_run(run: Path, text: Path, tmp_path: Path) -> None:
    item_values.write(RunFolder(run), "validation", {"loss": np.arange(20.0)})
    card = worked(call("card", "tiny")).out
    worked(call("card", "tiny", "--output", "README.md"))
    assert (tmp_path / "README.md").read_text() == card
    for title in ("Model", "Data", "Training", "Figures", "Limits", "Use", "Reproduce"):
        assert f"\n## {title}\n" in card
    assert card.startswith("---\ntags:\n")
    assert str(text.parent) not in card, "the folders of the author are private"
    assert re.search(r"- validation loss: \d+\.\d+ to \d+\.\d+ \(20 items\)", card)
    [command] = re.findall(r"^glasshouse train .*$", card.partition("## Reproduce")[2], re.MULTILINE)
    [settings] = re.findall(r"```toml\n(.*?)```", card, re.DOTALL)
    (tmp_path / "spec.toml").write_text(settings)
    (tmp_path / text.name).write_text(text.read_text())
    found, own = glasshouse.runs.spec_of(*shlex.split(command)[2:]), glasshouse.open_run("tiny").spec
    assert replace(found, data=replace(found.data, files=own.data.files, adapt=own.data.adapt)) == own


def test_the_licence_of_a_named_data_set_is_told(run: Path) -> None:
    spec = (run / "spec.toml").read_text()
    spec = re.sub(r"^files = .*$", "files = []", spec, flags=re.MULTILINE)
    (run / "spec.toml").write_text(re.sub(r"^source = .*$", 'source = "state-of-the-union"', spec, flags=re.MULTILINE))
    found = glasshouse.data.data_set("state-of-the-union")[0]
    assert f"- licence: {found.licence}\n" in glasshouse.runs.card("tiny")


def test_a_card_that_cannot_be_written(run: Path) -> None:
    refused(call("card", "none"), RunError)
    refused(call("card", "tiny", "--output", "card.txt"), GlasshouseError)
    refused(call("card", "tiny", "--output", "none/README.md"), GlasshouseError)


def test_an_export_for_hugging_face_has_the_card(huggingface_folder: Path) -> None:
    assert (huggingface_folder / "README.md").read_text() == glasshouse.runs.card("tiny")
    worked(call("import", str(huggingface_folder), "--name", "back"))
