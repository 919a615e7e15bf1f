"""Which licences of installed packages are permissive, by what their metadata say. Reads no files.

A licence is permissive if it lets the text be used and passed on without conditions on works made of it. Whatever is not
known to be so is not used.
"""

import re
from collections.abc import Sequence
from email.message import Message

# Identifiers of SPDX.
PERMISSIVE = frozenset(
    {
        *("0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BSL-1.0", "CC0-1.0", "Unlicense", "Zlib", "NCSA"),
        *("HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "X11", "CNRI-Python", "PSF-2.0", "Python-2.0", "Python-2.0.1"),
    }
)
# Exceptions that only widen what a licence allows.
EXCEPTIONS = frozenset({"LLVM-exception"})
# Words of free text that name a permissive licence, and words that rule one out.
_PERMISSIVE_WORDS = re.compile(
    r"\b(0?BSD|MIT|Apache|ISC|ISCL|PSF|Python Software Foundation|Unlicense|zlib|CC0|HPND)\b", re.I
)
_OTHER_WORDS = re.compile(
    r"\b([AL]?GPL\w*|GNU|MPL|Mozilla|EPL|EUPL|CDDL|SSPL|Eclipse|Proprietary|Commercial|Non-?Commercial|BUSL)\b", re.I
)
_CLASSIFIER = "License :: "
# A longer licence field is the text of a licence, whose first line names it at best.
_LONGEST_NAME = 100


def licence_of(metadata: Message) -> str:
    """The licence that a package states: an SPDX expression, the names in its classifiers, or a line of free text."""
    if expression := metadata.get("License-Expression"):
        return str(expression).strip()
    classifiers = [str(one) for one in metadata.get_all("Classifier") or () if str(one).startswith(_CLASSIFIER)]
    names = [one.rpartition(" :: ")[2] for one in classifiers if one != "License :: OSI Approved"]
    if names:
        return ", ".join(names)
    first_line = str(metadata.get("License") or "").strip().partition("\n")[0].strip()
    return first_line[:_LONGEST_NAME] if first_line.upper() != "UNKNOWN" else ""


def is_permissive(licence: str) -> bool:
    """Whether a licence, as `licence_of` returns it, is known to be permissive."""
    if re.search(r"\b(AND|OR|WITH)\b", licence) or licence in PERMISSIVE:
        # A choice within brackets is not followed: then every licence must be permissive.
        if "(" in licence:
            return _all_permissive(re.split(r"[()]|\bAND\b|\bOR\b", licence))
        return any(_all_permissive(choice.split(" AND ")) for choice in licence.split(" OR "))
    return all(_names_permissive(name) for name in licence.split(", "))


def _all_permissive(licences: Sequence[str]) -> bool:
    """Whether every one of several SPDX identifiers, with or without an exception, is permissive."""
    named = [one.strip() for one in licences if one.strip()]
    for one in named:
        licence, _, exception = one.partition(" WITH ")
        if licence not in PERMISSIVE or (exception and exception not in EXCEPTIONS):
            return False
    return bool(named)


def _names_permissive(text: str) -> bool:
    return bool(_PERMISSIVE_WORDS.search(text)) and not _OTHER_WORDS.search(text)
