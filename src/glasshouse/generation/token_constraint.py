"""Which tokens may come next, so that the text has the form of a grammar. Knows nothing of models.

A token is allowed if the text after it can still be completed with tokens of this vocabulary. So a text never reaches a
dead end, whatever is sampled. Tokens may split characters: the automaton reads bytes. It walks a trie of the bytes of all
tokens, level by level.

Axes: N nodes of the trie of tokens, V vocabulary.
"""

import heapq
import weakref
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from typing import Final

import numpy as np
import torch
from torch import Tensor

from glasshouse.generation.byte_automaton import DEAD, ByteAutomaton
from glasshouse.generation.grammar import ALL_CHARACTERS, CodePoints, Grammar, characters
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import Tokenizer

ENDED: Final = -1
"""The state after an end token."""

CACHE_BYTES: Final = 64 << 20
"""The memory for masks. The masks that were not used for the longest time are dropped."""

SEARCHED_STATES: Final = 500
"""For a vocabulary of whole words: how many states are tried to prove that a text can be completed."""

# Bytes that occur in UTF-8.
_UTF8_BYTES: Final = frozenset({*range(0xC0), *range(0xC2, 0xF5)})

_TRIES: "weakref.WeakKeyDictionary[Tokenizer, TokenTrie]" = weakref.WeakKeyDictionary()


class TokenTrie:
    """Nodes are numbered level by level. Node 0 is the root. `levels` are the ranges of the others.

    Special tokens, the unknown token and tokens without bytes are not in the trie, because they write no ordinary text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        excluded, self.texts = {*tokenizer.specials.values(), tokenizer.unknown}, dict[int, bytes]()
        for token in range(tokenizer.vocabulary):
            # An id that is not in use has no bytes.
            with suppress(GlasshouseError):
                if token not in excluded and (token_text := tokenizer.token_bytes(token)):
                    self.texts[token] = token_text
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


class TokenConstraint:
    """The tokens that keep a text in the form of a grammar. A row of a batch has a state, which is a number.

    `end_tokens` end a text; by default the tokenizer's end-of-text token. They are allowed where the text is complete.
    """

    def __init__(self, grammar: Grammar, tokenizer: Tokenizer, end_tokens: Collection[int] = ()) -> None:
        self.vocabulary = tokenizer.vocabulary
        default = () if tokenizer.end_of_text is None else (tokenizer.end_of_text,)
        self.end_tokens = frozenset(end_tokens or default)
        self._trie = TokenTrie.of(tokenizer)
        alphabet = self._trie.alphabet
        # With a token for every byte or every character, the restricted grammar has no dead end. Otherwise look for them.
        # An end token that also writes text, as some imported models have it, only ends here.
        self._ends = np.isin(self._trie.tokens, list(self.end_tokens))
        self._must_search = alphabet is None or bool(self._ends.any())
        writable = grammar if alphabet is None or alphabet == ALL_CHARACTERS else grammar.restricted(alphabet)
        self._automaton = ByteAutomaton(writable)
        self._classes_N = self._automaton.classes[self._trie.bytes_N]
        self._completable: dict[int, bool] = {}
        # State -> the tokens that are allowed, and whether any of them writes text.
        self._masks: OrderedDict[int, tuple[Tensor, bool]] = OrderedDict()
        start = self._automaton.start
        if start == DEAD or (self._must_search and not self._can_complete(start)):
            raise _no_text(grammar, self._trie)

    def start(self) -> int:
        return self._automaton.start

    def allowed(self, state: int) -> Tensor:
        """Which tokens (V) may come next, as booleans on the CPU. The end tokens are allowed where the text is complete.

        The tensor is shared: do not change it.
        """
        return self._allowed(state)[0]

    def advance(self, state: int, token: int) -> int:
        if token in self.end_tokens and (state == ENDED or self._automaton.accepts(state)):
            return ENDED
        text = self._trie.texts.get(token) if token not in self.end_tokens else None
        after = self._automaton.walk(state, text) if text and state != ENDED else DEAD
        if after == DEAD:
            raise GlasshouseError(f"the token {token} cannot follow here; choose one of those that `allowed` marks")
        return after

    def complete(self, state: int) -> bool:
        """Whether the text so far has the whole form. More may be able to follow."""
        return state == ENDED or self._automaton.accepts(state)

    def finished(self, state: int) -> bool:
        """Whether the text is complete and nothing but an end token can follow."""
        return state == ENDED or (self._automaton.accepts(state) and not self._allowed(state)[1])

    def _allowed(self, state: int) -> tuple[Tensor, bool]:
        if (known := self._masks.get(state)) is not None:
            self._masks.move_to_end(state)
            return known
        mask_V = np.zeros(self.vocabulary, bool)
        if state != ENDED:
            mask_V[self._trie.tokens] = self._reachable(state)
        self._masks[state] = torch.from_numpy(mask_V), bool(mask_V.any())
        if self.complete(state):
            mask_V[[token for token in self.end_tokens if token < self.vocabulary]] = True
        while len(self._masks) * self.vocabulary > CACHE_BYTES and len(self._masks) > 1:
            self._masks.popitem(last=False)
        return self._masks[state]

    def _reachable(self, state: int) -> np.ndarray:
        """For each token of the trie, whether the text after it can be completed."""
        states = self._after_tokens(state)
        if not self._must_search:
            return states != DEAD
        good = [after for after in np.unique(states).tolist() if after != DEAD and self._can_complete(after)]
        return np.isin(states, good)

    def _after_tokens(self, state: int) -> np.ndarray:
        """The state after each token of the trie."""
        states = self._trie.walk(self._automaton, self._classes_N, state)
        states[self._ends] = DEAD
        return states

    def _can_complete(self, start: int) -> bool:
        """Whether some tokens complete the text, by a search that tries the shortest continuation first.

        If the search ends without an answer, the state counts as one that cannot be completed: this is safe.
        """
        if start in self._completable:
            return self._completable[start]
        before: dict[int, int] = {start: DEAD}
        waiting, tried = [(self._automaton.shortest(start), start)], 0
        while waiting and tried < SEARCHED_STATES:
            _, state = heapq.heappop(waiting)
            if self._completable.get(state) or self._automaton.accepts(state):
                while state != DEAD:  # every state on the way can be completed
                    self._completable[state] = True
                    state = before[state]
                return True
            tried += 1
            for after in np.unique(self._after_tokens(state)).tolist():
                if after != DEAD and after not in before and self._completable.get(after, True):
                    before[after] = state
                    heapq.heappush(waiting, (self._automaton.shortest(after), after))
        self._completable.update(dict.fromkeys(before, False) if not waiting else {start: False})
        return False


def _no_text(grammar: Grammar, trie: TokenTrie) -> GlasshouseError:
    """The error for a form that no tokens of the vocabulary can write."""
    if ByteAutomaton(grammar).start == DEAD:
        return GlasshouseError(
            "no finite text has the form that is asked for; change the pattern, or make a recursive property of the schema "
            "optional, or widen its bounds"
        )
    known = set(b"".join(trie.texts.values()).decode("utf-8", "ignore"))
    missing = [repr(character) for character in grammar.required_characters() if character not in known]
    lacking = f"; it lacks {', '.join(missing[:10])}" if missing else ""
    return GlasshouseError(
        f"the vocabulary of this model cannot write a text of this form{lacking}; change the pattern or the schema, or use "
        "a model with a byte-level tokenizer (data.tokenizer=byte-pair)"
    )
