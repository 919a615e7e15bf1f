"""Do learned positions cure the trouble that fixed ones have with very long input? Judged at their length and beyond it."""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.claims.positions.length_extrapolation import Reading, Readings

TRAINED, LONGER = 32, (64, 128)
EVERY = (TRAINED, *LONGER)
LOSS_MARGIN = 0.02  # nats a token, about 2 % of perplexity


class LearnedForLength(Claim):
    """Trains at 32 tokens and asks beyond; trains at 128 and asks there; then lengthens the table, and tries ALiBi."""

    statement = "Learned positions cure the trouble that fixed encodings have with very long input."
    source = "course work on positions"
    reported = "asserted, no figures"
    rule = (
        "Beyond the trained length: trained at 32 tokens, a model with learned positions must have an answer at 64 and at "
        "128, with a perplexity no more than 5 % above that at 32 (the 95 % interval of the mean over seeds below that). "
        "At the trained length: trained at 128 tokens, it must be better than sinusoidal or no difference may reach 0.02 "
        "nats a token. Upheld where all of this holds; refuted where any of it fails; else undecided. A table lengthened "
        "by rows that were never trained, and ALiBi, are measured beside it and do not decide."
    )
    needs = ("speeches-text",)

    def try_it(self, bench: Bench) -> Finding:
        words = ("speech-lm", f"data.context={TRAINED}", "model.position=sinusoidal,learned,alibi")
        brief = bench.compare("trained-at-32", *words, metric="test.loss", quick=length_extrapolation.QUICK)
        # As many tokens in a step as at 32.
        longer = ("speech-lm", f"data.context={LONGER[-1]}", "training.batch=4", "model.position=sinusoidal,learned")
        long = bench.compare(
            "trained-at-128", *longer, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        readings = length_extrapolation.ask(bench, brief, EVERY)
        lengthened = length_extrapolation.ask(bench, brief, EVERY, arms=("learned",), lengthen=True)["learned"]
        table = {**readings, "learned, table lengthened": lengthened}
        beyond = [length_extrapolation.flat(readings["learned"], TRAINED, length, parts=3) for length in LONGER]
        at_length = long.arms[1].difference
        return Finding(
            verdict=rules.all_of(*beyond, rules.as_good(at_length, parts=3)),
            because=_because(readings, lengthened, rules.sentence(at_length)),
            scope=f"the course's speeches; {rules.scope(brief)}, trained at {TRAINED} tokens and asked at {LONGER[0]} and "
            f"{LONGER[1]}; the same trained at {LONGER[1]} with as many tokens in a step; all three test texts",
            rows=(
                *(
                    Evidence(f"test perplexity at {length} tokens, {arm}", "", row[length].shown)
                    for arm, row in table.items()
                    for length in EVERY
                ),
                *(
                    Evidence(
                        f"test perplexity, trained and asked at {LONGER[-1]}, {arm.name}",
                        "",
                        rules.shown(bench.values(long, arm.name, "test.perplexity")),
                    )
                    for arm in long.arms
                ),
            ),
            studies=(brief.name, long.name),
            pictures=(length_extrapolation.draw(table, bench.folder / "lengths.svg", TRAINED),),
        )


def _because(readings: Readings, lengthened: dict[int, Reading], at_length: str) -> str:
    learned = readings["learned"]
    refused = [length for length in LONGER if not learned[length].losses]
    if refused:
        asked = f"Beyond its length a learned table has no answer ({learned[refused[0]].how})"
        course = " to ".join(f"{lengthened[length].perplexity:.0f}" for length in EVERY)
        asked += f"; lengthened by rows that were never trained its perplexity goes from {course} at {_places()}"
    else:
        asked = f"Learned positions have perplexities {_course(readings, 'learned')} at {_places()}"
    others = ", ".join(f"{_course(readings, arm)} with {arm}" for arm in ("sinusoidal", "alibi"))
    return f"{asked}, beside {others}. Trained at {LONGER[-1]} tokens: {at_length}."


def _course(readings: Readings, arm: str) -> str:
    return " to ".join(f"{readings[arm][length].perplexity:.0f}" for length in EVERY)


def _places() -> str:
    return f"{TRAINED}, {LONGER[0]} and {LONGER[1]} tokens"
