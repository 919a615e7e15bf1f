"""The samples in a run folder: the newest evaluations are kept, and damage costs lines and not the page."""

from pathlib import Path

from glasshouse.records import sample_log
from glasshouse.records.sample_log import MOST_CHARACTERS, MOST_STEPS, NAME, KeptSample


def sample(step: int, text: str = "sat", prompt: str = "the cat") -> KeptSample:
    return KeptSample(step, prompt, text, "temperature 1")


def test_the_newest_evaluations_are_kept(tmp_path: Path) -> None:
    assert sample_log.read(tmp_path) == ()
    for step in range(1, 9):
        sample_log.add(tmp_path, [sample(step), sample(step, "ran" * MOST_CHARACTERS, "é\n")])
    found = sample_log.read(tmp_path)
    assert [each.step for each in found] == [step for step in range(8, 8 - MOST_STEPS, -1) for _ in range(2)]
    assert found[1].prompt == "é\n"
    assert len(found[1].text) == MOST_CHARACTERS
    sample_log.add(tmp_path, [sample(8, "again")])
    assert [each.text for each in sample_log.read(tmp_path) if each.step == 8] == ["again"], "a step that was taken again"


def test_a_resumed_run_forgets_later_samples(tmp_path: Path) -> None:
    sample_log.rewind(tmp_path, 5)
    assert not (tmp_path / NAME).exists()
    for step in (4, 6):
        sample_log.add(tmp_path, [sample(step)])
    sample_log.rewind(tmp_path, 5)
    assert sample_log.read(tmp_path) == (sample(4),)


def test_damaged_lines_and_foreign_files_are_skipped(tmp_path: Path) -> None:
    sample_log.add(tmp_path, [sample(3)])
    with open(tmp_path / NAME, "ab") as file:
        file.write(b'{"step": 4, "prompt": 1, "text": "x", "how": ""}\n[]\n\xff{"step": 5, "pro')
    assert sample_log.read(tmp_path) == (sample(3),)
    (tmp_path / NAME).write_bytes(b" " * (sample_log.MOST_BYTES + 1))
    assert sample_log.read(tmp_path) == ()
