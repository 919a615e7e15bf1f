"""Ten sets of one's own data, of different kinds and formats, from file to report by one command each.

Writes the sets into a folder from what this machine has (GLASSHOUSE_DATA, the Python standard library, the package list of
Debian), trains the recipe that fits each with its defaults, and prints the held-out figure beside the best baseline.

    python benchmarks/own_data.py --folder sets            # all of them
    python benchmarks/own_data.py --folder sets --only irony plays
    python benchmarks/own_data.py --smoke                  # two small sets, a few steps
"""

import argparse
import csv
import gzip
import io
import json
import keyword
import os
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import glasshouse

DATA = Path(os.environ.get("GLASSHOUSE_DATA", "nowhere"))
ROWS = 4000


@dataclass(frozen=True)
class OwnSet:
    """A set: what it is, how its files are written, and the words after `glasshouse train`. `{folder}` is where they are."""

    about: str
    write: Callable[[Path], None]
    command: str


def lines(path: Path) -> list[str]:
    """The lines of a file of GLASSHOUSE_DATA."""
    raw = (DATA / path).read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines()


def tweets(name: str) -> list[tuple[str, str]]:
    """(text, class) of a set of tweets."""
    folder = DATA / "tweeteval" / name
    names = dict(line.split("\t")[:2] for line in (folder / "mapping.txt").read_text().splitlines() if line)
    rows = []
    for split in ("train", "val", "test"):
        texts, labels = ((folder / f"{split}_{kind}.txt").read_text().splitlines() for kind in ("text", "labels"))
        rows += [(text, names[label]) for text, label in zip(texts, labels, strict=True)]
    return rows


def sick() -> list[dict[str, str]]:
    return list(csv.DictReader(lines(Path("nli/SICK.txt.gz")), delimiter="\t", quoting=csv.QUOTE_NONE))


def write_irony(folder: Path) -> None:
    """Without a header, the text first."""
    (folder / "irony.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in tweets("irony")))


def write_emotions(folder: Path) -> None:
    """As a spreadsheet saves it: semicolons, a number in front."""
    with open(folder / "emotions.csv", "w", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(("id", "Tweet", "Emotion"))
        table.writerows((index, text, label) for index, (text, label) in enumerate(tweets("emotion")))


def write_speeches(folder: Path) -> None:
    """A folder for each split, in it one for each class, in it a file for each text."""
    names = {"0": "obama", "1": "bush", "2": "bush-senior"}
    for split in ("train", "test"):
        for index, line in enumerate(lines(Path(f"speeches/{split}_CLS.tsv"))):
            label, _, text = line.partition("\t")
            if label in names:
                place = folder / "speeches" / split / names[label]
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{index}.txt").write_text(text)


def write_entailment(folder: Path) -> None:
    shutil.copyfile(DATA / "nli" / "SICK.txt.gz", folder / "sick.tsv.gz")


def write_relatedness(folder: Path) -> None:
    rows = [{"one": r["sentence_A"], "two": r["sentence_B"], "score": float(r["relatedness_score"])} for r in sick()]
    (folder / "relatedness.json").write_text(json.dumps(rows))


def write_translations(folder: Path) -> None:
    for language in ("en", "de"):
        text = "\n".join(lines(Path(f"multi30k/train.{language}.gz"))[:ROWS])
        (folder / f"captions.{language}.txt").write_text(text + "\n")


def write_plays(folder: Path) -> None:
    import zstandard

    text = next((DATA / "shakespeare").glob("*.txt")).read_bytes()
    (folder / "plays.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(text))


def write_page(folder: Path) -> None:
    """A small text: one page of HTML."""
    texts = [json.loads(line)["text"] for line in lines(Path("sotu/sotu_1981_2026.jsonl.gz"))[:2]]
    paragraphs = "".join(f"<p>{part}</p>\n" for text in texts for part in text.split("\n\n"))
    (folder / "speech.html").write_text(f"<html><head><title>Speeches</title></head><body>{paragraphs}</body></html>")


def write_packages(folder: Path) -> None:
    """Descriptions of Debian packages and their tags, several for each."""
    import pyarrow
    from pyarrow import parquet

    available = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    rows = []
    for block in available.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in _unfolded(block) if ": " in line)
        tags = [tag for tag in fields.get("Tag", "").split(", ") if tag.startswith(("role::", "implemented-in::", "use::"))]
        if tags and "Description" in fields:
            rows.append({"text": fields["Description"], "labels": tags})
    common = {tag for tag in {t for row in rows for t in row["labels"]} if sum(tag in row["labels"] for row in rows) >= 200}
    kept = [{**row, "labels": [tag for tag in row["labels"] if tag in common]} for row in rows[:: max(len(rows) // ROWS, 1)]]
    parquet.write_table(pyarrow.Table.from_pylist([row for row in kept if row["labels"]]), folder / "packages.parquet")


def _unfolded(block: str) -> Iterator[str]:
    """The fields of a block, with lines that continue one joined to it."""
    return iter(block.replace("\n ", " ").split("\n"))


def write_python(folder: Path) -> None:
    """Lines of the standard library, each word with its kind, in the format of CoNLL."""
    sentences = []
    for path in sorted(Path(os.__file__).parent.glob("*.py"))[:60]:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if (tagged := _tagged(line.strip())) and 4 <= len(tagged) <= 24:
                sentences.append("\n".join(f"{word}\t{tag}" for word, tag in tagged))
    chosen = sentences[:: max(len(sentences) // ROWS, 1)][:ROWS]
    (folder / "python.conll").write_text("\n\n".join(chosen) + "\n")


def _tagged(line: str) -> list[tuple[str, str]]:
    try:
        found = list(tokenize.generate_tokens(io.StringIO(line).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return []
    words = [token for token in found if token.string.strip() and token.type != tokenize.COMMENT]
    tagged = []
    for index, token in enumerate(words):
        after = words[index + 1].string if index + 1 < len(words) else ""
        before = words[index - 1].string if index else ""
        if token.type == tokenize.NAME and keyword.iskeyword(token.string):
            tag = "keyword"
        elif token.type == tokenize.NAME:
            tag = "called" if after == "(" else "attribute" if before == "." else "argument" if after == "=" else "name"
        else:
            tag = {tokenize.NUMBER: "number", tokenize.STRING: "string"}.get(token.type, "operator")
        tagged.append(("_".join(token.string.split()), tag))
    return tagged


SETS = {
    "irony": OwnSet("tweets, ironic or not; .tsv without a header, the text first", write_irony,
                    "classifier data.files={folder}/irony.tsv"),
    "emotions": OwnSet("tweets, 4 emotions; .csv with semicolons and other column names", write_emotions,
                       "classifier data.files={folder}/emotions.csv"),
    "speeches": OwnSet("sentences of 3 presidents; folders for split and class", write_speeches,
                       "classifier data.files={folder}/speeches"),
    "entailment": OwnSet("pairs of sentences, 3 classes; .tsv.gz with 12 columns", write_entailment,
                         "pair-classifier data.files={folder}/sick.tsv.gz data.field=sentence_A data.second=sentence_B "
                         "data.label=entailment_label"),
    "relatedness": OwnSet("pairs of sentences, a number from 1 to 5; JSON array", write_relatedness,
                          "regressor data.files={folder}/relatedness.json data.field=one data.second=two data.label=score"),
    "packages": OwnSet("descriptions of Debian packages, several tags each; Parquet", write_packages,
                       "multi-label-classifier data.files={folder}/packages.parquet"),
    "python": OwnSet("lines of Python, the kind of each word; CoNLL", write_python,
                     "tagger data.files={folder}/python.conll"),
    "captions": OwnSet(f"{ROWS:,} captions, English to German; two parallel text files", write_translations,
                       "translator data.files=[{folder}/captions.en.txt,{folder}/captions.de.txt]"),
    "plays": OwnSet("plays of Shakespeare, 1.1 MB; .txt.zst", write_plays,
                    "language-model data.files={folder}/plays.txt.zst"),
    "page": OwnSet("two speeches; one page of HTML", write_page, "language-model data.files={folder}/speech.html"),
}  # fmt: skip
SMOKE = ("irony", "page")


def train(name: str, folder: Path, extra: Sequence[str], device: str) -> tuple[str, ...]:
    """Write a set, train on it by one command, and return a row of the table."""
    own = SETS[name]
    try:
        own.write(folder)
    except (OSError, ImportError, StopIteration, subprocess.CalledProcessError) as error:
        print(f"{name}: left out ({error})", flush=True)
        return ()
    words = own.command.format(folder=folder).split()
    print(f"glasshouse train {' '.join(words)}", flush=True)
    command = [sys.executable, "-m", "glasshouse", "train", *words, *extra, "--name", name, "--device", device]
    environment = {**os.environ, "GLASSHOUSE_RUNS": str(folder / "runs")}
    subprocess.run(command, env=environment, check=True)
    run = glasshouse.open_run(folder / "runs" / name, device="cpu")
    found = run.baselines
    assert found is not None
    metric = run.task.metrics.find(found.metric)
    best = found.best(metric)
    if best is None:
        return name, own.about, metric.title, metric.text(found.run[metric.name]), "none", "", ""
    difference = best.difference(metric.name)
    interval = ""
    if difference is not None and difference.pairs and difference.low is not None and difference.high is not None:
        interval = f"{difference.low:+.3f} to {difference.high:+.3f}"
    values = metric.text(found.run[metric.name]), best.title, metric.text(best.metrics[metric.name])
    return name, own.about, metric.title, *values, interval


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the sets and the runs are written; default: a temporary folder")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), help="some of the sets")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--smoke", action="store_true", help="two small sets and a few steps")
    options = parser.parse_args()
    extra = ["training.steps=2", "model.width=16", "model.heads=1", "model.layers=1"] if options.smoke else []
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            row for name in (SMOKE if options.smoke else options.only) if (row := train(name, folder, extra, options.device))
        ]
    print("| set | data | metric | this run | best baseline | baseline | difference, 95 % interval |")
    print("|---|---|---|---:|---|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
