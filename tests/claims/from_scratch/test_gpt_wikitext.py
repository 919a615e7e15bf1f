"""The claim gpt-wikitext: its parts on made-up values, its series, and a quick run."""

import gzip

import pytest

from glasshouse.claims import trials
from glasshouse.claims.claim import Series
from glasshouse.claims.from_scratch import gpt_wikitext
from glasshouse.claims.from_scratch.gpt_wikitext import GPTWikiText
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome
from tests.cli.program import some_text

FLUENT = {"bits": 1.35, "verbs": 0.9, "brackets": 0.1, "known": 0.97, "repeated": 0.01, "kept": 0.02}
TRIGRAM = {"bits": 1.54, "verbs": 0.83, "brackets": 0.7, "known": 0.98, "repeated": 0.0, "kept": 0.02}


def finding_on(noise=0.01, **changes):
    values = {f"{name}/gpt": close_values(mean, noise, shift=3) for name, mean in {**FLUENT, **changes}.items()}
    values |= {f"{name}/trigram": close_values(mean, noise) for name, mean in TRIGRAM.items()}
    values |= {"brackets/midway": close_values(0.36), "known/real": close_values(1.0), "repeated/real": close_values(0.01)}
    return judge(GPTWikiText, {**values, "kept/real": close_values(0.14)})


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        (TRIGRAM, REFUTED),  # trigram text is not fluent
        ({"bits": 1.6}, REFUTED),
        ({"bits": 1.545}, TOO_SMALL),
        ({"verbs": 0.83}, TOO_SMALL),
        ({"brackets": 0.5}, REFUTED),  # better than the trigram model, but closer to it than to real text
        ({"known": 0.90}, REFUTED),
        ({"repeated": 0.2}, REFUTED),
        ({"kept": 0.0}, UPHELD),  # the topic decides nothing
        ({"noise": 2.0}, UNDECIDED),
    ],
)
def test_fluent_text_is_better_than_trigram_text_in_every_deciding_part(changes, verdict):
    assert finding_on(**changes).verdict == verdict


def test_losing_the_topic_is_shown():
    assert outcome(finding_on(), "keeps to its topic less than real text") == UPHELD


def test_midway_is_the_mean_of_every_item():
    one, other = Series({0: 0.5}, {0: (0.0, 1.0)}), Series({0: 2.0}, {0: (2.0, 2.0)})
    assert gpt_wikitext.midway(one, other) == Series({0: 1.25}, {0: (1.0, 1.5)})


def test_curves_are_thinned(monkeypatch):
    monkeypatch.setattr(gpt_wikitext, "CURVE_POINTS", 2)
    rows = [{"step": step, "loss": 9.0 - step} for step in range(1, 5)] + [{"step": 4, "validation.loss": 5.5}]
    assert gpt_wikitext.curves(rows) == {"training loss": ((1.0, 8.0), (3.0, 6.0)), "validation loss": ((4.0, 5.5),)}


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "wikitext2"
    folder.mkdir(parents=True)
    sentence = " he was it were they ( or is that are those ) has it or have they . "
    text = "".join(sentence + some_text(8, number) for number in range(200))
    for split in ("train", "valid", "test"):
        (folder / f"wiki.{split}.tokens.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path / "data"))
    trial = trials.try_claim("gpt-wikitext", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(GPTWikiText.quantities)
    assert series["bits/trigram"].values[0] < series["bits/unigram"].values[0]
    assert len(series["known/gpt"].items[0]) == len(series["known/real"].items[0]) == gpt_wikitext.QUICK_PASSAGES
    assert series["known/real"].items[0] == series["known/real"].items[1]
    assert series["known/trigram"].items[0] != series["known/trigram"].items[1]  # drawn anew for each seed
    assert sum(note.startswith("the trigram model") for note in trial.measured.notes) == 4
    assert set(trial.measured.curves) == {"training loss", "validation loss"}
