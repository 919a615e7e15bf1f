"""Match: which text goes with which picture (Radford et al., CLIP, 2021).

Every text of a batch is held against every picture of it. Pictures with the same caption are all right answers to it.
Axes: N texts, M pictures, S pixels.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.data.batches import Seed
from glasshouse.data.prepared_data import PreparedData
from glasshouse.data.shards import Shard
from glasshouse.metrics.metric import EXAMPLES, LOSS, Metric, Metrics
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import EvaluationSpec, ModelSpec, Spec
from glasshouse.tasks.base import Batch, Forward, QualityCurves, Task
from glasshouse.tasks.classify import padded
from glasshouse.tokenizers import Tokenizer

# Texts held against all pictures of a split at once, when that is large.
BLOCK = 1024
# k of recall@k: a retrieval is right where a right answer is among the first k.
FIRST = (1, 5)
TEXT_TO_IMAGE_1 = Metric("retrieval_1", "text-to-image recall@1", "{:.2%}", "higher")
TEXT_TO_IMAGE_5 = Metric("retrieval_5", "text-to-image recall@5", "{:.2%}", "higher")
IMAGE_TO_TEXT_1 = Metric("picture_to_text_1", "image-to-text recall@1", "{:.2%}", "higher")
IMAGE_TO_TEXT_5 = Metric("picture_to_text_5", "image-to-text recall@5", "{:.2%}", "higher")
RECALL_1 = Metric("recall_1", "recall@1 both ways", "{:.2%}", "higher")


def normal(pictures_MSSC: np.ndarray) -> Tensor:
    """Pictures in bytes as a model takes them: (M, C, S, S), from -1 to 1."""
    return torch.from_numpy(np.array(pictures_MSSC)).permute(0, 3, 1, 2).float() / 127.5 - 1


def symmetric_loss(scores_NN: Tensor, captions: Tensor) -> Tensor:
    """The mean of both directions' cross-entropies; the right answer is shared evenly among equal captions."""
    same = (captions[:, None] == captions[None, :]).float()
    wanted = same / same.sum(1, keepdim=True)
    both = (-(wanted * scores.log_softmax(1)).sum(1).mean() for scores in (scores_NN, scores_NN.T))
    return sum(both, torch.zeros((), device=scores_NN.device)) / 2


class Match(Task):
    """Symmetric cross-entropy of which picture belongs to a text, and which text to a picture.

    The best checkpoint has the highest recall@1, as the mean of both directions.
    """

    metrics = Metrics(
        [TEXT_TO_IMAGE_1, TEXT_TO_IMAGE_5, IMAGE_TO_TEXT_1, IMAGE_TO_TEXT_5, RECALL_1, LOSS, EXAMPLES],
        headline=("retrieval_1", "picture_to_text_1"),
    )
    criterion = "recall_1"
    quality = QualityCurves(
        "recall@1",
        {"text to image": "validation.retrieval_1", "image to text": "validation.picture_to_text_1"},
    )
    columns = ("picture",)

    def __init__(self, context: int, size: int, rows: int) -> None:
        self.context, self.size, self.rows = context, size, rows
        self.frame: tuple[list[int], list[int]] = ([], [])

    @classmethod
    def from_spec(cls, spec: Spec) -> "Match":
        accumulation = spec.training.gradient_accumulation
        if accumulation > 1:
            raise SpecError(
                "batch-not-additive",
                f"training.gradient_accumulation={accumulation} does not go with task='match': every text is held against "
                "every picture of its batch, so that the loss of a batch is not the sum of its parts'; choose 1",
            )
        return cls(spec.data.context, settings_of(DualEncoder, spec.model.own).image_size, spec.training.batch)

    def check_model(self, model: nn.Module, kind: str) -> None:
        if not isinstance(model, DualEncoder):
            raise SpecError(
                "model-does-not-fit-task",
                f"task='match' asks which text goes with which picture, which model.kind={kind!r} does not say; "
                "choose model.kind=dual-encoder",
            )

    def set_vocabulary(self, tokenizer: Tokenizer, labels: tuple[str, ...]) -> None:
        self.frame = tokenizer.frame

    def complete_model(self, model: ModelSpec, prepared: PreparedData) -> ModelSpec:
        train = prepared.splits["train"]
        if train.documents < 2:
            raise DataError(
                "no-rows", "a picture is matched among others, and there are fewer than two to train on; give more"
            )
        check_size(model, train.pictures.shape[1])
        self.set_vocabulary(prepared.tokenizer, prepared.labels)
        return model

    def example_count(self, shard: Shard) -> int:
        return shard.documents

    def batch(self, shard: Shard, seed: Seed, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        texts = shard.texts(examples)
        return {
            **padded(texts, self.frame, self.context),
            "pictures": normal(shard.pictures[examples]),
            "captions": _numbered(texts),
        }

    def predictions_per_batch(self, batches: Batch) -> Tensor:
        return torch.full((len(batches["captions"]),), batches["captions"].shape[1])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        scores = model(batch["tokens"], batch["pictures"], lengths=batch["lengths"]).float()
        return symmetric_loss(scores, batch["captions"]) * len(scores)

    def batch_tokens(self, batch: int) -> int:
        return batch * self.context

    def largest_batch(self, rows: int) -> Batch:
        return {
            "tokens": torch.zeros(rows, self.context, dtype=torch.int64),
            "lengths": torch.full((rows,), self.context),
            "pictures": torch.zeros(rows, 3, self.size, self.size),
            "captions": torch.zeros(rows, dtype=torch.int64),
        }

    def output_size(self, rows: int, vocabulary: int) -> int:
        return rows * rows

    def evaluation_tokens(self, splits: Mapping[str, Shard], settings: EvaluationSpec, rounds: int) -> int:
        validation, test = (splits[split].documents * self.context for split in ("validation", "test"))
        return (rounds + 1) * validation + test

    def evaluate(
        self,
        model: nn.Module,
        shard: Shard,
        settings: EvaluationSpec,
        final: bool,
        progress: Callable[[float], None] = lambda share: None,
        forward: Forward | None = None,
    ) -> dict[str, float]:
        """Retrieval both ways over the whole split; the loss among as many as a training batch has, to compare with it."""
        assert isinstance(model, DualEncoder)
        captions = _numbered([shard.document(index).tolist() for index in range(shard.documents)])
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                texts, pictures = self._vectors(model, shard, settings.batch, progress)
                scale = model.head.scale.exp().float()
                parts = torch.arange(shard.documents).chunk(max(1, round(shard.documents / self.rows)))
                losses = [
                    symmetric_loss(scale * texts[part] @ pictures[part].T, captions[part].to(texts.device)) * len(part)
                    for part in parts
                ]
        finally:
            model.train(was_training)
        found = {"loss": float(sum(losses)) / shard.documents}
        for name, ranks in (
            ("retrieval", ranked(texts, pictures, captions)),
            ("picture_to_text", ranked(pictures, texts, captions)),
        ):
            found |= {f"{name}_{first}": float((ranks < first).float().mean()) for first in FIRST}
        both = (found["retrieval_1"] + found["picture_to_text_1"]) / 2
        return {**found, "recall_1": both, "examples": float(shard.documents)}

    def example_command(self, run: str, prompt: str) -> str:
        return f"glasshouse prompt {run}"

    def _vectors(
        self, model: DualEncoder, shard: Shard, rows: int, progress: Callable[[float], None]
    ) -> tuple[Tensor, Tensor]:
        """Texts and pictures of a split in the space where they meet, all of length one."""
        device = next(model.parameters()).device
        found: list[tuple[Tensor, Tensor]] = []
        for begin in range(0, shard.documents, rows):
            index = np.arange(begin, min(begin + rows, shard.documents))
            batch = {name: value.to(device) for name, value in self.batch(shard, 0, index * 0, index).items()}
            text = model.head.text(model.of_text(batch["tokens"], batch["lengths"]))
            picture = model.head.image(model.of_pictures(batch["pictures"]))
            found.append((nn.functional.normalize(text.float(), dim=-1), nn.functional.normalize(picture.float(), dim=-1)))
            progress((index[-1] + 1) / shard.documents)
        texts, pictures = zip(*found, strict=True)
        return torch.cat(texts), torch.cat(pictures)

    def truncated(self, shard: Shard) -> int:
        room = self.context - sum(map(len, self.frame))
        return int((np.diff(shard.starts) - (shard.mark is not None) > room).sum()) if shard.documents else 0


def ranked(asking: Tensor, answers: Tensor, captions: Tensor) -> Tensor:
    """For each that asks, how many wrong answers score at least as high as its best right one."""
    found = []
    for begin in range(0, len(asking), BLOCK):
        scores = asking[begin : begin + BLOCK] @ answers.T
        same = (captions[begin : begin + BLOCK, None] == captions[None]).to(scores.device)
        best = scores.masked_fill(~same, -torch.inf).amax(1, keepdim=True)
        found.append(((scores >= best) & ~same).sum(1).cpu())
    return torch.cat(found)


def check_size(model: ModelSpec, size: int) -> None:
    """Raise SpecError where pictures are not of the size that the model takes."""
    settings = settings_of(DualEncoder, model.own)
    if size != settings.image_size:
        raise SpecError(
            "picture-size-differs",
            f"the pictures have {size} pixels along each side, and model.image_size={settings.image_size}; set one of them: "
            f"model.image_size={size} or data.picture_size={settings.image_size}",
        )
    if settings.image_channels != 3:
        raise SpecError(
            "picture-size-differs",
            f"model.image_channels={settings.image_channels}, but pictures have 3 (red, green, blue); choose 3",
        )


def _numbered(texts: list[list[int]]) -> Tensor:
    """A number for each text, the same for equal ones."""
    numbers: dict[tuple[int, ...], int] = {}
    return torch.tensor([numbers.setdefault(tuple(text), len(numbers)) for text in texts])
