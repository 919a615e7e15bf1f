"""The sizes a part may need when it is built from a spec, and nothing else of the spec."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What `Part.build` is given. A part takes what it needs and refuses, with SpecError, what it cannot be.

    `context` is the longest sequence in training, `causal` says whether tokens see only those before them,
    `feed_forward_layers` how many inner layers of the size `feed_forward` there are; 0 for `key_value_heads`, `window` and
    `rank` leaves the choice to the part.
    """

    width: int
    heads: int
    context: int
    feed_forward: int
    feed_forward_layers: int = 1
    bias: bool = False
    dropout: float = 0.0
    causal: bool = True
    head_width: int = 0
    key_value_heads: int = 0
    window: int = 0
    rank: int = 0
    rotary_base: float = 10000.0
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if not self.head_width:
            object.__setattr__(self, "head_width", self.width // self.heads)
