"""Tokenizers: text to ids and back, by byte-pair encoding, words or characters. Knows nothing of data sets or models.

This package is cheap to import: the classes are imported when a tokenizer is trained or loaded, the compiler (numba) when
it has much to do.
"""

from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.loader import load

__all__ = ["Tokenizer", "load"]
