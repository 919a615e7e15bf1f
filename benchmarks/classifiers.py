"""The default classifier beside what a sensible person would try first, on labelled texts of different kinds.

    python benchmarks/classifiers.py                        # every set that this machine can build; hours on one core
    python benchmarks/classifiers.py --sets movie-reviews   # one set; minutes
    python benchmarks/classifiers.py --smoke                # does it run?

No text is fetched. `--downloads` names a folder with what these commands give; a set whose texts are absent is skipped:

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    apt-get download fortunes-min fortunes wamerican wngerman wfrench

Other sets need GLASSHOUSE_DATA, the package lists of apt, or nothing. Every set is split by a digest of the text into
training, validation and test texts (80, 10 and 10 %). The baselines are those that the program puts beside every run. A
difference is in percentage points of the test texts, the classifier minus the baseline that is best on the validation texts,
with the bootstrap interval over the test texts; a text's value is the mean over the seeds.
"""

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import glasshouse
from glasshouse.baselines import baseline_cache
from glasshouse.data import prepared_data
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import DataSpec
from glasshouse.verdicts import mean_intervals

Row = tuple[str, str]  # label, text

MAX_ROWS, MAX_CLASSES, LEAST_ROWS_OF_A_CLASS = 7000, 20, 30
SMOKE_ROWS = 120
SPLITS = ("train", "validation", "test")
DICTIONARIES = {"english": "american-english", "german": "ngerman", "french": "french"}


def from_source(name: str) -> Callable[[Path], Iterator[Row]]:
    """The labelled texts of a data set of Glasshouse."""

    def rows(downloads: Path) -> Iterator[Row]:
        source = prepared_data.find_source(DataSpec(source=name), ("label",))
        for split in SPLITS:
            for document in source.documents(split):
                yield document.fields["label"], document.text

    return rows


def rated(file: str) -> Callable[[Path], Iterator[Row]]:
    """Texts of the VADER study (Hutto and Gilbert 2014) that people rated above or below 0."""

    def rows(downloads: Path) -> Iterator[Row]:
        outer = next(downloads.glob("vaderSentiment-3*.tar.gz"))
        inner = _member(outer.read_bytes(), "hutto_ICWSM_2014.tar.gz")
        for line in _member(inner, f"{file}_GroundTruth.txt").decode("utf-8", "replace").splitlines():
            _, rating, text = line.split("\t", 2)
            if float(rating):
                yield "positive" if float(rating) > 0 else "negative", text

    return rows


def _member(archive: bytes, name: str) -> bytes:
    """The file of a compressed archive whose path ends in this name."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as opened:
        found = opened.extractfile(next(path for path in opened.getnames() if path.endswith(name)))
        assert found is not None
        return found.read()


def _debian_files(downloads: Path, package: str) -> Iterator[tuple[str, str]]:
    """(name, content) of the text files of a Debian package."""
    archive = next(downloads.glob(f"{package}_*.deb"))
    content = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        for member in opened.getmembers():
            if member.isfile() and (found := opened.extractfile(member)) is not None:
                yield Path(member.name).name, found.read().decode("utf-8", "replace")


def package_sections(downloads: Path) -> Iterator[Row]:
    """The one-line descriptions of Debian packages, labelled by section."""
    listing = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    for entry in listing.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and line[0] != " ")
        if "Section" in fields and "Description" in fields:
            yield fields["Section"].rpartition("/")[2], fields["Description"]


def fortunes(downloads: Path) -> Iterator[Row]:
    """Quotations and jokes, labelled by the file that they are in."""
    for package in ("fortunes-min", "fortunes"):
        for name, content in _debian_files(downloads, package):
            if "\n%\n" in content:
                yield from ((name, text) for text in content.split("\n%\n"))


def word_languages(downloads: Path) -> Iterator[Row]:
    """Single words, labelled by language. A word of several languages is left out."""
    words = {
        language: {word.lower() for word in content.split() if word.isalpha()}
        for language, file in DICTIONARIES.items()
        for name, content in _debian_files(downloads, f"w{file.split('-')[0]}")
        if name == file
    }
    counts = Counter(word for of_language in words.values() for word in of_language)
    for language, of_language in words.items():
        chosen = sorted((word for word in of_language if counts[word] == 1), key=_digest)[: MAX_ROWS // len(words)]
        yield from ((language, word) for word in chosen)


def docstrings(downloads: Path) -> Iterator[Row]:
    """First paragraphs of the docstrings of NumPy, SciPy, PyTorch and other packages, labelled by package."""
    for package in ("numpy", "scipy", "torch", "sklearn", "matplotlib", "PIL", "rich", "jinja2"):
        module = __import__(package)
        for path in sorted(Path(module.__path__[0]).rglob("*.py")):
            if "tests" not in path.parts:
                found = re.findall(r'"""(.+?)(?:\n\s*\n|""")', path.read_text("utf-8", "replace"), re.DOTALL)
                yield from ((package, text.replace(package, "")) for text in found if len(text.split()) > 5)


SETS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "movie-reviews": rated("movieReviewSnippets"),
    "product-reviews": rated("amazonReviewSnippets"),
    "editorials": rated("nytEditorialSnippets"),
    "tweet-emotion": from_source("tweet-emotion"),
    "tweet-irony": from_source("tweet-irony"),
    "speeches": from_source("speeches"),
    "presidents": from_source("presidents"),
    "package-sections": package_sections,
    "fortunes": fortunes,
    "word-languages": word_languages,
    "docstrings": docstrings,
    "word-order": from_source("word-order"),
    "verbal-arithmetic": from_source("verbal-arithmetic"),
}


def _digest(text: str) -> str:
    """A digest that says nothing about the one that splits are assigned by."""
    return hashlib.blake2b(text.encode(), digest_size=8, person=b"classifiers").hexdigest()


def chosen_rows(rows: Iterator[Row], limit: int) -> list[Row]:
    """At most `limit` different texts of at most 20 classes with enough texts, in the order of a digest."""
    texts = {" ".join(text.split()): label for label, text in rows}
    texts.pop("", None)
    sizes = Counter(texts.values())
    classes = {label for label, size in sizes.most_common(MAX_CLASSES) if size >= LEAST_ROWS_OF_A_CLASS}
    ordered = sorted((text for text, label in texts.items() if label in classes), key=_digest)
    return [(texts[text], text) for text in ordered[:limit]]


def write_set(name: str, folder: Path, downloads: Path, limit: int = MAX_ROWS) -> Path | None:
    """Write a set as JSON lines. None if its texts are not on this machine."""
    file = folder / f"{name}.jsonl"
    if not file.exists():
        try:
            rows = chosen_rows(SETS[name](downloads), limit)
        except (GlasshouseError, StopIteration, RuntimeError, OSError, subprocess.CalledProcessError):
            return None
        file.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return file


def row_of(name: str, file: Path, options: argparse.Namespace) -> str:
    """A line of the table: the accuracies of the baselines and of the recipe, and how far it is from the best of them."""
    right, baselines = [], []
    for seed in range(options.seeds):
        settings = (f"data.files={file}", f"training.seed={seed}", *options.settings)
        run = glasshouse.train(options.recipe, *settings, name=f"{name}-{seed}", device=options.device)
        prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns)
        baselines = baseline_cache.load_or_train(run.spec.data, prepared, run.task, run.spec.task)
        right.append(run.item_values("test")["accuracy"])
    best = max(baselines, key=lambda baseline: baseline.validation.get("accuracy", 0.0))
    difference = mean_intervals.mean((100 * (np.mean(right, 0) - best.values["accuracy"])).tolist())
    accuracies = [baseline.metrics.get("accuracy", float("nan")) for baseline in baselines]
    cells = [f"{100 * accuracy:.1f}" for accuracy in (*accuracies, float(np.mean(right)))]
    interval = f"{difference.value:+.1f} ({difference.low:+.1f} to {difference.high:+.1f})"
    return f"| {' | '.join([name, str(len(right[0])), *cells, best.title, interval])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--recipe", default="classifier", help="a recipe or a TOML file")
    parser.add_argument("--settings", nargs="*", default=[], help="further settings of the runs, as model.head.wide=0")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--downloads", type=Path, default=Path())
    parser.add_argument("--folder", type=Path, help="where the sets and runs are kept")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.sets, options.seeds = ["word-order"], 1
        options.settings = ["training.steps=2", "data.vocabulary=300", "model.width=16"]
    titles = (
        "commonest",
        "naive Bayes",
        "words and pairs",
        "characters",
        options.recipe,
        "best on validation",
        "difference",
    )
    print(f"| {' | '.join(['set', 'test texts', *titles])} |")
    print(f"|{'---|' * (len(titles) + 2)}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        os.environ.setdefault("GLASSHOUSE_RUNS", str(folder / "runs"))
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.sets:
            file = write_set(name, folder, options.downloads, SMOKE_ROWS if options.smoke else MAX_ROWS)
            print(row_of(name, file, options) if file else f"{name}: its texts are not on this machine", flush=True)


if __name__ == "__main__":
    main()
