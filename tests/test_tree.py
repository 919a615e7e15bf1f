"""The tests mirror the package: tests/A/test_B.py tests src/glasshouse/A/B.py or the package A/B. A class name is unique."""

import re
from collections import Counter
from pathlib import Path

import glasshouse
from glasshouse.cli.application import GROUPS

SOURCE = Path(glasshouse.__file__).parent
TESTS = Path(__file__).parent
# These files test a property of many modules, or something outside the package.
CROSS_CUTTING = {
    "api/test_public_names.py",
    "benchmarks/test_smoke.py",
    "cli/test_bad_input.py",
    "cli/test_classify_files.py",
    "cli/test_compare_refusals.py",
    "cli/test_damaged_runs.py",
    "claims/test_quick_runs.py",
    "cli/command_lines/test_command_lines.py",
    "cli/test_executable.py",
    "cli/test_existing_outputs.py",
    "cli/test_file_remedies.py",
    "cli/test_full_disk.py",
    "cli/test_interrupts.py",
    "cli/test_run_folders.py",
    "cli/test_study_interrupts.py",
    "data/sources/scenes/test_held_out_meanings.py",
    "generation/test_json_schema.py",
    "generation/test_regular_expressions.py",
    "hostile/test_bounds.py",
    "hostile/test_command_values.py",
    "hostile/test_containment.py",
    "hostile/test_damaged_studies.py",
    "hostile/test_environments.py",
    "hostile/test_foreign_checkpoints.py",
    "hostile/test_kept_files.py",
    "hostile/test_links_and_devices.py",
    "hostile/test_model_files.py",
    "hostile/test_streams.py",
    "hostile/test_terminal.py",
    "how_to/test_how_to.py",
    "interop/architectures/test_round_trip.py",
    "interop/test_task_exports.py",
    "verdicts/test_item_verdicts.py",
    "verdicts/test_verdict_error_rates.py",
    "pages/test_accessibility.py",
    "pages/test_browser.py",
    "parts/test_battery.py",
    "parts/test_declared_part.py",
    "serving/test_foreign_clients.py",
    "serving/test_live_pages.py",
    "serving/test_playground.py",
    "serving/test_soak.py",
    "slurm/test_preparation.py",
    "slurm/test_slurm.py",
    "test_documents.py",
    "test_examples.py",
    "test_layers.py",
    "test_notebook.py",
    "test_tree.py",
    "test_weight.py",
    "test_where_to_change.py",
}


COMMANDS = {place.partition(".")[2] for places in GROUPS.values() for place in places.split()}


def has_source(test: Path) -> bool:
    """Whether the package has a module, a package or, in the command line, a command of the same name."""
    place, name = SOURCE / test.parent, test.stem.removeprefix("test_")
    is_command = str(test.parent) == "cli" and not COMMANDS.isdisjoint({name, f"{name}_"})
    return is_command or (place / name).is_dir() or (place / f"{name}.py").is_file()


def test_every_test_file_has_its_module() -> None:
    files = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    without = {str(path) for path in files if not has_source(path)}
    assert without == CROSS_CUTTING


def test_every_test_folder_is_a_package() -> None:
    """Two test files may have the same name only in packages."""
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_test_modules_do_not_import_each_other() -> None:
    """Shared fixtures stand in conftest.py, and shared values in a module that is not itself a test."""
    lines = [
        f"{path.relative_to(TESTS)}: {line}"
        for path in TESTS.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("from tests.", "from .", "import tests.")) and ".test_" in line.split(" import ")[0]
    ]
    assert lines == []


def test_a_class_name_means_one_thing() -> None:
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    names = Counter(name for text in texts for name in re.findall(r"^class ([A-Z]\w*)", text, flags=re.MULTILINE))
    assert len(names) > 200
    # The public Run adds the functions that take a run to the Run that they work on.
    assert [name for name, count in names.items() if count > 1] == ["Run"]
