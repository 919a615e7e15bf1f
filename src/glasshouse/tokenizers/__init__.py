"""Text to ids and back: byte pairs, words, characters; knows nothing of data sets or models.

Cheap to import: the classes, and the compiler behind the fast one, are imported when a tokenizer is trained or loaded.
"""

from glasshouse.tokenizers.base import Tokenizer
from glasshouse.tokenizers.loader import load

__all__ = ["Tokenizer", "load"]
