"""The user's own text: any supported file format, no document in two splits, and an error for every bad file."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.data import text_files
from glasshouse.data.documents import SPLITS
from glasshouse.data.user_files.text import UserText
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec
from tests.refusals import refused


def read(source, split):
    return "".join(document.text for document in source.documents(split))


def source_of(*paths, field="text", validation=0.1, test=0.1):
    return UserText(DataSpec(files=tuple(map(str, paths)), field=field, validation=validation, test=test))


@settings(max_examples=60)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), min_size=1, max_size=300),
    chunk_bytes=st.integers(1, 64),
    validation=st.sampled_from([0.0, 0.1, 0.5]),
    test=st.sampled_from([0.0, 0.3]),
)
def test_the_splits_of_a_plain_text_are_the_text(tmp_path_factory, text, chunk_bytes, validation, test):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(text, encoding="utf-8", newline="")
    default, text_files.CHUNK_BYTES = text_files.CHUNK_BYTES, chunk_bytes
    try:
        source = source_of(path, validation=validation, test=test)
        assert "".join(read(source, split) for split in SPLITS) == text
        if test == 0.0:
            assert read(source, "test") == ""
    finally:
        text_files.CHUNK_BYTES = default


def test_splits_end_at_line_ends_and_have_their_shares(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line number {n}\n" for n in range(1000)))
    source = source_of(path)
    texts = [read(source, split) for split in SPLITS]
    assert all(text.startswith("line number") and text.endswith("\n") for text in texts)
    assert [round(len(text) / len("".join(texts)), 2) for text in texts] == [0.8, 0.1, 0.1]


def test_gzip_gives_the_same_text_and_the_same_fingerprint(tmp_path):
    text = "The state of the union is strong. " * 200
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.gz").write_bytes(gzip.compress(text.encode()))
    one, two = source_of(tmp_path / "a.txt"), source_of(tmp_path / "b.gz")
    assert [read(one, split) for split in SPLITS] == [read(two, split) for split in SPLITS]
    assert one.fingerprint() == two.fingerprint()
    (tmp_path / "a.txt").write_text(text + "!")
    assert source_of(tmp_path / "a.txt").fingerprint() != two.fingerprint()


def test_a_byte_order_mark_is_dropped(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffHello there".encode())
    assert read(source_of(tmp_path / "a.txt", validation=0, test=0), "train") == "Hello there"


@given(
    texts=st.lists(st.sampled_from([f"document {n}" for n in range(40)]), min_size=30, max_size=80).filter(
        lambda texts: len(set(texts)) > 5
    ),
)
@settings(max_examples=30)
def test_a_json_document_is_never_in_two_splits(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("rows") / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text, "id": n}) + "\n" for n, text in enumerate(texts)))
    source = source_of(path)
    texts_by_split = {split: [document.text for document in source.documents(split)] for split in SPLITS}
    assert sorted(text for split_texts in texts_by_split.values() for text in split_texts) == sorted(texts)
    assert all(texts_by_split.values())
    for one in SPLITS:
        for other in SPLITS:
            assert one == other or not set(texts_by_split[one]) & set(texts_by_split[other])


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.txt", b"", GlasshouseError),
        ("binary.txt", b"abc\x00def", DataError),
        ("latin.txt", "café".encode("latin-1"), DataError),
        ("wide.txt", ("hello " * 9).encode("utf-16-le"), DataError),
        ("cut.gz", gzip.compress(b"hello" * 1000)[:30], DataError),
        ("bad.jsonl", b'{"text": "a"}\n{"text": \n', GlasshouseError),
        ("other.jsonl", b'{"body": "a"}\n', DataError),
        ("list.jsonl", b"[1, 2]\n", DataError),
        ("few.jsonl", b'{"text": "a"}\n{"text": "a"}\n', DataError),
        ("none.jsonl", b'{"text": ""}\n', DataError),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_bad_files_are_refused(tmp_path, name, content, code):
    (tmp_path / name).write_bytes(content)
    with refused(code, *([name] if name != "few.jsonl" else [])):
        list(source_of(tmp_path / name).documents("train"))


def test_missing_files_and_folders_are_refused(tmp_path):
    with refused(GlasshouseError):
        source_of(tmp_path / "nothing.txt").fingerprint()
    with refused(DataError):
        source_of(tmp_path).fingerprint()


def write_docx(path, paragraphs):
    document = pytest.importorskip("docx").Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.save(str(path))


def test_documents_and_tables_are_read_as_text(tmp_path):
    lines = [f"This is sentence number {index} of a short text." for index in range(40)]
    write_docx(tmp_path / "a.docx", lines)
    page = "<html><head><title>t</title><style>p {}</style></head><body><script>x = 1</script>"
    (tmp_path / "b.html").write_text(page + "".join(f"<p>This is <b>sentence</b>\n {line[17:]}</p>" for line in lines))
    for name in ("a.docx", "b.html"):
        source = source_of(tmp_path / name)
        assert "".join(read(source, split) for split in SPLITS).splitlines() == lines, name
    (tmp_path / "c.csv").write_text("id,body\n" + "".join(f'{i},"{line}"\n' for i, line in enumerate(lines)))
    (tmp_path / "d.json").write_text(json.dumps([{"body": line} for line in lines]))
    for name in ("c.csv", "d.json"):
        source = source_of(tmp_path / name, field="body")
        documents = [document.text for split in SPLITS for document in source.documents(split)]
        assert sorted(documents) == sorted(lines), name


def test_a_pdf_is_read_as_text(tmp_path):
    pytest.importorskip("pypdf")
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    with PdfPages(tmp_path / "a.pdf") as pages:
        for word in ("Glass", "House"):
            figure = Figure()
            figure.text(0.1, 0.5, f"A {word} of words")
            pages.savefig(figure)
    source = source_of(tmp_path / "a.pdf", validation=0.0, test=0.0)
    assert read(source, "train").split() == ["A", "Glass", "of", "words", "A", "House", "of", "words"]
    (tmp_path / "b.pdf").write_bytes((tmp_path / "a.pdf").read_bytes()[:200])
    with refused(DataError):
        source_of(tmp_path / "b.pdf")


def test_files_of_a_split_belong_to_it_as_a_whole(tmp_path):
    for name in ("train.txt", "valid.txt", "test.jsonl"):
        line = json.dumps({"text": f"text of {name}"}) if "json" in name else f"text of {name}"
        (tmp_path / name).write_text((line + "\n") * 30)
    source = UserText(DataSpec(files=(str(tmp_path),)))
    assert set(read(source, "train").splitlines()) == {"text of train.txt"}
    assert read(source, "validation") == "text of valid.txt\n" * 30
    assert read(source, "test") == "text of test.jsonl" * 30
    assert source.bytes("validation") == 30 * len("text of valid.txt\n")


def test_zstandard_files_are_read_and_a_missing_end_is_noticed(tmp_path):
    pytest.importorskip("pyarrow")
    zstandard = pytest.importorskip("zstandard")
    text = "".join(f"line {index} of the text\n" for index in range(5000))
    packed = zstandard.ZstdCompressor().compress(text.encode())
    (tmp_path / "a.txt.zst").write_bytes(packed + packed)
    assert "".join(text_files.read_chunks(tmp_path / "a.txt.zst")) == text * 2
    (tmp_path / "plain.txt").write_text(text * 2)
    assert source_of(tmp_path / "a.txt.zst").fingerprint() == source_of(tmp_path / "plain.txt").fingerprint()
    for content in (packed[:-20], packed[:6] + b"xxxxxxx" + packed[13:]):
        (tmp_path / "b.txt.zst").write_bytes(content)
        with refused(DataError):
            list(text_files.read_chunks(tmp_path / "b.txt.zst"))


def test_the_text_of_json_lines_may_be_in_a_nested_field(tmp_path):
    lines = [{"content": {"description": f"text {number}\n"}} for number in range(20)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = source_of(tmp_path / "a.jsonl", field="content.description")
    assert {text for split in SPLITS for text in read(source, split).splitlines()} == {f"text {n}" for n in range(20)}
    with refused(DataError, "content.description"):
        read(source_of(tmp_path / "a.jsonl"), "train")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_names_the_encoding(tmp_path, encoding):
    text = "Ein größerer Text, Zeile für Zeile.\n" * 30
    (tmp_path / "plain.txt").write_text(text, encoding="utf-8")
    (tmp_path / "marked.txt").write_bytes(text.encode(encoding))
    (tmp_path / "marked.txt.gz").write_bytes(gzip.compress(text.encode(encoding)))
    plain = source_of(tmp_path / "plain.txt")
    for name in ("marked.txt", "marked.txt.gz"):
        marked = source_of(tmp_path / name)
        assert marked.fingerprint() == plain.fingerprint()
        assert all(read(marked, split) == read(plain, split) for split in SPLITS)


def test_a_named_encoding_is_used_for_text_and_json_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(("吾輩は猫である。\n" * 30).encode("shift_jis"))
    (tmp_path / "b.jsonl").write_bytes(
        "".join(json.dumps({"body": f"名前は{number}\n"}, ensure_ascii=False) + "\n" for number in range(20)).encode(
            "shift_jis"
        )
    )
    data = DataSpec(files=(str(tmp_path),), field="body", encoding="shift_jis")
    text = "".join(read(UserText(data), split) for split in SPLITS)
    assert text.count("吾輩は猫である。") == 30
    assert text.count("名前は") == 20


def test_the_error_for_an_unknown_encoding_names_the_file_and_a_guess(tmp_path):
    (tmp_path / "a.txt").write_text("plain\n")
    (tmp_path / "b.txt").write_bytes("吾輩は猫である。名前はまだ無い。\n".encode("shift_jis"))
    with refused(DataError, "b.txt", "data.encoding=shift_jis", "guess"):
        source_of(tmp_path).fingerprint()
