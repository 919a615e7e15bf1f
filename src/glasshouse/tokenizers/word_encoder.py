"""Encode a text word by word, so that the first token of each word is known. For tags, which belong to words.

Words are what spaces separate. Most tokenizers give a text the same tokens in one piece and word by word; where they do not,
the tokens of the single words are used.
"""

import numpy as np

from glasshouse.tokenizers.base import Tokenizer


class WordEncoder:
    """Encodes words with a tokenizer, and remembers the tokens of words that it has met."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._space = _space_before_words(tokenizer)
        self._known: dict[str, tuple[list[int], int | None]] = {}

    def encode(self, words: list[str]) -> tuple[np.ndarray, list[int]]:
        """(the tokens of the text, the position of each word's first token, or -1 for a word without a token)."""
        ids: list[int] = []
        first_tokens: list[int] = []
        for index, word in enumerate(words):
            tokens, first = self._encode_word(self._space + word if index else word)
            first_tokens.append(-1 if first is None else len(ids) + first)
            ids += tokens
        return np.array(ids, np.int32), first_tokens

    def _encode_word(self, text: str) -> tuple[list[int], int | None]:
        """The tokens of a word, and which of them is the first that is not blank."""
        if text not in self._known:
            tokens = self.tokenizer.encode(text, specials=False).tolist()
            visible = [index for index, token in enumerate(tokens) if self.tokenizer.token_bytes(token).strip()]
            self._known[text] = tokens, next(iter(visible), 0 if tokens else None)
        return self._known[text]


def _space_before_words(tokenizer: Tokenizer) -> str:
    """What stands before a word within a text: a space if the tokenizer keeps it, else nothing."""
    whole = tokenizer.encode("a b", specials=False).tolist()
    first = tokenizer.encode("a", specials=False).tolist()
    return "" if whole == first + tokenizer.encode("b", specials=False).tolist() else " "
