"""The source `installed-python`: which packages and files are used, how they are split, and what is refused."""

import base64
import hashlib
from email.message import Message
from pathlib import Path

import pytest

import glasshouse
from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.installed_python import InstalledPython, is_permissive, licence_of
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec
from tests.refusals import refused

SHARED = "# the same file in two packages\n" * 10


def code(name: str, number: int, lines: int = 20) -> str:
    return "".join(f"def {name}_{number}_{line}():\n    return {line}\n" for line in range(lines))


def install(folder: Path, name: str, files: dict[str, str | bytes], licence: str = "MIT", version: str = "1.0") -> None:
    """A package as pip would leave it: its files, its metadata and its record."""
    information = folder / f"{name}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Name: {name}\nVersion: {version}\nLicense-Expression: {licence}\n")
    rows = []
    for path, text in files.items():
        content = text if isinstance(text, bytes) else text.encode()
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.append(f"{path},sha256={digest},{len(content)}\n")
    (information / "RECORD").write_text("".join(rows) + f"{information.name}/RECORD,,\n")


@pytest.fixture
def packages(tmp_path):
    for number in range(12):
        name = f"package{number}"
        install(tmp_path, name, {f"{name}/{part}.py": code(name, part) for part in range(2)})
    install(tmp_path, "large", {f"large/{part}.py": code("large", part, 200) for part in range(8)})
    install(tmp_path, "first_copy", {"first_copy/a.py": SHARED, "first_copy/b.py": SHARED, "first_copy/c.py": code("c", 1)})
    install(tmp_path, "second_copy", {"second_copy/a.py": SHARED, "second_copy/d.py": code("d", 1)})
    install(tmp_path, "copyleft", {"copyleft/a.py": code("copyleft", 1)}, licence="GPL-3.0-only")
    install(
        tmp_path,
        "mixed",
        {
            "mixed/data.txt": "not code " * 20,
            "mixed/empty.py": "",
            "mixed/table.py": "x = [" + "1, " * 400_000 + "]",
            "mixed/latin.py": "# \xe9t\xe9\n".encode("latin-1") * 20,
            "../outside.py": code("outside", 1),
            "mixed/good.py": code("mixed", 1),
        },
    )
    return tmp_path


def source(folder, **settings):
    return InstalledPython(folders=[str(folder)], **settings)


def paths(found, split):
    return [document.fields["path"] for document in found.documents(split)]


def test_no_package_is_in_two_splits_and_no_text_occurs_twice(packages):
    found = source(packages, validation=0.1, test=0.1)
    documents = {split: list(found.documents(split)) for split in SPLITS}
    names = {split: {document.fields["package"] for document in documents[split]} for split in SPLITS}
    assert all(names.values())
    assert sum(map(len, names.values())) == len(set.union(*names.values())) == 16
    texts = [document.text for split in SPLITS for document in documents[split]]
    assert len(texts) == len(set(texts))
    assert texts.count(SHARED) == 1
    assert "large" in names["train"], "a package that is larger than a split is for training"


def test_only_code_of_permissive_packages_is_used(packages):
    found = source(packages)
    used = [path for split in SPLITS for path in paths(found, split)]
    assert "copyleft/a.py" not in used
    assert [path for path in used if path.startswith(("mixed/", ".."))] == ["mixed/good.py"]
    split_of = {entry.name: entry.split for entry in found.entries()}
    assert split_of["copyleft"] == ""
    assert {entry.reason for entry in found.entries() if entry.name == "copyleft"} == {"licence"}
    assert split_of["large"] == "train"
    assert {entry.licence for entry in found.entries()} == {"MIT", "GPL-3.0-only"}


def test_held_out_shares_are_about_those_of_the_spec(packages):
    found = source(packages, validation=0.1, test=0.05)
    total = sum(found.bytes(split) for split in SPLITS)
    assert 0.05 < found.bytes("validation") / total <= 0.1
    assert 0.02 < found.bytes("test") / total <= 0.05
    without = source(packages, validation=0.0, test=0.0)
    assert without.bytes("train") == total
    assert without.bytes("validation") == 0


def test_every_reading_gives_the_same_and_the_fingerprint_follows_the_content(packages):
    first, again = source(packages), source(packages)
    assert first.fingerprint() == again.fingerprint()
    assert [paths(first, split) for split in SPLITS] == [paths(again, split) for split in SPLITS]
    assert source(packages, validation=0.2).fingerprint() != first.fingerprint()
    install(packages, "another", {"another/a.py": code("another", 1)})
    assert source(packages).fingerprint() != first.fingerprint()


def test_a_limit_in_megabytes_uses_whole_packages_up_to_it(packages):
    everything = source(packages)
    limited = source(packages, megabytes=0.02, validation=0.15, test=0.15)
    total = sum(limited.bytes(split) for split in SPLITS)
    assert 0.01e6 < total <= 0.02e6 < sum(everything.bytes(split) for split in SPLITS)
    with refused(DataError, "data.megabytes=0.0001"):
        source(packages, megabytes=0.0001).fingerprint()


def test_a_file_that_has_changed_since_its_installation_is_refused(packages):
    found = source(packages)
    path = packages / "large/0.py"
    path.write_text(path.read_text().replace("large", "other"))
    with refused(DataError, "large/0.py", "pip install", "large==1.0"):
        list(found.documents("train"))


def test_too_few_packages_cannot_be_split(tmp_path):
    install(tmp_path, "only", {"only/a.py": code("only", 1)})
    with refused(DataError, "1 packages", "data.validation"):
        source(tmp_path).fingerprint()
    assert len(list(source(tmp_path, validation=0.0, test=0.0).documents("train"))) == 1


def test_a_limit_is_refused_where_it_has_no_effect():
    with refused(SpecError, "data.megabytes=5", "shakespeare", "installed-python"):
        glasshouse.runs.spec_of("demo-lm", "data.source=shakespeare", "data.megabytes=5")
    spec = glasshouse.runs.spec_of("demo-lm", "data.source=installed-python", "data.megabytes=5", "data.test=0.1")
    built = catalogue.find("source", "installed-python").from_spec(spec.data)
    assert (built.limit, built.shares["test"]) == (5e6, 0.1)


def test_this_environment_has_permissive_packages_in_every_split():
    """torch and numpy are always installed; only their records are read."""
    found = InstalledPython.from_spec(DataSpec(source="installed-python"))
    names = {split: {package.name for package in found.packages[split]} for split in SPLITS}
    assert "torch" in names["train"]
    assert all(names.values())
    assert all(entry.licence for entry in found.entries() if entry.split)
    assert "packages" in found.notes()[0]


def metadata(**fields):
    message = Message()
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            message[name.replace("_", "-")] = item
    return message


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"Classifier": ["License :: OSI Approved :: BSD License", "Topic :: Text"], "License": "x"}, "BSD License"),
        ({"Classifier": ["License :: OSI Approved", "License :: OSI Approved :: MIT License"]}, "MIT License"),
        ({"License": "Apache 2.0\n\nThe long text"}, "Apache 2.0"),
        ({"License": "UNKNOWN"}, ""),
        ({}, ""),
    ],
)
def test_the_licence_that_is_stated(fields, licence):
    assert licence_of(metadata(**fields)) == licence


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
        "Apache-2.0 OR BSD-2-Clause",
        "GPL-2.0-or-later OR MIT",
        "BSD-2-Clause AND Apache-2.0 WITH LLVM-exception",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "BSD License, Apache Software License",
        "3-Clause BSD License",
        "ISC License (ISCL)",
        "Python Software Foundation License",
    ],
)
def test_permissive_licences(licence):
    assert is_permissive(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "",
        "Dual License",
        "MPL-2.0",
        "MPL-2.0 AND MIT",
        "GPL-3.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MIT AND GPL-3.0-or-later WITH GCC-exception-3.1",
        "(MIT OR GPL-2.0-only) AND BSD-3-Clause",
        "LGPL-2.1-or-later",
        "GNU Lesser General Public License v2 or later (LGPLv2+)",
        "Mozilla Public License 2.0 (MPL 2.0)",
        "MIT License, GNU General Public License (GPL)",
        "Other/Proprietary License",
        "Copyright (c) 2001 Someone",
        "LicenseRef-NVIDIA-Proprietary AND MIT",
    ],
)
def test_whatever_is_not_known_to_be_permissive_is_not_used(licence):
    assert not is_permissive(licence)
