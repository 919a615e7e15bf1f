"""Translate: from a source text to a target text.

An encoder-decoder reads `source [END]` and writes `[END] target` -> `target [END]`. A decoder alone has one sequence,
`[END] source [TRANSLATE] target` -> `... target [END]`, and learns from the target, or from all of it (`training.loss_on`).
A batch holds pairs of similar lengths, padded at the end. Measured in training is the loss of a target's token given those
before it (teacher forcing); at the end the texts are also translated and compared with their references.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import Beams, Hypothesis, search
from glasshouse.metrics import translation
from glasshouse.metrics.metric import BLEU, CHRF, EXACT, LOSS, PERPLEXITY, Metric, Metrics, per_token
from glasshouse.metrics.perplexity import perplexity
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks.base import IGNORED, Batch, Forward, QualityCurves, Task
from glasshouse.tasks.cross_entropy import cross_entropy_sum
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import TRANSLATE

# What a suggested command translates where the recipe names no prompt.
QUOTED = '"Thank you all."'
TRANSLATED = Metric("translated", "texts translated", "{:,.0f}")


class Translate(Task):
    """Cross-entropy of each target token; with label smoothing in training, without it in every evaluation."""

    metrics = Metrics(
        [BLEU, CHRF, EXACT, per_token(PERPLEXITY), per_token(LOSS), TRANSLATED], headline=("bleu", "chrf", "exact", "loss")
    )
    # Label smoothing, where there is some, makes the training loss something else than a log-probability.
    quality = QualityCurves(PERPLEXITY.title, {"validation": "validation.loss"}, exponential=True)
    report_sections = ("translations",)
    columns = ("target",)
    specials = (TRANSLATE,)
    reads = (
        "training.label_smoothing",
        "training.loss_on",
        "evaluation.beams",
        "evaluation.length_penalty",
        "evaluation.word_by_word",
    )

    def __init__(self, context: int, alone: bool, smoothing: float = 0.0, everything: bool = False) -> None:
        self.context, self.alone, self.smoothing, self.everything = context, alone, smoothing, everything
        self.end, self.mark = 0, 0
        self.tokenizer: Tokenizer | None = None

    @classmethod
    def from_spec(cls, spec: Spec) -> "Translate":
        alone = spec.model.kind != "encoder-decoder"
        if spec.training.loss_on == "all" and not alone:
            raise SpecError(
                "loss-on-decoder-only",
                "training.loss_on='all' is for a decoder alone, which reads the source as it reads its own words; "
                "leave it out, or choose model.kind=decoder",
            )
        if alone and spec.data.context < 4:
            raise SpecError(
                "context-too-short",
                f"data.context={spec.data.context} has no room for a source, a target and two marks; choose 4 or more",
            )
        return cls(spec.data.context, alone, spec.training.label_smoothing, spec.training.loss_on == "all")

    def check_model(self, model: nn.Module, kind: str) -> None:
        writes = isinstance(getattr(model, "head", None), NextTokenHead)
        if not writes or not (isinstance(model, EncoderDecoder) or hasattr(model, "empty_cache")):
            raise SpecError(
                "model-does-not-fit-task",
                f"task='translate' asks for a text, which model.kind={kind!r} with this head does not write; choose "
                "model.kind=encoder-decoder or decoder and model.head.kind=next-token",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.end_of_text is None or (self.alone and TRANSLATE not in tokenizer.specials):
            raise DataError(
                "missing-special-token",
                f"this tokenizer lacks a special token that a translator needs (<|endoftext|>, and {TRANSLATE} for a "
                "decoder alone); train one for this task (leave out data.tokenizer_file), or choose an encoder-decoder",
            )
        self.tokenizer, self.end = tokenizer, tokenizer.end_of_text
        self.mark = tokenizer.specials.get(TRANSLATE, 0)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if not prepared.splits["train"].documents:
            raise DataError("no-rows", "there is no pair to train on; give more, or hold out fewer")
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    @property
    def rooms(self) -> tuple[int, int]:
        """The most tokens of a source and of a target, marks not counted."""
        if not self.alone:
            return self.context - 1, self.context - 1
        source = (self.context - 2) // 2
        return source, self.context - source - 2

    def truncated(self, shard: Shard) -> int:
        """How many pairs have a side that is longer than there is room for, and is read in part."""
        if not shard.documents:
            return 0
        sides = ((each, room) for each, room in zip((shard, shard.target), self.rooms, strict=True))
        over = [np.diff(each.starts) - (each.mark is not None) > room for each, room in sides]
        return int((over[0] | over[1]).sum())

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray:
        """Target first, since it is what is paid for at every step; of equal ones the shorter source first."""
        sides = [np.diff(each.starts) for each in (shard.target, shard)]
        return sides[0] * (self.context + 2) + sides[1].clip(max=self.context + 1)

    def prompts(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """What a decoder continues: with a source before it where it is alone."""
        if not self.alone:
            return [[self.end] for _ in sources]
        return [[self.end, *source[: self.rooms[0]], self.mark] for source in sources]

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        targets, room = shard.target.texts(examples), self.rooms[1]
        # A target that was cut has not ended, so that no end is learned in its place.
        whole = [len(target) <= room for target in targets]
        return self.pairs(shard.texts(examples), [target[:room] for target in targets], whole)

    def pairs(self, sources: list[list[int]], targets: list[list[int]], whole: list[bool]) -> Batch:
        """Padded tensors of some pairs."""
        prompts = self.prompts(sources)
        inputs = [[*prompt, *target] for prompt, target in zip(prompts, targets, strict=True)]
        asked = [[*row[1:], self.end if ended else IGNORED] for row, ended in zip(inputs, whole, strict=True)]
        if not self.everything:
            asked = [
                [IGNORED] * (len(prompt) - 1) + row[len(prompt) - 1 :] for prompt, row in zip(prompts, asked, strict=True)
            ]
        made = {"inputs": _padded(inputs, 0), "targets": _padded(asked, IGNORED)}
        return made if self.alone else {**made, **self.given(sources)}

    def given(self, sources: Sequence[Sequence[int]]) -> Batch:
        """What an encoder reads."""
        rows = [[*source[: self.rooms[0]], self.end] for source in sources]
        return {"source": _padded(rows, 0), "lengths": torch.tensor([len(row) for row in rows])}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return self._loss_sum(model, batch, self.smoothing)

    def _loss_sum(self, model: Forward, batch: Batch, smoothing: float) -> Tensor:
        if self.alone:
            logits = model(batch["inputs"])
        else:
            logits = model(batch["source"], batch["inputs"], lengths=batch["lengths"])
        targets = batch["targets"].flatten()
        return cross_entropy_sum(logits.flatten(0, 1), targets, smoothing)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        made = {"inputs": tokens, "targets": tokens}
        return made if self.alone else {**made, "source": tokens, "lengths": torch.full((rows,), self.context)}

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * self.context * vocabulary

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
        return rounds * validation + (1 + settings.beams) * (validation + test)

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        device, was_training = next(model.parameters()).device, model.training
        # Long ones last and together, so that little is padding.
        order = np.argsort(self.example_lengths(shard), kind="stable")
        nats, count, unlearned = 0.0, 0, self.everything
        model.eval()
        self.everything = False
        try:
            with torch.inference_mode():
                for begin in range(0, len(order), settings.batch):
                    index = order[begin : begin + settings.batch]
                    batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
                    nats += float(self._loss_sum(forward or model, batch, 0.0))
                    count += self.prediction_count(batch)
            found = {"loss": nats / count, "perplexity": perplexity(nats / count)}
            if final:
                outputs = self.written(model, shard, order, settings, progress)
                found |= translation.scores(outputs, [shard.target.originals[index] for index in order])
        finally:
            self.everything = unlearned
            model.train(was_training)
        return found

    def written(
        self,
        model: nn.Module,
        shard: Shard,
        order: np.ndarray,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[str]:
        """The translation of each of these documents, in this order."""
        assert self.tokenizer is not None
        rules = Beams(settings.beams, settings.length_penalty, self.rooms[1])
        texts: list[str] = []
        for begin in range(0, len(order), settings.batch):
            found = self.search(model, shard.texts(order[begin : begin + settings.batch]), rules)
            texts += [self.tokenizer.decode(best[0].tokens) if best else "" for best in found]
            progress(len(texts) / len(order))
        return texts

    def example_command(self, run: str, prompt: str) -> str:
        return f"glasshouse translate {run} {prompt or QUOTED}"

    def search(self, model: Any, sources: list[list[int]], rules: Beams) -> list[list[Hypothesis]]:
        """The best translations of some sources (tokens), best first."""
        assert self.tokenizer is not None
        device, prompts = next(model.parameters()).device, self.prompts(sources)
        if not self.alone:
            given = self.given(sources)
            model = model.given(given["source"].to(device), given["lengths"].to(device))
        rules = Beams(rules.count, rules.length_penalty, min(rules.tokens, self.rooms[1]))
        return search(model, prompts, rules, (self.end,), self.context, self.tokenizer.vocabulary)


def _padded(rows: list[list[int]], filler: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
