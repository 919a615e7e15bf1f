"""Parquet and Arrow files as tables, read by pyarrow. The fields of structs have dotted names.

The names of classes in files of Hugging Face `datasets` are used.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from glasshouse.data.tables.table import DataTable, Row, TableFormat, cell, flattened
from glasshouse.specs.errors import DataError

BATCH_ROWS = 4096


def read(path: Path, form: TableFormat) -> DataTable:
    """The columns of a Parquet, Feather or Arrow file."""
    schema = _checked(path, lambda: _open(path)[0])
    names = tuple(name for field in schema for name in _field_names(field))
    form.limits.check_columns(len(names), path)
    classes = _class_names(schema)

    def rows() -> Iterator[Row]:
        for batch in _batches(path):
            for row in batch.to_pylist():
                flat = flattened(row)
                yield tuple(_text(flat.get(name), classes.get(name)) for name in names)

    return DataTable(path, names, rows)


def _field_names(field: Any) -> list[str]:
    """The name of a field, or the dotted names of what is in a struct or a list of structs."""
    import pyarrow.types

    inner = getattr(field.type, "value_type", field.type)
    if not pyarrow.types.is_struct(inner):
        return [field.name]
    return [f"{field.name}.{name}" for child in inner for name in _field_names(child)]


def _batches(path: Path) -> Iterator[Any]:
    _, batches = _checked(path, lambda: _open(path))
    while (batch := _checked(path, lambda: next(batches, None))) is not None:
        # Offsets of a damaged file may lead outside of it.
        _checked(path, partial(batch.validate, full=True))
        yield batch


def _open(path: Path) -> tuple[Any, Iterator[Any]]:
    """(schema, record batches) of a file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path} needs pyarrow to be read; install it with: pip install 'glasshouse[formats]'") from None
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}; check the path") from None
    if magic.startswith(b"PAR1"):
        parquet = pyarrow.parquet.ParquetFile(path)
        return parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS)
    mapped = pyarrow.memory_map(str(path))
    if magic == b"ARROW1":
        reader = pyarrow.ipc.open_file(mapped)
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))
    stream = pyarrow.ipc.open_stream(mapped)
    return stream.schema, iter(stream)


def _checked(path: Path, read: Any) -> Any:
    try:
        return read()
    except MemoryError:
        raise DataError(
            f"{path} has a group of rows that does not fit into memory; write it again in smaller groups"
        ) from None
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


def _text(value: Any, classes: list[str] | None) -> str:
    return cell(value if classes is None else _class_name(value, classes))


def _class_name(value: Any, classes: list[str]) -> Any:
    if isinstance(value, list):
        return [_class_name(item, classes) for item in value]
    return classes[value] if isinstance(value, int) and 0 <= value < len(classes) else value
