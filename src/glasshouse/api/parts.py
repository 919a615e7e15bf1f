"""Public functions that list the parts that a spec can name, with their settings and the capabilities they lack."""

from glasshouse.models import part_list
from glasshouse.models.part_list import PartEntry
from glasshouse.parts.capabilities import CAPABILITIES
from glasshouse.specs import catalogue


def part_families() -> dict[str, tuple[str, list[str]]]:
    """Family -> the field of a spec that selects one of its parts, and the values that this field may have."""
    return {family: (field, catalogue.names(family)) for family, field in part_list.FAMILIES.items()}


def parts_of(family: str) -> list[PartEntry]:
    """Every part of a family, such as attention or position."""
    return part_list.entries(family)


def capabilities() -> dict[str, str]:
    """Capability -> its meaning. A part may lack a capability."""
    return dict(CAPABILITIES)
