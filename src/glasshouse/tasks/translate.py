"""Translation: from a source text to a target text.

The encoder of an encoder-decoder reads `source [END]`; its decoder reads `[END] target` and predicts `target [END]`.
A decoder-only model reads one sequence, `[END] source [TRANSLATE] target`, and predicts the same shifted by one token; its
loss covers the target tokens, or all tokens (`training.loss_on`). A batch holds pairs of similar lengths, padded at the end.
Evaluations during training compute the loss with teacher forcing. The final evaluation also translates the texts and
compares them with their references.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import BeamOptions, Hypothesis, search
from glasshouse.metrics import translation
from glasshouse.metrics.metric import BLEU, CHRF, EXACT, LOSS, PERPLEXITY, Metric, Metrics, per_token
from glasshouse.metrics.perplexity import perplexity
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks import padding
from glasshouse.tasks.base import IGNORED, Batch, Forward, QualityCurves, Task, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import TRANSLATE

TRANSLATED = Metric("translated", "texts translated", "{:,.0f}")


class Translate(Task):
    """Cross-entropy of each target token. Label smoothing applies in training only."""

    metrics = Metrics(
        [BLEU, CHRF, EXACT, per_token(PERPLEXITY), per_token(LOSS), TRANSLATED], headline=("bleu", "chrf", "exact", "loss")
    )
    # The training loss is not in the chart: with label smoothing its exponential is not a perplexity.
    quality = QualityCurves(PERPLEXITY.title, {"validation": "validation.loss"}, exponential=True)
    report_sections = ("translations",)
    columns = ("target",)
    specials = (TRANSLATE,)
    item_metrics, items = ("exact", "loss"), "pairs"
    needs_text = True
    reads = (
        "training.label_smoothing",
        "training.loss_on",
        "evaluation.beams",
        "evaluation.length_penalty",
        "evaluation.word_by_word",
    )

    def __init__(self, context: int, decoder_only: bool, smoothing: float = 0.0, loss_on_all: bool = False) -> None:
        self.context, self.decoder_only, self.smoothing, self.loss_on_all = context, decoder_only, smoothing, loss_on_all
        self.end, self.separator = 0, 0
        self.tokenizer: Tokenizer | None = None

    @classmethod
    def from_spec(cls, spec: Spec) -> "Translate":
        decoder_only = spec.model.kind != "encoder-decoder"
        if spec.training.loss_on == "all" and not decoder_only:
            raise SpecError(
                "needs a decoder-only model, which reads source and target as one sequence; remove it, or choose "
                "model.kind=decoder",
                "training.loss_on",
                "all",
            )
        if decoder_only and spec.data.context < 4:
            raise SpecError(
                "is too short for a source, a target and two special tokens; choose 4 or more",
                "data.context",
                spec.data.context,
            )
        return cls(spec.data.context, decoder_only, spec.training.label_smoothing, spec.training.loss_on == "all")

    def check_model(self, model: nn.Module, kind: str) -> None:
        predicts_next_token = isinstance(getattr(model, "head", None), NextTokenHead)
        if not predicts_next_token or not (isinstance(model, EncoderDecoder) or hasattr(model, "empty_cache")):
            raise SpecError(
                f"generates a text, which model.kind={kind!r} with this head cannot do; choose model.kind=encoder-decoder "
                "or decoder and model.head.kind=next-token",
                "task",
                "translate",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.end_of_text is None or (self.decoder_only and TRANSLATE not in tokenizer.specials):
            raise DataError(
                f"this tokenizer lacks a special token that a translator needs (<|endoftext|>, and {TRANSLATE} for a "
                "decoder-only model); train a tokenizer for this task (leave out data.tokenizer_file), or choose "
                "model.kind=encoder-decoder"
            )
        self.tokenizer, self.end = tokenizer, tokenizer.end_of_text
        self.separator = tokenizer.specials.get(TRANSLATE, 0)

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        if not prepared.splits["train"].documents:
            raise DataError("the training split has no pairs; use more rows, or hold out fewer")
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    @property
    def max_lengths(self) -> tuple[int, int]:
        """The maximum lengths of a source and of a target in tokens, without special tokens."""
        if not self.decoder_only:
            return self.context - 1, self.context - 1
        source = (self.context - 2) // 2
        return source, self.context - source - 2

    def truncated(self, shard: Shard) -> int:
        """The number of pairs whose source or target is truncated."""
        if not shard.documents:
            return 0
        sides = zip((shard, shard.target), self.max_lengths, strict=True)
        too_long = [np.diff(side.starts) - (side.separator is not None) > max_length for side, max_length in sides]
        return int((too_long[0] | too_long[1]).sum())

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray:
        """A sort key: the target's length first, because each target token costs a prediction, then the source's."""
        targets, sources = (np.diff(side.starts) for side in (shard.target, shard))
        return targets * (self.context + 2) + sources.clip(max=self.context + 1)

    def decoder_prompts(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        """The tokens that the decoder continues. In a decoder-only model they contain the source."""
        if not self.decoder_only:
            return [[self.end] for _ in sources]
        return [[self.end, *source[: self.max_lengths[0]], self.separator] for source in sources]

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        source_length, target_length = self.max_lengths
        sources = padding.texts_of(shard, examples, source_length)
        targets = padding.texts_of(shard.target, examples, target_length)
        end = padding.repeated([self.end], len(examples))
        prompts = (end, sources, padding.repeated([self.separator], len(examples))) if self.decoder_only else (end,)
        inputs = padding.joined(*prompts, targets)
        shifted_NL = np.full_like(inputs.tokens_NL, IGNORED)
        shifted_NL[:, :-1] = np.where(inputs.is_token_NL, inputs.tokens_NL, IGNORED)[:, 1:]
        # The end of a truncated target is not a target, so that the model does not learn to stop there.
        (complete,) = (padding.lengths_of(shard.target, examples) <= target_length).nonzero()
        shifted_NL[complete, inputs.lengths_N[complete] - 1] = self.end
        if not self.loss_on_all:
            prompt_lengths_N = inputs.lengths_N - targets.lengths_N
            shifted_NL[np.arange(shifted_NL.shape[1]) < prompt_lengths_N[:, None] - 1] = IGNORED
        batch = {"inputs": torch.from_numpy(inputs.tokens_NL), "targets": torch.from_numpy(shifted_NL)}
        if self.decoder_only:
            return batch
        encoder_inputs = padding.joined(sources, end)
        lengths = torch.from_numpy(encoder_inputs.lengths_N)
        return {**batch, "source": torch.from_numpy(encoder_inputs.tokens_NL), "lengths": lengths}

    def encoder_inputs(self, sources: Sequence[Sequence[int]]) -> Batch:
        """The padded sources and their lengths, as the encoder reads them."""
        rows = [[*source[: self.max_lengths[0]], self.end] for source in sources]
        longest = max(map(len, rows))
        source = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        return {"source": source, "lengths": torch.tensor([len(row) for row in rows])}

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = self._logits(model, batch)
        return cross_entropy_sum(logits.flatten(0, 1), batch["targets"].flatten(), self.smoothing)

    def _logits(self, model: Forward, batch: Batch) -> Tensor:
        if self.decoder_only:
            return model(batch["inputs"])
        return model(batch["source"], batch["inputs"], lengths=batch["lengths"])

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        batch = {"inputs": tokens, "targets": tokens}
        return batch if self.decoder_only else {**batch, "source": tokens, "lengths": torch.full((rows,), self.context)}

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
        if final:
            return Translate.final_evaluation(self, model, shard, settings, progress, forward)[0]
        nats, counts = self._score_pairs(model, shard, settings, forward)
        loss = float(nats.sum() / max(counts.sum(), 1))
        return {"loss": loss, "perplexity": perplexity(loss)}

    def final_evaluation(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        nats, counts = self._score_pairs(model, shard, settings, forward)
        loss = float(nats.sum() / max(counts.sum(), 1))
        outputs, references = self._outputs_and_references(model, shard, settings, progress)
        exact = np.zeros(shard.documents)
        exact[self._by_length(shard)] = [output == reference for output, reference in zip(outputs, references, strict=True)]
        metrics = {"loss": loss, "perplexity": perplexity(loss), **translation.scores(outputs, references)}
        return metrics, {"exact": exact, "loss": shares_of_ratio(nats, max(counts.sum(), 1))}

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        return Translate.final_evaluation(self, model, shard, settings, progress)[1]

    def _score_pairs(
        self, model: nn.Module, shard: Shard, settings: EvaluationSpec, forward: Forward | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each pair, the loss of its target in nats and its number of predictions."""
        device, was_training, loss_on_all = next(model.parameters()).device, model.training, self.loss_on_all
        nats, counts = np.zeros(shard.documents), np.zeros(shard.documents)
        order = self._by_length(shard)
        model.eval()
        self.loss_on_all = False
        try:
            with torch.inference_mode():
                for begin in range(0, len(order), settings.batch):
                    index = order[begin : begin + settings.batch]
                    batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
                    targets = batch["targets"]
                    losses = target_losses(self._logits(forward or model, batch).flatten(0, 1), targets.flatten())
                    nats[index] = losses.view(targets.shape).double().sum(1).cpu().numpy()
                    counts[index] = (targets != IGNORED).sum(1).cpu().numpy()
        finally:
            self.loss_on_all = loss_on_all
            model.train(was_training)
        return nats, counts

    def _by_length(self, shard: Shard) -> np.ndarray:
        """The pairs sorted by length, so that batches need little padding."""
        return np.argsort(self.example_lengths(shard), kind="stable")

    def _outputs_and_references(
        self, model: nn.Module, shard: Shard, settings: EvaluationSpec, progress: Callable[[float], None]
    ) -> tuple[list[str], list[str]]:
        """The translations and references of all pairs, in order of length."""
        order, was_training = self._by_length(shard), model.training
        model.eval()
        try:
            with torch.inference_mode():
                outputs = self.translate_documents(model, shard, order, settings, progress)
        finally:
            model.train(was_training)
        return outputs, [shard.target.originals[index] for index in order]

    def translate_documents(
        self,
        model: nn.Module,
        shard: Shard,
        order: np.ndarray,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[str]:
        """The best translation of each document in `order`."""
        assert self.tokenizer is not None
        options = BeamOptions(settings.beams, settings.length_penalty, self.max_lengths[1])
        texts: list[str] = []
        for begin in range(0, len(order), settings.batch):
            hypotheses = self.search(model, shard.texts(order[begin : begin + settings.batch]), options)
            texts += [self.tokenizer.decode(best[0].tokens) if best else "" for best in hypotheses]
            progress(len(texts) / len(order))
        return texts

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse translate {run} {text}"

    def search(self, model: Any, sources: list[list[int]], options: BeamOptions) -> list[list[Hypothesis]]:
        """The best translations of each source, best first. A source is a list of tokens."""
        assert self.tokenizer is not None
        device, prompts = next(model.parameters()).device, self.decoder_prompts(sources)
        if not self.decoder_only:
            inputs = self.encoder_inputs(sources)
            model = model.condition_on(inputs["source"].to(device), inputs["lengths"].to(device))
        options = BeamOptions(options.count, options.length_penalty, min(options.max_tokens, self.max_lengths[1]))
        return search(model, prompts, options, (self.end,), self.context, self.tokenizer.vocabulary)
