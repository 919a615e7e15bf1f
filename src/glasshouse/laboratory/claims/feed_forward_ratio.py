"""Is a feed-forward part of two to eight times the width the right size, at equal parameters?"""

import statistics
from collections.abc import Mapping

from glasshouse.laboratory.claims import families, rules, splits
from glasshouse.laboratory.claims.base import Bench, Claim, Finding, Row
from glasshouse.metrics.verdict import Difference, Rule
from glasshouse.pages import lines

WIDTH = 64
RATIOS = (4, 1, 2, 8, 16)  # the first is what the others' parameters are matched to
USUAL, OUTSIDE = (2, 4, 8), (1, 16)
# Wide and narrow by whole blocks, since no feed-forward part has several inner layers; the first sets the parameters.
DEPTHS = (3, 1, 6)
RULE = Rule(margin=families.LETTER_MARGIN)
# With heads of a fixed size any width is possible, and so parameters can be matched to about a per cent.
MODEL = ("characters", "model.head_width=16", "evaluation.batch=512")


class FeedForwardRatio(Claim):
    """Trains ratios from 1 to 16 in models of equal size: a wider feed-forward part in a narrower stream."""

    statement = (
        "An inner size of two to eight times the width is usual in the feed-forward part, and one wide layer is better than "
        "several narrow ones."
    )
    source = "course work on the parts of a Transformer"
    reported = "asserted, no figures"
    rule = (
        "Usual is read as: does best. Ratios 1, 2, 4, 8 and 16 in models of equal parameters, the width making room, each "
        "arm at its own best learning rate, chosen on the validation text; test loss paired by seed, Holm. Upheld where "
        "both 1 and 16 are worse than the mean of 2, 4 and 8; refuted where one of them is better, or shown to differ by "
        "less than 0.005 nats a letter; else undecided. The half about several narrow layers was not tried and does not "
        "count: no feed-forward part in the catalogue has several inner layers. One wide block against several narrow "
        "ones, at equal parameters, stands beside it as evidence about blocks."
    )

    def try_it(self, bench: Bench) -> Finding:
        ratios = (4, 1, 16) if bench.quick else RATIOS
        settings: dict = {
            "metric": "test.loss",
            "match": "parameters",
            "tune": None if bench.quick else "training.learning_rate=1e-3,3e-3,9e-3",
            "quick": (*splits.QUICK[:2], *splits.QUICK_TEXT, "training.steps=6", "evaluation.every=6"),
        }
        study = bench.compare(
            "ratios",
            *MODEL,
            *(("model.layers=1",) if bench.quick else ()),
            f"model.feed_forward={','.join(str(ratio * WIDTH) for ratio in ratios)}",
            **settings,
        )
        losses = {ratio: bench.values(study, str(ratio * WIDTH), "test.loss") for ratio in ratios}
        found = against_usual(losses)
        picture = bench.folder / "ratios.svg"
        lines.draw({"": families.spans(losses)}, picture, "inner size over width", "test loss, nats a letter")
        rows = [
            Row(f"test loss, {ratio} times the width", "", f"{rules.shown(losses[ratio])}; {arm.parameters:,} parameters")
            for ratio, arm in sorted(zip(ratios, study.arms, strict=True), key=lambda pair: pair[0])
        ]
        rows += [
            Row(f"{ratio} times against the mean of {_list(losses)}", "", families.told(found[ratio])) for ratio in found
        ]
        depths = (2, 1) if bench.quick else DEPTHS
        blocks = bench.compare("blocks", *MODEL, f"model.layers={','.join(map(str, depths))}", **settings)
        deep = {depth: bench.values(blocks, str(depth), "test.loss") for depth in depths}
        several = families.judged({str(depth): (deep[1], deep[depth]) for depth in depths if depth != 1}, RULE)
        rows += [
            Row(f"test loss, blocks: {depth}, at equal parameters", "", rules.shown(deep[depth])) for depth in sorted(deep)
        ]
        rows += [Row(f"{depth} narrow blocks against one wide", "", families.told(each)) for depth, each in several.items()]
        said = "; ".join(f"{ratio}: {families.told(each)}" for ratio, each in found.items())
        return Finding(
            verdict=usual_is_best(found),
            because=f"Against the mean of ratios {_list(losses)}, test loss at {said}. This is of the ratio alone: one wide "
            "layer against several narrow ones inside the feed-forward part was not tried.",
            scope=f"State of the Union addresses, letter by letter; {rules.scope(study)}; blocks: {rules.scope(blocks)}",
            rows=tuple(rows),
            studies=(study.name, blocks.name),
            pictures=(picture.name,),
            notes=tuple(
                f"{each.name}, {arm.name}: {note}" for each in (study, blocks) for arm in each.arms for note in arm.notes
            ),
        )


def against_usual(losses: Mapping[int, families.BySeed]) -> dict[str, Difference]:
    """Ratio outside of 2 to 8 -> it against the mean of those inside, seed by seed, corrected."""
    inside = [losses[ratio] for ratio in USUAL if ratio in losses]
    usual = {
        seed: statistics.fmean(each[seed] for each in inside) for seed in inside[0] if all(seed in each for each in inside)
    }
    return families.judged({str(ratio): (usual, losses[ratio]) for ratio in OUTSIDE}, RULE)


def usual_is_best(found: Mapping[str, Difference]) -> str:
    """The verdict on: those outside are worse; `found` is corrected already."""
    return rules.all_of(*(rules.direction(each, wanted="worse") for each in found.values()))


def _list(losses: Mapping[int, families.BySeed]) -> str:
    inside = [str(ratio) for ratio in USUAL if ratio in losses]
    return inside[0] if len(inside) == 1 else f"{', '.join(inside[:-1])} and {inside[-1]}"
