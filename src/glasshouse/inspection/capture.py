"""Read or replace any activation of a model by its name, without changing the model."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError


@contextmanager
def capture(model: nn.Module, *names: str) -> Iterator[dict[str, Tensor]]:
    """Record the outputs of the named probes during the forward passes of the block. A later pass replaces an earlier one.

    A name is the path of a probe or a module in the model, such as `blocks.2.attention.weights`. `*` matches any text
    without a dot, and `**` matches any text.
    Capturing `scores` or `weights` makes that attention compute them explicitly instead of using the fused kernel.
    """
    activations: dict[str, Tensor] = {}

    def record(name: str, _: nn.Module, __: Any, output: Any) -> None:
        activations[name] = output

    with ExitStack() as hooks:
        for name in matching_probes(model, *names):
            hooks.enter_context(model.get_submodule(name).register_forward_hook(partial(record, name)))
        yield activations


@contextmanager
def edit(model: nn.Module, edits: Mapping[str, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Replace activations during the forward passes of the block: `edits` maps a name to a function of the activation.

    Names are those of `capture`. The function returns a tensor of the same shape.
    """

    def replace(name: str, function: Callable[[Tensor], Tensor], _: nn.Module, __: Any, output: Any) -> Tensor:
        edited = function(output)
        if edited.shape != output.shape:
            raise GlasshouseError(f"the edit of {name!r} gave {tuple(edited.shape)}; return the shape {tuple(output.shape)}")
        return edited

    with ExitStack() as hooks:
        for pattern, function in edits.items():
            for name in matching_probes(model, pattern):
                hooks.enter_context(model.get_submodule(name).register_forward_hook(partial(replace, name, function)))
        yield


def probes(model: nn.Module) -> list[str]:
    """Every name that `capture` accepts, in the order of the model's modules."""
    return [name for name, module in model.named_modules() if name and type(module).forward is not nn.Module.forward]


def matching_probes(model: nn.Module, *patterns: str) -> list[str]:
    """The names that match any of the patterns of `capture`; an error if one matches none."""
    available = probes(model)
    selected: dict[str, None] = {}
    for pattern in patterns:
        expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^.]*")
        matches = [name for name in available if re.fullmatch(expression, name)]
        if not matches:
            suggestion = catalogue.did_you_mean(pattern, available)
            raise GlasshouseError(f"the model has no probe {pattern!r}{suggestion}; capture.probes(model) lists them")
        selected |= dict.fromkeys(matches)
    return list(selected)
