"""Description: from a picture to its caption.

The model reads a picture and `[END] caption`, and predicts `caption [END]`. Evaluations during training compute the loss
with teacher forcing. The final evaluation also writes captions and compares them with the references.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.generation.beam_search import BeamOptions, search
from glasshouse.metrics import translation
from glasshouse.metrics.metric import BLEU, CHRF, EXACT, LOSS, PERPLEXITY, Metrics, per_token
from glasshouse.metrics.perplexity import perplexity
from glasshouse.models.picture_decoder import PictureDecoder
from glasshouse.models.picture_encoder_decoder import PictureEncoderDecoder
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks import padding
from glasshouse.tasks.base import IGNORED, Batch, Forward, QualityCurves, Task, shares_of_ratio
from glasshouse.tasks.cross_entropy import cross_entropy_sum, target_losses
from glasshouse.tasks.match import check_size, normalise_pictures
from glasshouse.tasks.translate import TRANSLATED
from glasshouse.tokenizers import Tokenizer


class Describe(Task):
    """Cross-entropy of each token of the caption. Label smoothing applies in training only."""

    metrics = Metrics(
        [BLEU, CHRF, EXACT, per_token(PERPLEXITY), per_token(LOSS), TRANSLATED], headline=("bleu", "chrf", "exact", "loss")
    )
    quality = QualityCurves(PERPLEXITY.title, {"validation": "validation.loss"}, exponential=True)
    columns = ("picture",)
    item_metrics, items = ("exact", "loss"), "pairs"
    reads = ("training.label_smoothing", "evaluation.beams", "evaluation.length_penalty")

    def __init__(self, context: int, size: int, channels: int, smoothing: float = 0.0) -> None:
        self.context, self.size, self.channels, self.smoothing = context, size, channels, smoothing
        self.end = 0
        self.tokenizer: Tokenizer | None = None

    @classmethod
    def from_spec(cls, spec: Spec) -> "Describe":
        settings = settings_of(catalogue.find("model", spec.model.kind, "model.kind"), spec.model.own)
        # A kind of model without pictures is refused by `check_model`.
        size, channels = getattr(settings, "image_size", 1), getattr(settings, "image_channels", 1)
        return cls(spec.data.context, size, channels, spec.training.label_smoothing)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(model, PictureDecoder | PictureEncoderDecoder):
            raise SpecError(
                f"writes the caption of a picture, which model.kind={kind!r} cannot do; choose "
                "model.kind=picture-encoder-decoder or picture-decoder",
                "task",
                "describe",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        if tokenizer.end_of_text is None:
            raise DataError(
                "this tokenizer lacks the special token <|endoftext|>, which ends a caption; train a tokenizer for this "
                "task (leave out data.tokenizer_file)"
            )
        self.tokenizer, self.end = tokenizer, tokenizer.end_of_text

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        train = prepared.splits["train"]
        if not train.documents:
            raise DataError("the training split has no pictures; use more rows, or hold out fewer")
        check_size(model, train.pictures.shape[1])
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    @property
    def max_length(self) -> int:
        """The maximum length of a caption in tokens, without special tokens."""
        return self.context - 1

    def truncated(self, shard: Shard) -> int:
        if not shard.documents:
            return 0
        return int((padding.lengths_of(shard, np.arange(shard.documents)) > self.max_length).sum())

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def example_lengths(self, shard: Shard) -> np.ndarray:
        return np.diff(shard.starts)

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        captions = padding.texts_of(shard, examples, self.max_length)
        inputs = padding.joined(padding.repeated([self.end], len(examples)), captions)
        targets_NL = np.full_like(inputs.tokens_NL, IGNORED)
        targets_NL[:, :-1] = np.where(inputs.is_token_NL, inputs.tokens_NL, IGNORED)[:, 1:]
        # The end of a truncated caption is not a target, so that the model does not learn to stop there.
        (complete,) = (padding.lengths_of(shard, examples) <= self.max_length).nonzero()
        targets_NL[complete, inputs.lengths_N[complete] - 1] = self.end
        return {
            "pictures": normalise_pictures(shard.pictures[examples]),
            "inputs": torch.from_numpy(inputs.tokens_NL),
            "targets": torch.from_numpy(targets_NL),
        }

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return (batches["targets"] != IGNORED).flatten(1).sum(1).clamp(min=1)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        logits = model(batch["pictures"], batch["inputs"])
        return cross_entropy_sum(logits.flatten(0, 1), batch["targets"].flatten(), self.smoothing)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        tokens = torch.zeros(rows, self.context, dtype=torch.int64)
        pictures = torch.zeros(rows, self.channels, self.size, self.size)
        return {"pictures": pictures, "inputs": tokens, "targets": tokens}

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
        nats, counts = self._score_captions(model, shard, settings, forward)
        loss = float(nats.sum() / max(counts.sum(), 1))
        metrics = {"loss": loss, "perplexity": perplexity(loss)}
        if final:
            metrics |= translation.scores(self.describe(model, shard, settings, progress), self.references(shard))
        return metrics

    def item_values(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, np.ndarray]:
        nats, counts = self._score_captions(model, shard, settings)
        pairs = zip(self.describe(model, shard, settings, progress), self.references(shard), strict=True)
        exact = np.array([float(caption == reference) for caption, reference in pairs])
        return {"exact": exact, "loss": shares_of_ratio(nats, max(counts.sum(), 1))}

    def example_command(self, run: str, text: str, second: str = "") -> str:
        return f"glasshouse describe {run}"

    def references(self, shard: Shard) -> list[str]:
        """The captions of a split."""
        assert self.tokenizer is not None
        return [self.tokenizer.decode(tokens) for tokens in shard.texts(np.arange(shard.documents))]

    def describe(
        self,
        model: Any,
        shard: Shard,
        settings: EvaluationSpec,
        progress: Callable[[float], None] = lambda share: None,
    ) -> list[str]:
        """The best caption of each picture of a split."""
        was_training = model.training
        model.eval()
        captions: list[str] = []
        try:
            for begin in range(0, shard.documents, settings.batch):
                captions += self.describe_pictures(model, shard.pictures[begin : begin + settings.batch], settings)
                progress(len(captions) / shard.documents)
        finally:
            model.train(was_training)
        return captions

    @torch.inference_mode()
    def describe_pictures(self, model: Any, pictures_BSSC: np.ndarray, settings: EvaluationSpec) -> list[str]:
        """The best caption of each picture of a batch, by beam search."""
        assert self.tokenizer is not None
        device = next(model.parameters()).device
        conditioned = model.condition_on(normalise_pictures(pictures_BSSC).to(device))
        options = BeamOptions(settings.beams, settings.length_penalty, self.max_length)
        prompts = [[self.end] for _ in range(len(pictures_BSSC))]
        found = search(conditioned, prompts, options, (self.end,), self.context, self.tokenizer.vocabulary)
        return [self.tokenizer.decode(best[0].tokens) if best else "" for best in found]

    def _score_captions(
        self, model: nn.Module, shard: Shard, settings: EvaluationSpec, forward: Forward | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each caption, its loss in nats and its number of predictions."""
        device, was_training = next(model.parameters()).device, model.training
        nats, counts = np.zeros(shard.documents), np.zeros(shard.documents)
        order = np.argsort(self.example_lengths(shard), kind="stable")
        model.eval()
        try:
            with torch.inference_mode():
                for begin in range(0, len(order), settings.batch):
                    index = order[begin : begin + settings.batch]
                    batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
                    targets = batch["targets"]
                    logits = (forward or model)(batch["pictures"], batch["inputs"])
                    losses = target_losses(logits.flatten(0, 1), targets.flatten())
                    nats[index] = losses.view(targets.shape).double().sum(1).cpu().numpy()
                    counts[index] = (targets != IGNORED).sum(1).cpu().numpy()
        finally:
            model.train(was_training)
        return nats, counts
