"""Entries of studies: runs, verdict and claim, also of damaged ones."""

import json
from pathlib import Path

from glasshouse.records.run_entries import RunEntryReader
from glasshouse.records.status import Status
from glasshouse.studies import study_entries
from tests.records.example_folders import make_study


def test_an_entry_counts_runs_and_has_the_first_verdict(tmp_path: Path) -> None:
    entry = study_entries.read(make_study(tmp_path / "s"), RunEntryReader())
    assert (entry.status, entry.kind, entry.recipe) == (Status.DONE, "compare", "demo-lm")
    assert (entry.done, entry.planned, entry.arms) == (4, 4, ("learned", "rotary"))
    assert (entry.words, entry.verdict) == (("better",), "rotary is better than learned: 1 less")
    assert entry.cautions == ()
    assert entry.claim == ""


def test_an_entry_has_the_words_of_all_verdicts_and_what_makes_them_weak(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s")
    few = "a first look: 2 seeds are few"
    arms = [
        {"difference": {"word": "worse", "sentence": "a"}, "plain": "1e-4 lost to 1e-2", "caution": few},
        {"difference": {"word": "undecided", "sentence": "b"}, "plain": "1e-3 was ahead", "caution": few},
        {"difference": None, "caution": ""},
    ]
    edge = "the best lr is 1e-2, the largest that was tried"
    (study / "comparison.json").write_text(json.dumps({"arms": arms, "edges": [edge]}))
    entry = study_entries.read(study, RunEntryReader())
    assert (entry.words, entry.verdict) == (("worse", "undecided"), "1e-4 lost to 1e-2")
    assert entry.cautions == (few, edge)


def test_arms_have_the_order_of_the_comparison(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s")
    arms = [{"name": name, "difference": None} for name in ("rotary", "learned")]
    (study / "comparison.json").write_text(json.dumps({"arms": arms}))
    assert study_entries.read(study, RunEntryReader()).arms == ("rotary", "learned")
    (study / "comparison.json").write_text(json.dumps({"arms": arms[:1]}))
    assert study_entries.read(study, RunEntryReader()).arms == ("learned", "rotary"), "as the study was planned"


def test_unfinished_and_damaged_studies_give_what_can_be_read(tmp_path: Path) -> None:
    half = make_study(tmp_path / "half", finished=False)
    (half / "comparison.json").write_text('{"arms": [{"na')
    assert study_entries.read(half, RunEntryReader()).status == Status.INTERRUPTED
    assert study_entries.read(half, RunEntryReader()).verdict == ""
    damaged = make_study(tmp_path / "damaged", report=True)
    (damaged / "study.json").write_text("{}")
    entry = study_entries.read(damaged, RunEntryReader())
    assert entry.status == "damaged"
    assert "study.json" in entry.error
    assert entry.has_report


def test_studies_of_trials_name_their_claim(tmp_path: Path) -> None:
    make_study(tmp_path / "s")
    make_study(tmp_path / "claims" / "alibi-speed" / "trial-1" / "main")
    first, second = [study_entries.read(path, RunEntryReader()) for path in study_entries.folders_in(tmp_path)]
    assert (first.name, first.claim) == ("s", "")
    assert (second.name, second.claim) == ("main", "alibi-speed")
