"""Files of objects as tables: JSON, Parquet and Arrow. The fields of inner objects have dotted names.

JSON is an object on each line, or one array of objects. Parquet and Arrow are read by pyarrow; the names of classes in files
of Hugging Face `datasets` are used.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from glasshouse.data import text_files
from glasshouse.data.read_limits import BYTES_PER_JSON_CHARACTER, ReadLimits
from glasshouse.data.tables.table import ITEM_SEPARATOR, SAMPLE_ROWS, DataTable, Row, TableFormat
from glasshouse.formatting import with_article
from glasshouse.records import kept_json
from glasshouse.specs.errors import DataError


def cell(value: Any) -> str:
    """A value of a JSON or Arrow file as text: nothing is an empty text, and a list is its items with a separator."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ITEM_SEPARATOR.join(cell(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value).strip()


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object, with those of inner objects under dotted names. A list of objects is a list in each field.

    A name of the object itself goes before the same name of an inner field.
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            inner = flattened(value)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            items = [flattened(item) for item in value]
            inner = {key: [item.get(key) for item in items] for key in dict.fromkeys(key for item in items for key in item)}
        else:
            flat[name] = value
            continue
        for key, item in inner.items():
            flat.setdefault(f"{name}.{key}", item)
    return flat


def read_json_lines(path: Path, form: TableFormat) -> DataTable:
    """JSON lines: the columns are the fields of the first objects."""
    return _json_table(path, form, lambda: _line_objects(path, form), has_lines=True)


def read_json(path: Path, form: TableFormat) -> DataTable:
    """A JSON array of objects, or an object with one such array in a field. A file of JSON lines is read as that."""
    try:
        text = text_files.read_whole(path, form.encoding, form.limits, "table", BYTES_PER_JSON_CHARACTER)
        content = _parse(text, str(path), form.limits)
    except ValueError as error:
        if "Extra data" in str(error):
            return read_json_lines(path, form)
        raise DataError(f"{path} is not valid JSON: {error}; correct the file") from None
    if isinstance(content, dict):
        arrays = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        content = arrays[0] if len(arrays) == 1 else [content]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{path} must be a JSON array of objects, one for each row; convert it to that")
    return _json_table(path, form, lambda: enumerate(content, 1))


def _parse(text: str, place: str, limits: ReadLimits) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, and DataError if it is nested too deeply."""
    try:
        value = json.loads(text)
        if not kept_json.is_deeper(value, text, limits.nesting):
            return value
    except RecursionError:
        pass
    raise limits.beyond("nesting", place)


def parse_line(line: str, place: str, limits: ReadLimits) -> Any:
    try:
        return _parse(line, place, limits)
    except ValueError as error:
        raise DataError(f"{place} is not valid JSON: {error}; correct the line") from None


def _json_table(
    path: Path,
    form: TableFormat,
    objects: Callable[[], Iterable[tuple[int, Mapping[str, Any]]]],
    has_lines: bool = False,
) -> DataTable:
    fields: dict[str, None] = {}
    filled: set[str] = set()
    for _, row in islice(objects(), SAMPLE_ROWS):
        flat = flattened(row)
        fields |= dict.fromkeys(flat)
        form.limits.check("columns", len(fields), path)
        filled.update(name for name, value in flat.items() if value not in (None, []))
    # Where an object or a list of objects may be missing, its own name stands for nothing.
    outer = {name.rpartition(".")[0] for name in fields}
    names = tuple(name for name in fields if name in filled or name not in outer)

    def rows() -> Iterator[tuple[int, Row]]:
        for number, row in objects():
            flat = flattened(row)
            yield number, tuple(cell(flat.get(name)) for name in names)

    return DataTable(path, names, rows, has_lines=has_lines)


def _line_objects(path: Path, form: TableFormat) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text_files.read_lines(path, form.encoding, form.limits), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number},"
        row = parse_line(line, place, form.limits)
        if not isinstance(row, dict):
            kind = with_article(type(row).__name__)
            raise DataError(f'{place} is {kind}; write an object on each line, as in {{"text": ..., "label": ...}}')
        yield number, row


def read_arrow(path: Path, form: TableFormat) -> DataTable:
    with _readable(path):
        schema = _open(path)[0]
    names = tuple(name for field in schema for name in _field_names(field))
    form.limits.check("columns", len(names), path)
    classes = _class_names(schema)

    def rows() -> Iterator[Row]:
        with _readable(path):
            for batch in _open(path)[1]:
                batch.validate(full=True)  # Offsets of a damaged file may lead outside of it.
                for row in batch.to_pylist():
                    flat = flattened(row)
                    yield tuple(cell(_class_name(flat.get(name), classes.get(name, []))) for name in names)

    return DataTable(path, names, lambda: enumerate(rows(), 1))


def _field_names(field: Any) -> list[str]:
    """The name of a field, or the dotted names of what is in a struct or a list of structs."""
    import pyarrow.types

    inner = getattr(field.type, "value_type", field.type)
    if not pyarrow.types.is_struct(inner):
        return [field.name]
    return [f"{field.name}.{name}" for child in inner for name in _field_names(child)]


def _open(path: Path) -> tuple[Any, Iterator[Any]]:
    """(schema, record batches) of a file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path} needs pyarrow to be read: pip install 'glasshouse[formats]'") from None
    with text_files.open_raw(path) as file:
        magic = file.read(6)
    if magic.startswith(b"PAR1"):
        parquet = pyarrow.parquet.ParquetFile(path)
        return parquet.schema_arrow, parquet.iter_batches(4096)
    mapped = pyarrow.memory_map(str(path))
    if magic == b"ARROW1":
        reader = pyarrow.ipc.open_file(mapped)
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))
    stream = pyarrow.ipc.open_stream(mapped)
    return stream.schema, iter(stream)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise DataError(f"{path} has a group of rows that does not fit into memory; write it in smaller groups") from None
    except (OSError, ValueError) as error:  # pyarrow's errors are among these
        raise DataError(f"{path} is not a readable Parquet or Arrow file ({error}); write it again") from None


def _class_names(schema: Any) -> dict[str, list[str]]:
    """Column -> the names of its classes, from the features that Hugging Face `datasets` stores."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: [str(label) for label in feature["names"]]
            for name, feature in ((name, feature.get("feature", feature)) for name, feature in features.items())
            if isinstance(feature, dict) and isinstance(feature.get("names"), list)
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _class_name(value: Any, classes: list[str]) -> Any:
    if isinstance(value, list):
        return [_class_name(item, classes) for item in value]
    return classes[value] if isinstance(value, int) and 0 <= value < len(classes) else value
