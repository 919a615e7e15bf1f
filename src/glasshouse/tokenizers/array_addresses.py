"""Arrays handed to a compiled function by address; knows nothing of what they hold.

Each array passed to a compiled function costs as much time as encoding twenty bytes, and a line of text is short. So an
encoder writes the addresses and lengths of its arrays into one array, once, and passes that. Whoever writes an address
there must keep the array alive.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from glasshouse.tokenizers.compilation import part


def write_address(book: np.ndarray, entry: int, array: np.ndarray) -> None:
    """Note where an array lies and how long it is."""
    book[2 * entry], book[2 * entry + 1] = array.ctypes.data, len(array)


@part
def array_at(book, entry, kind):  # type: ignore[no-untyped-def]
    """The array of numbers of one kind that an entry stands for."""
    return carray(_pointer(book[2 * entry]), (book[2 * entry + 1],), kind)


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate
