"""The sizes a part may need when it is built from a spec, and nothing else of the spec."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What `Part.build` is given. A part takes what it needs and refuses, with SpecError, what it cannot be."""

    width: int
    heads: int
    context: int
    feed_forward: int
    layers: int
    bias: bool
    dropout: float

    @property
    def head_width(self) -> int:
        return self.width // self.heads
