"""The options of sampling, each declared once for the command and the functions."""

from dataclasses import dataclass

from glasshouse.specs import options
from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class Sampling:
    """The options of sampling. They apply in the order of the fields. Temperature 0 is greedy decoding.

    The repetition penalty applies to the tokens of the prompt and the text so far, the other penalties to generated tokens.
    """

    repetition_penalty: float = setting(1.0, "Above 1, tokens that occurred before become less likely.", above=0)
    presence_penalty: float = setting(0.0, "Subtracted from the logit of a token that was generated.", minimum=-2, maximum=2)
    frequency_penalty: float = setting(0.0, "As often as the token was generated.", minimum=-2, maximum=2)
    temperature: float = setting(1.0, "The sampling temperature; 0 is greedy decoding.", minimum=0)
    top_k: int = setting(0, "Sample from the K most likely tokens; 0 turns this off.", minimum=0, maximum=10**7)
    top_p: float = setting(1.0, "Sample from the likeliest tokens that reach P together; 1 is off.", above=0, maximum=1)
    min_p: float = setting(0.0, "Exclude tokens below P times the largest probability; 0 is off.", minimum=0, maximum=1)
    seed: int = setting(0, "The random seed; the same seed gives the same text.", minimum=0, maximum=2**63 - 1)

    def __post_init__(self) -> None:
        options.check(self)
