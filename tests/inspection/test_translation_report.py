"""A translator looked at: maps of cross-attention, the translations on its page, and what is suggested next."""

import base64
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import run_report, translation_samples
from glasshouse.inspection.attention_maps import attention_map, translation_map
from glasshouse.inspection.capture import capture
from glasshouse.metrics.translation import signatures
from glasshouse.pages import attention_heatmap, figures
from glasshouse.pages.report_content import AttentionMap, Translated
from glasshouse.pages.report_page import render
from glasshouse.runs import suggestions
from tests.refusals import refused

from ..pages import example
from ..pages.test_browser import CHROMIUM, FLAGS

END = "<|endoftext|>"
PROMPT = 'say "abc" & <i>go</i>'


@pytest.fixture(scope="module")
def trained(tmp_path_factory, shared_cache):
    """An encoder-decoder that no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("trained")
        patch.chdir(folder)
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        return model(model={"encoder_layers": 1})


def model(kind="encoder-decoder", name="pairs", **changes):
    """A few steps on pairs of letters and the same letters reversed."""
    chance = np.random.default_rng(0)
    words = ["".join(chance.choice(list("abcd"), chance.integers(2, 6))) for _ in range(60)]
    # All that the prompt has is among them, so that the tokenizer knows it.
    lines = [f"{word}\t{word[::-1]}\n" for word in words] + [f"{PROMPT}\t{PROMPT}\n"]
    Path("pairs.tsv").write_text("".join(lines))
    tables = {
        "data": {
            "files": [str(Path("pairs.tsv").absolute())],
            "tokenizer": "characters",
            "vocabulary": 64,
            "context": 32,
            "test": 0.4,
        },
        "model": {"kind": kind, "width": 16, "layers": 2, "heads": 2, "feed_forward": 32},
        "training": {"steps": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 1e-2},
        "evaluation": {"every": 2, "prompts": [PROMPT]},
    }
    tables = {section: {**table, **changes.get(section, {})} for section, table in tables.items()}
    return glasshouse.train("translator", name=name, device="cpu", **tables)


def test_a_cross_map_has_a_row_for_each_token_written_and_a_column_for_each_of_the_source(trained):
    run = trained
    found = attention_map(run, "abca")
    assert found.sources == (*"abca", END)
    written = run.translate(["abca"])[0][0].text
    assert "".join(found.tokens).removesuffix(END) == written
    assert found.weights.shape == (2, 2, len(found.tokens), 5)
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    assert attention_map(run, run.tokenizer.encode("abca")).sources == found.sources


def test_the_rows_are_those_by_which_each_token_was_written(trained):
    run = trained
    found = attention_map(run, "abca")
    source = torch.tensor([[*run.tokenizer.encode("abca"), run.task.end]])
    ids = [run.task.end if token == END else int(run.tokenizer.encode(token)[0]) for token in found.tokens]
    read = torch.tensor([[run.task.end, *ids[:-1]]])
    with torch.inference_mode(), capture(run.model, "decoder.blocks.1.cross_attention.attention.weights") as seen:
        logits = run.model(source, read)
        np.testing.assert_allclose(found.weights[1], next(iter(seen.values()))[0].numpy(), atol=1e-6)
    assert logits[0, :, : run.tokenizer.vocabulary].argmax(-1).tolist() == ids


def test_self_attention_by_choice_is_square_and_the_decoder_does_not_look_ahead(trained):
    run = trained
    reads, writes = translation_map(run, "abca", "encoder"), translation_map(run, "abca", of="decoder")
    assert reads.tokens == (*"abca", END)
    assert reads.weights.shape == (1, 2, 5, 5)
    assert reads.weights[..., 0, 1:].min() > 0
    assert writes.tokens[0] == END
    assert writes.sources is None
    assert not np.triu(writes.weights, 1).any()
    for found in (reads, writes):
        np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    with refused("bad-option"):
        attention_map(run, "abca", of="middle")
    with refused("empty-text"):
        attention_map(run, "")


def test_a_decoder_alone_has_a_square_map_of_source_mark_and_target():
    run = model("decoder")
    found = attention_map(run, "abca")
    assert found.tokens[:6] == (END, *"abca", "<|translate|>")
    assert "".join(found.tokens[6:]) == run.translate(["abca"])[0][0].text
    assert found.sources is None
    assert found.weights.shape == (2, 2, len(found.tokens), len(found.tokens))
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    with refused("bad-option"):
        attention_map(run, "abca", of="cross")
    report = run_report.gather(run)
    assert report.attention is not None
    assert report.attention.sources is None


def test_the_page_has_the_translations_their_marks_and_how_they_were_counted(trained):
    run = trained
    report = run_report.gather(run)
    assert [name for name, _ in report.headline if name.startswith("test")] == [
        "test chrF",
        "test exact match",
        "test loss",
    ]
    assert [curve.name for curve in report.quality] == ["validation"]
    found = report.translations
    assert found is not None
    assert [each.source for each in found.prompts] == [PROMPT]
    assert found.prompts[0].translation == run.translate([PROMPT])[0][0].text
    assert len(found.pairs) == translation_samples.MOST_PAIRS
    assert all(each.reference == each.source[::-1] for each in found.pairs)
    again = run.translate([each.source for each in found.pairs])
    assert [each.translation for each in found.pairs] == [best[0].text for best in again]
    right = Translated("ab <b>", "ba", "ba")
    page = render(dataclasses.replace(report, translations=dataclasses.replace(found, pairs=(*found.pairs, right))))
    assert "ab &lt;b&gt;" in page
    assert page.count('aria-label="exactly right"') == 1 + sum(each.exact for each in found.pairs)
    assert "say &#34;abc&#34; &amp; &lt;i&gt;go&lt;/i&gt;" in page
    for signature in signatures().values():
        assert signature in page
    assert len(re.findall('<p class="sentence (?:source|translation)"', page)) == 2
    assert report.attention is not None
    assert report.attention.sources == (*PROMPT, END)


def test_half_of_the_pairs_shown_are_wrong_where_there_are_so_many():
    exact = np.zeros(200, bool)
    assert translation_samples.choose(exact) == list(range(12))
    exact[2::2] = True
    assert translation_samples.choose(exact) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
    assert (~exact[translation_samples.choose(exact)]).sum() == 6
    exact[:] = True
    exact[150] = False
    assert translation_samples.choose(exact) == [*range(11), 150]
    assert translation_samples.choose(np.array([True, False])) == [0, 1]


def test_a_map_is_of_what_fits_and_of_one_word_where_words_stand_alone(trained):
    second = translation_samples.look(trained, 5)
    assert second is not None
    assert second.attention is not None
    assert len(second.attention.tokens) <= 5
    assert second.attention.sources is not None
    # The prompt is too long; the first of the pairs that is not comes instead.
    short = next(each.source for each in second.translations.pairs if len(each.source) < 5)
    assert second.attention.sources == (*short, END)
    nothing = translation_samples.look(trained, 1)
    assert nothing is not None
    assert nothing.attention is None
    assert "too long" in nothing.notes[-1]
    report = run_report.gather(model(name="words", evaluation={"word_by_word": True, "prompts": ["ab abcd abc"]}))
    assert report.attention is not None
    assert report.attention.sources == (*"abcd", END)
    assert "test BLEU" not in dict(report.headline)


def test_a_run_whose_text_is_gone_says_so_on_its_page():
    run = model()
    Path("pairs.tsv").write_text("".join(f"{'a' * length}\tb\n" for length in range(1, 30)))
    report = run_report.gather(glasshouse.open_run("pairs"))
    assert any("has changed" in note for note in report.notes)
    assert report.translations is not None
    assert report.translations.pairs == ()
    assert report.translations.prompts[0].source == PROMPT
    render(report)
    assert suggestions.commands(run)[0] == f"glasshouse translate pairs '{PROMPT}'"


def test_a_map_of_two_sentences_is_packed_drawn_and_checked(tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 1, 3))
    found = AttentionMap(("a", "b", "c"), weights, ("w", "x", "y", "$z"))
    packed = attention_heatmap.pack(found)
    assert (packed["queries"], packed["keys"], packed["causal"]) == (3, 4, False)
    numbers = np.frombuffer(base64.b64decode(str(packed["thousandths"])), "<u2").reshape(weights.shape)
    assert np.abs(numbers / 1000 - weights).max() <= 0.0005 + 1e-9
    drawing = attention_heatmap.enlarged(found)
    assert [drawing.count(f'class="{side}"') for side in ("query", "key")] == [3, 4]
    figures.attention(found, tmp_path / "cross.png")
    figures.attention(dataclasses.replace(found, weights=weights[:1]), tmp_path / "one.svg")
    with refused("shapes-differ"):
        AttentionMap(("a", "b", "c"), weights, ("w", "x"))
    assert "same place" in attention_heatmap.cross_habit(np.eye(6, 7))
    assert "one place further on" in attention_heatmap.cross_habit(np.eye(6, 7, k=1))
    assert "source's last token" in attention_heatmap.cross_habit(np.repeat(np.eye(1, 7, k=6), 6, axis=0))
    assert attention_heatmap.cross_habit(np.full((6, 7), 1 / 7)) == "spread over about 7 tokens"


def test_a_map_of_two_sentences_reads_out_weights_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium on this machine")
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 2, 3))
    found = AttentionMap(("a", "b", "c"), weights, ("w", "x", "y", "z"))
    path = tmp_path / "cross.html"
    path.write_text(render(dataclasses.replace(example.report(), attention=found)), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--no-first-run"])
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.locator(".head").nth(3).click()
        page.locator("svg.map").focus()
        for key in ("ArrowDown", *["ArrowRight"] * 6):
            page.keyboard.press(key)
        assert page.locator("#tooltip").inner_text() == f"b → z: {weights[1, 1, 1, 3]:.3f}"
        page.locator(".sentence.translation .word").nth(2).hover()
        assert f"{weights[1, 1, 2].max():.3f}" in page.locator("#looks-at").inner_text()
        assert page.locator(".word.looking").all_inner_texts() == ["c"]
        lit = page.locator(".sentence.source .word[style*='color-mix']")
        assert lit.count() == 4
        browser.close()
    assert complaints == []
