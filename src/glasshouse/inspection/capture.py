"""Capture: read any activation of a model by its name, without changing the model."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from glasshouse.specs import catalogue
from glasshouse.specs.errors import GlasshouseError


@contextmanager
def capture(model: nn.Module, *names: str) -> Iterator[dict[str, Tensor]]:
    """Whatever passes the named places in the block's forward passes, by name; the latest pass wins.

    A name is a probe's or a module's path in the model, such as `blocks.2.attention.weights`; `*` stands for anything
    between two dots, `**` for anything.
    Watching `scores` or `weights` makes that attention compute them, exactly, instead of using the fused kernel.
    """
    seen: dict[str, Tensor] = {}
    handles = []
    for name in _matching(model, names):

        def look(_: nn.Module, __: Any, output: Any, name: str = name) -> None:
            seen[name] = output

        handles.append(model.get_submodule(name).register_forward_hook(look))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def probes(model: nn.Module) -> list[str]:
    """Every name that `capture` takes, in the order of the model."""
    return [name for name, module in model.named_modules() if name and type(module).forward is not nn.Module.forward]


def _matching(model: nn.Module, names: tuple[str, ...]) -> list[str]:
    known = probes(model)
    found: list[str] = []
    for pattern in names:
        rule = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^.]*")
        matches = [name for name in known if re.fullmatch(rule, name)]
        if not matches:
            raise GlasshouseError(
                "unknown-probe",
                f"the model has no place called {pattern!r}{catalogue.nearest(pattern, known)} "
                "(glasshouse.inspection.capture.probes(model) lists them)",
            )
        found += [name for name in matches if name not in found]
    return found
