"""Files of a user may be anything: every reader gives rows or one clear error, in bounded memory."""

import gzip
import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glasshouse.data import data_look, read_limits, text_files
from glasshouse.data.prepared_data import find_source
from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.tables import reading
from glasshouse.data.tables.table import TableFormat
from glasshouse.specs.errors import DataError, GlasshouseError, LimitExceeded, SpecError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import safe_boundaries
from tests.refusals import refused

MEGABYTE = 10**6
# Torch maps more than this alone, so that the reading process does not import it.
MOST_MEMORY = 1500 * MEGABYTE
ROWS = [{"text": f"a text of {number} words", "label": "odd" if number % 2 else "even"} for number in range(40)]


def read_rows(path, *limits, columns=("label",)):
    return list(find_source(DataSpec(files=(str(path),), limits=limits), columns).documents("train"))


def read_text(path, *limits):
    return list(find_source(DataSpec(files=(str(path),), limits=limits)).documents("train"))


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """A small file that expands to 120 MB."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.txt.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(12):
            file.write(b"hello world\n" * (10 * MEGABYTE // 12))
    return path


def test_a_file_that_expands_too_far_is_refused(tmp_path, bomb):
    with refused(LimitExceeded, str(bomb), "expansion"):
        read_text(bomb)
    table = tmp_path / "bomb.csv.gz"
    table.symlink_to(bomb)
    with refused(LimitExceeded, str(table)):
        find_source(DataSpec(files=(str(table),)), ("label",)).fingerprint()


def test_the_limit_on_expansion_can_be_raised(bomb):
    assert text_files.summarise(bomb, limits=ReadLimits(expansion=2000)).bytes > 100 * MEGABYTE


def test_a_zstandard_file_that_expands_too_far_is_refused(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "bomb.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor(level=3).compress(b"a b\n" * (25 * MEGABYTE)))
    with refused(LimitExceeded, str(path)):
        read_text(path)


@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [("a.csv", "text,label\n", ",x\n"), ("a.tsv", "x\t", "\n"), ("a.jsonl", '{"text": "', '", "label": "b"}\n')],
)
def test_a_line_that_is_too_long_is_refused(tmp_path, name, begin, end):
    path = tmp_path / name
    path.write_text(begin + "a" * (17 * MEGABYTE) + end)
    with refused(GlasshouseError, str(path), "line=160"):
        read_rows(path)


def test_a_plain_text_may_be_one_line(tmp_path):
    path = tmp_path / "one-line.txt"
    path.write_text("some words " * (2 * MEGABYTE))
    assert data_look.suggest_task(DataSpec(files=(str(path),))) == "next-token"
    assert sum(len(document.text) for document in read_text(path)) > 17 * MEGABYTE


def test_a_text_that_cannot_be_divided_is_refused(monkeypatch):
    monkeypatch.setattr(safe_boundaries, "LONGEST_BLOCK", 1 << 14)
    chunks = ["a" * 1000] * 100
    with refused(DataError, "16,384"):
        list(safe_boundaries.split_into_blocks(chunks, size=1 << 10))
    assert "".join(safe_boundaries.split_into_blocks(["a " * 500] * 100, size=1 << 10)) == "a " * 50_000


@pytest.mark.parametrize("depth", [101, 990, 100_000])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("name", ["deep.jsonl", "deep.json"])
def test_deep_nesting_is_refused(tmp_path, depth, brackets, name):
    path = tmp_path / name
    path.write_text(f'{{"text": "a", "label": "b", "more": {brackets[0] * depth}1{brackets[1] * depth}}}\n')
    with refused(LimitExceeded, str(path)):
        read_rows(path)
    with refused(LimitExceeded, str(path)):
        read_text(path)


def test_nesting_within_the_limit_is_read(tmp_path):
    path = tmp_path / "deep.jsonl"
    rows = [{**row, "more": json.loads("[" * 90 + "]" * 90)} for row in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(read_rows(path)) > 20


def test_too_many_columns_are_refused(tmp_path):
    names = [f"c{number}" for number in range(5000)]
    table, lines = tmp_path / "wide.csv", tmp_path / "wide.jsonl"
    table.write_text(f"{','.join(names)}\n{','.join(names)}\n")
    lines.write_text(json.dumps(dict.fromkeys(names, 1)) + "\n")
    for path in (table, lines):
        with refused(LimitExceeded, "5,000" if path is table else "columns"):
            reading.read(path)
        assert len(reading.read(path, TableFormat(limits=ReadLimits(columns=5000))).names) == 5000


def test_too_many_classes_are_refused(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("text,label\n" + "".join(f"text {number},class {number % 10_001}\n" for number in range(41_000)))
    with refused(LimitExceeded, str(path), "classes=100000"):
        read_rows(path)


def test_a_table_that_needs_too_much_memory_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("text,label\n" + "a text,b\n" * 20_000)
    with refused(GlasshouseError, str(path), "table=10"):
        read_rows(path, "table=1")
    (tmp_path / "table.json").write_text(json.dumps([{"text": "a" * 200_000, "label": "b"}]))
    with refused(GlasshouseError):
        read_rows(tmp_path / "table.json", "table=1")


@pytest.mark.parametrize(
    "text", ["classes", "classes=", "classes=-1", "classes=0", "words=3", "line=1e3", "line=٣", "=", "x" * 999]
)
def test_a_limit_that_is_none_is_refused(text):
    with refused(SpecError, "data.limits"):
        ReadLimits.of([text])


def test_a_limit_has_a_largest_value():
    assert ReadLimits.of(["line=100, table=8000"]) == ReadLimits(line=100, table=8000)
    with refused(GlasshouseError, "nesting=201"):
        ReadLimits.of(["nesting=201"])
    assert set(read_limits.LARGEST) == set(ReadLimits.__dataclass_fields__)


READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
from glasshouse.data.prepared_data import find_source
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import DataSpec
assert "torch" not in sys.modules
for name in sys.argv[2:]:
    try:
        columns = ("label",) if "csv" in name or "json" in name else ()
        for _ in find_source(DataSpec(files=(name,)), columns).documents("train"):
            pass
    except GlasshouseError as error:
        print(type(error).__name__)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="needs a limit on address space")
def test_memory_stays_bounded(tmp_path, bomb):
    """A limit on the address space of the process is far below what the files hold."""
    line = tmp_path / "line.csv"
    with line.open("wb") as file:
        file.write(b"text,label\n")
        for _ in range(200):
            file.write(b"a" * MEGABYTE)
    sparse = tmp_path / "sparse.json"
    with sparse.open("wb") as file:
        file.write(b'["')
        file.seek(20_000 * MEGABYTE)
        file.write(b"]")
    deep = tmp_path / "deep.jsonl"
    deep.write_text("[" * 15 * MEGABYTE)
    names = [str(path) for path in (bomb, line, sparse, deep)]
    ended = subprocess.run(
        [sys.executable, "-c", READ, str(MOST_MEMORY), *names], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.stderr == ""
    assert ended.stdout.split() == ["LimitExceeded", "LineTooLong", "DataError", "LimitExceeded"]


def example_files(folder: Path) -> list[Path]:
    """A file of each format."""
    files = {name: folder / f"rows.{name}" for name in ("csv", "tsv", "jsonl", "json", "csv.gz", "conll", "txt", "html")}
    lines = [f"{row['label']},{row['text']}" for row in ROWS]
    files["csv"].write_text("\n".join(["label,text", *lines]))
    files["tsv"].write_text("\n".join(line.replace(",", "\t") for line in lines))
    files["jsonl"].write_text("\n".join(map(json.dumps, ROWS)))
    files["json"].write_text(json.dumps(ROWS))
    files["csv.gz"].write_bytes(gzip.compress(files["csv"].read_bytes(), mtime=0))
    files["conll"].write_text("\n\n".join("\n".join(f"{word} N" for word in row["text"].split()) for row in ROWS))
    files["txt"].write_text("\n".join(row["text"] for row in ROWS))
    files["html"].write_text("".join(f"<p>{row['text']}</p>" for row in ROWS))
    found = list(files.values())
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet
        import zstandard
    except ImportError:
        return found
    table = pyarrow.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    pyarrow.feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    (folder / "rows.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(files["jsonl"].read_bytes()))
    return [*found, folder / "rows.parquet", folder / "rows.arrow", folder / "rows.jsonl.zst"]


def read_in_every_way(path: Path) -> None:
    """Read a file as text, as labelled rows and as tagged sentences, and guess what it is for."""
    data = DataSpec(files=(str(path),))
    ways = [
        lambda: data_look.suggest_task(data),
        lambda: data_look.look(data, find_source(data), ()),
        *(lambda column=column: find_source(data, (column,)).notes() for column in ("label", "value", "tags", "target")),
    ]
    for way in ways:
        said = ""
        try:
            way()
        except GlasshouseError as error:
            said = str(error)
        assert "\n" not in said
        assert len(said) < 2000


def damaged(content: bytes, seed: int) -> bytes:
    """Bytes with one kind of damage: cut, replaced, repeated, or with something odd in the middle."""
    chance = random.Random(seed)
    place = chance.randrange(len(content))
    odd = [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"\n", b"\r", b"\t", b",", b"{", b"[", b"\\u", b"\\ud800", b"1e999"]
    match chance.randrange(4):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
        case 2:
            return content[:place] + content[place : place + 50] * chance.randrange(2, 9) + content[place:]
    return content[:place] + chance.choice(odd) * chance.choice([1, 1, 5]) + content[place:]


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return example_files(tmp_path_factory.mktemp("examples"))


def try_damage(examples, folder, seed):
    example = examples[seed % len(examples)]
    path = folder / example.name
    path.write_bytes(damaged(example.read_bytes(), seed))
    read_in_every_way(path)


def test_examples_can_be_read(examples):
    for path in examples:
        assert read_text(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_damaged_bytes_give_rows_or_one_error(examples, tmp_path, monkeypatch, seed):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    try_damage(examples, tmp_path, seed)


@pytest.mark.slow
def test_much_damage_gives_rows_or_one_error(examples, tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    for seed in range(2000):
        try_damage(examples, tmp_path, seed)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=JSON_VALUES, label=JSON_VALUES, name=st.sampled_from(["jsonl", "json", "ndjson"]))
def test_odd_values_give_rows_or_one_error(tmp_path, monkeypatch, text, label, name):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / f"odd.{name}"
    rows = [*ROWS[:6], {"text": text, "label": label}]
    path.write_text(json.dumps(rows) if name == "json" else "\n".join(map(json.dumps, rows)))
    read_in_every_way(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.text(max_size=20), min_size=1, max_size=30), name=st.sampled_from(["csv", "tsv"]))
def test_odd_cells_give_rows_or_one_error(tmp_path, monkeypatch, cells, name):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / f"odd.{name}"
    path.write_text(("," if name == "csv" else "\t").join(cells), encoding="utf-8", errors="replace")
    read_in_every_way(path)
