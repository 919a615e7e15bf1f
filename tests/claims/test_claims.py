"""Claims: rules that turn figures into verdicts, the bench, what is kept of a trial, and the page of it."""

import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import glasshouse
from glasshouse.claims import rules, trials
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.metrics.verdicts import VerdictRule, judge
from glasshouse.pages import claims_page as page
from glasshouse.pages.claim_content import Case, Trial
from glasshouse.records import progress_bar
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import Interrupted
from glasshouse.training import cost_plan
from tests.cli.program import SMALL, some_text
from tests.refusals import refused

TINY = (*SMALL, "model.layers=1", "data.tokenizer=characters", "evaluation.every=2")
ARMS = "model.position=learned,none"


class Made(Claim):
    """A claim that is made up, about two tiny models of a page of text."""

    statement = "Learned positions lose <nothing> | to none."
    source = "made up for a test"
    reported = "1.0"
    rule = "upheld where the loss is finite"
    seeds = 3
    text = ""

    def try_it(self, bench: Bench) -> Finding:
        words = ("language-model", *TINY, f"data.files={self.text}", "training.steps=4", ARMS)
        study = bench.compare("positions", *words, quick=("training.steps=2",))
        run = bench.train("alone", "language-model", *TINY, f"data.files={self.text}", "training.steps=2")
        assert isinstance(run, Run)
        values = bench.values(study, "none", "validation.perplexity")
        counted = bench.once("counted", lambda: {"runs": len(bench.runs(study, "none"))}, of=study)
        (bench.folder / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        return Finding(
            verdict="upheld" if all(map(math.isfinite, values.values())) else "refuted",
            because=f"perplexity {rules.shown(values)} of {counted['runs']} runs of {study.arms[0].steps} steps",
            scope="a page of made-up words",
            rows=(Evidence("perplexity, none", "1.0", rules.shown(values)),),
            studies=(study.name,),
            pictures=("picture.svg", "lost.svg"),
        )


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TRIAL_STEPS", 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[Made]:
    """The made-up claim, in the catalogue with the others."""
    text = tmp_path / "text.txt"
    text.write_text(some_text(600))
    monkeypatch.setattr(Made, "text", str(text))
    known = catalogue._entries
    stub = SimpleNamespace(load=lambda: Made, value="here")
    monkeypatch.setattr(
        catalogue, "_entries", lambda family: {**known(family), **({"made-up": stub} if family == "claim" else {})}
    )
    return Made


@pytest.mark.parametrize(
    ("values", "figure", "higher", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0], 2.0, False, "upheld"),
        ([1.0, 1.1, 0.9, 1.0], 2.0, True, "refuted"),
        ([1.0, 1.1, 0.9, 1.0], 0.5, True, "upheld"),
        ([1.0, 3.0, 0.5, 2.0], 1.5, False, "undecided"),
        ([1.0], 2.0, False, "undecided"),
        ([], 2.0, False, "undecided"),
        ([math.nan, math.nan], 2.0, False, "refuted"),
        ({3: 1.0, 5: 1.1, 9: math.nan}, 2.0, False, "upheld"),
    ],
)
def test_a_figure_is_beaten_where_the_whole_interval_is(values, figure, higher, verdict):
    assert rules.beats(values, figure, higher) == verdict


def test_a_part_of_several_is_refuted_at_its_share_of_the_level():
    values = [1.0, 1.2, 0.8, 1.1, 0.9]
    assert rules.beats(values, 0.79, False, parts=1) == "refuted"
    assert rules.beats(values, 0.79, False, parts=20) == "undecided"
    assert rules.beats(values, 1.21, False, parts=20) == "upheld", "all parts must hold, so that none needs a share"


@pytest.mark.parametrize(
    ("shift", "noise", "better", "good"),
    [
        (-1.0, 0.01, "upheld", "upheld"),
        (1.0, 0.01, "refuted", "refuted"),
        (0.0, 0.01, "refuted", "upheld"),
        (0.05, 0.01, "refuted", "upheld"),  # worse for certain, and by less than the margin
        (0.0, 2.0, "undecided", "undecided"),
    ],
)
def test_differences_become_verdicts(shift, noise, better, good):
    first = {seed: float(seed) for seed in range(6)}
    other = {seed: value + shift + noise * (-1) ** seed for seed, value in first.items()}
    difference = judge({"first": first, "other": other}, VerdictRule(margin=0.1))["other"]
    assert rules.direction(difference) == better
    assert rules.as_good(difference) == good
    assert rules.direction(None) == rules.as_good(None) == "undecided"


def test_parts_of_a_claim_are_joined():
    assert rules.all_of("upheld", "upheld") == "upheld"
    assert rules.all_of("upheld", "undecided", "refuted") == "refuted"
    assert rules.all_of("upheld", "undecided") == rules.all_of() == "undecided"
    assert rules.any_of("refuted", "upheld") == "upheld"
    assert rules.any_of("refuted", "refuted") == "refuted"
    assert rules.within([1.0, 1.1, 0.9], 0.0, 2.0) == "upheld"
    assert rules.within([1.0, 1.1, 0.9], 3.0, 4.0) == "refuted"


def test_figures_are_written_with_their_interval():
    assert rules.shown([1.0, 1.1, 0.9]) == "1.00 ± 0.25 (3 seeds)"
    assert rules.shown({0: 0.5, 1: 0.5}, ".1f", 100) == "50.0 ± 0.0 (2 seeds)"
    assert rules.shown([1.0, math.nan]) == "1 (1 seed, 1 more diverged)"
    assert rules.shown([math.nan] * 2) == "diverged in each of 2 seeds"
    assert rules.shown([]) == "not measured"
    assert rules.interval([1.0, 1.1, 0.9]) == "1.00 (95 % interval 0.75 to 1.25)"


def test_a_claim_is_tried_once_and_kept(made, monkeypatch):
    case = glasshouse.try_claim("made-up", device="cpu")
    place = Path("studies/claims/made-up")
    assert case.verdict == "upheld"
    assert "3 runs of 4 steps" in case.trial.finding.because
    assert case.trial.seeds == 3
    assert [name for name, _ in case.pictures] == ["picture.svg"], "a picture that is lost is left out"
    assert (place / "positions" / "study.json").is_file()
    assert (place / "alone" / "spec.toml").is_file()
    assert "GLASSHOUSE_STUDIES" not in os.environ
    kept = json.loads((place / "finding.json").read_text())
    assert kept["finding"]["verdict"] == "upheld"
    assert kept["machine"]["device"] == "cpu"

    # All of it is there, so nothing is trained again, and the report needs no more than what was kept.
    monkeypatch.setattr("glasshouse.training.loop.train_group", None)
    assert glasshouse.try_claim("made-up", device="cpu").trial.finding == case.trial.finding
    [read] = [each for each in glasshouse.list_claims() if each.name == "made-up"]
    assert read.trial.finding == case.trial.finding

    # A claim that asks for something else of the same run says what to delete.
    monkeypatch.setattr(Made, "text", str(Path(Made.text).rename("other.txt")))
    with refused("study-exists"):
        glasshouse.try_claim("made-up", device="cpu")


def test_a_quick_look_decides_nothing_and_hides_no_trial(made):
    case = glasshouse.try_claim("made-up", quick=True, device="cpu")
    assert case.verdict == "undecided"
    assert "2 runs of 2 steps" in case.trial.finding.because
    assert "quick look" in case.trial.finding.scope
    assert case.trial.finding.notes[-1].endswith("would have said: upheld")
    assert not Path("studies/claims/made-up/finding.json").exists()
    [listed] = [each for each in glasshouse.list_claims() if each.name == "made-up"]
    assert listed.standing == "a quick look"
    trials._write(Path("studies/claims/made-up"), Trial(Finding("refuted", "so", "all"), 3, False, 1.7e9))
    [listed] = [each for each in glasshouse.list_claims() if each.name == "made-up"]
    assert (listed.verdict, listed.standing) == ("refuted", "")


def test_seeds_that_came_late_are_told(made):
    glasshouse.try_claim("made-up", seeds=2, device="cpu")
    more = glasshouse.try_claim("made-up", seeds=3, device="cpu").trial.finding
    assert "3 runs" not in more.because, "what is kept under a name stays"
    assert "(3 seeds)" in more.rows[0].measured
    assert "added after 2 had been judged" in more.notes[-1]


def test_a_stopped_trial_says_how_to_go_on(made, monkeypatch):
    def stop(self, bench):
        raise Interrupted(15, "stopped with 1 of 6 runs done, all saved", "glasshouse resume studies/x")

    monkeypatch.setattr(Made, "try_it", stop)
    with refused("interrupted", "--seeds", "--quick") as stopped:
        glasshouse.try_claim("made-up", seeds=4, quick=True)
    assert stopped.value.exit_status == 143
    assert "resume" not in str(stopped.value)


def test_steps_are_timed_in_turn(made, tmp_path, monkeypatch):
    monkeypatch.setattr(cost_plan, "TRIAL_SECONDS", 0.01)
    bench = Bench(tmp_path / "bench", seeds=2, quick=True, device="cpu")
    words = ("language-model", *TINY, f"data.files={Made.text}", ARMS)
    seconds = bench.step_seconds("times", *words)
    assert list(seconds) == ["learned", "none"]
    assert all(len(rounds) == 2 and min(rounds) > 0 for rounds in seconds.values())
    assert bench.step_seconds("times", *words) == seconds


def test_bad_input_is_answered(made, monkeypatch):
    with refused("unknown-word", "'alibi-speed'"):
        glasshouse.try_claim("alibi-sped")
    for seeds in (1, 0):
        with refused("bad-seeds", f"{seeds}"):
            glasshouse.try_claim("made-up", seeds=seeds)
    place = Path("studies/claims/made-up")
    place.mkdir(parents=True)
    (place / "finding.json").write_text("{")
    with refused("unreadable-finding"):
        glasshouse.list_claims()
    (place / "finding.json").write_text('{"format": 99}')
    with refused("newer-format"):
        glasshouse.list_claims()
    with pytest.raises(ValueError, match="'maybe' is not one of"):
        Finding("maybe", "", "")


def test_without_its_data_a_claim_is_undecided_and_says_what_would_decide_it(made, monkeypatch):
    monkeypatch.delenv("GLASSHOUSE_DATA", raising=False)
    monkeypatch.setattr(Made, "needs", ("speeches", "state-of-the-union"))
    case = glasshouse.try_claim("made-up")
    assert case.verdict == "undecided"
    assert "GLASSHOUSE_DATA=FOLDER glasshouse claim made-up" in case.trial.finding.because
    assert "state-of-the-union" not in case.trial.finding.because
    [listed] = [each for each in glasshouse.list_claims() if each.name == "made-up"]
    assert (listed.verdict, listed.standing) == ("undecided", "no data")
    # A trial that was done elsewhere stays.
    trials._write(Path("studies/claims/made-up"), Trial(Finding("refuted", "so", "all"), 3, False, 1.7e9))
    glasshouse.try_claim("made-up")
    [listed] = [each for each in glasshouse.list_claims() if each.name == "made-up"]
    assert listed.verdict == "refuted"


def test_every_claim_says_what_it_asserts():
    for name in catalogue.names("claim"):
        claim = catalogue.find("claim", name)
        assert issubclass(claim, Claim)
        for text in (claim.statement, claim.source, claim.reported, claim.rule):
            assert isinstance(text, str)
            assert text.strip() == text != ""
        assert claim.statement.endswith(".")
        assert claim.seeds >= 2
        assert set(claim.needs) <= set(catalogue.names("source")), name


def cases() -> list[Case]:
    finding = Finding(
        verdict="refuted",
        because="3.1 is <more> than 2 & that is it",
        scope="a page",
        rows=(Evidence("loss | of all", "2", "3.1 ± 0.2 (8 seeds)"), Evidence("time", "", "5 s")),
        studies=("positions",),
        pictures=("curve.svg",),
        notes=("a *note*",),
    )
    trial = Trial(finding, 8, False, 1.7e9, {"processor": "an abacus", "python": "3.11", "torch": "2"})
    said = ("It is <so>.", "a book", "2", "upheld where below 2", "glasshouse claim one")
    return [Case("one", *said, trial, (("curve.svg", b"<svg/>"),)), Case("two", *said, None)]


def test_the_page_holds_every_verdict_and_needs_nothing_else():
    html = page.render(cases())
    for text in ("✗</span> refuted", "–</span> not tried", "3.1 ± 0.2 (8 seeds)", "3.1 is &lt;more&gt; than 2 &amp; that"):
        assert text in html
    assert "It is &lt;so&gt;." in html
    assert 'href="#one"' in html
    assert 'id="one"' in html
    assert "data:image/svg+xml;base64,PHN2Zy8+" in html
    assert "claims/one/positions" in html
    assert "2023-11-14 22:13 UTC, an abacus" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_markdown_says_the_same():
    text = page.markdown(cases())
    assert "Of 2 claims: 1 refuted, 1 not tried." in text
    assert "| [one](#one) | It is \\<so\\>. | ✗ refuted |" in text
    assert r"| loss \| of all | 2 | 3.1 ± 0.2 (8 seeds) |" in text
    assert "- Note: a \\*note\\*" in text
    assert "**✗ refuted.** 3.1 is \\<more\\> than 2 & that is it" in text
    assert "- To try it: `glasshouse claim one`" in text


def test_a_page_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with refused("wrong-suffix"):
        glasshouse.claims_report(tmp_path / "claims.pdf")


@pytest.fixture
def speeches(tmp_path, monkeypatch):
    """Made-up speeches in the place of the real ones."""
    place = tmp_path / "data" / "speeches"
    place.mkdir(parents=True)
    for seed, name in enumerate(("train_LM.txt", "test_LM_obama.txt", "test_LM_wbush.txt", "test_LM_hbush.txt")):
        (place / name).write_text(some_text(300, seed))
    rows = "".join(f"{number % 3}\t{line}\n" for number, line in enumerate(some_text(200).splitlines()) if line.strip())
    for name in ("train_CLS.tsv", "test_CLS.tsv"):
        (place / name).write_text(rows)
    monkeypatch.setenv("GLASSHOUSE_DATA", str(place.parent))


def test_positions_beyond_their_length(speeches, monkeypatch):
    monkeypatch.setattr(cost_plan, "TRIAL_SECONDS", 0.01)
    with progress_bar.quiet():
        finding = glasshouse.try_claim("learned-for-length", quick=True, device="cpu").trial.finding
    measured = {row.what: row.measured for row in finding.rows}
    assert measured["test perplexity at 64 tokens, learned"] == "no answer"
    assert measured["test perplexity at 64 tokens, learned, table lengthened"].endswith("(2 seeds)")
    assert measured["test perplexity at 128 tokens, alibi"].endswith("(2 seeds)")
    assert "Learned ends at 32 tokens and 64 were given" in finding.because
    assert finding.notes[-1].endswith("refuted"), "a table without an entry refutes it, whatever the figures are"
    assert finding.pictures == ("lengths.svg",)
