"""Class labels: several in one cell, and those that look like an accident.

Such labels are refused, or mended with a remark. `data.insist` takes them as they are.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from glasshouse.data.tables import number_columns
from glasshouse.data.tables.table import ITEM_SEPARATOR
from glasshouse.specs.errors import DataError, Remedy

# More classes than this need at least so many rows each on average.
MANY_CLASSES = 20
MIN_ROWS_PER_CLASS = 4
# A class with fewer training rows is warned of.
FEW_TRAINING_ROWS = 5
# Classes that a remark names.
MOST_NAMED = 3
LABEL = Remedy("data.label", "NAME", "set the column with the labels by name or number:")
INSIST = Remedy("data.insist", "true", "take them as they are with")
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


def check(labels: Sequence[str], place: str) -> None:
    """Refuse labels of which most are different: texts, numbers or the wrong column."""
    classes = Counter(labels)
    if len(classes) <= MANY_CLASSES or len(classes) * MIN_ROWS_PER_CLASS <= len(labels):
        return
    example = next(iter(classes))
    kind = ""
    remedies: list[Remedy | str] = [LABEL]
    if number_columns.looks_like_numbers(list(classes)):
        kind, remedies = "; they look like numbers", ["use the recipe regressor"]
    elif sum(" " in label for label in classes) > len(classes) / 2:
        kind, remedies = "; they look like texts", ["use the recipe translator for pairs of texts", LABEL]
    raise DataError(
        f"{place}: {len(labels)} rows have {len(classes)} different labels, such as {example[:40]!r}, and more than "
        f"{MANY_CLASSES} classes need at least {MIN_ROWS_PER_CLASS} rows each{kind}",
        remedies=[*remedies, INSIST],
    )


def merged(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """The labels, with one spelling for those that differ only in case or spaces; and remarks on the classes."""
    classes = Counter(labels)
    spellings: dict[str, list[str]] = defaultdict(list)
    for label in classes:
        spellings[" ".join(label.split()).casefold()].append(label)
    commonest = {label: max(same, key=lambda name: (classes[name], name)) for same in spellings.values() for label in same}
    remarks = [
        f"labels that differ only in case or spaces are one class: {' and '.join(repr(name) for name in sorted(same))} "
        f"are {commonest[same[0]]!r}; data.insist=true keeps them apart"
        for same in spellings.values()
        if len(same) > 1
    ]
    return [commonest[label] for label in labels], remarks


def remarks(labels: Sequence[str], first: str = "") -> list[str]:
    """Remarks on classes that may be no classes, or have few rows.

    `first` is the label in the first line of a file without a header.
    """
    classes = Counter(labels)
    said = []
    if missing := sorted(label for label in classes if number_columns.is_missing(label)):
        said.append(
            f"the class {missing[0]!r} ({classes[missing[0]]} rows) looks like a missing label; "
            "data.missing_targets=skip leaves such rows out"
        )
    if several := combined(labels):
        said.append(
            f"{sum(classes[label] for label in several)} rows have several labels at once, such as {several[0]!r}, which "
            "are classes of their own here; the recipe multi-label-classifier takes them apart"
        )
    single = sorted(label for label, count in classes.items() if count == 1)
    if first in single and len(labels) > len(classes):
        said.append(f"the class {first!r} is only in the first line; if that line is a header, set data.header=yes")
        single.remove(first)
    if single:
        named = _listed([repr(label) for label in single])
        said.append(f"{len(single)} of {len(classes)} classes have a single row ({named}): it cannot be learnt and tested")
    return said


def split_remarks(train: Sequence[str], validation: Sequence[str]) -> list[str]:
    """Warnings of classes with few training rows, or with none in validation. `remarks` tells classes with a single row."""
    learnt, tested = Counter(train), Counter(validation)
    classes = sorted(label for label in learnt | tested if learnt[label] + tested[label] > 1)
    total = len(learnt | tested)
    said = []
    if few := [f"{label!r} ({learnt[label]})" for label in classes if learnt[label] < FEW_TRAINING_ROWS]:
        rule = f"have fewer than {FEW_TRAINING_ROWS} training rows"
        said.append(f"warning: {len(few)} of {total} classes {rule}: {_listed(few)}; they are hardly learnt")
    if validation and (absent := [repr(label) for label in classes if not tested[label]]):
        remedy = "data.stratify=true gives every split its share, if there are enough rows"
        said.append(f"warning: {len(absent)} of {total} classes have no row in validation: {_listed(absent)}; {remedy}")
    return said


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
