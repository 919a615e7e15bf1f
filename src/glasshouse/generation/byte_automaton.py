"""The deterministic automaton of a grammar over UTF-8 bytes. Knows nothing of tokens.

States are built when they are needed, so a counted repetition costs nothing until it is walked. A state is a set of
continuations: what may still follow, as a linked list of nodes. Reading a byte takes the partial derivative of each
continuation (Antimirov, Partial derivatives of regular expressions, 1996). A rule that refers to itself makes the list
longer, so the list is also the stack of a pushdown automaton.

What no finite text can match is left out: a continuation that cannot be completed is no part of a state. So every state but
the dead one can be completed.
"""

import functools
import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from glasshouse.generation.grammar import (
    Alternation,
    CharacterSet,
    Concatenation,
    Expression,
    Grammar,
    Repetition,
)
from glasshouse.specs.errors import GlasshouseError

DEAD: Final = 0
"""The state of a text that cannot be completed."""

MAX_STATES: Final = 200_000
MAX_CONTINUATIONS: Final = 1_000

_BYTES, _SEQUENCE, _CHOICE, _REPEAT, _RULE = range(5)
_END: Final = 0  # the empty continuation

# The last code point that UTF-8 encodes in 1, 2, 3 and 4 bytes.
_LAST: Final = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)

Branches = tuple[tuple[int, Any], ...]
"""A tree of bytes: pairs (bytes, branches after these bytes). The bytes are a bit set. () is the end."""
_Edge = tuple[tuple[int, ...], int]
"""The classes of bytes that may come next, and the continuation after them."""


class _Node(NamedTuple):
    """`number` is a bit set of bytes, the least count of a repetition, or a rule. `most` is None for any number of times."""

    kind: int
    number: int = 0
    parts: tuple[int, ...] = ()
    most: int | None = None


class ByteAutomaton:
    """States are numbers. `table[state, classes[byte]]` is the next state, for a state that `build` has seen.

    Bytes that the grammar never tells apart are one class, which keeps the table small.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._nodes: list[_Node] = []
        self._node_lengths: list[float] = []
        self._node_ids: dict[_Node, int] = {}
        self._known: dict[int, int] = {}
        self._rule_ids = {name: index for index, name in enumerate(grammar.rules)}
        self._rules, self._rule_lengths = [0] * len(grammar.rules), [math.inf] * len(grammar.rules)
        self._find_lengths(grammar)
        root = self._node_of(grammar.root)
        self._separate_bytes()
        # Continuation number -> its first node, the rest, the length of its shortest text, and what `_read` finds.
        self._first_nodes, self._rests, self._lengths = [-1], [-1], [0.0]
        self._continuations: dict[tuple[int, int], int] = {}
        self._edges: dict[int, tuple[bool, list[_Edge]]] = {}
        # State number -> its continuations. State 0 has none.
        self._members: list[tuple[int, ...]] = [()]
        self._state_ids: dict[tuple[int, ...], int] = {(): DEAD}
        self.table = np.zeros((64, int(self.classes.max()) + 1), np.int32)
        self.built = np.zeros(64, bool)
        self.built[DEAD] = True
        self.start = self._state([self._continuation(root, _END)] if self._node_lengths[root] < math.inf else ())

    def accepts(self, state: int) -> bool:
        """Whether the text that led to this state is complete."""
        return any(self._read(member)[0] for member in self._members[state])

    def shortest(self, state: int) -> float:
        """The number of bytes that complete the text at least."""
        return min((self._lengths[member] for member in self._members[state]), default=math.inf)

    def step(self, state: int, byte: int) -> int:
        if not self.built[state]:
            self.build(state)
        return int(self.table[state, self.classes[byte]])

    def walk(self, state: int, text: bytes) -> int:
        for byte in text:
            state = self.step(state, byte)
        return state

    def build_all(self, states: np.ndarray) -> None:
        missing = states[~self.built[states]]
        if missing.size:
            for state in np.unique(missing).tolist():
                self.build(state)

    def build(self, state: int) -> None:
        """Fill the row of a state in the table."""
        following: dict[int, set[int]] = {}  # class of bytes -> the continuations after it
        for member in self._members[state]:
            for classes, after in self._read(member)[1]:
                for number in classes:
                    following.setdefault(number, set()).add(after)
        states: dict[frozenset[int], int] = {}
        for number, members in following.items():
            key = frozenset(members)
            if key not in states:
                states[key] = self._state(members)
            self.table[state, number] = states[key]
        self.built[state] = True

    # Nodes ---------------------------------------------------------------------------------------------------------------

    def _node_of(self, expression: Expression) -> int:
        """The number of the node of an expression. Equal expressions have the same node."""
        if id(expression) not in self._known:
            self._known[id(expression)] = self._add_expression(expression)
        return self._known[id(expression)]

    def _add_expression(self, expression: Expression) -> int:
        if isinstance(expression, CharacterSet):
            return self._add_branches(utf8_branches(expression.ranges))
        if isinstance(expression, Concatenation):
            return self._add(_Node(_SEQUENCE, parts=tuple(map(self._node_of, expression.parts))))
        if isinstance(expression, Alternation):
            return self._add(_Node(_CHOICE, parts=tuple(map(self._node_of, expression.parts))))
        if isinstance(expression, Repetition):
            return self._add_repeat(self._node_of(expression.part), expression.least, expression.most)
        return self._add(_Node(_RULE, self._rule_ids[expression.name]))

    def _add_branches(self, branches: Branches) -> int:
        nodes = []
        for bits, after in branches:
            node = self._add(_Node(_BYTES, bits))
            nodes.append(self._add(_Node(_SEQUENCE, parts=(node, self._add_branches(after)))) if after else node)
        return nodes[0] if len(nodes) == 1 else self._add(_Node(_CHOICE, parts=tuple(nodes)))

    def _add_repeat(self, part: int, least: int, most: int | None) -> int:
        if self._node_lengths[part] == 0:
            least = 0  # a part that matches the empty text can always be repeated without writing anything
        inner = self._nodes[part]
        if inner.kind == _REPEAT and inner.number == 0 and least == 0 and most != 0:
            # (x{0,k}){0,n} is x{0,kn}: fewer states.
            product = None if most is None or inner.most is None else most * inner.most
            return self._add_repeat(inner.parts[0], 0, product)
        if most == 0:
            return self._add(_Node(_SEQUENCE))
        return part if least == most == 1 else self._add(_Node(_REPEAT, least, (part,), most))

    def _add(self, node: _Node) -> int:
        if node not in self._node_ids:
            self._node_ids[node] = len(self._nodes)
            self._nodes.append(node)
            self._node_lengths.append(self._length_of(node))
        return self._node_ids[node]

    def _find_lengths(self, grammar: Grammar) -> None:
        """Add the rules, and find the length of the shortest text of every node: infinite if no finite text matches."""
        ends = []
        for name, rule in reversed(list(grammar.rules.items())):  # a rule mostly refers to later ones
            index = self._rule_ids[name]
            self._rules[index] = self._node_of(rule)
            self._rule_lengths[index] = self._node_lengths[self._rules[index]]
            ends.append((index, len(self._nodes)))
        known = None
        while known != self._rule_lengths:
            known, first = list(self._rule_lengths), 0
            for index, end in ends:
                for node in range(first, end):
                    self._node_lengths[node] = self._length_of(self._nodes[node])
                self._rule_lengths[index], first = self._node_lengths[self._rules[index]], end

    def _length_of(self, node: _Node) -> float:
        """The number of bytes of the shortest text of a node. Its parts have been added before it."""
        lengths = [self._node_lengths[part] for part in node.parts]
        if node.kind == _BYTES:
            return 1
        if node.kind == _SEQUENCE:
            return sum(lengths)
        if node.kind == _CHOICE:
            return min(lengths, default=math.inf)
        if node.kind == _REPEAT:
            return node.number * lengths[0] if node.number else 0
        return self._rule_lengths[node.number]

    def _separate_bytes(self) -> None:
        """Number the classes of bytes, and rewrite the nodes of bytes as sets of classes."""
        byte_sets = [node.number for node in self._nodes if node.kind == _BYTES]
        classes = np.zeros(256, np.int64)
        for bits in byte_sets:
            members = np.unpackbits(np.frombuffer(bits.to_bytes(32, "little"), np.uint8), bitorder="little")
            classes = np.unique(classes * 2 + members, return_inverse=True)[1]
        self.classes = classes.astype(np.int32)
        self._class_sets = {
            bits: tuple({int(classes[byte]) for byte in range(256) if bits >> byte & 1}) for bits in set(byte_sets)
        }

    # Continuations and states ----------------------------------------------------------------------------------------------

    def _continuation(self, node: int, rest: int) -> int:
        """The continuation that starts with a node."""
        key = (node, rest)
        if (known := self._continuations.get(key)) is not None:
            return known
        self._first_nodes.append(node)
        self._rests.append(rest)
        self._lengths.append(self._node_lengths[node] + self._lengths[rest])
        self._continuations[key] = len(self._rests) - 1
        return len(self._rests) - 1

    def _read(self, continuation: int) -> tuple[bool, list[_Edge]]:
        """Whether a continuation may be empty, and what may be its first byte."""
        if (known := self._edges.get(continuation)) is not None:
            return known
        accepting, edges = False, []
        seen, waiting = {continuation}, [continuation]
        largest: dict[tuple[int, int], float] = {}
        while waiting:
            current = waiting.pop()
            if current == _END:
                accepting = True
                continue
            rest = self._rests[current]
            kind, number, parts, most = self._nodes[self._first_nodes[current]]
            following: list[int] = []
            if kind == _BYTES:
                edges.append((self._class_sets[number], rest))
            elif kind == _SEQUENCE:
                for part in reversed(parts):
                    rest = self._continuation(part, rest)
                following = [rest]
            elif kind == _CHOICE:
                following = [self._continuation(part, rest) for part in parts]
            elif kind == _RULE:
                following = [self._continuation(self._rules[number], rest)]
            else:
                if number == 0:
                    # x{0,9} followed by something includes x{0,8} followed by the same.
                    limit = math.inf if most is None else most
                    if largest.get((parts[0], rest), -1) >= limit:
                        continue
                    largest[parts[0], rest] = limit
                    following.append(rest)
                fewer = self._add_repeat(parts[0], max(number - 1, 0), None if most is None else most - 1)
                following.append(self._continuation(parts[0], self._continuation(fewer, rest)))
            for new in reversed(following):
                if new not in seen and self._lengths[new] < math.inf:
                    seen.add(new)
                    waiting.append(new)
            if len(seen) > MAX_CONTINUATIONS:
                raise _too_complex(f"a state with over {MAX_CONTINUATIONS:,} ways to go on")
        self._edges[continuation] = (accepting, edges)
        return self._edges[continuation]

    def _state(self, members: Iterable[int]) -> int:
        """The number of the state with these continuations."""
        key = self._without_included(members)
        if (known := self._state_ids.get(key)) is not None:
            return known
        state = len(self._members)
        if state > MAX_STATES:
            raise _too_complex(f"over {MAX_STATES:,} states")
        if len(key) > MAX_CONTINUATIONS:
            raise _too_complex(f"a state with over {MAX_CONTINUATIONS:,} ways to go on")
        self._members.append(key)
        self._state_ids[key] = state
        if state >= len(self.built):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.built = np.concatenate([self.built, np.zeros_like(self.built)])
        return state

    def _without_included(self, members: Iterable[int]) -> tuple[int, ...]:
        """The continuations without those that another includes: x{0,8} beside x{0,9}, each followed by the same."""
        members = tuple(sorted(members))
        if len(members) < 2:
            return members
        kept, largest = [], dict[tuple[int, int], tuple[float, int]]()
        for member in members:
            kind, least, parts, most = self._nodes[self._first_nodes[member]]
            if member == _END or kind != _REPEAT or least:
                kept.append(member)
                continue
            key, limit = (parts[0], self._rests[member]), math.inf if most is None else most
            if key not in largest or limit > largest[key][0]:
                largest[key] = (limit, member)
        return tuple(sorted([*kept, *(member for _, member in largest.values())]))


def _too_complex(what: str) -> GlasshouseError:
    return GlasshouseError(
        f"the pattern or schema needs {what}; use smaller counts, or fewer repetitions that can match the same text"
    )


@functools.lru_cache(maxsize=4096)
def utf8_branches(ranges: tuple[tuple[int, int], ...]) -> Branches:
    """The tree of the encodings of these characters, in which no two branches of a node share a byte.

    The ranges are in order, without overlap and without surrogates.
    """
    return _merged([encoding for first, last in ranges for encoding in _byte_ranges(first, last)])


def _byte_ranges(first: int, last: int) -> list[tuple[tuple[int, int], ...]]:
    """The encodings of consecutive characters, as sequences of byte ranges."""
    for limit in _LAST:
        if first <= limit < last:
            return _byte_ranges(first, limit) + _byte_ranges(limit + 1, last)
    if last <= _LAST[0]:
        return [((first, last),)]
    # Split so that the bytes after the first one that differs run through all continuation bytes.
    for continuation_bytes in (1, 2, 3):
        block = 1 << (6 * continuation_bytes)
        if first // block != last // block:
            if first % block:
                boundary = (first // block + 1) * block
                return _byte_ranges(first, boundary - 1) + _byte_ranges(boundary, last)
            if (last + 1) % block:
                boundary = last // block * block
                return _byte_ranges(first, boundary - 1) + _byte_ranges(boundary, last)
    return [tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))]


def _merged(encodings: list[tuple[tuple[int, int], ...]]) -> Branches:
    """Sequences of byte ranges as a tree. Their first ranges are equal or have no byte in common."""
    by_first: dict[tuple[int, int], list[tuple[tuple[int, int], ...]]] = {}
    for first, *rest in encodings:
        by_first.setdefault(first, []).append(tuple(rest))
    by_rest: dict[Branches, int] = {}
    for (low, high), rests in by_first.items():
        after = _merged([rest for rest in rests if rest])
        by_rest[after] = by_rest.get(after, 0) | ((1 << (high + 1)) - (1 << low))
    return tuple((bits, after) for after, bits in by_rest.items())
