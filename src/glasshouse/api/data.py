"""Public functions for data sets and tokenizers."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse import tokenizers
from glasshouse.data import prepared_data
from glasshouse.data.sources import data_set_list
from glasshouse.data.sources.data_set_list import DataSet, Split
from glasshouse.data.user_files.text import UserText
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer


def data_sets() -> list[DataSet]:
    """All data sets, with their descriptions and whether they are available on this machine."""
    return data_set_list.all_data_sets()


def data_set(name: str) -> tuple[DataSet, list[Split]]:
    """A data set and the contents of its splits."""
    return data_set_list.find_data_set(name), data_set_list.describe_splits(name)


def get_data(name: str) -> list[Path]:
    """Fetch a data set into the cache, verify its checksums and return its files."""
    with progress_bar.bar(f"fetching {name}") as bar:
        return data_set_list.fetch(name, bar)


def train_tokenizer(
    files: Sequence[str],
    vocabulary: int = 8192,
    output: str | PathLike[str] = "tokenizer.json",
    kind: str = "byte-pair",
    pattern: str = "gpt-2",
    field: str = "text",
) -> Tokenizer:
    """Train a tokenizer on the text of several files and save it as tokenizer.json."""
    data = DataSpec(
        files=tuple(files), field=field, tokenizer=kind, vocabulary=vocabulary, pattern=pattern, validation=0.0, test=0.0
    )
    source = UserText(data)
    with progress_bar.bar("training a tokenizer") as bar:
        trained = prepared_data.load_or_train_tokenizer(data, source, lambda step, share: bar(share, step))
    trained.save(output)
    return trained


def load_tokenizer(file: str | PathLike[str]) -> Tokenizer:
    """Load a tokenizer from a tokenizer.json file, or from a run by its name or folder."""
    path = Path(file)
    return tokenizers.load(path if path.is_file() or path.suffix else run_folder.find(file).tokenizer_file)
