"""Arrays that a compiled function receives by address.

Each array argument of a compiled function costs as much time as encoding twenty bytes, and a line of text is short. An
encoder therefore writes the addresses and lengths of its arrays once into an int64 table and passes only this table. The
caller must keep the arrays alive for as long as the table is in use.
"""

import numpy as np
from numba import carray

from glasshouse.compilation import kernel_only, pointer


def write_address(table: np.ndarray, entry: int, array: np.ndarray) -> None:
    """Write the address and the length of an array into an entry of the table."""
    table[2 * entry], table[2 * entry + 1] = array.ctypes.data, len(array)


@kernel_only
def array_at(table, entry, dtype):  # type: ignore[no-untyped-def]
    """The array of an entry of the table."""
    return carray(pointer(table[2 * entry]), (table[2 * entry + 1],), dtype)
