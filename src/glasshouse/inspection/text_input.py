"""One text as the input of a run's model, and what the model predicts from it: the same interface for every kind of model.

Axes: N copies of the text, T time, R predictions, V outputs (tokens of the vocabulary, classes or pictures), D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from glasshouse import formatting
from glasshouse.generation import text_stream
from glasshouse.inspection import held_out_pictures
from glasshouse.inspection.example_batches import refuse_pictures
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.heads.pooling import pool
from glasshouse.models.recurrent import Recurrent
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.match import normalise_pictures
from glasshouse.tasks.translate import Translate

# A dual encoder compares a text with this number of held-out pictures.
PICTURES = 64


@dataclass(frozen=True)
class Stack:
    """A stack of layers that reads a sequence: the prefix of its probes ("encoder."), and the tokens that it reads."""

    prefix: str
    tokens: tuple[str, ...]
    outputs: tuple[str, ...]  # the probe of the state after each layer

    def stream_probes(self) -> list[tuple[str, str]]:
        layers = [(f"layer {number}", name) for number, name in enumerate(self.outputs, 1)]
        return [("embedding", f"{self.prefix}embedded"), *layers]


@dataclass(frozen=True)
class Prediction:
    """One output of the model at one position: the next token after a token, a masked token, a class or a picture."""

    row: int
    output: int
    name: str
    probability: float
    logit: float


class TextInput:
    """A text as a run's model reads it. An encoder-decoder reads a source, and its own translation as the target."""

    def __init__(self, run: Run, text: str | Sequence[int]) -> None:
        """The text can be passed as the token ids of a source, which are truncated to what a translator reads."""
        refuse_pictures(run)
        self.run, self.model = run, run.model
        # The tokens before a decoder-only translation; 0 for every other model.
        self.prompt_length = 0
        # The tokens of a translation, with its end if it has one.
        self.generated: list[int] = []
        if isinstance(run.task, Translate):
            self.source, self.ids = self._translation(run.task, text)
        else:
            self.source, self.ids = [], self._ids(text) if isinstance(text, str) else [int(token) for token in text]
        check_length(run, len(self.ids), run.spec.data.context)

    def _ids(self, text: str) -> list[int]:
        tokenizer = self.run.tokenizer
        if not text:
            raise GlasshouseError("the text is empty, and there is nothing to look at; pass a text")
        if self.predicts == "next":
            return text_stream.encode_prompt(tokenizer, text)
        before, after = tokenizer.prefix_and_suffix
        return [*before, *(int(token) for token in tokenizer.encode(text)), *after]

    def _translation(self, task: Translate, text: str | Sequence[int]) -> tuple[list[int], list[int]]:
        """(source, input of the decoder) with the translation that the evaluation of the run would give."""
        encoded = self.run.tokenizer.encode(text, specials=False) if isinstance(text, str) else text
        source = [int(token) for token in encoded]
        if not source:
            raise GlasshouseError("the text is empty, and there is nothing to look at; pass a text")
        if isinstance(text, str):
            check_length(self.run, len(source), task.max_lengths[0])
        source = source[: task.max_lengths[0]]
        hypotheses = task.search(self.model, [source], task.beam_options(self.run.spec.evaluation))[0]
        target = list(hypotheses[0].tokens) if hypotheses else []
        self.generated = [*target, task.end] if not hypotheses or hypotheses[0].ended else target
        if task.decoder_only:
            prompt = task.decoder_prompts([source])[0]
            self.prompt_length = len(prompt)
            return [], prompt + target
        return task.encoder_inputs([source])["source"][0].tolist(), [task.end, *target]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of all sequences that the model embeds, in the order in which it embeds them."""
        return token_texts(self.run, [*self.source, *self.ids])

    @cached_property
    def predicts(self) -> str:
        """What the head predicts: "next" token, "own" token (a masked one), or one output for the "whole" text."""
        kind = self.model.head.predicts
        return "whole" if kind == "pairs" else kind

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks that read texts, in the order of the forward pass; the last one leads to the prediction."""
        sequences = {prefix: self.source if prefix == "encoder." else self.ids for prefix in self.model.text_stacks}
        return tuple(
            Stack(prefix, token_texts(self.run, ids), tuple(self.model.layer_outputs(prefix)))
            for prefix, ids in sequences.items()
        )

    @property
    def recurrent(self) -> bool:
        return isinstance(self.model, Recurrent)

    @property
    def embedding(self) -> str:
        """The name of the module that embeds the tokens."""
        return "text.embedding" if isinstance(self.model, DualEncoder) else "embedding"

    @property
    def rows(self) -> tuple[str, ...]:
        """The token at which each prediction is made; one empty text if there is one prediction for the whole text."""
        return ("",) if self.predicts == "whole" else token_texts(self.run, self.ids)

    @cached_property
    def _pictures(self) -> tuple[Tensor, list[str]]:
        """(features of the held-out pictures that the text is compared with, their names)."""
        assert isinstance(self.model, DualEncoder)
        pictures, captions = held_out_pictures.held_out(self.run)
        # A tensor that is made in inference mode cannot take part in a later backward pass.
        with torch.inference_mode(False), torch.no_grad():
            features = self.model.encode_pictures(normalise_pictures(pictures[:PICTURES]).to(self.run.device))
        return features, [f"picture {index}: {caption}" for index, caption in enumerate(captions[:PICTURES])]

    @torch.no_grad()
    def token_evidence(self, prediction: Prediction) -> Tensor:
        """What each token adds to the predicted logit beside the network, in the wide part of a classifier; else zeros."""
        evidence = self.model.head.token_evidence(torch.tensor([self.ids], device=self.run.device))
        if evidence is None:
            return torch.zeros(len(self.source) + len(self.ids))
        return evidence[0, :, prediction.output].float().cpu()

    def forward(self, copies: int = 1) -> Tensor:
        """The logits (N, R, V) of equal copies of the text. Probes can give each copy other activations."""
        sequences = [self.source, self.ids] if self.model.reads == "source" else [self.ids]
        inputs = [torch.tensor([ids], device=self.run.device).expand(copies, -1) for ids in sequences]
        if isinstance(self.model, DualEncoder):
            return self.model.logits(self.model.head(self.model.encode_text(*inputs), self._pictures[0]))[:, None]
        output = self.model(*inputs)
        return output[:, None] if self.predicts == "whole" else self._known(output)

    def _known(self, logits_NTV: Tensor) -> Tensor:
        """Without the outputs that stand for no token: a vocabulary may be padded to a round size."""
        return logits_NTV[..., : self.run.tokenizer.vocabulary]

    def project(self, stream_NTD: Tensor) -> Tensor:
        """The logits (N, R, V) that the head gives for a state of the residual stream, after the final norm.

        What the tokens themselves add, as in the wide part of a classifier, is in them.
        """
        model = self.model
        features = model.final_norm_of(stream_NTD)
        if isinstance(model, DualEncoder):
            return model.head(pool(features, model.pooling), self._pictures[0])[:, None]
        ids = torch.tensor([self.ids], device=self.run.device).expand(len(features), -1)
        output = model.head.add_token_evidence(model.head(features, model.token_embedding.weight), ids)
        return output[:, None] if self.predicts == "whole" else self._known(output)

    def output_name(self, output: int) -> str:
        """The text of a token, the name of a class, or the number and caption of a picture."""
        if isinstance(self.model, DualEncoder):
            return self._pictures[1][output]
        if names := self.run.task.output_names:
            return names[output]
        return token_texts(self.run, [output])[0]

    def prediction(self, position: int | None = None, target: str | None = None) -> Prediction:
        """The prediction at a position, counted from 1; by default the last, or that of the first masked token.

        `target` names the output to look at, by default the one with the largest logit.
        """
        with torch.inference_mode():
            logits_RV = self.forward()[0].float()
        row = self._row(position, len(logits_RV))
        output = int(logits_RV[row].argmax()) if target is None else self._output(target)
        probability = float(self.run.task.probabilities(logits_RV[row])[output])
        return Prediction(row, output, self.output_name(output), probability, float(logits_RV[row, output]))

    def _row(self, position: int | None, rows: int) -> int:
        if position is not None:
            if not 1 <= position <= rows:
                raise GlasshouseError(
                    f"position {position} is not one of the {rows} predictions of this text; choose 1 to {rows}"
                )
            return position - 1
        if self.predicts == "own" and self.run.tokenizer.mask in self.ids:
            return self.ids.index(self.run.tokenizer.mask)
        return rows - 1

    def _output(self, target: str) -> int:
        if isinstance(self.model, DualEncoder):
            count, number = len(self._pictures[1]), formatting.read_count(target)
            if number is None or number >= count:
                raise GlasshouseError(f"there is no picture {target!r}; choose a number from 0 to {count - 1}")
            return number
        if names := self.run.task.output_names:
            if target not in names:
                raise GlasshouseError(f"{self.run.name} has no class {target!r}; its classes are: {', '.join(names)}")
            return names.index(target)
        tokens = [int(token) for token in self.run.tokenizer.encode(target)]
        if len(tokens) != 1:
            pieces = " ".join(map(repr, token_texts(self.run, tokens)))
            raise GlasshouseError(f"target {target!r} is {len(tokens)} tokens and must be one: {pieces}; choose one of them")
        return tokens[0]


def check_length(run: Run, tokens: int, limit: int) -> None:
    """Refuse a text that is longer than the run's model was trained to read."""
    if tokens > limit:
        raise GlasshouseError(f"the text has {tokens} tokens and {run.name} has data.context={limit}; shorten the text")


def token_texts(run: Run, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(run.tokenizer.token_bytes(token).decode("utf-8", "replace") for token in ids)
