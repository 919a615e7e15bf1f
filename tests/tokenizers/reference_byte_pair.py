"""The simplest implementation of byte-pair encoding: the definition that the fast one is tested against."""

from collections import Counter


def merge(ids, pair, merged):
    """Replace a pair of ids by the merged id wherever it occurs, from left to right."""
    result: list = []
    for id in ids:
        if result and (result[-1], id) == pair and result[-1] is not None:
            result[-1:] = [merged, None]  # None prevents another merge of the new id in this pass.
        else:
            if result and result[-1] is None:
                result.pop()
            result.append(id)
    return [id for id in result if id is not None]


def learn_merges(pieces, alphabet, max_tokens):
    """The merges (left, right, merged) learned from {piece: frequency}, and the number of tokens."""
    tokens = [bytes([byte]) for byte in alphabet]
    sequences = [([tokens.index(bytes([byte])) for byte in piece], frequency) for piece, frequency in pieces.items()]
    merges: dict = {}
    while len(tokens) < max_tokens:
        counts: Counter[tuple[int, int]] = Counter()
        for ids, frequency in sequences:
            for pair in zip(ids, ids[1:], strict=False):
                counts[pair] += frequency
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        spelled = tokens[pair[0]] + tokens[pair[1]]
        if spelled not in tokens:
            tokens.append(spelled)
        merges.pop(pair, None)
        merges[pair] = tokens.index(spelled)
        sequences = [(merge(ids, pair, merges[pair]), frequency) for ids, frequency in sequences]
    return [(*pair, merged) for pair, merged in merges.items()], len(tokens)


def encode(ids, merges):
    """Merge the pair of lowest rank, leftmost first, until no known pair is left."""
    ranks = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}
    ids = list(ids)
    while True:
        pairs = enumerate(zip(ids, ids[1:], strict=False))
        candidates = [(ranks[pair][0], index) for index, pair in pairs if pair in ranks]
        if not candidates:
            return ids
        _, index = min(candidates)
        ids[index : index + 2] = [ranks[ids[index], ids[index + 1]][1]]
