"""The assignment of texts to splits by a digest: the same texts always get the same splits. Knows no files."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from glasshouse.data.documents import SPLITS
from glasshouse.specs.errors import DataError, Remedy

HOLD_NONE_OUT = Remedy("data.validation", "0 data.test=0", "hold none out with")


def assign_splits(texts: Iterable[str], validation: float, test: float) -> dict[str, str]:
    """The split of each distinct text.

    The texts are ordered by a digest and divided by the given shares. Equal texts are therefore always in the same split.
    """
    ordered = sorted(set(texts), key=_digest)
    sizes = split_sizes(len(ordered), validation, test)
    return dict(zip(ordered, np.repeat(SPLITS, sizes).tolist(), strict=True))


def split_sizes(count: int, validation: float, test: float) -> list[int]:
    """How many of so many distinct texts are in each split. A split with a share has at least one."""
    held_out = [max(1, round(count * share)) if share else 0 for share in (validation, test)]
    if sum(held_out) >= count:
        raise DataError(f"{count} distinct texts are too few to hold some out", remedies=["add more texts", HOLD_NONE_OUT])
    return [count - sum(held_out), *held_out]


def split_by_digest(text: str, held_out: Mapping[str, int], whole: int) -> str:
    """The split of a text that does not depend on other texts. `held_out` has shares in parts of a `whole`."""
    position = int.from_bytes(_digest(text), "big") % whole
    for split, share in held_out.items():
        if position < share:
            return split
        position -= share
    return "train"


def assign_groups(groups: Sequence[str], validation: float, test: float) -> dict[str, str]:
    """The split of each distinct group, where `groups` has the group of every row. Shares are shares of rows.

    Groups are taken in the order of a digest, and each goes to the split that lacks the most rows of its share.
    """
    sizes = Counter(groups)
    if len(sizes) <= sum(share > 0 for share in (validation, test)):
        other = Remedy("data.group", "NAME", "choose other groups with")
        raise DataError(f"{len(sizes)} groups are too few to hold some out", remedies=[other, HOLD_NONE_OUT])
    wanted = dict(zip(SPLITS, (1 - validation - test, validation, test), strict=True))
    rows = dict.fromkeys(SPLITS, 0)
    splits = {}
    for group in sorted(sizes, key=_digest):
        # A split with nothing yet comes first, so that no split stays empty.
        lacking = {split: wanted[split] * len(groups) - rows[split] for split in SPLITS if wanted[split] > 0}
        split = max(lacking, key=lambda name: (rows[name] == 0 and name != "train", lacking[name]))
        splits[group] = split
        rows[split] += sizes[group]
    return splits


def assign_stratified(strata: dict[str, str], validation: float, test: float) -> dict[str, str]:
    """The split of each text, where `strata` has the class of every text. Each class is divided by the shares.

    What rounding leaves of the classes is divided by the shares too, so a class of one text is mostly in the training split.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    for text in sorted(strata, key=_digest):
        texts[strata[text]].append(text)
    splits: dict[str, str] = {}
    due = [0.0, 0.0]
    for name in sorted(texts):
        start = 0
        for index, (split, share) in enumerate(zip(SPLITS[1:], (validation, test), strict=True)):
            due[index] += len(texts[name]) * share
            count = min(round(due[index]), max(len(texts[name]) - 1 - start, 0))
            due[index] -= count
            splits |= dict.fromkeys(texts[name][start : start + count], split)
            start += count
        splits |= dict.fromkeys(texts[name][start:], "train")
    if any(share > 0 and split not in splits.values() for split, share in zip(SPLITS[1:], (validation, test), strict=True)):
        return assign_splits(strata, validation, test)
    return splits


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
