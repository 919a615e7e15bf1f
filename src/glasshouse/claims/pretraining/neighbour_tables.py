"""Tables of neighbouring tokens: trivial opponents of an encoder that predicts masked tokens. Know nothing of runs."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from glasshouse.tasks.masked_token import MASK_SHARE, RANDOM_SHARE

# Without a neighbour, with the token before, with the tokens on both sides.
NO_NEIGHBOUR, LEFT, BOTH = TABLES = ("no neighbour", "left neighbour", "both neighbours")


def accuracies(training: Sequence[int], scored: Sequence[int], separators: Collection[int]) -> dict[str, float]:
    """Table -> the share of the scored tokens that are the commonest between these neighbours in the training text.

    Neighbours that the training text does not contain are looked up in the next smaller table. Separators are neighbours,
    but they are not predicted. The first and the last token have no two neighbours and are left out.
    """
    counts: list[defaultdict[tuple[int, ...], Counter[int]]] = [defaultdict(Counter) for _ in TABLES]
    for keys, token in _places(training, separators):
        for table, key in zip(counts, keys, strict=True):
            table[key][token] += 1
    commonest = [{key: tokens.most_common(1)[0][0] for key, tokens in table.items()} for table in counts]
    hits, places = [0] * len(TABLES), 0
    for keys, token in _places(scored, separators):
        places += 1
        predicted = None
        for size, key in enumerate(keys):
            predicted = commonest[size].get(key, predicted)
            hits[size] += predicted == token
    return {table: hits[size] / places if places else float("nan") for size, table in enumerate(TABLES)}


def with_copying(accuracy: float) -> float:
    """The accuracy of an opponent that may also copy a token that was selected for prediction but is not hidden.

    Copying is right where the token was left unchanged and wrong where a random one replaced it.
    """
    return max(accuracy, MASK_SHARE * accuracy + (1 - MASK_SHARE - RANDOM_SHARE))


def _places(tokens: Sequence[int], separators: Collection[int]) -> list[tuple[tuple[tuple[int, ...], ...], int]]:
    """(the key of each table, the token) of every token that is predicted."""
    return [
        (((), (before,), (before, after)), token)
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token not in separators
    ]
