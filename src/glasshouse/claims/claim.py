"""What a claim is: an assertion about Transformers with its source, the figures reported for it, and a trial.

A claim is a class in its own file and a line under `glasshouse.claim` in `pyproject.toml`; another package adds one the same
way. It says what it would take to uphold or refute it before anything is measured, and knows nothing of files or pages.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from glasshouse.claims.bench import Bench
from glasshouse.pages.claim_content import REFUTED, UNDECIDED, UPHELD, Evidence, Finding

__all__ = ["REFUTED", "UNDECIDED", "UPHELD", "Bench", "Claim", "Evidence", "Finding"]


class Claim(ABC):
    """One assertion that can be put on trial."""

    statement: ClassVar[str]  # the assertion, as one sentence
    source: ClassVar[str]  # "course work on positions", in plain words
    reported: ClassVar[str]  # the reported figures in one line
    rule: ClassVar[str]  # in words: what makes it upheld, refuted, undecided
    needs: ClassVar[tuple[str, ...]] = ()  # data sources that it cannot do without
    seeds: ClassVar[int] = 8  # by default

    @abstractmethod
    def try_it(self, bench: Bench) -> Finding:
        """Run the trial, or what is left of it, and say what it found. In a quick look the verdict is set aside."""
