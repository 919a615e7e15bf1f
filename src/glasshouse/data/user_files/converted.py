"""Files that are not plain UTF-8 text, converted to it once: documents (.docx, .html, .pdf), the text column of tables,
text in other encodings, and Zstandard.

The result is in the cache: a plain text file of a document, or JSON lines of a table's rows. Everything that reads text in
parts works on these.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from glasshouse.data import text_files
from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.sources.remote_files import cache_folder, writing
from glasshouse.data.tables import columns, reading
from glasshouse.data.tables.table import TableFormat
from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

FORMAT = 1
JSON_LINES = (".jsonl", ".ndjson")
FIELD = "text"
"""The field of converted rows."""

_SKIPPED = frozenset(("script", "style", "head", "template", "noscript"))
_BLOCKS = """
    p div br li ul ol tr table h1 h2 h3 h4 h5 h6 section article header footer blockquote pre dt dd
    figcaption
"""


def is_converted(path: Path, encoding: str = "") -> bool:
    """Whether a file must be converted to be read as text."""
    return text_files.suffix(path) in DOCUMENTS or has_rows(path) or text_files.is_recoded(path, encoding)


def has_rows(path: Path) -> bool:
    """Whether a file is a table whose text column is converted."""
    return reading.is_table(path) and text_files.suffix(path) not in JSON_LINES


def convert(path: Path, data: DataSpec) -> tuple[Path, list[str]]:
    """The converted file in the cache, and remarks. It is made anew when the file or its settings change."""
    suffix, remarks = text_files.suffix(path), list[str]()
    settings: list[Any] = [FORMAT, *([data.encoding] if data.encoding else [])]
    if has_rows(path):
        settings[1:1] = [data.field, data.delimiter, data.header]
        lines, remarks = _rows(path, data)
    elif suffix in DOCUMENTS:
        lines = _document(path, data)
    else:
        lines = text_files.read_chunks(path, data.encoding, ReadLimits.of(data.limits))
    key = hashlib.blake2b(f"{json.dumps(settings)}{text_files.raw_digest(path)}{suffix}".encode(), digest_size=12)
    ending = ".jsonl" if has_rows(path) or suffix in JSON_LINES else ".txt"
    output = cache_folder() / "converted" / f"{key.hexdigest()}{ending}"
    if not output.exists():
        with writing(f"the text of {path}", output):
            output.parent.mkdir(parents=True, exist_ok=True)
            with atomic_files.replacing(output) as temporary, open(temporary, "w", encoding="utf-8") as file:
                file.writelines(lines)
    if not output.stat().st_size:
        ways = ("check the file and its columns", Remedy("data.field", "NAME"))
        raise DataError(f"{path} has no rows with a text", remedies=ways)
    return output, remarks


def _rows(path: Path, data: DataSpec) -> tuple[Iterator[str], list[str]]:
    pairs, remarks = reading.read_texts(path, columns.request(data, "text"), None, TableFormat.of(data))
    return (json.dumps({FIELD: text}) + "\n" for text, _ in pairs() if text), list(remarks)


def _document(path: Path, data: DataSpec) -> Iterator[str]:
    try:
        text = DOCUMENTS[text_files.suffix(path)](path, data)
    except ImportError as error:
        raise DataError(f"{path} needs {error.name} to be read: pip install 'glasshouse[formats]'") from None
    except DataError:
        raise
    except Exception as error:  # readers of foreign formats fail in many ways
        raise DataError(f"{path} cannot be read ({error}); save it again, or as plain text") from None
    if not text.strip():
        raise DataError(f"{path} contains no text (a scanned page is a picture); choose a file with text")
    yield text.encode("utf-8", "replace").decode()


def _docx(path: Path, data: DataSpec) -> str:
    import docx
    from docx.table import Table as DocxTable

    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            ReadLimits.of(data.limits).check_expansion(path, entry.compress_size, entry.file_size)
    blocks = []
    for block in docx.Document(str(path)).iter_inner_content():
        if isinstance(block, DocxTable):
            blocks += ["\t".join(cell.text for cell in row.cells) for row in block.rows]
        else:
            blocks.append(block.text)
    return "\n".join(blocks) + "\n"


def _pdf(path: Path, data: DataSpec) -> str:
    import pypdf

    return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages) + "\n"


def _html(path: Path, data: DataSpec) -> str:
    parser = _HTMLText()
    limits, length = ReadLimits.of(data.limits), 0
    for chunk in text_files.read_chunks(path, data.encoding, limits):
        length += len(chunk)
        limits.check("line", length, path)
        parser.feed(chunk)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.pieces).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


class _HTMLText(HTMLParser):
    """Collects the visible text of a page, with a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.skipped = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.skipped += tag in _SKIPPED
        if tag in _BLOCKS.split():
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED and self.skipped:
            self.skipped -= 1
        if tag in _BLOCKS.split():
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            # A line break in the source of a page is a space.
            self.pieces.append(data.replace("\n", " "))


DOCUMENTS: dict[str, Callable[[Path, DataSpec], str]] = {".docx": _docx, ".pdf": _pdf, ".html": _html, ".htm": _html}
