"""Class labels that look like an accident are refused, or mended with a remark. `data.insist` takes them as they are."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from glasshouse.data.tables import label_lists, number_columns
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
    if combined := label_lists.combined(labels):
        said.append(
            f"{sum(classes[label] for label in combined)} rows have several labels at once, such as {combined[0]!r}, which "
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
    said = []
    if few := [label for label in classes if learnt[label] < FEW_TRAINING_ROWS]:
        named = _listed([f"{label!r} ({learnt[label]})" for label in few])
        said.append(
            f"warning: {len(few)} of {len(learnt | tested)} classes have fewer than {FEW_TRAINING_ROWS} training rows: "
            f"{named}; they are hardly learnt"
        )
    if validation and (absent := [label for label in classes if not tested[label]]):
        named = _listed([repr(label) for label in absent])
        said.append(
            f"warning: {len(absent)} of {len(learnt | tested)} classes have no row in validation: {named}; "
            "data.stratify=true gives every split its share, if there are enough rows"
        )
    return said


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
