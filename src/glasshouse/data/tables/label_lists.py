"""Several labels in one cell: the items of a list, or labels between bars, semicolons or commas."""

from collections.abc import Sequence

from glasshouse.data.tables.table import ITEM_SEPARATOR

# What separates several labels in one cell, in the order in which it is looked for.
LABEL_SEPARATOR = "|"
SEPARATORS = (LABEL_SEPARATOR, ";", ",")
# Of the cells, for a column in which a separator makes lists.
SMALLEST_SHARE = 0.2
# Labels of lists recur: so many items for each different one on average, or at most so many different ones.
MIN_ROWS_PER_ITEM, MAX_FEW_ITEMS = 4, 20


def items(text: str) -> list[str]:
    """The labels in a cell, each once."""
    text = text.replace(ITEM_SEPARATOR, LABEL_SEPARATOR)
    separators = [separator for separator in SEPARATORS if separator in text]
    if not separators:
        parts = [text]
    elif separators[0] == LABEL_SEPARATOR:
        parts = text.split(LABEL_SEPARATOR)
    else:
        parts = text.replace(";", ",").split(",")
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def are_lists(cells: Sequence[str]) -> bool:
    """Whether the cells of a column are lists of labels: some are lists in the file, or a fair share has several labels."""
    lists = [items(text) for text in cells]
    every = [item for of_cell in lists for item in of_cell]
    if len(every) <= len(cells) or len(set(every)) > max(len(every) // MIN_ROWS_PER_ITEM, MAX_FEW_ITEMS):
        return False
    if any(ITEM_SEPARATOR in text for text in cells):
        return True
    several = sum(len(of_cell) > 1 for of_cell in lists)
    # A list of prose has few items that stand elsewhere too.
    return several >= SMALLEST_SHARE * len(cells) and len(set(every)) < len(set(cells))


def combined(labels: Sequence[str]) -> list[str]:
    """The different labels that consist of other labels, such as "a, b" beside "a" and "b"."""
    known = set(labels)
    return sorted(label for label in known if len(parts := items(label)) > 1 and known.issuperset(parts))
