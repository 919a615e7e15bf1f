"""Byte-pair encoding as one would write it on a blackboard: the definition that the fast one is tested against."""

from collections import Counter


def merge(ids, pair, made):
    result = []
    for id in ids:
        if result and (result[-1], id) == pair and result[-1] is not None:
            result[-1:] = [made, None]  # None keeps what was just merged from being merged again in this pass.
        else:
            if result and result[-1] is None:
                result.pop()
            result.append(id)
    return [id for id in result if id is not None]


def learn(pieces, alphabet, most):
    """Merges (left, right, made) from {piece: times}, and the number of tokens reached."""
    tokens = [bytes([byte]) for byte in alphabet]
    words = [([tokens.index(bytes([byte])) for byte in piece], times) for piece, times in pieces.items()]
    merges = {}
    while len(tokens) < most:
        counts = Counter()
        for ids, times in words:
            for pair in zip(ids, ids[1:], strict=False):
                counts[pair] += times
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        spelled = tokens[pair[0]] + tokens[pair[1]]
        if spelled not in tokens:
            tokens.append(spelled)
        merges.pop(pair, None)
        merges[pair] = tokens.index(spelled)
        words = [(merge(ids, pair, merges[pair]), times) for ids, times in words]
    return [(*pair, made) for pair, made in merges.items()], len(tokens)


def encode(ids, merges):
    """Merge the pair of lowest rank, leftmost first, until none is left."""
    ranks = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(merges)}
    ids = list(ids)
    while True:
        found = [(ranks[pair][0], place) for place, pair in enumerate(zip(ids, ids[1:], strict=False)) if pair in ranks]
        if not found:
            return ids
        _, place = min(found)
        ids[place : place + 2] = [ranks[ids[place], ids[place + 1]][1]]
