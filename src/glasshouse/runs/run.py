"""An open run: the model and everything in its folder. It does not need the training process and changes no file."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse import models, tokenizers
from glasshouse.baselines import baseline_results
from glasshouse.baselines.baseline_results import BaselineResults
from glasshouse.data import document_columns, prepared_data, shards
from glasshouse.data.documents import Source
from glasshouse.generation import text_stream
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion, TextPiece
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.models import weight_formats
from glasshouse.models.base import Model, TextModel
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.heads.pooling import pool
from glasshouse.records import checkpoint, metric_log, run_folder
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.user_paths import StrPath
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError, GlasshouseError, RunError
from glasshouse.specs.options import takes
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Evaluation, Task
from glasshouse.tasks.classify import Classify
from glasshouse.tasks.text_inputs import TextInputs
from glasshouse.tasks.translate import Translate
from glasshouse.tasks.whole_text_task import WholeTextTask
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import devices, precision, warm_start

# Of one call, whose texts are generated side by side.
MOST_TOKENS, MOST_COMPLETIONS = 10**6, 4096


@dataclass(frozen=True)
class Translation:
    """A translation. `score` is log-probability / length ** length_penalty; `truncated` says whether the source was."""

    text: str
    score: float
    truncated: bool = False

    @classmethod
    def joined(cls, parts: Sequence["Translation"]) -> "Translation":
        scores = [part.score for part in parts] or [0.0]
        return cls(" ".join(part.text for part in parts), sum(scores) / len(scores), any(part.truncated for part in parts))

    def __str__(self) -> str:
        return self.text


class Run:
    """One trained (or partly trained) model and everything in its run folder.

    `dtype` is the number format of the weights. They are those of the best evaluation, or of the checkpoint `at_step`.
    """

    def __init__(
        self, where: RunFolder | StrPath, device: str = "auto", dtype: str = "float32", at_step: int | None = None
    ) -> None:
        self.folder = where if isinstance(where, RunFolder) else run_folder.find(where)
        self.device, self.dtype, self.at_step = devices.pick(device), dtype, at_step
        weight_formats.check(dtype, self.device)
        self._said: set[str] = set()
        for damage in self.folder.sound_facts()[1] if self.folder.path.is_dir() else ():
            say(damage)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def spec(self) -> Spec:
        return self.folder.spec()

    @property
    def facts(self) -> dict[str, Any]:
        """The content of `run.json`: status, machine, cost plan, outcome."""
        return self.folder.facts()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Every row of the metric log so far."""
        return metric_log.read(self.folder.metrics_file)

    @property
    def final_metrics(self) -> dict[str, dict[str, float]]:
        """The metrics of the final evaluation, for each held-out split; empty before it."""
        return self.folder.final_metrics()

    @property
    def final_step(self) -> int:
        """The step whose weights the final evaluation used: that of the best evaluation, or the last one."""
        facts = self.facts
        return int((facts.get("best") or {}).get("step") or facts.get("plan", {}).get("steps", 0))

    @property
    def baselines(self) -> BaselineResults | None:
        """The run beside its baselines, as they were measured after training; None if they were not, or are damaged."""
        try:
            return baseline_results.read(self.folder.baselines_file)
        except RunError as error:
            if (text := str(error)) not in self._said:
                self._said.add(text)
                say(text)
            return None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        if self.folder.tokenizer_file.exists():
            return tokenizers.load(self.folder.tokenizer_file)
        if "origin" in self.facts:
            raise RunError(f"{self.name} was imported without a tokenizer; put a tokenizer.json in {self.folder.path}")
        raise RunError(f"{self.name} has no tokenizer yet; {self._remedy()}")

    @cached_property
    def model(self) -> Model:
        """The model with the weights of its best evaluation, or its latest weights if it was never evaluated."""
        saved = self._checkpoint()
        where = f"the checkpoint of step {saved.step}"
        # The weights of a model that is loaded in inference mode could never have gradients.
        with torch.inference_mode(False):
            model = warm_start.load_model(self.folder, self.spec, saved.weights, where)
            # Every answer of a model with weights that are no numbers would be without meaning.
            if wrong := next((name for name, own in model.named_parameters() if not bool(torch.isfinite(own).all())), ""):
                remedy = "import it again" if "origin" in self.facts else "train again with a lower training.learning_rate"
                raise RunError(f"{self.name} cannot be used: {where} has NaN or infinite weights in {wrong!r}; {remedy}")
            return weight_formats.convert(model.to(self.device), self.dtype, self.name).eval()

    def saved_weights(self) -> checkpoint.Tensors:
        return self._checkpoint().weights

    def model_step(self) -> int:
        return self._checkpoint().step

    def _checkpoint(self) -> checkpoint.Checkpoint:
        if self.at_step is not None:
            return checkpoint.load(self.folder.checkpoints, self.at_step)
        saved = checkpoint.best(self.folder.checkpoints, warn=say)
        if saved is None:
            raise RunError(f"{self.name} has no checkpoint yet; {self._remedy()}")
        return saved

    def sample(self, prompt: str | Sequence[str] = "", count: int = 1, **how: Any) -> list[Completion]:
        """Continue one or more prompts, each `count` times. `how` holds the options of `stream`."""
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        if count > MOST_COMPLETIONS:
            raise GlasshouseError(f"is above the maximum; choose {MOST_COMPLETIONS:,} or less", "count", count)
        completions = [self.new_completion(text) for text in prompts for _ in range(count)]
        for _ in self.stream(completions, **how):
            pass
        return completions

    @takes(Sampling)
    def stream(
        self,
        completions: list[Completion],
        tokens: int = 100,
        stop: str | Sequence[str] = (),
        cached: bool = True,
        alternatives: int = 0,
        regex: str | None = None,
        json_schema: Mapping[str, Any] | bool | StrPath | None = None,
        **sampling: Any,
    ) -> Iterator[TextPiece]:
        """Extend the completions in place and yield each new piece of text. `sampling`: temperature, top_k, seed, ...

        The whole continuation matches `regex`, or is valid under `json_schema` (a schema, or the path of its file), unless
        it is cut off: then its `finish` is "length" or "stop".
        """
        if tokens < 1:
            raise GlasshouseError("is below the minimum; choose 1 or more", "tokens", tokens)
        if tokens > MOST_TOKENS or len(completions) > MOST_COMPLETIONS:
            most = f"at most {MOST_COMPLETIONS:,} continuations and {MOST_TOKENS:,} tokens"
            raise GlasshouseError(f"{len(completions):,} continuations of {tokens:,} tokens are too many; choose {most}")
        if not self.continues_text:
            remedy = "use a decoder, a recurrent model or a causal encoder with the head next-token"
            raise GlasshouseError(f"{self.name} is a {self.spec.model.kind!r} that cannot continue a text; {remedy}")
        options = Sampling(**sampling)
        return text_stream.stream(
            self.model,
            self.tokenizer,
            completions,
            options,
            tokens,
            self.spec.data.context,
            (stop,) if isinstance(stop, str) else stop,
            cached and self.model.keeps_cache,
            alternatives,
            self.end_tokens,
            self.constraint(regex, json_schema),
        )

    def constraint(
        self, regex: str | None = None, json_schema: Mapping[str, Any] | bool | StrPath | None = None
    ) -> TokenConstraint | None:
        """What keeps a continuation in the form of a regular expression or of a JSON schema. None without either."""
        if regex is not None and json_schema is not None:
            raise GlasshouseError("regex and json_schema cannot both be given; leave one out")
        if regex is None and json_schema is None:
            return None
        schema = _read_schema(json_schema) if isinstance(json_schema, str | PathLike) else json_schema
        return TokenConstraint(self.tokenizer, regex, schema, self.end_tokens)

    def evaluate(
        self, data: StrPath | None = None, progress: Callable[[float], None] = lambda share: None
    ) -> dict[str, dict[str, float]]:
        """The metrics of the task's final evaluation, for each held-out split or for the file `data`."""
        if data is not None:
            with self.held_out_examples(data) as shard:
                return {str(data): self._evaluate_shard(shard, progress).metrics}
        held_out = {split: shard for split, shard in self._splits().items() if split != "train"}
        if not held_out:
            raise DataError(f"{self.name} has no held-out data; name a file: glasshouse evaluate {self.name} --data FILE")
        return {split: self._evaluate_shard(shard, progress).metrics for split, shard in held_out.items()}

    def item_values(self, split: str, progress: Callable[[float], None] = lambda share: None) -> dict[str, np.ndarray]:
        """Metric -> one value per item of a split: a text, a pair, or a window of a long text.

        The mean of the values is the metric that `evaluate` reports. A metric that is no mean over items, such as perplexity
        or BLEU, is absent.
        """
        if not self.task.item_metrics:
            raise DataError(f"the task {self.spec.task!r} has no metric that is a mean over items; use a run of another one")
        splits = self._splits()
        if split not in splits:
            raise DataError(f"{self.name} has no data in a split {split!r}; its splits with data: {', '.join(splits)}")
        items = self._evaluate_shard(splits[split], progress).items
        return {name: items[name] for name in self.task.item_metrics}

    @contextmanager
    def held_out_examples(self, data: StrPath | None = None) -> Iterator[shards.Shard]:
        """The test split of the run's data, the validation split if the test split is empty, or the file `data`."""
        if data is not None:
            with tempfile.TemporaryDirectory() as temporary:
                yield self._shard_of(Path(data), Path(temporary))
            return
        splits = self._splits()
        held_out = splits.get("test", splits.get("validation"))
        if held_out is None:
            raise DataError(f"{self.name} has no held-out data; name a file with --data FILE")
        yield held_out

    def _splits(self) -> dict[str, shards.Shard]:
        self.task.check_model(self.model, self.spec.model.kind)
        if not self.spec.data.source and not self.spec.data.files:
            raise DataError(f"{self.name} has no data of its own; name a file: glasshouse evaluate {self.name} --data FILE")
        splits = prepared_data.prepare(self.spec.data, self.tokenizer, columns=self.task.columns).splits
        return {name: shard for name, shard in splits.items() if shard.tokens_count > 1}

    @cached_property
    def task(self) -> Task:
        """The task of the run, with its tokenizer and the names of its classes."""
        task: Task = catalogue.find("task", self.spec.task, "task")(self.spec)
        labels, classes = tuple(self.facts.get("labels", ())), self.spec.model.head.own.get("classes", 0)
        if classes and len(labels) != classes and "plan" in self.facts:
            wrong = f"{self.folder.path / 'run.json'} names {len(labels)} labels, and the model has {classes} classes"
            raise RunError(f"{wrong}; restore the labels in the order of the classes")
        if self.folder.tokenizer_file.exists():
            task.set_vocabulary(self.tokenizer, labels)
        return task

    def classify(self, texts: Sequence[str], second: Sequence[str] | None = None, batch: int = 32) -> list[dict[str, float]]:
        """For each text, the probability of each class, most probable class first. `second`: the second texts of pairs."""
        if not isinstance(self.task, Classify):
            raise self._wrong_task("classify")
        return [prediction["probabilities"] for prediction in self.predict(texts, second, batch)]

    @torch.inference_mode()
    def predict(self, texts: Sequence[str], second: Sequence[str] | None = None, batch: int = 32) -> list[dict[str, Any]]:
        """For each text, what the run predicts: {"label", "probabilities"}, or {"value"} of a regression.

        `second` are the second texts of pairs, for a run that was trained on pairs, or an imported one that joins them.
        """
        paired = self.reads_pairs or (second is not None and self.joins_pairs)
        if isinstance(texts, str):
            raise GlasshouseError(f"predictions need a list of texts, and got one text; use [{texts[:40]!r}]")
        if (second is not None) != paired or (second is not None and len(second) != len(texts)):
            needed = "one second text for each text (--second)" if paired else "single texts, not pairs"
            got = f"{len(texts)} texts and {len(second or ())} second ones"
            raise GlasshouseError(f"{self.name} reads {needed}; it got {got}")
        task = self.whole_text_task.for_pairs(self.tokenizer) if paired else self.whole_text_task
        return task.predict(self.model, self.tokenizer, texts, second, batch)

    @property
    def reads_pairs(self) -> bool:
        """Whether the run predicts something about pairs of texts, not about single texts."""
        return self.whole_text_task.inputs.paired

    @property
    def joins_pairs(self) -> bool:
        """Whether the run is an imported one that reads single texts and pairs, because its tokenizer joins pairs."""
        return bool(self.facts.get("joins_pairs"))

    @property
    def whole_text_task(self) -> WholeTextTask:
        """The task of a run that predicts something about whole texts. Any other run is refused."""
        if not isinstance(self.task, WholeTextTask):
            raise self._wrong_task("classify' or 'regress")
        return self.task

    def _wrong_task(self, needed: str) -> GlasshouseError:
        return GlasshouseError(f"{self.name} has the task {self.spec.task!r}; use a run with the task '{needed}'")

    @torch.inference_mode()
    def translate(
        self,
        texts: Sequence[str],
        beams: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        word_by_word: bool | None = None,
        batch: int = 32,
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[list[Translation]]:
        """The best translations of each text, best first. Options default to those of the spec's evaluation."""
        task, settings = self.task, self.spec.evaluation
        if not isinstance(task, Translate):
            raise self._wrong_task("translate")
        if task.word_by_word(settings) if word_by_word is None else word_by_word:
            if n_best > 1:
                remedy = "leave it out, or choose word_by_word=False (--whole)"
                raise GlasshouseError(f"needs whole texts, and this run translates words; {remedy}", "n_best", n_best)
            words = sorted({word for text in texts for word in text.split()})
            by_word = dict(zip(words, self.translate(words, beams, length_penalty, 1, False, batch, progress), strict=True))
            return [[Translation.joined([by_word[word][0] for word in text.split()])] for text in texts]
        usual = task.beam_options(settings)
        count = beams or max(usual.count, n_best)
        if not 1 <= n_best <= count:
            raise GlasshouseError(f"is impossible with beams={count}; choose 1 to {count}", "n_best", n_best)
        penalty = usual.length_penalty if length_penalty is None else length_penalty
        options = replace(usual, count=count, length_penalty=penalty)
        sources = [self.tokenizer.encode(text, specials=False).tolist() for text in texts]
        order = sorted(range(len(texts)), key=lambda index: len(sources[index]))
        translations: list[list[Translation]] = [[] for _ in texts]
        for begin in range(0, len(order), batch):
            indices = order[begin : begin + batch]
            for index, best in zip(indices, task.search(self.model, [sources[i] for i in indices], options), strict=True):
                truncated = len(sources[index]) > task.max_lengths[0]
                found = [(self.tokenizer.decode(hypothesis.tokens), hypothesis.score) for hypothesis in best[:n_best]]
                translations[index] = [Translation(text, score, truncated) for text, score in found]
            progress(min(begin + batch, len(order)) / len(order))
        return translations

    @cached_property
    def continues_text(self) -> bool:
        """Whether the model can continue a text by sampling. This needs no weights."""
        task: Task = catalogue.find("task", self.spec.task, "task")(self.spec)
        model = models.check(task.draft_model(self.spec.model), self.spec.data.context)
        return model.reads == "text" and model.head.predicts == "next" and self.spec.task != "translate"

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], pooling: str | None = None, batch: int = 32) -> Tensor:
        """One vector (D) per text: its features pooled over tokens, by default with the pooling of the model's head.

        A head without pooling, such as that of a language model, has the mean. A decoder sees the tokens before each token
        alone, so its last token has seen the whole text, and its first token only itself. The vectors of a dual encoder are
        in the space that it shares with pictures; it ignores `pooling`.
        """
        if isinstance(texts, str):
            raise GlasshouseError("embed takes a list of texts, not one string; write [text]")
        inputs, vectors = TextInputs(self.spec.data.context), []
        inputs.set_tokenizer(self.tokenizer)
        for begin in range(0, len(texts), batch):
            ids = [self.tokenizer.encode(text, specials=False).tolist() for text in texts[begin : begin + batch]]
            padded = inputs.batch_of(ids)
            tokens, lengths = padded["tokens"].to(self.device), padded["lengths"].to(self.device)
            if isinstance(self.model, DualEncoder):
                vectors.append(self.model.head.text(self.model.encode_text(tokens, lengths)))
            elif isinstance(self.model, TextModel):
                features = self.model.features(tokens, lengths=lengths)
                vectors.append(pool(features, pooling or self.model.head.pooling, lengths))
            else:
                remedy = "use an encoder, a decoder, a dual encoder or a recurrent model"
                raise GlasshouseError(f"{self.name} is a {self.spec.model.kind!r} without a vector for a text; {remedy}")
        return torch.cat(vectors) if vectors else torch.zeros(0, self.spec.model.width)

    def new_completion(self, prompt: str) -> Completion:
        return Completion(prompt, text_stream.encode_prompt(self.tokenizer, prompt))

    def _remedy(self) -> str:
        if self.folder.status() == "training":
            return "it is still training; wait for its first evaluation"
        return f"continue its training with: glasshouse resume {self.name}"

    def source_of_file(self, path: Path) -> Source:
        """The content of a file in the form that the run's task needs, all of it in the training split."""
        no_splits: dict[str, Any] = {"validation": 0.0, "test": 0.0, "validation_files": (), "test_files": (), "group": ""}
        one_file = replace(self.spec.data, files=(str(path),), source="", **no_splits)
        return prepared_data.find_source(one_file, self.task.columns)

    def _shard_of(self, path: Path, temporary: Path) -> shards.Shard:
        documents, names = partial(self.source_of_file(path).documents, "train"), self.facts.get("labels", ())
        shard = document_columns.write(temporary, "given", documents, self.tokenizer, self.task.columns, names)
        if shard.tokens_count < 2:
            raise DataError(f"{path} has no token to predict; use a longer text")
        return shard

    def _evaluate_shard(self, shard: shards.Shard, progress: Callable[[float], None]) -> Evaluation:
        self.task.check_model(self.model, self.spec.model.kind)
        # On a CPU, fp32 is used even for a model trained in bf16, because bf16 may be hundreds of times slower there.
        with precision.context("fp32" if self.device.type == "cpu" else self.spec.training.precision, self.device):
            return self.task.evaluate(self.model, shard, self.spec.evaluation, progress=progress)

    @property
    def end_tokens(self) -> set[int]:
        """The end-of-sequence tokens that an imported model declares. Empty means: use those of the tokenizer."""
        declared = self.facts.get("token_ids", {}).get("eos")
        return set(declared) if isinstance(declared, list) else set() if declared is None else {int(declared)}

    @property
    def vocabulary(self) -> int:
        """The model's vocabulary size: that of an imported model's file, else that of the tokenizer."""
        return int(self.facts.get("vocabulary", 0)) or self.tokenizer.vocabulary

    def __fspath__(self) -> str:
        """The folder, so that a run stands wherever a name or a path of one may stand."""
        return str(self.folder.path)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.folder.status()})"

    def _repr_html_(self) -> str:
        """The run as a table in a notebook."""
        rows = [("run", self.name), ("status", self.folder.status()), ("folder", str(self.folder.path))]
        for split, values in self.final_metrics.items():
            metrics = [(self.task.metrics.find(name), value) for name, value in values.items()]
            rows += [(f"{split} {metric.title}", metric.text(value)) for metric, value in metrics]
        if results := self.baselines:
            rows.append(("baselines", results.sentence(self.task.metrics)))
        cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"


def run_of(run: StrPath, device: str = "auto") -> Run:
    """A run that is given as a name, as a path or as an open run. One that is open on another device is opened again."""
    if isinstance(run, Run) and (device == "auto" or run.device.type == device.split(":")[0]):
        return run
    return Run(run, device)


def _read_schema(path: StrPath) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read the schema {path}: {error.strerror}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise GlasshouseError(f"the schema {path} is not JSON: {error}; correct the file") from None
