"""The options of a study, each declared once for the command, the function and the kept file."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from glasshouse.specs import options
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting

# More seeds than any study was seen to need.
MOST_SEEDS = 10_000
LARGEST_MARGIN = 1e30


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options that are part of a study's question."""

    metric: str | None = setting(
        None, "The metric to compare, such as test.bits_per_byte; default: validation.loss.", "SPLIT.METRIC"
    )
    match: str = setting("steps", "Give every arm as much of this as the first: steps, tokens, flops, parameters or time.")
    tune: str | None = setting(
        None,
        "Tune this field for each arm first, on the validation split; default: the arm's value times powers of 3.",
        "FIELD[=VALUES]",
    )
    alpha: float = setting(0.05, "The significance level: the accepted probability of a false verdict when no arm differs.")
    margin: float | None = setting(
        None, "The largest difference that counts as none; default: one standard deviation between the first arm's seeds."
    )
    until_decided: bool = setting(False, "Add seeds in batches until every arm has a verdict.")
    batch: int = setting(4, "The number of seeds that --until-decided adds at a time.", minimum=2, maximum=MOST_SEEDS)
    max_seeds: int = setting(32, "The largest number of seeds of --until-decided.", minimum=2, maximum=MOST_SEEDS)
    items: bool = setting(False, "Treat the texts, pairs or windows of text of the evaluation as a sample too.")


@dataclass(frozen=True, kw_only=True)
class Question(QuestionOptions):
    """The user's question, as typed. The same question with the same arms continues the same study."""

    kind: str  # "compare" or "sweep"
    words: tuple[str, ...]
    quick: bool = False  # whether this only tries that a study works, with tiny models and a few steps

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of seeds after which a sequential study is judged; empty for other studies."""
        return (*range(self.batch, self.max_seeds, self.batch), self.max_seeds) if self.until_decided else ()

    @property
    def most_seeds(self) -> int:
        """The largest number of seeds of a sequential study; 0 for other studies."""
        return self.max_seeds if self.until_decided else 0


@dataclass(frozen=True, kw_only=True)
class StudyOptions(QuestionOptions):
    """The options of a study: those of its question, and how it is run."""

    seeds: str | int | Sequence[int] | None = setting(
        None, "The number of seeds, or a list of seeds; default: 8.", "N|A,B,..."
    )
    replicas: str = setting(
        "auto",
        "The number of seeds of an arm that train together on one device; auto goes by a rule.",
        "auto|off|N",
    )
    register: bool = setting(False, "Record a digest of the plan before the first run, and hold the study to it.")
    replicate: str | None = setting(None, "Ask the question of this study again, with seeds that it has not used.", "STUDY")
    multiverse: bool = setting(
        False, "Also judge with tuned and reported learning rates, other initialisations and both splits."
    )
    all_pairs: bool = setting(False, "Also judge every pair of arms, corrected for that many comparisons.")
    name: str | None = setting(None, "The name of the study; default: made from what is compared.")

    def __post_init__(self) -> None:
        if self.until_decided and self.seeds is not None:
            raise SpecError("cannot be used with --until-decided; set --batch and --max-seeds instead", "seeds", self.seeds)
        if not 0 < self.alpha < 0.5:
            raise SpecError("must be between 0 and 0.5; 0.05 is usual", "alpha", self.alpha)
        if self.margin is not None and not 0 < self.margin <= LARGEST_MARGIN:
            raise SpecError(f"must be above 0 and at most {LARGEST_MARGIN:g}, in units of the metric", "margin", self.margin)
        options.check(self, SpecError)
        for name in ("batch", "max_seeds") if not self.until_decided else ():
            if name in options.given(self):
                raise SpecError("works only with --until-decided; add it, or use --seeds", name, getattr(self, name))
        if self.batch > self.max_seeds:
            raise SpecError(f"is more than the largest number of seeds, {self.max_seeds}; choose fewer", "batch", self.batch)

    def question(self, kind: str, words: tuple[str, ...], quick: bool = False) -> Question:
        values = {each.name: getattr(self, each.name) for each in fields(QuestionOptions)}
        return Question(kind=kind, words=words, quick=quick, **values)


NOT_OF_SWEEPS = ("tune", "until_decided", "batch", "max_seeds", "items", "register", "replicate", "multiverse", "all_pairs")
