"""Data sets by name, and tokenizers."""

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
    """The data sets by name: what they are, and whether they are on this machine."""
    return data_set_list.every()


def data_set(name: str) -> tuple[DataSet, list[Split]]:
    """One data set, and what each of its splits holds."""
    return data_set_list.find(name), data_set_list.splits(name)


def get_data(name: str) -> list[Path]:
    """Fetch a data set into the cache and give its files; each must match its checksum."""
    with progress_bar.bar(f"fetching {name}") as bar:
        return data_set_list.get(name, bar)


def train_tokenizer(
    files: Sequence[str],
    vocabulary: int = 8192,
    output: str | PathLike[str] = "tokenizer.json",
    kind: str = "byte-pair",
    pattern: str = "gpt-2",
    field: str = "text",
) -> Tokenizer:
    """Train a tokenizer on all the text of some files and save it as tokenizer.json."""
    data = DataSpec(files=tuple(files), field=field, tokenizer=kind, vocabulary=vocabulary, pattern=pattern)
    source = UserText(data.files, field, validation=0.0, test=0.0)
    with progress_bar.bar("training a tokenizer") as bar:
        trained = prepared_data.tokenizer_for(data, source, lambda what, share: bar(share, what))
    trained.save(output)
    return trained


def load_tokenizer(file: str | PathLike[str]) -> Tokenizer:
    """The tokenizer of a tokenizer.json, or of a run by its name or folder."""
    path = Path(file)
    return tokenizers.load(path if path.is_file() or path.suffix else run_folder.find(file).tokenizer_file)
