"""Access to the named sources for tests: their texts, their sizes, and the folder of published data sets."""

import os
from pathlib import Path

from glasshouse.data.documents import SPLITS, GeneratedSource
from glasshouse.specs import catalogue
from glasshouse.specs.spec import DataSpec

GENERATED = [name for name in catalogue.names("source") if issubclass(catalogue.find("source", name), GeneratedSource)]


def data_folder():
    return Path(os.environ["GLASSHOUSE_DATA"])


def make_source(name):
    return catalogue.find("source", name).from_spec(DataSpec(context=32))


def texts(source, split):
    return [document.text for document in source.documents(split)]


def split_sizes(source):
    return tuple(len(texts(source, split)) for split in SPLITS)
