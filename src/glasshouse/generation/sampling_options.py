"""The options of sampling, each declared once for the command and the functions."""

from dataclasses import dataclass

from glasshouse.specs import options
from glasshouse.specs.options import option


@dataclass(frozen=True)
class Sampling:
    """The options of sampling. They apply in the order of the fields. Temperature 0 is greedy decoding.

    The repetition penalty applies to the tokens of the prompt and the text so far, the other penalties to generated tokens.
    """

    repetition_penalty: float = option(1.0, "Above 1, tokens that occurred before become less likely.", above=0)
    presence_penalty: float = option(0.0, "Subtracted from the logit of a token that was generated.", low=-2, high=2)
    frequency_penalty: float = option(0.0, "As often as the token was generated.", low=-2, high=2)
    temperature: float = option(1.0, "The sampling temperature; 0 is greedy decoding.", low=0)
    top_k: int = option(0, "Sample from the K most likely tokens; 0 turns this off.", low=0, high=10**7)
    top_p: float = option(
        1.0, "Sample from the most likely tokens whose probabilities sum to P; 1 turns this off.", above=0, high=1
    )
    min_p: float = option(0.0, "Exclude tokens below P times the largest probability; 0 turns this off.", low=0, high=1)
    seed: int = option(0, "The random seed; the same seed gives the same text.", low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        options.check(self)
