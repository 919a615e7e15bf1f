"""All supported Hugging Face architectures by name, and which of them a spec of ours can be exported to.

Another package adds an architecture by declaring an entry point in the group `glasshouse.architecture`.
"""

from glasshouse.interop.architectures.bart import BART
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.bert import BERT, BERT_FOR_MASKED_TOKENS
from glasshouse.interop.architectures.bert_heads import BERT_FOR_CLASSES, BERT_FOR_TAGS
from glasshouse.interop.architectures.canonical_spec import canonical
from glasshouse.interop.architectures.clip import CLIP
from glasshouse.interop.architectures.config_fields import FieldValues, field_values, with_field_values
from glasshouse.interop.architectures.decoder_heads import GPT2_FOR_CLASSES, LLAMA_FOR_CLASSES
from glasshouse.interop.architectures.distilbert import DISTILBERT_FOR_CLASSES, DISTILBERT_FOR_VALUES
from glasshouse.interop.architectures.gpt2 import GPT2
from glasshouse.interop.architectures.llama import LLAMA
from glasshouse.interop.architectures.roberta import ROBERTA, ROBERTA_FOR_MASKED_TOKENS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import CannotExport, CannotImport
from glasshouse.specs.spec import ModelSpec

# An export takes the first architecture that fits.
ARCHITECTURES: tuple[Architecture, ...] = (
    GPT2,
    LLAMA,
    BERT_FOR_MASKED_TOKENS,
    BERT,
    ROBERTA_FOR_MASKED_TOKENS,
    ROBERTA,
    DISTILBERT_FOR_CLASSES,
    DISTILBERT_FOR_VALUES,
    BERT_FOR_CLASSES,
    BERT_FOR_TAGS,
    GPT2_FOR_CLASSES,
    LLAMA_FOR_CLASSES,
    BART,
    CLIP,
)


def all_architectures() -> tuple[Architecture, ...]:
    """The architectures of this package, then those of other packages."""
    return (*ARCHITECTURES, *(catalogue.find("architecture", name) for name in catalogue.names("architecture")))


def by_name() -> dict[str, Architecture]:
    """Every architecture that can be imported, under each of its names in config.json."""
    known = (architecture for architecture in all_architectures() if not architecture.export_only)
    return {name: architecture for architecture in known for name in architecture.names}


def find(name: str) -> Architecture:
    """The architecture with this name in config.json."""
    known = by_name()
    if name not in known:
        raise CannotImport(f"the architecture {name!r} is not supported; supported: {', '.join(sorted(known))}")
    return known[name]


class NoFittingArchitecture(CannotExport):
    """No architecture can express a model. `changes` are the fields that would make it fit the nearest; empty if unknown."""

    def __init__(self, message: str, changes: FieldValues) -> None:
        super().__init__(message)
        self.changes = changes


def find_for_export(model: ModelSpec, context: int, vocabulary: int, origin: str = "") -> tuple[Architecture, ModelSpec]:
    """The architecture to export a model as, and the spec with every field that the architecture switches on.

    `origin` is the architecture that the model was imported from; it takes precedence.
    """
    model = with_field_values(canonical(model, context), {})
    values = field_values(model, context, vocabulary)
    rejected: list[tuple[tuple[bool, bool, int], Architecture, list[str], FieldValues]] = []
    # The sort is stable: apart from the origin, the architectures keep their order.
    for architecture in sorted(all_architectures(), key=lambda each: origin not in each.names):
        switched_on = {name: value for name, value in architecture.zero_filled_fields.items() if not values.get(name)}
        exported = with_field_values(model, switched_on)
        exported_values = field_values(exported, context, vocabulary)
        reasons = architecture.mismatches(exported_values)
        if architecture.round_trip_only and origin not in architecture.names:
            reasons.append(architecture.round_trip_only)
        if not reasons:
            return architecture, exported
        other_kind = model.kind not in architecture.fixed_fields["kind"]
        other_head = model.head.kind not in architecture.fixed_fields.get("head.kind", (model.head.kind,))
        rejected.append(((other_kind, other_head, len(reasons)), architecture, reasons, exported_values))
    (other_kind, other_head, _), nearest, reasons, values = min(rejected, key=lambda each: each[0])
    raise NoFittingArchitecture(
        f"no Hugging Face architecture can express this model; the nearest is {nearest.name}, which does not fit: "
        f"{'; '.join(reasons)}",
        {} if other_kind or other_head else nearest.changes(values),
    )
