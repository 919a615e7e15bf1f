"""Claim: learned positions cure the trouble of fixed encodings with long input. Judged at the trained length and beyond."""

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.claims.positions.length_extrapolation import LengthResult, LengthResults

TRAINED, LONGER = 32, (64, 128)
LENGTHS = (TRAINED, *LONGER)
LOSS_MARGIN = 0.02  # nats per token, about 2 % of perplexity


class LearnedForLength(Claim):
    """Trains at 32 tokens and evaluates beyond; trains at 128 and evaluates there; then lengthens the position table."""

    statement = "Learned positions cure the trouble that fixed encodings have with very long input."
    source = "course work on positions"
    reported = "asserted, no figures"
    rule = (
        "Two conditions. Beyond the trained length: trained at 32 tokens, a model with learned positions must be able "
        "to read 64 and 128 tokens, with a perplexity at most 5 % above that at 32 tokens (the whole 95 % confidence "
        "interval of the mean rise over seeds is below 5 %). At the trained length: trained at 128 tokens, it must be "
        "better than sinusoidal positions, or the difference must be shown to be smaller than 0.02 nats per token. The "
        "claim is upheld if all of this holds, refuted if any of it fails, otherwise undecided. A position table "
        "lengthened by rows that were never trained, and ALiBi, are measured for comparison and do not decide."
    )
    needs = ("speeches-text",)

    def run_experiment(self, bench: Bench) -> Finding:
        short_words = ("speech-lm", f"data.context={TRAINED}", "model.position=sinusoidal,learned,alibi")
        short_study = bench.compare("trained-at-32", *short_words, metric="test.loss", quick=length_extrapolation.QUICK)
        # The batch size keeps the number of tokens per step the same as at 32 tokens.
        long_words = ("speech-lm", f"data.context={LONGER[-1]}", "training.batch=4", "model.position=sinusoidal,learned")
        long_study = bench.compare(
            "trained-at-128", *long_words, metric="test.loss", margin=LOSS_MARGIN, quick=length_extrapolation.QUICK
        )
        results = length_extrapolation.score_lengths(bench, short_study, LENGTHS)
        lengthened = length_extrapolation.score_lengths(bench, short_study, LENGTHS, arms=("learned",), lengthen=True)
        all_results = {**results, "learned, table lengthened": lengthened["learned"]}
        beyond = [length_extrapolation.judge_flat(results["learned"], TRAINED, length, parts=3) for length in LONGER]
        at_trained_length = long_study.arms[1].difference
        return Finding(
            verdict=rules.all_of(*beyond, rules.as_good(at_trained_length, parts=3)),
            because=_because(results, lengthened["learned"], rules.difference_sentence(at_trained_length)),
            scope=f"the course's speeches; {rules.study_scope(short_study)}, trained at {TRAINED} tokens and evaluated "
            f"at {LONGER[0]} and {LONGER[1]}; the same trained at {LONGER[1]} with as many tokens per step; all three "
            "test texts",
            rows=(
                *(
                    Evidence(f"test perplexity at {length} tokens, {arm}", "", by_length[length].with_seeds)
                    for arm, by_length in all_results.items()
                    for length in LENGTHS
                ),
                *(
                    Evidence(
                        f"test perplexity, trained and evaluated at {LONGER[-1]} tokens, {arm.name}",
                        "",
                        rules.format_with_seeds(bench.values(long_study, arm.name, "test.perplexity")),
                    )
                    for arm in long_study.arms
                ),
            ),
            studies=(short_study.name, long_study.name),
            pictures=(length_extrapolation.draw(all_results, bench.folder / "lengths.svg", TRAINED),),
        )


def _because(results: LengthResults, lengthened: dict[int, LengthResult], at_trained_length: str) -> str:
    learned = results["learned"]
    unreadable = [length for length in LONGER if not learned[length].losses]
    lengths = f"{TRAINED}, {LONGER[0]} and {LONGER[1]} tokens"
    if unreadable:
        beyond = (
            f"A learned position table cannot read more tokens than it was trained with ({learned[unreadable[0]].how}). "
            f"Lengthened by rows that were never trained, its perplexity goes from {_perplexities(lengthened)} at {lengths}"
        )
    else:
        beyond = f"Learned positions have perplexities {_perplexities(learned)} at {lengths}"
    others = ", ".join(f"{_perplexities(results[arm])} with {arm}" for arm in ("sinusoidal", "alibi"))
    return f"{beyond}; for comparison: {others}. Trained at {LONGER[-1]} tokens: {at_trained_length}."


def _perplexities(by_length: dict[int, LengthResult]) -> str:
    """`300 to 310 to 400`: the mean perplexities at the three lengths."""
    return " to ".join(f"{by_length[length].mean_perplexity:.0f}" for length in LENGTHS)
