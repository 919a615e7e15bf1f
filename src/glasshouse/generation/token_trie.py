"""A trie of the bytes of all tokens, which an automaton walks level by level. Knows no grammar.

Axes: N nodes, V vocabulary.
"""

import weakref
from functools import cached_property
from typing import Final

import numpy as np

from glasshouse.generation.byte_automaton import DEAD, ByteAutomaton
from glasshouse.generation.grammar import ALL_CHARACTERS, CodePoints, characters
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import Tokenizer

# Bytes that occur in UTF-8.
_UTF8_BYTES: Final = frozenset({*range(0xC0), *range(0xC2, 0xF5)})

_TRIES: "weakref.WeakKeyDictionary[Tokenizer, TokenTrie]" = weakref.WeakKeyDictionary()


class TokenTrie:
    """Nodes are numbered level by level. Node 0 is the root. `levels` are the ranges of the others.

    Special tokens, the unknown token and tokens without bytes are not in the trie, because they write no ordinary text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.texts = _ordinary_tokens(tokenizer)
        self.tokens = np.array(list(self.texts), np.int64)
        text = np.frombuffer(b"".join(self.texts.values()), np.uint8).astype(np.int64)
        lengths = np.array([len(token) for token in self.texts.values()], np.int64)
        starts = np.cumsum(lengths) - lengths
        nodes = np.zeros(len(lengths), np.int64)  # the node that each token has reached
        bytes_N, parents_N = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
        count, depth = 1, 0
        while (longer := np.flatnonzero(lengths > depth)).size:
            edges, inverse = np.unique(nodes[longer] * 256 + text[starts[longer] + depth], return_inverse=True)
            nodes[longer] = count + inverse
            bytes_N.append(edges % 256)
            parents_N.append(edges // 256)
            count, depth = count + len(edges), depth + 1
        self.node_of_token = nodes
        self.bytes_N, self.parents_N = np.concatenate(bytes_N), np.concatenate(parents_N)
        ends = np.cumsum([len(level) for level in bytes_N]).tolist()
        self.levels = list(zip(ends, ends[1:], strict=False))

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "TokenTrie":
        """The trie of a tokenizer. It is built once and then shared."""
        if tokenizer not in _TRIES:
            _TRIES[tokenizer] = cls(tokenizer)
        return _TRIES[tokenizer]

    @cached_property
    def alphabet(self) -> CodePoints | None:
        """The characters that these tokens can write in any order. None if some occur in longer tokens only."""
        texts = set(self.texts.values())
        if all(bytes([byte]) in texts for byte in _UTF8_BYTES):
            return ALL_CHARACTERS
        try:
            decoded = [text.decode() for text in texts]
        except UnicodeDecodeError:
            return None
        single = {text for text in decoded if len(text) == 1}
        if single != set("".join(decoded)):
            return None
        return characters((ord(character), ord(character)) for character in single).ranges

    def walk(self, automaton: ByteAutomaton, classes_N: np.ndarray, state: int) -> np.ndarray:
        """The state of the automaton after each token of `tokens`. `classes_N` are the classes of `bytes_N`."""
        states_N = np.full(len(self.bytes_N), DEAD, np.intp)
        states_N[0] = state
        for begin, end in self.levels:
            before = states_N.take(self.parents_N[begin:end])
            automaton.build_all(before)
            after = automaton.table.ravel().take(before * automaton.table.shape[1] + classes_N[begin:end])
            if not after.any():
                break
            states_N[begin:end] = after
        return states_N.take(self.node_of_token)


def _ordinary_tokens(tokenizer: Tokenizer) -> dict[int, bytes]:
    """The bytes of the tokens that write ordinary text. Ids that are not in use are left out."""
    excluded = {*tokenizer.specials.values(), tokenizer.unknown}
    texts = {}
    for token in range(tokenizer.vocabulary):
        if token not in excluded:
            try:
                texts[token] = tokenizer.token_bytes(token)
            except GlasshouseError:  # the id has no token
                continue
    return {token: text for token, text in texts.items() if text}
