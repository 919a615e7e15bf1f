"""The attention heads of a model by name (`blocks.0.attention.2`, counted from 1), and how their weights are removed."""

from collections.abc import Iterable
from typing import cast

from torch import nn

from glasshouse import formatting
from glasshouse.parts.attention.base import Attention
from glasshouse.specs.errors import SpecError


def layer_number(attention: str) -> int:
    """The layer of an attention, counted from 1: "decoder.blocks.1.cross_attention.attention" -> 2."""
    return next((int(part) + 1 for part in attention.split(".") if part.isdigit()), 1)


def stack_title(attention: str) -> str:
    """Which of several attentions of a layer it is: "encoder", "decoder cross" or "text"; empty if there is only one."""
    side = attention.split(".")[0]
    words = [side] if side in ("encoder", "decoder", "text", "image") else []
    return " ".join([*words, *["cross"] * ("cross_attention" in attention)])


def attentions(model: nn.Module) -> list[str]:
    """The names of the attentions of a model that have heads, in the order of the forward pass."""
    return [name for name, module in model.named_modules() if isinstance(module, Attention)]


def remove_heads(model: nn.Module, heads: Iterable[str]) -> None:
    """Remove these heads from a model that has all of them."""
    by_attention: dict[str, set[int]] = {}
    known = attentions(model)
    for head in heads:
        name, _, number = head.rpartition(".")
        if name not in known or not 1 <= (formatting.read_count(number) or 0) <= _attention(model, name).heads:
            remedy = f"name heads as {known[0]}.1" if known else "leave it out"
            raise SpecError(f"model.pruned_heads has {head!r}, which the model does not have; {remedy}")
        by_attention.setdefault(name, set()).add(int(number) - 1)
    for name, removed in by_attention.items():
        attention = _attention(model, name)
        kept = [head for head in range(attention.heads) if head not in removed]
        if not kept:
            raise SpecError(f"model.pruned_heads has all {attention.heads} heads of {name}; an attention must keep one head")
        attention.keep_heads(kept, name)


def _attention(model: nn.Module, name: str) -> Attention:
    return cast(Attention, model.get_submodule(name))
