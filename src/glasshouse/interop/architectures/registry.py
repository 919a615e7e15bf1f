"""All architectures, by the names that a config gives them, and which of them can say a spec of ours."""

from glasshouse.interop.architectures.bart import BART
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.bert import BERT, BERT_FOR_MASKED_TOKENS
from glasshouse.interop.architectures.canonical_spec import canonical
from glasshouse.interop.architectures.clip import CLIP
from glasshouse.interop.architectures.config_fields import values_of, with_values
from glasshouse.interop.architectures.gpt2 import GPT2
from glasshouse.interop.architectures.llama import LLAMA
from glasshouse.interop.architectures.roberta import ROBERTA, ROBERTA_FOR_MASKED_TOKENS
from glasshouse.specs.errors import CannotExport, CannotImport
from glasshouse.specs.spec import ModelSpec

# Of several that can say a spec the first is written.
ARCHITECTURES: tuple[Architecture, ...] = (
    GPT2,
    LLAMA,
    BERT_FOR_MASKED_TOKENS,
    BERT,
    ROBERTA_FOR_MASKED_TOKENS,
    ROBERTA,
    BART,
    CLIP,
)
BY_NAME = {name: architecture for architecture in ARCHITECTURES for name in architecture.names}


def find(name: str) -> Architecture:
    """The architecture of that name."""
    if name not in BY_NAME:
        raise CannotImport(
            "unsupported-architecture",
            f"the architecture {name!r} is not supported; supported: {', '.join(sorted(BY_NAME))}",
        )
    return BY_NAME[name]


def fitting(model: ModelSpec, context: int, vocabulary: int, origin: str = "") -> tuple[Architecture, ModelSpec]:
    """The architecture that can say a model, and the model as it says it; the one that it came from before others."""
    model = with_values(canonical(model, context), {})
    values = values_of(model, context, vocabulary)
    tried: list[tuple[bool, int, Architecture, list[str]]] = []
    # `sorted` keeps the order of what it finds equal.
    for architecture in sorted(ARCHITECTURES, key=lambda each: origin not in each.names):
        whole = with_values(model, {name: on for name, on in architecture.zeros.items() if not values.get(name)})
        reasons = architecture.misfits(values_of(whole, context, vocabulary))
        if architecture.returning and origin not in architecture.names:
            reasons.append(architecture.returning)
        if not reasons:
            return architecture, whole
        tried.append((model.kind not in architecture.fixed["kind"], len(reasons), architecture, reasons))
    *_, nearest, reasons = min(tried, key=lambda each: each[:2])
    raise CannotExport(
        "no-fitting-architecture",
        f"no architecture of Hugging Face can say this model; the nearest is {nearest.name}, and the run has "
        f"{'; '.join(reasons)}; train one that has, or share the run folder as it is",
    )
