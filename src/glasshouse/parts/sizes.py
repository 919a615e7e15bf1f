"""The sizes of a model, and how a part is built with them. A part's own settings are declared on its class."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """What parts and heads are built with. A part is given what its constructor names. `tied`: a head uses the embedding."""

    width: int
    heads: int = 1
    context: int = 1
    feed_forward: int = 1
    bias: bool = False
    dropout: float = 0.0
    causal: bool = True
    head_width: int = 0
    epsilon: float = 1e-5
    embedding_deviation: float = 0.0
    vocabulary: int = 0
    tied: bool = True

    def __post_init__(self) -> None:
        if not self.head_width:
            object.__setattr__(self, "head_width", self.width // self.heads)

    def build(self, part: type, settings: Any, **parts: Any) -> Any:
        """A part with the sizes, the settings and the other parts that its constructor names."""
        known = {**vars(self), **vars(settings), **parts}
        return part(**{name: known[name] for name in _parameters(part) if name in known})


def _parameters(part: type) -> Iterator[str]:
    """The names of a constructor's parameters, and of the one that it hands its `**options` on to."""
    for kind in part.__mro__:
        if "__init__" in vars(kind):
            parameters = signature(vars(kind)["__init__"]).parameters
            yield from parameters
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
                return
