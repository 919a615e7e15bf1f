"""Claim: an encoder with a causal mask suffices for language modelling. It is the same function as the decoder."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse import models
from glasshouse.claims.attention import catalogue_models
from glasshouse.claims.attention.catalogue_models import CONTEXT, HEADS, VOCABULARY, WIDTH
from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero

# The small language: each token is followed by one fixed token with this probability, otherwise by any token.
CERTAINTY = 0.8
STEPS = 40
SHOWN_STEPS = (1, 5, 10, 20, 30, 40)
DECODER, ENCODER = "decoder", "encoder with a causal mask"
# Two results in float64 that differ by less are the same result, rounded in another order.
ROUNDING = 1e-10


class EncoderAsLM(RandomCheck):
    """Gives decoders and encoders the same parameters, and trains one of each side by side."""

    group = GROUPS[0]
    statement = "An encoder with a causal mask suffices for language modelling."
    source = "course work on attention: a question on encoders and decoders"
    reported = "asserted"
    why = "The blocks of an encoder and of a decoder without cross-attention differ in nothing but the mask."
    procedure = (
        "A random decoder and an encoder with a causal mask get the same parameters and read the same random tokens: "
        "logits, loss and every gradient must be equal in every bit. Each draw does so for a random quarter of all "
        "attentions and positions of the catalogue that allow a causal mask. PyTorch's own nn.TransformerEncoder with a "
        "causal mask, an independent program, gets the parameters of a decoder and must give its logits to 1e-10 in "
        "float64. A decoder and an encoder are then trained for 40 steps on a small language whose entropy is known: "
        "every loss must be equal in every bit. Beside it, the same encoder without the mask, which must give other "
        "logits."
    )
    would_change = "A decoder that also reads another sequence by cross-attention: an encoder has no part for that."
    looks = (32,)
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "logits": Quantity("logits that differ", "count", "numbers"),
        "losses": Quantity("losses that differ", "count", "numbers"),
        "gradients": Quantity("gradients that differ", "count", "numbers"),
        "torch": Quantity("logits of nn.TransformerEncoder that differ by more than 1e-10", "count", "numbers"),
        "training": Quantity("losses in training that differ", "count", f"of {STEPS} steps"),
        "unmasked": Quantity("encoders without the mask that give the logits of the decoder", "count", "encoders"),
        "entropy": Quantity("entropy of the small language, the lowest possible loss", "entropy", "nats per token"),
        **{
            f"{model}/{step}": Quantity(f"loss in step {step}, {model}", "training loss", "nats per token")
            for model in (DECODER, ENCODER)
            for step in SHOWN_STEPS
        },
    }
    parts = (
        zero("logits", name="the same parameters give the same logits"),
        zero("losses", name="the same parameters give the same losses"),
        zero("gradients", name="the same parameters give the same gradients"),
        zero("torch", name="PyTorch's encoder with a causal mask gives the logits of the decoder"),
        zero("training", name="trained side by side, both have the same loss in every step"),
        zero("unmasked", name="control: without the mask no encoder gives the logits of the decoder", decides=False),
    )
    figures = (
        LineFigure(
            "training",
            "step",
            "training loss, nats per token",
            {
                **{model: {step: f"{model}/{step}" for step in SHOWN_STEPS} for model in (DECODER, ENCODER)},
                "entropy of the language": dict.fromkeys(SHOWN_STEPS, "entropy"),
            },
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        values = dict.fromkeys(("logits", "losses", "gradients", "unmasked"), 0.0)
        for pair in catalogue_models.draw_combinations("decoder", True, generator):
            fields = catalogue_models.random_fields(generator)
            decoder = catalogue_models.random_model(catalogue_models.model_spec("decoder", True, *pair, **fields), generator)
            encoder: Any = models.build(
                catalogue_models.model_spec("encoder", True, *pair, **fields), VOCABULARY, CONTEXT
            ).eval()
            encoder.load_state_dict(decoder.state_dict())
            tokens = catalogue_models.random_tokens(generator)
            for key, left, right in zip(
                ("logits", "losses", "gradients"), _results(decoder, tokens), _results(encoder, tokens), strict=True
            ):
                values[key] += differing(left, right, tolerance=0.0)
            encoder.causal = False
            with torch.inference_mode():
                values["unmasked"] += float(differing(decoder(tokens), encoder(tokens)) == 0)
        values["torch"] = _differing_from_torch(generator)
        losses = _train_both(generator)
        values["training"] = float(sum(left != right for left, right in zip(*losses, strict=True)))
        for model, curve in zip((DECODER, ENCODER), losses, strict=True):
            values |= {f"{model}/{step}": curve[step - 1] for step in SHOWN_STEPS}
        return {**values, "entropy": language_entropy()}


def _results(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(logits, loss, all gradients in one vector) of a model that predicts each next token."""
    logits = model(tokens)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return logits.detach(), loss.detach(), torch.cat([gradient.flatten() for gradient in gradients])


def _differing_from_torch(generator: torch.Generator) -> float:
    pre_norm, exact_gelu = bool(draw(generator, 0, 1)), bool(draw(generator, 0, 1))
    position = ("learned", "sinusoidal", "one-hot", "none")[draw(generator, 0, 3)]
    fields = {"connection": "pre-norm" if pre_norm else "post-norm", "bias": True, "layers": draw(generator, 1, 3)}
    spec = catalogue_models.model_spec(
        "decoder", True, "dot-product", position, activation="gelu-exact" if exact_gelu else "relu", **fields
    )
    decoder: Any = catalogue_models.random_model(spec, generator).double()
    tokens = catalogue_models.random_tokens(generator)
    with torch.inference_mode():
        return differing(decoder(tokens), _torch_logits(decoder, tokens, pre_norm, exact_gelu), ROUNDING)


def _torch_logits(decoder: Any, tokens: Tensor, pre_norm: bool, exact_gelu: bool) -> Tensor:
    """The logits if the decoder's blocks are replaced by an nn.TransformerEncoder with the same parameters."""
    activation = "gelu" if exact_gelu else "relu"
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, 0.0, activation, batch_first=True, norm_first=pre_norm, dtype=torch.float64
    )
    encoder: Any = nn.TransformerEncoder(layer, len(decoder.blocks), enable_nested_tensor=False).eval()
    for theirs, ours in zip(encoder.layers, decoder.blocks, strict=True):
        theirs.self_attn.in_proj_weight.copy_(ours.attention.projection.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.attention.projection.bias)
        pairs = (
            (theirs.self_attn.out_proj, ours.attention.output),
            (theirs.linear1, ours.feed_forward.up),
            (theirs.linear2, ours.feed_forward.down),
            (theirs.norm1, ours.attention_connection.norm),
            (theirs.norm2, ours.feed_forward_connection.norm),
        )
        for to, module in pairs:
            to.weight.copy_(module.weight)
            to.bias.copy_(module.bias)
    x = decoder.position.embed(decoder.embedding(tokens), torch.arange(tokens.shape[1]))
    mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=torch.float64)
    return decoder.project(decoder.final_norm(encoder(x, mask=mask)))


def language_entropy() -> float:
    """The entropy of the next token of the small language, in nats."""
    other = (1 - CERTAINTY) / VOCABULARY
    likely = CERTAINTY + other
    return -likely * math.log(likely) - (VOCABULARY - 1) * other * math.log(other)


def random_language(generator: torch.Generator, sequences: int, length: int) -> Tensor:
    """Random sequences (sequences, length) of one small language: the fixed successor of each token is random."""
    successor = torch.randperm(VOCABULARY, generator=generator)
    tokens = [torch.randint(0, VOCABULARY, (sequences,), generator=generator)]
    for _ in range(length - 1):
        certain = torch.rand(sequences, generator=generator) < CERTAINTY
        anything = torch.randint(0, VOCABULARY, (sequences,), generator=generator)
        tokens.append(torch.where(certain, successor[tokens[-1]], anything))
    return torch.stack(tokens, 1)


def _train_both(generator: torch.Generator) -> tuple[list[float], list[float]]:
    """The losses of a decoder and of an encoder with a causal mask, trained on the same batches from the same weights."""
    seed = draw(generator, 0, 2**31 - 1)
    batches = random_language(generator, 16 * STEPS, 32).chunk(STEPS)
    curves = []
    for kind in ("decoder", "encoder"):
        spec = catalogue_models.model_spec(kind, True, "dot-product", "rotary", layers=1, width=16)
        model = models.build(spec, VOCABULARY, CONTEXT, seed)
        optimiser = torch.optim.AdamW(model.parameters(), 2e-2)
        losses = []
        for batch in batches:
            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        curves.append(losses)
    return curves[0], curves[1]
