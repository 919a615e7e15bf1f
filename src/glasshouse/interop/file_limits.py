"""What an import reads of a file from somebody else: no more than fits into memory."""

from pathlib import Path

from glasshouse.records import machine
from glasshouse.specs.errors import CannotImport

# An import holds each number in float32, and some of them twice: tensors that are concatenated to one of ours.
BYTES_PER_NUMBER = 6


def check_memory(path: Path, numbers: int) -> None:
    """Refuse a model with more numbers than fit into the memory of this machine, before any of them is read."""
    needed, free = numbers * BYTES_PER_NUMBER, machine.available_memory()
    if needed > free:
        raise CannotImport(
            f"{path} holds {numbers:,} numbers, which take {needed:,} bytes to import, and this machine has {free:,} free; "
            "import it on a larger machine, or choose a smaller model"
        )
