"""`glasshouse look`, `lens`, `attribute`, `patch` and `heads`."""

import json
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError

from .program import call, refused, some_text, train, worked

TEXT = "ba be bi"


def test_look_writes_a_page_and_figures(run: Path, tmp_path: Path) -> None:
    out = worked(call("look", "tiny", "--text", TEXT, "--device", "cpu")).out
    assert "2 layers, 2 heads" in out
    page = (run / "attention.html").read_text()
    assert page.count('class="head"') == 4
    figure = tmp_path / "map.svg"
    worked(call("look", "tiny", "--text", TEXT, "--layer", "2", "--head", "1", "--output", str(figure)))
    assert "layer 2, head 1" in figure.read_text()
    maps = json.loads(worked(call("look", "tiny", "--text", TEXT, "--layer", "1", "--json")).out)
    assert len(maps["weights"]) == 1
    assert sum(maps["weights"][0][0][-1]) == pytest.approx(1, abs=1e-5)


def test_look_over_data_describes_every_head(run: Path, text: Path) -> None:
    out = worked(call("look", "tiny", "--over", "data", "--examples", "4", "--device", "cpu")).out
    for words in ("1.1", "2.2", "kind", "entropy"):
        assert words in out
    out = worked(call("look", "tiny", "--over", "data", "--examples", "4", "--output", "energy.svg", "--device", "cpu")).out
    assert "energy.svg" in out
    assert "share of the energy" in Path("energy.svg").read_text()
    rows = json.loads(worked(call("look", "tiny", "--over", str(text), "--examples", "4", "--json")).out)
    assert [(row["layer"], row["head"]) for row in rows] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert {"kind", "distance", "entropy", "positional", "induction"} <= set(rows[0])
    out = worked(call("look", "tiny", "--text", TEXT, "--over", "data", "--device", "cpu")).out
    assert "2 layers, 2 heads" in out
    assert "kind" in out


def test_bad_requests_are_refused(run: Path, tmp_path: Path) -> None:
    refused(call("look", "tiny"), GlasshouseError, "--text")
    refused(call("look", "tiny", "--over", "data", "--explore"), GlasshouseError, "--explore")
    refused(call("look", "tiny", "--text", TEXT, "--layer", "9"), GlasshouseError, "1 to 2")
    refused(call("look", "tiny", "--text", TEXT, "--head", "0"), GlasshouseError, "1 to 2")
    refused(call("look", "tiny", "--text", TEXT, "--output", str(tmp_path / "map.pdf")), GlasshouseError, ".html")
    refused(call("look", "tiny", "--text", some_text()), GlasshouseError, "data.context=16")
    refused(call("look", "tiny", "--text", TEXT, "--attention", "cross"), GlasshouseError, "cross")
    refused(call("look", "tiny", "--over", "nowhere.txt"), GlasshouseError, "nowhere.txt")
    refused(call("lens", "tiny", "--text", ""), GlasshouseError)
    refused(call("attribute", "tiny", "--text", TEXT, "--method", "magic"), GlasshouseError, "magic")
    refused(call("attribute", "tiny", "--text", TEXT, "--position", "40"), GlasshouseError, "40")
    refused(call("patch", "tiny", "--clean", TEXT, "--corrupt", TEXT), GlasshouseError)
    refused(call("patch", "tiny", "--clean", TEXT, "--corrupt", TEXT + TEXT), GlasshouseError)
    refused(call("heads", "tiny", "--method", "magic"), GlasshouseError, "magic")
    refused(call("heads", "tiny", "--curve", "--method", "magic"), GlasshouseError, "magic")
    refused(call("heads", "tiny", "--then-train", "2"), GlasshouseError, "--curve")
    refused(call("heads", "tiny", "--layers", "--curve"), GlasshouseError, "--layers")


def test_an_attention_without_weights_says_what_to_do_instead(runs: Path, text: Path) -> None:
    changes = ("model.attention=performer", "model.position=learned", "training.steps=2", "evaluation.every=2")
    worked(train(f"data.files={text}", *changes))
    refused(call("look", "tiny", "--text", TEXT), GlasshouseError, "lens")
    refused(call("look", "tiny", "--over", "data"), GlasshouseError, "performer")
    worked(call("lens", "tiny", "--text", TEXT))


def test_lens_and_attribute_show_a_prediction(run: Path, tmp_path: Path) -> None:
    figure = tmp_path / "lens.svg"
    out = worked(call("lens", "tiny", "--text", TEXT, "--output", str(figure), "--device", "cpu")).out
    for words in ("embedding", "layer 1", "layer 2"):
        assert words in out
    assert figure.exists()
    cells = json.loads(worked(call("lens", "tiny", "--text", TEXT, "--json")).out)["cells"]
    assert cells[-1][-1]["rank"] == 1
    out = worked(call("attribute", "tiny", "--text", TEXT, "--device", "cpu")).out
    assert "<|endoftext|>" in out
    direct = json.loads(worked(call("attribute", "tiny", "--text", TEXT, "--method", "direct", "--json")).out)
    assert sum(part["value"] for part in direct["components"]) == pytest.approx(direct["prediction"]["logit"], abs=1e-4)


def test_patch_and_heads_measure_every_layer_and_head(run: Path, tmp_path: Path) -> None:
    figure = tmp_path / "patch.png"
    words = ("--clean", "ba be bi", "--corrupt", "bo be bi")
    out = worked(call("patch", "tiny", *words, "--output", str(figure), "--device", "cpu")).out
    assert "residual stream" in out
    assert figure.exists()
    maps = json.loads(worked(call("patch", "tiny", *words, "--json")).out)["maps"]
    assert maps[-1]["rows"] == ["layer 1", "layer 2"]
    out = worked(call("heads", "tiny", "--examples", "4", "--device", "cpu")).out
    assert out.count("layer") == 4
    scores = json.loads(worked(call("heads", "tiny", "--examples", "4", "--method", "gradient", "--json")).out)["scores"]
    assert list(scores) == ["gradient"]


def test_layers_are_removed_one_at_a_time(run: Path) -> None:
    out = worked(call("heads", "tiny", "--layers", "--examples", "4", "--output", "layers.svg", "--device", "cpu")).out
    assert "layer 1, feed-forward part" in out
    assert Path("layers.svg").exists()
    assert json.loads(worked(call("heads", "tiny", "--layers", "--examples", "4", "--json")).out)["layers"]


def test_heads_are_removed_along_a_curve(run: Path) -> None:
    asked = ("heads", "tiny", "--curve", "--then-train", "2", "--examples", "4", "--output", "curve.svg", "--device", "cpu")
    out = worked(call(*asked)).out
    assert "by random" in out
    assert "removable within 1 % of the loss" in out
    assert Path("curve.svg").exists()
    curves = json.loads(worked(call("heads", "tiny", "--curve", "--examples", "4", "--json", "--device", "cpu")).out)
    assert curves[0]["points"][0]["removed"] == 0


def test_prune_writes_a_smaller_run(run: Path) -> None:
    out = worked(call("prune", "tiny", "--heads", "0.5", "--name", "smaller", "--examples", "4", "--device", "cpu")).out
    assert "removed 2 of 4 heads" in out
    facts = json.loads(
        worked(call("prune", "tiny", "--weights", "0.5", "--name", "sparse", "--device", "cpu", "--json")).out
    )
    assert facts["zeros"] > 0
    worked(call("sample", "smaller", "--tokens", "2", "--device", "cpu"))
    worked(call("look", "smaller", "--text", TEXT, "--device", "cpu"))
    refused(call("prune", "tiny", "--name", "other"), GlasshouseError)
    refused(call("prune", "tiny", "--heads", "2", "--name", "other"), GlasshouseError, "2")


@pytest.mark.slow
def test_gradients_are_shown_by_layer_depth_and_time(run: Path, tmp_path: Path) -> None:
    figure = tmp_path / "gradients.svg"
    out = worked(call("gradients", "tiny", "--examples", "2", "--output", str(figure), "--device", "cpu")).out
    for words in ("at initialisation", "step 8", "layer 2", "1 tokens earlier"):
        assert words in out
    assert figure.exists()
    states = json.loads(worked(call("gradients", "tiny", "--examples", "2", "--json")).out)
    assert len(states) >= 2
    refused(call("gradients", "tiny", "--output", "x.gif"), GlasshouseError, ".gif")
    asked = (
        "gradients",
        "tiny",
        "--against",
        "model.layers=1,3",
        "--examples",
        "2",
        "--output",
        "depth.svg",
        "--device",
        "cpu",
    )
    out = worked(call(*asked)).out
    for words in ("layers=1", "layers=3", "layer 3"):
        assert words in out
    assert Path("depth.svg").exists()
    refused(call("gradients", "tiny", "--against", "training.steps=2,3"), GlasshouseError, "model.layers=2,8,24")
    refused(call("gradients", "tiny", "--against", "model.norm=magic"), GlasshouseError, "magic")
