"""Translation: from a source text to a target text.

The encoder of an encoder-decoder reads `source [END]`; its decoder reads `[END] target` and predicts `target [END]`.
A decoder-only model reads one sequence, `[END] source [TRANSLATE] target`, and predicts the same shifted by one token; its
loss covers the target tokens, or all tokens (`training.loss_on`). A batch holds pairs of similar lengths, padded at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import BeamOptions, Hypothesis
from glasshouse.models.base import Model
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.specs.declared import read_settings
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, Spec
from glasshouse.specs.spec_fields import setting
from glasshouse.tasks.base import Batch, Forward, LabelSmoothing
from glasshouse.tasks.text_inputs import Rows, joined, lengths_of, repeated, rows_of, texts_of, truncated
from glasshouse.tasks.written_text import WrittenTextTask
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import TRANSLATE


class Translate(WrittenTextTask):
    """Translation by an encoder-decoder or a decoder-only model."""

    report_sections = ("translations",)
    heads = (NextTokenHead,)
    needs = "a text; choose model.kind=encoder-decoder or decoder and model.head.kind=next-token"
    columns = ("target",)
    specials = (TRANSLATE,)
    needs_text = True
    use = "translate {run} {text}"

    @dataclass(frozen=True)
    class Settings(LabelSmoothing):
        loss_on: str = setting(
            "target", "tokens that contribute to the loss of a decoder-only translator", choices=("target", "all")
        )

    @dataclass(frozen=True)
    class EvaluationSettings(WrittenTextTask.EvaluationSettings):
        word_by_word: bool = setting(False, "translate each word of a text by itself")

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.decoder_only, self.separator = spec.model.kind != "encoder-decoder", 0
        self.loss_on_all = read_settings(Translate.Settings, spec.training.own).loss_on == "all"

    @classmethod
    def check_spec(cls, spec: Spec) -> None:
        decoder_only = spec.model.kind != "encoder-decoder"
        loss_on = read_settings(Translate.Settings, spec.training.own).loss_on
        if loss_on == "all" and not decoder_only:
            raise SpecError("needs a decoder-only model; remove it, or choose model.kind=decoder", "training.loss_on", "all")
        if decoder_only and (context := spec.data.context) < 4:
            reason = "is too short for a source, a target and two special tokens; choose 4 or more"
            raise SpecError(reason, "data.context", context)

    def word_by_word(self, settings: EvaluationSpec) -> bool:
        return read_settings(Translate.EvaluationSettings, settings.own).word_by_word

    def accepts(self, model: Model) -> bool:
        return isinstance(model.head, self.heads) and (model.reads == "source" or model.keeps_cache)

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if self.decoder_only and TRANSLATE not in tokenizer.specials:
            remedy = "leave out data.tokenizer_file, or choose model.kind=encoder-decoder"
            raise DataError(f"this tokenizer lacks the {TRANSLATE} of a decoder-only model; {remedy}")
        super().set_vocabulary(tokenizer, labels)
        self.separator = tokenizer.specials.get(TRANSLATE, 0)

    @property
    def max_lengths(self) -> tuple[int, int]:
        """The maximum lengths of a source and of a target in tokens, without special tokens."""
        if not self.decoder_only:
            return self.context - 1, self.context - 1
        source = (self.context - 2) // 2
        return source, self.context - source - 2

    @property
    def max_length(self) -> int:
        return self.max_lengths[1]

    def truncated(self, shard: Shard) -> int:
        examples, (source_length, target_length) = np.arange(shard.documents), self.max_lengths
        too_long = (lengths_of(shard, examples) > source_length) | (lengths_of(shard.target, examples) > target_length)
        return int(too_long.sum())

    def example_lengths(self, shard: Shard) -> np.ndarray:
        """A sort key: the target's length first, because each target token costs a prediction, then the source's."""
        targets, sources = (np.diff(side.starts) for side in (shard.target, shard))
        return targets * (self.context + 2) + sources.clip(max=self.context + 1)

    def decoder_prompts(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """The tokens that the decoder continues. In a decoder-only model they contain the source."""
        if not self.decoder_only:
            return [[self.end] for _ in sources]
        return [[self.end, *source[: self.max_lengths[0]], self.separator] for source in sources]

    def written_split(self, shard: Shard) -> Shard:
        return shard.target

    def prompts_and_conditions(self, shard: Shard, examples: np.ndarray) -> tuple[tuple[Rows, ...], Batch]:
        sources, end = texts_of(shard, examples, self.max_lengths[0]), repeated([self.end], len(examples))
        if self.decoder_only:
            return (end, sources, repeated([self.separator], len(examples))), {}
        return (end,), self._encoder_inputs(sources)

    def encoder_inputs(self, sources: Sequence[Sequence[int]]) -> Batch:
        return self._encoder_inputs(truncated(rows_of(sources), self.max_lengths[0]))

    def _encoder_inputs(self, sources: Rows) -> Batch:
        rows = joined(sources, repeated([self.end], len(sources.lengths_N)))
        return {"source": torch.from_numpy(rows.tokens_NL), "lengths": torch.from_numpy(rows.lengths_N)}

    def logits(self, model: Forward, batch: Batch) -> Tensor:
        if self.decoder_only:
            return model(batch["inputs"])
        return model(batch["source"], batch["inputs"], lengths=batch["lengths"])

    def largest_batch(self, rows: int) -> Batch:
        batch = super().largest_batch(rows)
        if self.decoder_only:
            return batch
        return {**batch, "source": batch["inputs"], "lengths": torch.full((rows,), self.context)}

    def writing_order(self, shard: Shard, examples: np.ndarray) -> np.ndarray:
        return examples[np.argsort(self.example_lengths(shard)[examples], kind="stable")]

    def references(self, shard: Shard) -> list[str]:
        return shard.target.originals

    def search_batch(self, model: Model, shard: Shard, examples: np.ndarray, options: BeamOptions) -> list[list[Hypothesis]]:
        return self.search(model, shard.texts(examples), options)

    def search(self, model: Any, sources: list[list[int]], options: BeamOptions) -> list[list[Hypothesis]]:
        """The best translations of each source, best first. A source is a list of tokens."""
        device, prompts = next(model.parameters()).device, self.decoder_prompts(sources)
        if not self.decoder_only:
            inputs = self.encoder_inputs(sources)
            model = model.condition_on(inputs["source"].to(device), inputs["lengths"].to(device))
        options = BeamOptions(options.count, options.length_penalty, min(options.max_tokens, self.max_lengths[1]))
        return self.search_from(model, prompts, options)
