"""A run, opened from its folder. Needs nothing of the process that trained it, and changes nothing in the folder."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse import models, tokenizers
from glasshouse.data import prepared_data, shards
from glasshouse.generation import text_stream as texts
from glasshouse.generation.beam_search import Beams
from glasshouse.generation.sampling import Sampling
from glasshouse.generation.text_stream import Completion, Piece
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.encoder import Encoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.heads.pooling import pool
from glasshouse.models.recurrent import Recurrent
from glasshouse.records import checkpoint, metric_log, run_folder
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError, GlasshouseError, RunError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Task
from glasshouse.tasks.classify import Classify, padded
from glasshouse.tasks.translate import Translate
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import devices, precision, warm_start


@dataclass(frozen=True)
class Translation:
    """A translation, what it scored (log-probability / length to the length penalty), and whether its source was cut."""

    text: str
    score: float
    cut: bool = False

    @classmethod
    def joined(cls, parts: Sequence["Translation"]) -> "Translation":
        """Of a text whose words were translated one by one."""
        scores = [part.score for part in parts] or [0.0]
        return cls(" ".join(part.text for part in parts), sum(scores) / len(scores), any(part.cut for part in parts))

    def __str__(self) -> str:
        return self.text


class Run:
    """One trained (or half-trained) model and everything known of it."""

    def __init__(self, where: RunFolder | str | PathLike[str], device: str = "auto") -> None:
        self.folder = where if isinstance(where, RunFolder) else run_folder.find(where)
        self.device = devices.pick(device)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def spec(self) -> Spec:
        return self.folder.spec()

    @property
    def facts(self) -> dict[str, Any]:
        """What `run.json` holds: status, machine, plan, outcome."""
        return self.folder.facts()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Every row logged so far."""
        return metric_log.read(self.folder.metrics_file)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        if not self.folder.tokenizer_file.exists() and "origin" in self.facts:
            raise RunError(
                "no-tokenizer", f"{self.name} was imported without a tokenizer; put a tokenizer.json into {self.folder.path}"
            )
        if not self.folder.tokenizer_file.exists():
            raise RunError("no-tokenizer", f"{self.name} has no tokenizer yet; {self._remedy()}")
        return tokenizers.load(self.folder.tokenizer_file)

    @cached_property
    def model(self) -> nn.Module:
        """The model with its best weights by validation loss, or its latest where nothing was validated."""
        saved = checkpoint.best(self.folder.checkpoints, complain=say)
        if saved is None:
            raise RunError("no-checkpoint", f"{self.name} has no checkpoint yet; {self._remedy()}")
        where = f"the checkpoint of step {saved.step}"
        return warm_start.opened(self.folder, self.spec, saved.weights, where).to(self.device).eval()

    def sample(self, prompt: str | Sequence[str] = "", count: int = 1, **how: Any) -> list[Completion]:
        """Continue a prompt, or several. See `stream` for how."""
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        completions = [self.begin(text) for text in prompts for _ in range(count)]
        for _ in self.stream(completions, **how):
            pass
        return completions

    def stream(
        self,
        completions: list[Completion],
        tokens: int = 100,
        stop: str | Sequence[str] = (),
        cached: bool = True,
        alternatives: int = 0,
        **sampling: Any,
    ) -> Iterator[Piece]:
        """Continue in place, giving text as it comes; sampling: temperature, top_k, top_p, min_p, seed, ..."""
        if tokens < 1:
            raise GlasshouseError("bad-option", f"tokens={tokens} is not possible; ask for 1 or more")
        if not self.continues_text:
            raise GlasshouseError(
                "not-a-language-model",
                f"{self.name} is a model of kind {self.spec.model.kind!r} that does not continue a text; "
                "a decoder, a recurrent model or a causal encoder with the head next-token does",
            )
        rules = Sampling(**sampling)
        return texts.stream(
            self.model,
            self.tokenizer,
            completions,
            rules,
            tokens,
            self.spec.data.context,
            (stop,) if isinstance(stop, str) else stop,
            cached and hasattr(self.model, "empty_cache"),
            alternatives,
            self.ends,
        )

    def evaluate(
        self, data: str | PathLike[str] | None = None, progress: Callable[[float], None] = lambda share: None
    ) -> dict[str, dict[str, float]]:
        """Metrics by split, or of a text file, by the task's full rule."""
        if data is not None:
            with tempfile.TemporaryDirectory() as temporary:
                return {str(data): self._score(self._shard_of(Path(data), Path(temporary)), progress)}
        self.task.check_model(self.model, self.spec.model.kind)
        if not self.spec.data.source and not self.spec.data.files:
            raise DataError(
                "no-data",
                f"{self.name} was imported and has no text of its own; give a file: "
                f"glasshouse evaluate {self.name} --data FILE",
            )
        prepared = prepared_data.prepare(self.spec.data, self.tokenizer, columns=self.task.columns)
        held = [split for split, shard in prepared.splits.items() if split != "train" and shard.tokens_count > 1]
        if not held:
            raise DataError(
                "nothing-held-out",
                f"{self.name} holds out no text; give a file: glasshouse evaluate {self.name} --data FILE",
            )
        return {split: self._score(prepared.splits[split], progress) for split in held}

    @cached_property
    def task(self) -> Task:
        """What is asked of the model, with the names of its classes where it has some."""
        task: Task = catalogue.find("task", self.spec.task, "task").from_spec(self.spec)
        if self.folder.tokenizer_file.exists():
            task.set_vocabulary(self.tokenizer, tuple(self.facts.get("labels", ())))
        return task

    @torch.inference_mode()
    def classify(self, texts: Sequence[str], batch: int = 32) -> list[dict[str, float]]:
        """The probability of each class, for each text, likeliest first."""
        if not isinstance(self.task, Classify):
            raise GlasshouseError(
                "not-a-classifier",
                f"{self.name} does not tell classes apart: its task is {self.spec.task!r}, not 'classify'",
            )
        found = []
        for tokens, lengths in self._batches(texts, batch):
            for row in self.model(tokens, lengths=lengths).float().softmax(-1).tolist():
                pairs = zip(self.task.labels, row, strict=True)
                found.append(dict(sorted(pairs, key=lambda pair: -pair[1])))
        return found

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
        """The best translations of each text, best first; by default as the spec's evaluation translates."""
        task, settings = self.task, self.spec.evaluation
        if not isinstance(task, Translate):
            raise GlasshouseError(
                "not-a-translator", f"{self.name} does not translate: its task is {self.spec.task!r}, not 'translate'"
            )
        if settings.word_by_word if word_by_word is None else word_by_word:
            if n_best > 1:
                raise GlasshouseError(
                    "bad-option",
                    f"n_best={n_best} goes with whole texts, and this translates word by word; leave it out, or choose "
                    "word_by_word=False (--whole)",
                )
            words = sorted({word for text in texts for word in text.split()})
            known = dict(zip(words, self.translate(words, beams, length_penalty, 1, False, batch, progress), strict=True))
            return [[Translation.joined([known[word][0] for word in text.split()])] for text in texts]
        count = beams or max(settings.beams, n_best)
        if not 1 <= n_best <= count:
            raise GlasshouseError(
                "bad-option", f"n_best={n_best} is not possible with beams={count}: choose between 1 and as many as beams"
            )
        rules = Beams(count, settings.length_penalty if length_penalty is None else length_penalty, task.rooms[1])
        sources = [self.tokenizer.encode(text, specials=False).tolist() for text in texts]
        order = sorted(range(len(texts)), key=lambda index: len(sources[index]))
        found: list[list[Translation]] = [[] for _ in texts]
        for begin in range(0, len(order), batch):
            index = order[begin : begin + batch]
            for place, best in zip(index, task.search(self.model, [sources[i] for i in index], rules), strict=True):
                cut = len(sources[place]) > task.rooms[0]
                found[place] = [Translation(self.tokenizer.decode(h.tokens), h.score, cut) for h in best[:n_best]]
            progress(min(begin + batch, len(order)) / len(order))
        return found

    @cached_property
    def continues_text(self) -> bool:
        """Whether the model says what follows a text, so that it can be sampled; known before it has weights."""
        task: Task = catalogue.find("task", self.spec.task, "task").from_spec(self.spec)
        model = models.check(task.draft_model(self.spec.model), self.spec.data.context)
        writes = isinstance(getattr(model, "head", None), NextTokenHead) and hasattr(model, "features")
        return writes and self.spec.task != "translate"

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], pooling: str | None = None, batch: int = 32) -> Tensor:
        """One vector (D) for each text, pooled over its tokens as the spec's head says, or otherwise.

        A dual encoder's are in the space that it shares with pictures, pooled in its own way.
        """
        if isinstance(texts, str):
            raise GlasshouseError("one-text", "embed takes a list of texts; put the one text into brackets")
        found = []
        for tokens, real in self._batches(texts, batch):
            if isinstance(self.model, DualEncoder):
                found.append(self.model.head.text(self.model.of_text(tokens, real)))
            elif isinstance(self.model, Encoder | Recurrent):
                features = self.model.features(tokens, lengths=real)
                found.append(pool(features, pooling or str(getattr(self.model.head, "pooling", "mean")), real))
            else:
                raise GlasshouseError(
                    "no-text-vector",
                    f"{self.name} is a model of kind {self.spec.model.kind!r}, which has no vector for a text; "
                    "an encoder, a dual encoder and a recurrent model have",
                )
        return torch.cat(found) if found else torch.zeros(0, self.spec.model.width)

    def _batches(self, texts: Sequence[str], batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """(tokens, lengths) of a few texts at a time, on the device."""
        for begin in range(0, len(texts), batch):
            ids = [self.tokenizer.encode(text, specials=False).tolist() for text in texts[begin : begin + batch]]
            made = padded(ids, self.tokenizer.frame, self.spec.data.context)
            yield made["tokens"].to(self.device), made["lengths"].to(self.device)

    def begin(self, prompt: str) -> Completion:
        """A completion of this prompt with nothing generated yet."""
        return Completion(prompt, texts.encode_prompt(self.tokenizer, prompt))

    def _remedy(self) -> str:
        if self.folder.status() == "training":
            return "it is being trained: wait for its first evaluation"
        return f"continue it with: glasshouse resume {self.name}"

    def _shard_of(self, path: Path, temporary: Path) -> shards.Shard:
        alone = replace(self.spec.data, files=(str(path),), source="", validation=0.0, test=0.0)
        source = prepared_data.source_of(alone, self.task.columns)
        shard = shards.write(temporary, "given", source.documents("train"), self.tokenizer)
        if "target" in self.task.columns:
            prepared_data.write_targets(temporary, "given", source.documents("train"), self.tokenizer)
        if "picture" in self.task.columns:
            drawn = (document.picture for document in source.documents("train"))
            shards.write_pictures(temporary, "given", (picture for picture in drawn if picture is not None))
        if isinstance(self.task, Classify):
            shards.write_labels(temporary, "given", [self._class(d.fields["label"]) for d in source.documents("train")])
        if shard.tokens_count < 2:
            raise DataError("too-little-text", f"{path} has no text to predict; give a longer one")
        return shard

    def _class(self, label: str) -> int:
        assert isinstance(self.task, Classify)
        if label not in self.task.labels:
            known = ", ".join(self.task.labels)
            raise DataError(
                "unknown-label", f"the label {label!r} is none of those that {self.name} was trained on: {known}"
            )
        return self.task.labels.index(label)

    def _score(self, shard: shards.Shard, progress: Callable[[float], None]) -> dict[str, float]:
        task = self.task
        task.check_model(self.model, self.spec.model.kind)
        # A model trained in bf16 on a GPU is measured in fp32 on a CPU, where bf16 may be hundreds of times slower.
        chosen = "fp32" if self.device.type == "cpu" else self.spec.training.precision
        with precision.context(chosen, self.device):
            return task.evaluate(self.model, shard, self.spec.evaluation, final=True, progress=progress)

    @property
    def ends(self) -> set[int]:
        """The tokens that end a text, where an imported model came with such; else those of its tokenizer do."""
        known = self.facts.get("token_ids", {}).get("eos")
        return set(known) if isinstance(known, list) else set() if known is None else {int(known)}

    @property
    def vocabulary(self) -> int:
        """How many tokens the model knows: its tokenizer's, or, of an imported model, as many as it came with."""
        return int(self.facts.get("vocabulary", 0)) or self.tokenizer.vocabulary

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.folder.status()})"

    def _repr_html_(self) -> str:
        """How a notebook shows a run."""
        outcome = self.facts.get("outcome", {})
        rows = [("run", self.name), ("status", self.folder.status()), ("folder", str(self.folder.path))]
        for split in outcome:
            if split.startswith(("validation", "test")):
                rows += [
                    (f"{split} {name}", f"{value:,.4f}".rstrip("0").rstrip(".")) for name, value in outcome[split].items()
                ]
        cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"
