"""The base class of claims: a statement about Transformers with its source, the reported figures, a rule and an experiment.

A claim is a class in its own file and a line under `glasshouse.claim` in `pyproject.toml`; another package adds one in the
same way. Its rule is written before anything is measured. A claim knows nothing of files or pages.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from glasshouse.claims.bench import Bench
from glasshouse.pages.claim_content import REFUTED, UNDECIDED, UPHELD, Evidence, Finding

__all__ = ["REFUTED", "UNDECIDED", "UPHELD", "Bench", "Claim", "Evidence", "Finding"]


class Claim(ABC):
    """One statement that an experiment can uphold or refute."""

    statement: ClassVar[str]  # what is asserted, as one sentence
    source: ClassVar[str]  # who asserts it, for example "course work on positions"
    reported: ClassVar[str]  # the reported figures in one line
    rule: ClassVar[str]  # which results uphold it, which refute it, and which leave it undecided
    needs: ClassVar[tuple[str, ...]] = ()  # names of the data sources that the experiment requires
    seeds: ClassVar[int] = 8  # default number of seeds

    @abstractmethod
    def run_experiment(self, bench: Bench) -> Finding:
        """Run the experiment, or the part of it that is left, and judge it by the rule.

        The caller replaces the verdict of a quick run by "undecided".
        """
