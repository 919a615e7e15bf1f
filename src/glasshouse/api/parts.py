"""The parts that a spec can name: what each is, its settings, and which capabilities it lacks."""

from glasshouse.models import part_list
from glasshouse.models.part_list import PartEntry
from glasshouse.parts.capabilities import CAPABILITIES
from glasshouse.specs import catalogue


def part_families() -> dict[str, tuple[str, list[str]]]:
    """Family -> the field of a spec that names one of its parts, and the words that the field may have."""
    return {family: (field, catalogue.names(family)) for family, field in part_list.FAMILIES.items()}


def parts_of(family: str) -> list[PartEntry]:
    """Every part of a family, such as attention or position."""
    return part_list.family(family)


def capabilities() -> dict[str, str]:
    """What each capability means that a part may lack."""
    return dict(CAPABILITIES)
