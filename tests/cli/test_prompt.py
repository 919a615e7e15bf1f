"""A pulse of `glasshouse prompt`: a very small dual encoder over few scenes, its table, its page and its refusals."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from glasshouse.data.sources.scenes import pictures
from glasshouse.data.sources.scenes.meaning import all_scenes
from glasshouse.inspection import held_out_pictures
from glasshouse.specs.errors import DataError, GlasshouseError, RunError

from .program import call, refused, worked

TINY = (
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "model.image_width=16",
    "model.image_layers=1",
    "training.steps=2",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=2",
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pictures, and few captions to compare with."""
    monkeypatch.setattr(pictures, "SIZES", {"train": 64, "validation": 16, "test": 16})
    monkeypatch.setattr(held_out_pictures, "all_scenes", lambda: all_scenes()[:300])


@pytest.fixture
def run(runs: Path) -> Path:
    worked(call("train", "scene-clip", *TINY, "--name", "clip", "--device", "cpu"))
    return runs / "clip"


def test_prompts_are_ranked_and_shown(run: Path, tmp_path: Path) -> None:
    shown = worked(call("prompt", "clip", "two goldfish", "two nemos", "--target", "3"))
    caption = pictures.make_document("test", 3).text
    assert f"held-out picture 3: {caption}" in shown.out
    assert re.search(r"two nemos .* nemos *\n", shown.out), "a word that was never seen is named"
    assert "rank of 300 captions" in shown.out
    page = (run / "prompting.html").read_text()
    assert str(run / "prompting.html") in shown.out
    assert "two goldfish" in page
    assert "Not in the vocabulary: nemos." in page
    assert page.count("data:image/png;base64,") == 1 + 2 * 6
    assert not re.search(r"https?://", page)

    found = json.loads(
        worked(call("prompt", "clip", caption, "two sharks", "--target", "3", "--pictures", "16", "--json")).out
    )
    assert found["caption"] == caption
    similarities = [answer["similarity"] for answer in found["prompts"]]
    assert similarities == sorted(similarities, reverse=True)
    assert all(len(answer["retrieved"]) == 16 >= answer["picture_place"] for answer in found["prompts"])
    framed = worked(call("prompt", "clip", caption, "--target", "3", "--pictures", "16")) and (run / "prompting.html")
    assert framed.read_text().count("the target</span>") == 1


def test_a_file_of_ones_own_and_no_prompts(run: Path, tmp_path: Path) -> None:
    Image.fromarray(pictures.make_document("test", 3).picture).resize((320, 320), 0).save(tmp_path / "mine.png")
    shown = worked(call("prompt", "clip", "--target", "mine.png", "--output", "page.html"))
    assert "mine.png" in shown.out
    assert "rank of target, 17 pictures" in shown.out, "a picture that is not held out is looked for among those that are"
    assert "mine.png" in (tmp_path / "page.html").read_text()
    assert not (run / "prompting.html").exists()
    first = worked(call("prompt", "clip", "--json")).out
    assert json.loads(first)["target"] == "held-out picture 0"
    assert len(json.loads(first)["prompts"]) == 5


def test_what_cannot_be_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    refused(call("prompt", "clip", "--target", "16"), GlasshouseError, "16")
    refused(call("prompt", "clip", "--target", "-1"), GlasshouseError, "-1")
    refused(call("prompt", "clip", "--target", "gone.png"), GlasshouseError, "gone.png")
    refused(call("prompt", "clip", "--target", "text.png"), DataError)
    refused(call("prompt", "clip", "--output", "page.pdf"), GlasshouseError, "page.pdf")
    refused(call("prompt", "clip", "--output", "no/page.html"), GlasshouseError)
    refused(call("prompt", "clap"), RunError)
